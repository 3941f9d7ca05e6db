"""`forks fork` and `forks merge`."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import forks
from forks.cli import main
from oracle_streams import made_up


def call(*arguments, fails=False):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert (result.exit_code != 0) == fails, result.output
    return result.output


def write(path, X, y):
    table = np.column_stack([X, y])
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    np.savetxt(path, table, fmt="%.17g", delimiter=",", header=header, comments="")


@pytest.fixture
def folder(tmp_path):
    X, y = made_up(1200, 5)
    for name, rows in (("start", slice(400)), ("0", slice(400, 900)), ("1", slice(900, 1200))):
        write(tmp_path / f"{name}.csv", X[rows], y[rows])
    options = ("--label", "label", "--effort", "fast", "--save", tmp_path / "start.forks")
    call("run", tmp_path / "start.csv", *options)
    return tmp_path


def test_files_are_forked_learned_apart_and_merged(folder):
    made = call("fork", folder / "start.forks", "-n", 2, "--folder", folder / "parts").split()
    assert len(made) == 2
    parts = [folder / "parts" / f"fork-{k}.forks" for k in range(2)]
    for k, part in enumerate(parts):
        call("run", folder / f"{k}.csv", "--model", part, "--save", part)
    assert call("merge", *parts, "-o", folder / "all.forks").strip() == "1,200 rows"
    assert "0 of 2" in call("info", parts[0])
    models = [forks.load(part) for part in parts]
    X, _ = made_up(1200, 5)
    expected = forks.merge(models).decision_function(X)
    np.testing.assert_array_equal(forks.load(folder / "all.forks").decision_function(X), expected)
    answers = call("predict", folder / "all.forks", folder / "1.csv", "--output", folder / "o.csv")
    assert answers.startswith("300 rows")


def test_forks_that_are_missing_may_come_later(folder):
    call("fork", folder / "start.forks", "-n", 3, "--folder", folder)
    first, second, third = (folder / f"fork-{k}.forks" for k in range(3))
    some = folder / "some.forks"
    assert "missing: 1" in call("merge", first, second, "-o", some)
    assert "missing" not in call("merge", some, third, "-o", folder / "all.forks")
    assert "missing" not in call("merge", some, "--close", "-o", folder / "closed.forks")


def test_what_cannot_be_merged_is_told_by_file_and_writes_nothing(folder):
    start, output = folder / "start.forks", folder / "all.forks"
    call("fork", start, "-n", 2, "--folder", folder)
    assert "is there already" in call("fork", start, "-n", 2, "--folder", folder, fails=True)
    fork = folder / "fork-0.forks"
    assert "start.forks is no fork" in call("merge", fork, start, "-o", output, fails=True)
    assert "fork 0 of 2 is there twice" in call("merge", fork, fork, "-o", output, fails=True)
    assert "cannot be forked" in call("fork", fork, "-n", 2, "--folder", folder / "x", fails=True)
    assert not output.exists()
    assert not (folder / "x").exists()


def test_forks_of_another_version_are_told_by_file_and_write_nothing(folder):
    output, other = folder / "all.forks", folder / "fork-1.forks"
    call("fork", folder / "start.forks", "-n", 2, "--folder", folder)
    newer, times = re.subn(rb'(version\\*": ?)4', rb"\g<1>9", other.read_bytes(), count=1)
    assert times == 1
    other.write_bytes(newer)
    told = call("merge", folder / "fork-0.forks", other, "-o", output, fails=True)
    assert re.search(r"fork-1\.forks.*version 9 of the format", told.replace("\n", " "))
    assert not output.exists()
    assert other.read_bytes() == newer
