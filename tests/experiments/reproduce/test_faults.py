"""Faults in what `forks reproduce` is given: one line, status 2, records as they were."""

import bz2
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from forks.cli import main
from forks.experiments.reproduce import command, playing
from forks.experiments.reproduce.runs import Run

OLD = {"key": "k", "experiment": "tisvd", "data": "d", "method": "TISVD", "status": "done"}
OLD |= {"arguments": {"updates": 5}, "n_rows": 5, "seconds": 1.0, "error": 0.0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a whole german, and an output folder with a record."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _forget_data()
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(1_000, 24)), np.where(rng.random(1_000) < 0.3, 1, -1)
    (tmp_path / "data").mkdir()
    dump_svmlight_file(X, y, str(tmp_path / "data" / "german.numer"), zero_based=False)
    orders = "\n".join(",".join(map(str, rng.permutation(1_000) + 1)) for _ in range(20))
    (tmp_path / "data" / "german.permutations.csv").write_text(orders + "\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "records.jsonl").write_text(json.dumps(OLD) + "\n")
    yield tmp_path
    _forget_data()


def _forget_data():
    playing._data.cache_clear()
    playing._orders.cache_clear()


PLAN = {
    "experiments": [
        {"name": "mine", "data": "german", "methods": [{"learner": "RBP"}], "permutations": 2}
    ]
}


ARGUMENTS = ["reproduce", "plan.json", "--output", "out", "--jobs", "1"]


def reproduce(folder, data="german"):
    (folder / "plan.json").write_text(json.dumps(PLAN).replace("german", str(data)))
    return CliRunner().invoke(main, ARGUMENTS)


def cut_in_the_middle_of_a_row(text):
    return text[: text.index(b":", text.index(b"\n")) + 1]


def cut_between_rows(text):
    return b"".join(text.splitlines(keepends=True)[:700])


def with_one_column_more(text):
    rows = text.splitlines(keepends=True)
    rows[4] = rows[4].rstrip() + b" 25:1\n"
    return b"".join(rows)


def with_one_class(text):
    return b"".join(b"1" + row[row.index(b" ") :] for row in text.splitlines(keepends=True))


def with_three_classes(text):
    return b"2" + text[text.index(b" ") :]


def that_is_no_text(text):
    return b"\xff\xfe" + text


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (cut_in_the_middle_of_a_row, "german.numer, row 2: "),
        (cut_between_rows, "german.numer: german has 1,000 rows, and 700 are there"),
        (with_one_column_more, "german.numer, row 5: index 25 is larger than n_features"),
        (with_one_class, "german: labels must be of two classes, got 1: 1"),
        (with_three_classes, "german: labels must be of two classes, got 3: -1, 1, 2"),
        (that_is_no_text, "german.numer cannot be read beyond row 0"),
    ],
)
def test_a_damaged_data_set_is_named_with_its_row(folder, damage, told):
    path = folder / "data" / "german.numer"
    path.write_bytes(damage(path.read_bytes()))
    assert_one_line(folder, reproduce(folder), told)


def assert_one_line(folder, result, told):
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    assert (folder / "out" / "records.jsonl").read_text() == json.dumps(OLD) + "\n"
    assert [path.name for path in (folder / "out").iterdir()] == ["records.jsonl"]


def test_a_missing_file_says_what_to_put_where(folder):
    (folder / "data" / "german.numer").unlink()
    result = reproduce(folder)
    told = f"data set 'german' needs the file german.numer: put it in {folder / 'data'}"
    assert_one_line(folder, result, told)


def test_a_process_of_its_own_ends_with_status_2(folder):
    (folder / "plan.json").write_text(json.dumps(PLAN).replace("german", "svmguide3"))
    command_line = [sys.executable, "-m", "forks.cli", *ARGUMENTS]
    result = subprocess.run(command_line, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: data set 'svmguide3' needs the file svmguide3: put it")
    assert len(result.stderr.splitlines()) == 1


def test_a_damaged_file_of_orders_is_named(folder):
    path = folder / "data" / "german.permutations.csv"
    path.write_text("1,2,3\n")
    told = "german.permutations.csv, row 1: not a permutation of the numbers from 1 to 1000"
    assert_one_line(folder, reproduce(folder), told)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("own.csv", b"a,b,label\n1,2,1\n3,-1\n", "own.csv, row 2 (line 3): 2 fields"),
        ("own.csv", b"a,b,label\n1,2,1\n3,x,-1\n", "own.csv, row 2 (line 3), column 'b': 'x'"),
        ("own.bz2", bz2.compress(b"1 1:1\n-1 1:2\n" * 999)[:-9], "own.bz2 cannot be read beyond"),
        ("own", b"1 1:1\n2 1:2\n3 1:2\n", "own: labels must be of two classes, got 3: 1, 2, 3"),
    ],
)
def test_a_fault_in_a_file_of_a_plan_is_named(folder, name, content, told):
    (folder / name).write_bytes(content)
    assert_one_line(folder, reproduce(folder, name), told)


def test_a_whole_data_set_is_played(folder):
    result = reproduce(folder)
    assert result.exit_code == 0, result.output
    records = (folder / "out" / "records.jsonl").read_text().splitlines()
    assert [json.loads(record)["status"] for record in records] == ["done"] * 3


def test_a_damaged_record_is_named_and_left_as_it_was(folder):
    path = folder / "out" / "records.jsonl"
    text = f"{json.dumps(OLD)}\nnonsense\n{json.dumps(OLD)}\n"
    path.write_text(text)
    result = CliRunner().invoke(main, ["reproduce", "tisvd", "--output", str(folder / "out")])
    assert result.exit_code == 2
    assert "records.jsonl, line 2: not a record" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert path.read_text() == text


def test_all_goes_on_without_the_experiment_whose_data_are_missing(folder, monkeypatch):
    def of_abalone(**effort):
        return [Run(experiment="theta", data="abalone", method="FORKS, tisvd", learner="FORKS")]

    theta, tisvd = (command.CHAPTERS[name] for name in ("theta", "tisvd"))
    small = {"theta": theta._replace(plan=of_abalone)}
    small["tisvd"] = tisvd._replace(quick={"updates": (20,)})
    monkeypatch.setattr(command, "CHAPTERS", small)
    options = ["--quick", "--output", str(folder / "out"), "--jobs", "1"]
    result = CliRunner().invoke(main, ["reproduce", "all", *options])
    assert result.exit_code == 0, result.output
    assert (
        "theta: skipped: data set 'abalone' needs the file abalone_scale: put it" in result.output
    )
    assert "tisvd: 2 runs, 2 to play" in result.output
    alone = CliRunner().invoke(main, ["reproduce", "theta", *options])
    assert alone.exit_code == 2
    assert "data set 'abalone' needs the file abalone_scale: put it" in alone.stderr
