"""Ctrl-C while the command line imports its modules, which takes a second or two."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["forks"]
MODULE, FUNCTION = SCRIPT.split(":")
STARTS = {
    "script": ["-c", f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"],
    "module": ["-m", "forks"],
}
INTERRUPTED = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)
"""


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    ("imported", "arguments"),
    [
        ("typer", ["--help"]),  # of the command line itself
        ("numba", ["compare", "german"]),  # of the work of a command
        ("numba", ["predict", "m.forks", "t.csv"]),
    ],
)
def test_an_interrupt_while_importing_ends_quietly(start, imported, arguments, tmp_path):
    (tmp_path / f"{imported}.py").write_text(INTERRUPTED)
    path = [str(tmp_path), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, *STARTS[start], *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 130
    assert done.stdout.strip() == ""
    assert done.stderr.strip() in ("", "Interrupted")
