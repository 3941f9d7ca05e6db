"""`forks run`, `forks predict` and `forks info` on files of one's own."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import forks
from forks.cli import main
from forks.cli.run import Effort
from forks.estimators.named import EFFORTS
from forks.estimators.saving import read
from forks.learners.catalogue import CATALOGUE
from forks.streams.formats import FORMATS
from oracle_streams import made_up

X, Y = made_up(400, 3, 0)
COLOURS = np.random.default_rng(0).choice(["red", "green", 'dark, "blue"'], 400)


def call(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def checked(*arguments, **options):
    result = call(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments, status=2, **options):
    """Return the error, one line, which may come after what was understood."""
    result = call(*arguments, **options)
    assert result.exit_code == status, result.output
    *before, last = result.stderr.splitlines()
    assert last.startswith(("Error: ", "Usage")), result.stderr
    assert not any("rror" in line for line in before), result.stderr
    return last


def write_table(path, columns, delimiter=","):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def table():
    label = np.where(Y > 0, "yes", "no")
    return {"a": X[:, 0], "colour": COLOURS, "b": X[:, 1], "label": label, "c": X[:, 2]}


@pytest.fixture
def csv_file(tmp_path):
    return write_table(tmp_path / "t.csv", table())


@pytest.fixture
def libsvm_file(tmp_path):
    rows = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x.tolist())) for x in X]
    text = "".join(f"{int(y)} {row}\n" for y, row in zip(Y, rows, strict=True))
    (tmp_path / "t.svm").write_text(text)
    return tmp_path / "t.svm"


def lines_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_libsvm_is_learned_as_by_the_estimator(libsvm_file, tmp_path):
    model, out = tmp_path / "m", tmp_path / "p.csv"
    result = checked("run", libsvm_file, "--save", model, "--predictions", out)
    plain = forks.OnlineKernelClassifier()
    scores = plain.prequential(X, Y)
    mistakes = np.mean(plain.labels_of(scores) != Y)
    assert f"400 rows, {mistakes:.2%} mistakes" in result.stdout
    lines = lines_of(out)
    names = ["row", "prediction", "score", "probability_-1", "probability_1", "label"]
    assert lines[0] == names
    assert [line[0] for line in lines[1:]] == [str(n) for n in range(1, 401)]
    assert {line[1] for line in lines[1:]} == {"-1", "1"}
    np.testing.assert_array_equal([float(line[2]) for line in lines[1:]], scores)
    np.testing.assert_array_equal(forks.load(model).predict(X), plain.predict(X))


def test_a_model_reads_later_files_as_the_first(csv_file, tmp_path):
    model = tmp_path / "m.forks"
    checked("run", csv_file, "--label", "label", "--hash-bits", 4, "--save", model)
    columns = {c["name"]: c["numeric"] for c in read(model).note["input"]["columns"]}
    assert columns == {"a": True, "colour": False, "b": True, "c": True}
    with_labels = checked("predict", model, csv_file)
    # Columns in another order, one more, no labels, and colours that look like numbers:
    # what the first file told holds.
    columns = {"more": np.arange(400), **table()}
    other = {name: columns[name] for name in ("c", "b", "more", "colour", "a")}
    without = checked("predict", model, write_table(tmp_path / "other.csv", other))
    ours = [line.rsplit(",", 1)[0] for line in with_labels.stdout.splitlines()]
    assert without.stdout.splitlines() == ours
    other["colour"] = np.arange(400)
    numbers = write_table(tmp_path / "numbers.tsv", other, "\t")
    checked("predict", model, numbers, "--format", "tsv", "--output", tmp_path / "out.csv")
    assert len(lines_of(tmp_path / "out.csv")) == 401
    del other["b"]
    fault = refused("predict", model, write_table(tmp_path / "less.csv", other))
    assert "less.csv has no column 'b'" in fault
    checked("run", csv_file, "--model", model, "--save", model)  # the same rows once more
    assert forks.load(model).n_rounds_ == 800


def test_standard_input_is_a_file(csv_file, libsvm_file, tmp_path):
    for path, options in ((libsvm_file, ["--features", 3]), (csv_file, ["--label", "label"])):
        kind = {".svm": "libsvm", ".csv": "csv"}[path.suffix]
        a, b = tmp_path / "a", tmp_path / "b"
        checked("run", path, *options, "--save", a)
        checked("run", "-", "--format", kind, *options, "--save", b, input=path.read_bytes())
        assert a.read_bytes() == b.read_bytes()
    assert "--features" in refused("run", "-", "--format", "libsvm", input=b"1 1:1\n")
    assert "--features" in refused("run", "-", input=b"1 1:1\n")


def test_parquet(csv_file, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({name: list(values) for name, values in table().items()}), path)
    for source, out in ((path, "a"), (csv_file, "b")):
        checked("run", source, "--label", "label", "--predictions", tmp_path / out)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_several_classes_and_regression(tmp_path):
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    path = write_table(tmp_path / "three.csv", {"a": X[:, 0], "b": X[:, 1], "y": three})
    out = tmp_path / "p.csv"
    checked("run", path, "--predictions", out)
    lines = lines_of(out)
    scores, p = ([f"{kind}_{label}" for label in range(3)] for kind in ("score", "probability"))
    assert lines[0] == ["row", "prediction", *scores, *p, "label"]
    probabilities = np.array([line[5:8] for line in lines[1:]], float)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == [int(line[1]) for line in lines[1:]]).all()
    path = write_table(tmp_path / "numbers.csv", {"a": X[:, 0], "b": X[:, 1], "y": X[:, 2]})
    metrics = tmp_path / "m.jsonl"
    result = checked("run", path, "--predictions", out, "--metrics", metrics, "--every", 100)
    assert "root mean squared error" in result.stdout
    lines = lines_of(out)
    assert lines[0] == ["row", "prediction", "label"]
    errors = np.array([float(line[1]) - float(line[2]) for line in lines[1:]])
    records = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [record["rows"] for record in records] == [100, 200, 300, 400]
    assert records[-1]["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    words = write_table(tmp_path / "words.csv", {"a": X[:, 0], "y": np.where(Y > 0, "p", "q")})
    assert "labels are text" in refused("run", words, "--task", "regression")


@pytest.mark.parametrize("method", ["KOGD", "RBP", "FOGD", "PROS-N-KONS budgeted"])
def test_any_learner_with_its_parameters(method, libsvm_file, tmp_path):
    checked(
        "run", libsvm_file, "--learner", method, "--set", "bandwidth=2", "--save", tmp_path / "m"
    )
    assert forks.load(tmp_path / "m").learner_.kernel.bandwidth == 2.0


def test_every_method_of_the_catalogue_can_be_asked_for():
    from forks.cli._models import make_model

    for method in CATALOGUE:
        assert make_model("classification", method.name, {}, 0).learner == method.name
        if method.regression:
            assert make_model("regression", method.name, {}, 0).learner == method.name
    settings = {"budget": 20, "class_weight": "balanced"}
    model = make_model("classification", "nogd", settings, 3)
    assert model.learner == {"name": "nogd", "budget": 20}
    assert (model.class_weight, model.random_state) == ("balanced", 3)


def test_a_name_is_learned_as_by_the_estimator(libsvm_file, tmp_path):
    out = tmp_path / "p.csv"
    checked("run", libsvm_file, "--learner", "nogd", "--seed", 5, "--predictions", out)
    plain = forks.OnlineKernelClassifier("nogd", random_state=5)
    scores = [float(line[2]) for line in lines_of(out)[1:]]
    np.testing.assert_array_equal(scores, plain.prequential(X, Y))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--learner", "perceptron"], "no method 'perceptron'"),
        (["--set", "budget"], "key=value"),
        (["--set", "bugdet=3"], "no 'bugdet'"),
        (["--set", "rank=3"], "the adaptive learner has no 'rank'"),
        (["--task", "regression", "--set", "class_weight=balanced"], "is for classification"),
        (["--learner", "RBP", "--set", "loss=cubic"], "loss must be one of"),
        (["--learner", "RBP", "--task", "regression"], "classification only"),
        (["--task", "ranking"], "'ranking' is not one of 'auto', 'classification'"),
        (["--classes", "1,x"], "--classes must be numbers"),
        (["--classes", "1,2"], "row 1: the label -1 is not among the classes 1, 2; --classes"),
        (["--format", "xml"], "--format must be one of"),
        (["--label", "y"], "t.svm is libsvm, whose rows have no named columns"),
        (["--drop", "a*"], "t.svm is libsvm, whose rows have no named columns"),
        (["--encoding", "klingon"], "--encoding: there is no encoding 'klingon'"),
        (["--delimiter", "::"], "delimiter must be one character"),
        (
            ["--delimiter", ";", "--no-header"],
            "--delimiter, --header cannot be told of libsvm files",
        ),
        (["--resume"], "--resume needs --checkpoint"),
        (["--model", "nowhere"], "nowhere"),
        (["--features", "2"], "index 3 is larger than n_features"),
    ],
)
def test_bad_options_are_one_line_and_status_2(options, fault, libsvm_file, tmp_path):
    first = libsvm_file.read_text().splitlines(keepends=True)
    first.sort(key=lambda line: line.startswith("1"))  # a label of -1 first
    libsvm_file.write_text("".join(first))
    assert fault in refused("run", libsvm_file, *options, "--predictions", tmp_path / "p.csv")


def test_bad_files_are_one_line_and_status_2(tmp_path):
    columns = {"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]}
    path = write_table(tmp_path / "t.csv", columns)
    assert "no column 'z'; it has a, y" in refused("run", path, "--label", "z")
    assert "no file" in refused("run", tmp_path / "nowhere.csv")
    columns = {"a": [1, 2, 3, "x"], "y": [0, 1, 0, 1]}
    write_table(path, columns)
    fault = refused("run", path, "--chunk", 2)
    assert "t.csv, row 4, column 'a': 'x' is not a number (--na 'x' takes it for missing)" in fault
    checked("run", path, "--chunk", 2, "--na", "x", "--learner", "RBP")
    columns = {"a": [1, 2, 3, 4], "y": [0, 1, 0, 2]}
    write_table(path, columns)
    told = ("--classes", "0,1")
    assert "t.csv, row 4: the label 2 is not among" in refused("run", path, "--chunk", 2, *told)
    checked("run", path, "--chunk", 2)
    write_table(path, {"a": [1, 2], "y": ["", "NA"]})
    assert "not one of the first rows has a label" in refused("run", path)
    path.write_text("a,y\n")
    assert "t.csv has no rows" in refused("run", path)
    path.write_text("")
    assert "t.csv is empty" in refused("run", path)
    model = tmp_path / "m"
    model.write_bytes(b"no model")
    assert "m cannot be loaded" in refused("predict", model, path)
    assert "m cannot be loaded" in refused("info", model)


def test_a_full_disk_is_status_1(libsvm_file):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    fault = refused("run", libsvm_file, "--predictions", "/dev/full", status=1)
    assert "No space left" in fault


def test_outputs_may_be_devices(libsvm_file, tmp_path):
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.write_bytes(b"")
    except (AttributeError, OSError):
        pytest.skip("cannot make a device here")
    model, folder = tmp_path / "m", tmp_path / "c"
    checked("run", libsvm_file, "--learner", "RBP", "--save", model)
    outputs = ("--predictions", null, "--metrics", null, "--checkpoint", folder, "--every", 100)
    checked("run", libsvm_file, "--learner", "RBP", "--save", null, *outputs)
    checked("predict", model, libsvm_file, "--output", null)
    assert null.is_char_device()


def test_info(libsvm_file, tmp_path):
    model, folder = tmp_path / "m", tmp_path / "c"
    checked("run", libsvm_file, "--learner", "RBP", "--save", model, "--checkpoint", folder)
    told = json.loads(checked("info", model, "--json").stdout)
    assert told["estimator"] == "OnlineKernelClassifier"
    assert told["learner"]["kind"] == "RBP"
    assert told["classes"] == ["-1", "1"]
    assert told["features"] == 3
    assert told["rounds"] == 400
    assert told["stored_points"] == forks.load(model).n_points_
    assert told["bytes"] == model.stat().st_size
    assert told["library"] == forks.__version__
    assert told["input"]["format"] == "libsvm"
    text = checked("info", model).stdout
    assert "RBP(kernel=Gaussian(bandwidth=" in text
    assert "learner=RBP" in text
    assert json.loads(checked("info", folder, "--json").stdout)["run"]["rows"] == 400


def test_info_tells_what_matters_and_what_happened(csv_file, tmp_path):
    n, rng = 1200, np.random.default_rng(0)
    rows = rng.normal(size=(n, 3))
    label = np.where(rows[:, 1] * np.abs(rows[:, 1]) > 0, "up", "down")
    path = write_table(tmp_path / "u.csv", {**dict(zip("abc", rows.T, strict=True)), "y": label})
    model = tmp_path / "m"
    checked("run", path, "--save", model)
    told = json.loads(checked("info", model, "--json").stdout)
    assert next(iter(told["relevance"])) == "b"
    assert sum(told["relevance"].values()) == pytest.approx(1.0)
    names = {event["relevance"]["name"] for event in told["events"] if "relevance" in event}
    assert names <= set("abc")
    text = checked("info", model).stdout
    assert "relevance      b " in text
    assert f"row {told['events'][-1]['round']:,}: expert" in text
    checked("run", csv_file, "--label", "label", "--save", model)
    relevant = json.loads(checked("info", model, "--json").stdout)["relevance"]
    assert len(relevant) == 8  # a, b, c, the colours, and room for more
    assert "a" in relevant
    checked("run", csv_file, "--label", "label", "--effort", "fast", "--save", model)
    assert "relevance" not in json.loads(checked("info", model, "--json").stdout)


def test_effort(libsvm_file, tmp_path):
    sizes = {}
    for effort in ("fast", "balanced"):
        checked("run", libsvm_file, "--effort", effort, "--save", tmp_path / effort)
        plain = forks.OnlineKernelClassifier(effort=effort, random_state=0)
        model = forks.load(tmp_path / effort)
        assert model.learner_ == plain._learner()
        sizes[effort] = model.engine_.state_bytes
    assert sizes["fast"] < sizes["balanced"]
    fault = refused("run", libsvm_file, "--model", tmp_path / "fast", "--effort", "best")
    assert "--effort" in fault
    assert "effort='best'" in refused("run", libsvm_file, "--learner", "RBP", "--effort", "best")


def test_a_file_sorted_by_its_labels(tmp_path):
    order = np.argsort(Y, kind="stable")
    columns = {**dict(zip("abc", X[order].T, strict=True)), "y": Y[order].astype(int)}
    path, one, two = write_table(tmp_path / "s.csv", columns), tmp_path / "1", tmp_path / "2"
    result = checked("run", path)
    warned = [line for line in result.stderr.splitlines() if line.startswith("Warning: ")]
    assert len(warned) == 1
    assert "long runs" in warned[0]
    assert warned[0].endswith("(--shuffle)")
    result = checked("run", path, "--shuffle", "--predictions", one, "--save", tmp_path / "m")
    assert "Warning" not in result.stderr
    permuted = np.random.default_rng(0).permutation(len(Y))
    plain = forks.OnlineKernelClassifier()
    scores = plain.prequential(X[order][permuted], Y[order][permuted])
    got = [float(line[2]) for line in lines_of(one)[1:]]
    np.testing.assert_array_equal(got, scores)
    checked("run", path, "--shuffle", "--chunk", 7, "--predictions", two)
    assert one.read_bytes() == two.read_bytes()
    checked("run", path, "--shuffle", "--seed", 1, "--predictions", two)
    assert one.read_bytes() != two.read_bytes()
    text = path.read_text()
    fault = refused("run", "-", "--format", "csv", "--shuffle", input=text)
    assert "--shuffle needs a file that can be read to its end, not standard input" in fault


def test_a_shuffled_run_is_resumed(libsvm_file, tmp_path):
    options = ["--shuffle", "--every", 100, "--checkpoint", tmp_path / "c"]
    checked("run", libsvm_file, *options, "--save", tmp_path / "one")
    checked("run", libsvm_file, *options, "--resume", "--save", tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    note = refused("run", libsvm_file, *options[1:], "--resume")
    assert "another" in note


def test_the_last_figures_as_a_table_and_as_json(libsvm_file, tmp_path):
    metrics = tmp_path / "m.jsonl"
    command = ["run", libsvm_file, "--effort", "fast", "--every", 200, "--metrics", metrics]
    table = checked(*command)
    told = checked(*command, "--json", "--no-progress")
    figures = json.loads(told.stdout)
    assert told.stderr.splitlines() == ["label: classification (2 classes: -1, 1); 3 features"]
    assert figures.items() >= json.loads(metrics.read_text().splitlines()[-1]).items()
    assert figures["mends"] == 0
    rows = dict(line.split("  ", 1) for line in table.stdout.splitlines()[3:] if "  " in line)
    assert rows["accuracy"].split() == [f"{figures['accuracy']:.2%}"] * 2
    assert rows["AUC"].split()[0] == f"{figures['auc']:.4f}"
    assert rows["log loss"].split()[1] == f"{figures['recent_log_loss']:.4f}"
    assert rows["label -1"].split() == [str(n) for n in figures["confusion"][0]]
    assert f"{figures['last_label_mistake_rate']:.2%}" in table.stdout
    assert f"{figures['majority_mistake_rate']:.2%}" in table.stdout
    # No line is there twice when both streams go to one place, and the last record has none.
    assert [line.split(",")[0] for line in table.stderr.splitlines()[1:]] == [
        "200 rows",
        "400 rows",
    ]
    table = checked(*command[:-4], "--every", 300)
    together = [*table.stderr.splitlines(), *filter(None, table.stdout.splitlines())]
    assert len(set(together)) == len(together)
    assert len(table.stderr.splitlines()) == 2


def test_figures_of_numbers(tmp_path):
    path = write_table(tmp_path / "n.csv", {"a": X[:, 0], "b": X[:, 1], "y": X[:, 2]})
    out = tmp_path / "p.csv"
    figures = json.loads(checked("run", path, "--predictions", out, "--json").stdout)
    answers, labels = np.array([line[1:3] for line in lines_of(out)[1:]], float).T
    errors = answers - labels
    assert figures["r2"] == pytest.approx(
        1.0 - np.sum(errors**2) / np.sum((labels - labels.mean()) ** 2)
    )
    assert figures["recent_median_absolute_error"] == pytest.approx(np.median(np.abs(errors)))
    text = checked("run", path).stdout
    assert "always the mean label" in text
    assert "label" not in text.splitlines()[-1]  # no confusion matrix


def test_progress_tells_speed_and_time_left(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60_000)))
    command = ["run", path, "--effort", "fast", "--chunk", 2000, "--every", 20_000]
    lines = checked(*command, "--progress").stderr.splitlines()
    lines = [line for line in lines if "rows/s" in line]
    assert len(lines) == 3
    if os.path.exists("/proc/self/fdinfo"):
        shares = [int(line.split("% read")[0].rsplit(" ", 1)[1]) for line in lines[:2]]
        assert 20 < shares[0] < shares[1] < 100
        assert all(line.endswith(" left") for line in lines[:2])
    assert "rows/s" not in checked(*command).stderr


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_predict_tells_what_moved_each_answer(effort, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 3)) + np.array([0.0, 5.0, 0.0])
    label = np.where(rows[:, 1] > 5.0, "up", "down")
    path = write_table(tmp_path / "u.csv", {**dict(zip("abc", rows.T, strict=True)), "y": label})
    saved, out = tmp_path / "m", tmp_path / "o.csv"
    checked("run", path, "--effort", effort, "--save", saved)
    told = checked("predict", saved, path, "--explain", 2, "--output", out, "--json")
    lines = lines_of(out)
    p = ["probability_down", "probability_up"]
    ends = ["feature_1", "effect_1", "feature_2", "effect_2"]
    assert lines[0] == ["row", "prediction", "score", *p, "label", *ends]
    model = forks.load(saved)
    np.testing.assert_array_equal(np.array([line[3:5] for line in lines[1:]], float),
                                  model.predict_proba(rows))  # fmt: skip
    effects = model.explain(rows)
    first = np.abs(effects).argmax(axis=1)
    assert [line[6] for line in lines[1:]] == ["abc"[j] for j in first]
    np.testing.assert_array_equal([float(line[7]) for line in lines[1:]],
                                  effects[np.arange(1000), first])  # fmt: skip
    assert np.mean(first == 1) > 0.9
    figures = json.loads(told.stdout)
    assert figures["accuracy"] == np.mean(model.predict(rows) == label)
    assert not any(name.startswith(("recent", "last")) for name in figures)
    assert "--json needs --output" in refused("predict", saved, path, "--json")
    many = checked("predict", saved, path, "--explain", 5).stdout.splitlines()
    assert many[0].endswith("feature_5,effect_5")
    assert many[1].endswith(",,0.0,,0.0")


def test_a_picture_of_few_rows_has_curves_and_lines_to_beat(libsvm_file, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from forks.experiments import curve

    drawn = []
    usual = curve.Figure.savefig
    monkeypatch.setattr(
        curve.Figure, "savefig", lambda self, *a, **k: (drawn.append(self), usual(self, *a, **k))
    )
    checked("run", libsvm_file, "--plot", tmp_path / "p.png")
    errors, relevance = drawn[0].axes
    lines = {line.get_label(): line for line in errors.lines}
    assert len(lines["all rows so far"].get_xdata()) == 100
    assert "always the most frequent class" in lines
    assert errors.get_title(loc="left") == "t.svm: 400 rows"
    assert len(relevance.patches) == 3  # a bar for each feature
    assert errors.xaxis.get_major_formatter()(12345.0, 0) == "12,345"


def test_a_picture(libsvm_file, tmp_path):
    pytest.importorskip("matplotlib")
    checked("run", libsvm_file, "--every", 50, "--plot", tmp_path / "p.png")
    one = (tmp_path / "p.png").read_bytes()
    assert one[1:4] == b"PNG"
    checked("run", libsvm_file, "--effort", "fast", "--every", 50, "--plot", tmp_path / "p.png")
    two = (tmp_path / "p.png").read_bytes()
    heights = [int.from_bytes(picture[20:24], "big") for picture in (one, two)]
    assert heights[0] > heights[1]  # a panel more: what mattered when
    assert call("run", libsvm_file, "--plot", tmp_path / "p.txt").exit_code == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_writes_a_checkpoint(number, libsvm_file, tmp_path):
    text = libsvm_file.read_text()
    folder, out = tmp_path / "c", tmp_path / "p.csv"
    options = ["--features", "3", "--learner", "RBP", "--every", "1000", "--chunk", "100"]
    common = ["run", "-", "--format", "libsvm", *options]
    command = [*common, "--checkpoint", str(folder), "--predictions", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "forks.cli", *command],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write("".join(text.splitlines(keepends=True)[:250]))
    process.stdin.flush()
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if out.exists() and out.read_bytes().count(b"\n") > 200:
            break  # it waits for more
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "--resume goes on" in stderr
    assert forks.load(folder / "checkpoint.forks").n_rounds_ in (100, 200)
    checked(*command, "--resume", input=text)
    checked(*common, "--predictions", tmp_path / "whole.csv", input=text)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_choices_are_those_of_the_rooms():
    assert tuple(Effort) == tuple(EFFORTS)


def test_help_and_completion():
    text = checked("run", "--help").stdout
    for option in ("--label", "--resume", "--checkpoint", "--every", "--save", "--set"):
        assert option in text
    assert "Exit status" in text
    assert "auto|classification|regression" in text
    assert ", ".join(FORMATS) in " ".join(text.split())
    assert "--install-completion" in checked("--help").stdout
    environment = {"_FORKS_COMPLETE": "complete_bash", "COMP_WORDS": "forks ru", "COMP_CWORD": "1"}
    shown = CliRunner().invoke(main, [], env=environment, prog_name="forks")
    assert "run" in shown.output.split()


@pytest.mark.parametrize("words", ["run x --learner FOG", "compare ger", "data fetch ger"])
def test_values_are_completed(words):
    count = str(len(words.split()))
    environment = {"_FORKS_COMPLETE": "complete_bash", "COMP_WORDS": f"forks {words}"}
    environment["COMP_CWORD"] = count
    shown = CliRunner().invoke(main, [], env=environment, prog_name="forks")
    assert shown.output.split() == ["FOGD" if "FOG" in words else "german"]
