"""Imports go downwards only: the contracts in pyproject.toml hold."""

import ast
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


def test_every_learner_has_an_oracle_of_its_name():
    learners, oracles = (
        {file.stem for file in (ROOT / "src/forks" / room).glob("[!_]*.py")}
        for room in ("learners", "oracles")
    )
    # an option of `projectron`, four parts of `over_time`, and one each of `machine` and `wide`
    parts = {"apart", "earlier", "machine_round", "mixture", "starting", "wide_round"}
    assert learners - oracles == {"catalogue", "projectron_pp", *parts}


def sources():
    return sorted((ROOT / "src/forks").rglob("*.py"))


def imported(path):
    """Dotted names that a file imports from the package, names from modules included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_private_modules_and_names_are_imported_only_in_their_own_package():
    outside = []
    for path in sources():
        package = ("forks", *path.relative_to(ROOT / "src/forks").parts[:-1])
        for name in imported(path):
            parts = name.split(".")
            private = [i for i, part in enumerate(parts) if part[0] == "_" and part[:2] != "__"]
            if (
                parts[0] == "forks"
                and private
                and package[: private[0]] != tuple(parts[: private[0]])
            ):
                outside.append((str(path.relative_to(ROOT)), name))
    assert not outside


def test_no_file_is_too_long():
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}
    assert not {name: n for name, n in lines.items() if n > 450}
