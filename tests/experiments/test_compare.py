"""`forks compare`: all methods side by side."""

import bz2
import json

import numpy as np
import pytest
from rich.console import Console
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from forks import OnlineKernelClassifier
from forks.cli import main
from forks.datasets import load, permutations
from forks.experiments.compare import run_compare
from forks.experiments.compare.scaling import scaled_online
from forks.kernels import Gaussian
from forks.learners.catalogue import CATALOGUE, Setting, find
from forks.streams import changing

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
    assert "classification, 300 rows of 3 features, 2 permutations" in result.output
    assert "budget 50" in result.output
    lines = result.output.splitlines()
    for method in CATALOGUE:
        (line,) = [line for line in lines if line.startswith(f"{method.name}  ")]
        assert "±" in line
        assert line.split()[-1] in ("B", "kB", "MB")
    assert any(line.startswith("default  ") for line in lines)
    assert "features scaled online for all methods" in lines[0]
    assert any(line.startswith("(most frequent class)") for line in lines)
    assert not any(line.startswith("(last label)") for line in lines)  # in random orders
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
    options = {"n_permutations": 1, "bandwidth": 8.0, "jobs": 1, "console": quiet()}
    (run,) = run_compare("german", methods=["RBP"], scale=False, **options)
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
        "forks.experiments.compare.contestants.find",
        lambda name: broken if name == "RBP" else find(name),
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
        (["german", "--label", "y"], "--label is for files, and german is a data set"),
        (["german", "--order", "file", "--permutations", "3"], "--permutations is for --order"),
        (["german", "--model", "river"], "--model takes river:NAME or sklearn:NAME"),
        (["german", "--model", "sklearn:Magic"], "scikit-learn has no Magic"),
        (["german", "--model", "sklearn:linear_model.Magic"], "no sklearn.linear_model.Magic"),
        (["german", "--model", "sklearn:SGDClassifier(1)"], "arguments must be as in NAME(key=1"),
        (["german", "--model", "sklearn:SGDClassifier(a=1)"], "unexpected keyword argument 'a'"),
        (["german", "--model", "sklearn:SGDRegressor"], "is not for classification"),
        (["german", "--model", "sklearn:SVC"], "must have partial_fit and predict"),
        (["abalone", "--method", "RBP"], "RBP is for classification only"),
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


# ---- the same rows for all -----------------------------------------------------------------------


def played(path, *arguments):
    """Return the figures of each contestant."""
    output = path.parent / "runs.json"
    command = ["compare", str(path), "--jobs", "1", "--output", str(output), *arguments]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    told = json.loads(output.read_text())
    return result.output, told, {run["method"]: run for run in told["runs"]}


def table(path, y):
    rng = np.random.default_rng(1)
    words = rng.choice(["left", "right"], len(y))
    rows = [
        f"{1000 + 50 * x:.3f},{label},{word}" for x, label, word in zip(y, y, words, strict=True)
    ]
    path.write_text("\n".join(["a,target,side", *rows]) + "\n")
    return path


def test_regression_is_played_as_regression_on_a_table_with_text(tmp_path):
    y = np.cumsum(np.random.default_rng(0).normal(size=400))
    path = table(tmp_path / "t.csv", np.round(y, 4))
    text, told, runs = played(
        path, "--label", "target", "--order", "file", "--method", "KOGD", "--method", "default"
    )
    assert "regression, 400 rows" in text
    assert "in the order of the file" in text
    assert told["n_permutations"] == 1
    assert runs["default"]["error"] < runs["KOGD"]["error"]
    assert runs["default"]["mistakes"] is None
    steps = np.diff(np.round(y, 4))
    last = [line for line in text.splitlines() if line.startswith("(last label)")]
    assert last[0].split()[2] == f"{np.sqrt(np.mean(steps**2)):.4g}"
    assert runs["KOGD"]["figures"]["r2"] == pytest.approx(
        1.0 - runs["KOGD"]["error"] ** 2 / np.var(np.round(y, 4))
    )


def test_features_are_scaled_by_what_came_before(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4)) * [1.0, 1e4, 1e-3, 0.0] + [0.0, 5.0, 1e3, 7.0]
    Z = scaled_online(X)
    for t in (1, 5, 300, 699):
        rows = X[: t + 1]
        spread = np.where(rows.std(axis=0) > 0.0, rows.std(axis=0), np.inf)
        expected = (X[t] - rows.mean(axis=0)) / spread
        np.testing.assert_allclose(Z[t], np.clip(expected, -5.0, 5.0), atol=1e-6)
    assert (Z[:, 3] == 0.0).all()
    some = sparse.random_array((500, 30), density=0.1, random_state=rng, format="csr") * 100.0
    scaled = scaled_online(some).toarray()
    largest = np.maximum.accumulate(np.abs(some.toarray()), axis=0)
    expected = np.divide(some.toarray(), largest, where=largest > 0.0, out=np.zeros((500, 30)))
    np.testing.assert_allclose(scaled, expected)


