"""Imports go downwards only: the contracts in pyproject.toml hold."""

import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_import_contracts_hold():
    command = Path(sysconfig.get_path("scripts")) / "lint-imports"
    result = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.fail(f"lint-imports found broken contracts:\n{result.stdout}{result.stderr}")


def test_every_learner_is_in_the_contract_of_independence():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [c for c in contracts["contracts"] if c["type"] == "independence"]
    files = (ROOT / "src/forks/learners").glob("[!_]*.py")
    assert set(contract["modules"]) | {"forks.learners.catalogue"} == {
        f"forks.learners.{file.stem}" for file in files
    }


def test_every_learner_has_an_oracle_of_its_name():
    learners, oracles = (
        {file.stem for file in (ROOT / "src/forks" / room).glob("[!_]*.py")}
        for room in ("learners", "oracles")
    )
    assert learners - oracles == {"catalogue", "projectron_pp"}  # an option of `projectron`
