"""Imports go downwards only: the contracts in pyproject.toml hold."""

import subprocess
import sysconfig
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