def test_rows_scaled_in_blocks_are_the_same(monkeypatch):
    X = np.random.default_rng(0).normal(size=(95, 3))
    whole = scaled_online(X)
    monkeypatch.setattr("forks.experiments.compare.scaling._BLOCK", 10)
    np.testing.assert_allclose(scaled_online(X), whole, atol=1e-12)


def test_models_of_others_play_the_same_rows(file):
    text, _, runs = played(
        file, "--permutations", "1", "--method", "RBP", "--seed", "3",
        "--model", "sklearn:SGDClassifier(loss='log_loss')",
    )  # fmt: skip
    X, y = load_svmlight_file(str(file))
    order = np.random.default_rng([3, 0]).permutation(len(y))
    Z, labels = scaled_online(X.toarray()[order]), y[order] == 3
    model = SGDClassifier(loss="log_loss", random_state=3)
    wrong, p = [not labels[0]], [0.5]  # a score of 0 answers the second class
    model.partial_fit(Z[:1], labels[:1], classes=[False, True])
    for t in range(1, len(y)):
        wrong.append(bool(model.predict(Z[t : t + 1])[0] != labels[t]))
        p.append(model.predict_proba(Z[t : t + 1])[0, 1])
        model.partial_fit(Z[t : t + 1], labels[t : t + 1])
    run = runs["sklearn:SGDClassifier(loss='log_loss')"]
    assert run["mistakes"] == pytest.approx(np.mean(wrong))
    assert run["figures"]["log_loss"] == pytest.approx(log_loss(labels, p))
    assert run["state_bytes"] is None
    assert "models of scikit-learn predict 1 row, then learn" in text


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_river_play_the_same_rows(n_classes, tmp_path):
    river = pytest.importorskip("river.linear_model")
    multiclass = pytest.importorskip("river.multiclass")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])
    path = tmp_path / "rows.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    name = "river:linear_model.LogisticRegression"
    text, _, runs = played(
        path, "--order", "file", "--no-scale", "--method", "RBP", "--model", name
    )
    model = river.LogisticRegression()
    model = model if n_classes == 2 else multiclass.OneVsRestClassifier(model)
    labels = (y == 1) if n_classes == 2 else y
    wrong = 0
    X = load_svmlight_file(str(path))[0].toarray()
    for x, label in zip(X.tolist(), labels.tolist(), strict=True):
        row = {f"x{j}": value for j, value in enumerate(x)}
        wrong += model.predict_one(row) != label
        model.learn_one(row, label)
    assert runs[name]["mistakes"] == wrong / len(y)
    assert 0.0 < runs[name]["figures"]["log_loss"] < 2.0
    repeats = np.append([True], y[1:] != y[:-1]).mean()
    kappa = 1.0 - runs[name]["mistakes"] / repeats
    assert runs[name]["figures"]["kappa_temporal"] == pytest.approx(kappa)
    assert "features as they are" in text
    assert "kappa-temporal" in text
    (last,) = [line for line in text.splitlines() if line.startswith("(last label)")]
    assert f"{100 * repeats:.2f}" in last


def test_a_generated_stream_is_played_in_its_order(tmp_path):
    options = ["--method", "FOGD", "--rows", "600", "--seed", "2", "--jobs", "1"]
    output = tmp_path / "runs.json"
    result = CliRunner().invoke(main, ["compare", "rotation", *options, "--output", str(output)])
    assert result.exit_code == 0, result.output
    told = json.loads(output.read_text())
    assert (told["order"], told["n_rows"]) == ("file", 600)
    _, y = changing("rotation", 600, 2)
    repeats = np.append([True], y[1:] != y[:-1]).mean()
    assert told["runs"][0]["figures"]["last_label_mistake_rate"] == repeats


def test_labels_of_text_are_classes(tmp_path):
    y = np.where(np.random.default_rng(0).random(150) < 0.4, "no", "yes")
    path = tmp_path / "t.csv"
    rows = [f"{i % 5},{label}" for i, label in enumerate(y)]
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    text, _, _ = played(path, "--permutations", "1", "--method", "RBP")
    assert "classification, 150 rows" in text
