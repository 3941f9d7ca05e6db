"""`forks run --key` ends the same after SIGKILLs, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")


def kill(folder, kills, seed):
    script = Path(__file__).with_name("kills.py")
    command = [sys.executable, str(script), str(folder), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(kills)]


def test_a_few_kills(tmp_path):
    kill(tmp_path, 3, 0)


@pytest.mark.slow
def test_fifty_kills(tmp_path):
    kill(tmp_path, 50, 1)
