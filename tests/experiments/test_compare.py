"""`forks compare`: all methods side by side."""

import bz2
import json

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from forks import OnlineKernelClassifier
from forks.cli import main
from forks.datasets import load, permutations
from forks.experiments.compare import run_compare
from forks.kernels import Gaussian
from forks.learners.catalogue import CATALOGUE, Setting, find

FEW = ["RBP", "FORKS as published"]


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 3, 1)
    path = tmp_path / "rows.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def quiet():
    return Console(file=open("/dev/null", "w"), width=100)


def test_all_methods_stand_side_by_side(file):
    result = CliRunner().invoke(main, ["compare", str(file), "--permutations", "2", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "300 rows of 3 features, 2 permutations; budget 50" in result.output
    lines = result.output.splitlines()
    for method in CATALOGUE:
        (line,) = [line for line in lines if line.startswith(f"{method.name}  ")]
        assert "±" in line
        assert line.split()[-1] in ("B", "kB", "MB")
    assert len(result.output.splitlines()) < len(CATALOGUE) + 6


def test_processes_give_what_one_gives(file, tmp_path):
    stored = tmp_path / "new" / "runs.json"
    options = {"methods": FEW, "n_permutations": 3, "bandwidth": 1.0, "console": quiet()}
    alone = run_compare(str(file), jobs=1, **options)
    pool = run_compare(str(file), jobs=2, output=stored, **options)

    def results(runs):
        return sorted((r.method, r.permutation, r.mistakes, r.stored_points) for r in runs)

    assert results(alone) == results(pool)
    assert len(alone) == 6
    assert all(run.rows_per_second > 0 and not run.failure for run in pool)
    told = json.loads(stored.read_text())
    assert told["bandwidth"] == 1.0
    assert [run["permutation"] for run in told["runs"]] == [0, 0, 1, 1, 2, 2]
    assert list(stored.parent.iterdir()) == [stored]


@pytest.mark.needs_data
def test_a_run_is_a_prequential_pass_over_the_published_order():
    (run,) = run_compare(
        "german", methods=["RBP"], n_permutations=1, bandwidth=8.0, jobs=1, console=quiet()
    )
    X, y = load("german")
    order = permutations("german")[0]
    learner = find("RBP").make(Setting(Gaussian(8.0), 50, 1000))
    model = OnlineKernelClassifier(learner, random_state=0)
    scores = model.prequential(X[order], y[order])
    assert run.mistakes == np.mean(model.labels_of(scores) != y[order])
    assert run.stored_points == 50


def test_a_failing_method_does_not_stop_the_others(file, monkeypatch):
    def fail(setting):
        raise ZeroDivisionError("no such luck")

    broken = find("RBP")._replace(make=fail)
    monkeypatch.setattr(
        "forks.experiments.compare.find", lambda name: broken if name == "RBP" else find(name)
    )
    console = Console(record=True, width=100, file=quiet().file)
    runs = run_compare(str(file), methods=FEW, n_permutations=1, jobs=1, console=console)
    assert [run.failure for run in runs] == ["ZeroDivisionError: no such luck", ""]
    assert "no such luck" in console.export_text()


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nowhere"], "'nowhere' is neither a file nor one of the data sets german"),
        (["german", "--method", "magic"], "no method 'magic'"),
        (["german", "--budget", "0"], "--budget"),
        (["german", "--permutations", "none"], "--permutations"),
        (["german", "--bandwidth", "0"], "bandwidth must be positive, got 0.0"),
        ([], "DATA"),
    ],
)
def test_bad_arguments_get_one_line(arguments, named):
    result = CliRunner().invoke(main, ["compare", *arguments])
    assert result.exit_code == 2
    assert named in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("rows", "hello world\n", "rows, row 1 to 1: not one entry of the form index:value"),
        ("rows", "", "rows has no rows"),
        ("rows", "1 1:1\n-1 1:x\n", "rows, row 2: the value of '1:x' is not a finite number"),
        ("rows", "1 1:1\n1 1:2\n", "rows: labels must be of two classes or more, got one: 1"),
        ("rows.csv", "", "rows.csv is empty"),
        ("rows.csv", "a,b\n1,2\n1,2,3\n", "rows.csv, row 2 (line 3): 3 fields"),
        ("rows.bz2", bz2.compress(b"1 1:1\n-1 1:2\n" * 500)[:-9], "rows.bz2 cannot be read beyond"),
        ("rows.gz", "not compressed", "rows.gz cannot be read beyond row 0"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, file, text, told):
    path = tmp_path / file
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = CliRunner().invoke(main, ["compare", str(path)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr
