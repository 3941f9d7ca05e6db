import subprocess
import sys

import pytest
from typer.testing import CliRunner

from forks import __version__
from forks.cli import main

RUNNER = CliRunner()


def call(*arguments):
    return RUNNER.invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_is_short_and_names_the_commands(arguments):
    result = call(*arguments)
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "bench" in result.output
    assert len(result.output.splitlines()) < 26


def test_no_summary_of_a_command_is_cut():
    lines = call("--help").output.split("Commands:\n")[1].splitlines()
    assert [line for line in lines if not line.endswith(".") or line.endswith("..")] == []


def test_version():
    result = call("--version")
    assert result.exit_code == 0
    assert result.output == f"forks {__version__}\n"


@pytest.mark.parametrize("module", ["forks", "forks.cli"])
def test_the_package_is_the_command_line(module):
    command = [sys.executable, "-m", module, "run", "--nothing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: No such option: --nothing")


def test_demo_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="the demo needs matplotlib")
    picture = tmp_path / "demo.png"
    result = call("demo", "--rows", 3_000, "--seed", 1, "--picture", picture)
    assert result.exit_code == 0, result.output
    assert "3,000" in result.output
    assert picture.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["demo", "--rows", "0"], "--rows"),
        (["demo", "--rows", "many"], "--rows"),
        (["demo", "--picture", "demo.xyz"], ".xyz"),
        (["demo", "--colour", "red"], "--colour"),
        (["dance"], "dance"),
        (["--loud"], "--loud"),
    ],
)
def test_a_usage_error_is_one_line_and_status_2(arguments, named):
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr


def test_a_failure_is_one_line_and_status_1(tmp_path):
    pytest.importorskip("matplotlib", reason="the demo needs matplotlib")
    (tmp_path / "file").touch()
    result = call("demo", "--rows", 1_000, "--picture", tmp_path / "file" / "demo.png")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1


def test_help_imports_no_heavy_room():
    code = "import sys; from forks.cli import main; main(['--help'], standalone_mode=False)"
    code += "; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"matplotlib", "numba", "numpy", "scipy", "sklearn", "forks.evaluate"}
    assert not heavy & set(done.stdout.split())
