"""`forks run --key`."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from forks.cli import main
from forks.keyed import KeyedRegressor, load


def forks(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


def call(*arguments):
    return forks("run", *arguments)


def refused(*arguments):
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr.splitlines()[-1]


@pytest.fixture
def table(tmp_path):
    """A label that depends on the key; one row has no label."""
    rng = np.random.default_rng(0)
    shift = {"Rome": -2.0, "Oslo": 0.0, "Bonn": 2.0}
    lines = ["town,a,b,y"]
    for i in range(600):
        town, (a, b) = rng.choice(list(shift)), rng.normal(size=2).round(3)
        y = "" if i == 9 else ("yes" if a + shift[town] > 0.0 else "no")
        lines.append(f"{town},{a},{b},{y}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_learns_by_key(table):
    result = call(table, "--key", "town", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["rows"], figures["unlabelled"], figures["keys"]) == (600, 1, 3)
    without = json.loads(call(table, "--effort", "fast", "--drop", "town", "--json").stdout)
    assert figures["mistake_rate"] < 0.7 * without["mistake_rate"]
    same = json.loads(call(table, "--key", "town", "--chunk", 50, "--json").stdout)
    assert same["mistakes"] == figures["mistakes"]


def test_numbers_and_what_is_printed(table):
    result = call(table, "--key", "town", "--label", "b")
    assert result.exit_code == 0, result.output
    assert "3 keys of 1,288 bytes" in result.stdout
    assert "root mean squared error" in result.stdout
    assert call(table, "--key", "town", "--categorical", "town").exit_code == 0


def test_classes_that_are_told(table):
    told = json.loads(call(table, "--key", "town", "--classes", "no,perhaps,yes", "--json").stdout)
    assert told["classes"] == ["no", "perhaps", "yes"]
    fault = refused(table, "--key", "town", "--label", "b", "--classes", "no,yes")
    assert "--classes is for classification" in fault


def test_what_it_refuses(table, tmp_path):
    assert "has no column 'nix'; it has town, a, b, y" in refused(table, "--key", "nix")
    assert "'y' is the label or the weights" in refused(table, "--key", "y")
    fault = refused(table, "--key", "town", "--drop", "town")
    assert "town" in fault
    fault = refused(table, "--key", "town", "--save", tmp_path / "m", "--set", "a=1")
    assert "--set: a keyed model has no 'a'" in fault
    assert "rank must be" in refused(table, "--key", "town", "--set", "rank=0")
    assert "--key has a learner of its own" in refused(table, "--key", "town", "--learner", "RBP")
    words = tmp_path / "words.csv"
    words.write_text("k,words,y\n" + "".join(f"k,one word {i} or two,{i}\n" for i in range(99)))
    fault = refused(words, "--key", "k", "--text", "words", "--hash-bits", 12)
    assert "and --key learns at most 1,024" in fault
    assert not (tmp_path / "m").exists()
    assert "cannot be both" in refused(table, "--key", "town", "--numeric", "town")
    table.write_text(table.read_text().replace("Rome", "NA", 1))
    assert "the key is missing" in refused(table, "--key", "town")


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_saved_model_predicts_goes_on_and_is_told_of(table, tmp_path):
    model, out = tmp_path / "m.forks", tmp_path / "p.csv"
    assert call(table, "--key", "town", "--save", model, "--set", "max_keys=2").exit_code == 0
    told = json.loads(forks("info", model, "--json").stdout)
    assert (told["estimator"], told["keys"], told["key"]) == ("KeyedClassifier", 3, "town")
    assert told["parameters"]["max_keys"] == 2
    result = forks("predict", model, table, "--output", out)
    assert result.exit_code == 0, result.output
    rows = read(out)
    right = [row["prediction"] == row["label"] for row in rows if row["label"]]
    assert len(right) == 599
    assert np.mean(right) > 0.95
    assert float(rows[0]["probability_no"]) + float(rows[0]["probability_yes"]) == pytest.approx(1)
    more = call(table, "--model", model, "--save", tmp_path / "n.forks", "--json")
    assert json.loads(more.stdout)["mistake_rate"] < 0.05
    assert json.loads(forks("info", tmp_path / "n.forks", "--json").stdout)["rounds"] == 1200


def test_what_a_saved_model_refuses(table, tmp_path):
    model, bad = tmp_path / "m.forks", tmp_path / "bad.csv"
    call(table, "--key", "town", "--save", model)
    assert "with the key 'town': --key a" in refused(table, "--model", model, "--key", "a")
    plain = tmp_path / "plain.forks"
    call(table, "--learner", "RBP", "--save", plain)
    assert "holds a model with no keys" in refused(table, "--model", plain, "--key", "town")
    bare = tmp_path / "bare.forks"
    KeyedRegressor().partial_fit(["a", "b"], [[1.0], [2.0]], [1.0, 2.0]).save(bare)
    assert "but not which column has the keys" in refused(table, "--model", bare)
    assert "but not which column has the keys" in forks("predict", bare, table).stderr
    bad.write_text("town,a,b\nRome,1,2\n,3,4\n")
    result = forks("predict", model, bad)
    assert result.exit_code == 2
    assert "bad.csv, row 2, column 'town': the key is missing" in result.stderr
    bad.write_text("a,b\n1,2\n")
    assert "town" in forks("predict", model, bad).stderr
    for command in (("fork", model, "-n", 2), ("merge", model, model, "-o", bad)):
        assert "with keys, which cannot be forked and merged" in forks(*command).stderr
    assert "--explain is not for models" in forks("predict", model, table, "--explain", 1).stderr


def test_a_run_that_fails_goes_on_from_its_checkpoint(table, tmp_path):
    """The end of a run that was stopped by a bad key, which was mended, is that of a whole one."""
    good = table.read_text()
    options = ("--key", "town", "--chunk", 50, "--every", 100, "--resume", "--set", "max_keys=2")

    def run(name, text):
        table.write_text(text)
        outputs = ("--checkpoint", tmp_path / name, "--save", tmp_path / f"{name}.forks")
        return call(table, *options, *outputs, "--predictions", tmp_path / f"{name}.csv")

    assert run("whole", good).exit_code == 0
    lines = good.splitlines()
    lines[400] = "x" * 2000 + lines[400][4:]
    stopped = run("stopped", "\n".join(lines))
    assert stopped.exit_code == 2
    assert "row 400, column 'town': the key has 2,000 characters" in stopped.stderr
    assert run("stopped", good).exit_code == 0
    for ending in (".forks", ".csv"):
        whole, again = (tmp_path / f"{name}{ending}" for name in ("whole", "stopped"))
        assert whole.read_bytes() == again.read_bytes()
    fault = refused(table, "--resume", "--checkpoint", tmp_path / "whole", "--every", 100)
    assert "is of a run with another --key" in fault


def test_a_class_that_comes_late(table, tmp_path):
    lines = table.read_text().splitlines()
    late = [line.replace(",yes", ",perhaps") if i > 300 else line for i, line in enumerate(lines)]
    table.write_text("\n".join(late))
    result = call(table, "--key", "town", "--chunk", 100, "--json", "--save", tmp_path / "m")
    assert json.loads(result.stdout)["classes"] == ["no", "perhaps", "yes"], result.output
    fault = refused(table, "--key", "town", "--chunk", 100, "--classes", "no,yes")
    assert "the label perhaps is not among the classes" in fault


def test_keys_are_text_whatever_they_look_like(tmp_path):
    """Long numbers are not rounded, zeros before them count, and --only does not lose them."""
    rng = np.random.default_rng(0)
    names = ["7", "007", str(2**60), str(2**60 + 1)]
    lines = ["id,a,b,y"]
    for _ in range(400):
        name, a = rng.choice(names), rng.normal()
        lines.append(f"{name},{a:.3f},1,{names.index(name) * 10 + a:.3f}")
    path, model = tmp_path / "t.csv", tmp_path / "m.forks"
    path.write_text("\n".join(lines))
    result = call(path, "--key", "id", "--only", "a", "--task", "regression", "--save", model)
    assert "4 keys of" in result.stdout, result.output
    assert list(load(model).corrections_.table.numbers) == list(
        dict.fromkeys(line.split(",")[0] for line in lines[1:])
    )
    rows = tmp_path / "rows.jsonl"
    ids = (7, str(2**60 + 1))
    rows.write_text("".join(json.dumps({"id": i, "a": 0.0}) + "\n" for i in ids))
    forks("predict", model, rows, "--output", tmp_path / "p.csv")
    assert [round(float(row["prediction"]), -1) for row in read(tmp_path / "p.csv")] == [0.0, 30.0]
