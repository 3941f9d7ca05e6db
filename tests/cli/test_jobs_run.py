"""`forks run --jobs`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import forks
from forks import distributed
from forks.cli import main
from forks.estimators.saving import as_bytes
from forks.features import TableEncoder

ROWS = 4000


def call(*arguments):
    return CliRunner().invoke(main, ["run", *map(str, arguments)])


def refused(*arguments):
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A label that depends on a number and a town; two rows have no label."""
    rng = np.random.default_rng(0)
    towns = rng.choice(["Bonn", "Oslo"], ROWS)
    a, b = rng.normal(size=(2, ROWS)).round(3)
    y = np.where(np.where(towns == "Oslo", a, -a) + 0.3 * b > 0.0, "yes", "no").astype(object)
    y[[7, 3000]] = ""
    lines = [f"{town},{p},{q},{label}" for town, p, q, label in zip(towns, a, b, y, strict=True)]
    path = tmp_path_factory.mktemp("jobs") / "t.csv"
    path.write_text("\n".join(["town,a,b,y", *lines]) + "\n")
    known = y != ""
    cells = {"town": towns.astype(object), "a": a, "b": b}
    return path, cells, y, known


def test_processes_learn_one_model(table, tmp_path):
    path, cells, y, known = table
    saved = tmp_path / "m.forks"
    result = call(path, "--jobs", 2, "--effort", "fast", "--save", saved, "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["rows"], figures["unlabelled"], figures["jobs"]) == (ROWS - 2, 2, 2)
    assert sum(map(sum, figures["confusion"])) == ROWS - 2
    alone = json.loads(call(path, "--effort", "fast", "--json").stdout)
    assert figures["mistake_rate"] < alone["mistake_rate"] + 0.02
    X = TableEncoder(task="classification").learn_transform(cells, np.where(known, y, None))
    model = forks.OnlineKernelClassifier(effort="fast", random_state=0)
    labels = y[known].astype(str)
    learned, scores = distributed.prequential((X[known], labels), model, executor=1, partitions=2)
    assert figures["mistakes"] == np.sum(learned.labels_of(scores) != labels)
    assert as_bytes(forks.load(saved)) == as_bytes(learned)
    result = call(path, "--jobs", 1, "--model", saved)
    assert result.exit_code == 0, result.output
    assert "by the fork that learned it" in result.stdout
    assert "1 processes" not in result.stdout


def test_numbers(table):
    result = call(table[0], "--jobs", 1, "--effort", "fast", "--label", "b", "--shuffle")
    assert result.exit_code == 0, result.output
    assert f"{ROWS:,} rows, root mean squared error" in result.stdout


def test_classes_that_are_told(table, tmp_path):
    saved = tmp_path / "m.forks"
    told = ("--classes", "no,perhaps,yes", "--save", saved, "--json")
    assert call(table[0], "--jobs", 1, "--effort", "fast", *told).exit_code == 0
    assert forks.load(saved).classes_.tolist() == ["no", "perhaps", "yes"]
    fault = refused(table[0], "--jobs", 1, "--classes", "yes,perhaps")
    assert "row" in fault
    assert "the label no is not among the classes perhaps, yes" in fault


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--key", "town"), "--jobs has no --key"),
        (("--predictions", "p.csv"), "--jobs has no --predictions"),
        (("--checkpoint", "c", "--resume"), "--jobs has no --checkpoint, --resume"),
        (("--metrics", "m.jsonl", "--every", "5"), "--jobs has no --metrics, --every"),
        (("--plot", "p.png"), "--jobs has no --plot"),
        (("--weights", "a"), "--jobs has no --weights"),
        (("--learner", "nogd"), "NOGD cannot be forked"),
    ],
    ids=str,
)
def test_what_jobs_do_not_have(table, arguments, reason):
    assert reason in refused(table[0], "--jobs", 2, *arguments)


def test_streams_and_numbers_of_jobs(table):
    assert "--jobs needs files" in refused("nats://localhost/rows", "--jobs", 2)
    assert call(table[0], "--jobs", 0).exit_code == 2
