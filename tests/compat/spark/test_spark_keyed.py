"""Keyed models in a stream: as without Spark, each row once, whatever is killed."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forks.keyed import KeyedClassifier, KeyedRegressor
from forks.keyed.apart import ApartLearner

sys.path.append(str(Path(__file__).parents[2] / "keyed"))
from keyed_streams import keyed_stream

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
]
KEYS, ROWS, FILES, FIRST = 1000, 6000, 6, 1000
SCRIPT = Path(__file__).with_name("keyed_query.py")


def write_rows(folder, keys, X, y, files):
    """Write files of rows whose times of writing tell their order."""
    (folder / "rows").mkdir(parents=True)
    for k, part in enumerate(np.array_split(np.arange(len(y)), files)):
        cells = {"id": part, "key": keys[part], "x": list(X[part]), "y": y[part]}
        path = folder / "rows" / f"{k}.parquet"
        pd.DataFrame(cells).to_parquet(path)
        os.utime(path, (1e9 + k, 1e9 + k))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a model and rows, and what the model learns of them without Spark."""
    folder = tmp_path_factory.mktemp("keyed")
    keys, X, y = keyed_stream(FIRST + ROWS, KEYS)
    keys = np.array(keys, dtype=object)
    y[FIRST + 7 :: 50] = np.nan  # no label: answered, not learned
    model = KeyedRegressor().partial_fit(keys[:FIRST], X[:FIRST], y[:FIRST])
    rest = keys[FIRST:], X[FIRST:], y[FIRST:]
    learner, kept, answers = ApartLearner(model), {}, np.empty(ROWS)
    for key in np.unique(rest[0]):
        rows = np.flatnonzero(rest[0] == key)
        answers[rows], kept[key] = learner.play(key, None, rest[1][rows], rest[2][rows])
    return folder, model, rest, answers, kept


def prepared(made, name):
    folder = made[0] / name
    write_rows(folder, *made[2], FILES)
    made[1].save(folder / "model.forks")
    return folder


def started(folder):
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def committed(folder):
    return len([p for p in (folder / "checkpoint" / "commits").glob("*") if p.name.isdigit()])


@pytest.fixture(scope="module")
def killed(made, spark):
    """The folder of a query that was killed twice, in the middle of a batch, and then ended."""
    folder = prepared(made, "killed")
    for batches, beyond in ((1, 0.3), (3, 1.0)):
        query = started(folder)
        while committed(folder) < batches:
            assert query.poll() is None, query.stderr.read()
            time.sleep(0.02)
        time.sleep(beyond)
        os.killpg(query.pid, signal.SIGKILL)
        query.wait()
        assert committed(folder) < FILES
    last = started(folder)
    _, told = last.communicate()
    assert last.returncode == 0, told
    return folder


def test_a_query_that_is_killed_gives_what_keys_learn_without_spark(made, killed, spark):
    _, model, _, answers, kept = made
    out = spark.read.parquet(str(killed / "answers")).toPandas()
    assert sorted(out["id"]) == list(range(ROWS))  # none twice, none lost
    assert np.array_equal(out.sort_values("id")["prediction"], answers)
    reader = spark.read.format("statestore").option("stateVarName", "forks")
    state = reader.load(str(killed / "checkpoint")).collect()
    assert {row["key"][0]: bytes(row["value"][0]) for row in state} == kept
    assert {len(each) for each in kept.values()} == {model.bytes_per_key_ + 8}


def test_the_model_comes_back_and_answers_as_the_stream_would(made, killed, spark):
    from forks.compat.spark import keyed_model

    _, model, (keys, X, _), _, kept = made
    before = pickle.dumps(model.corrections_.table)
    back = keyed_model(spark, killed / "checkpoint", model)
    assert pickle.dumps(model.corrections_.table) == before
    learner = ApartLearner(model)
    some = slice(0, 20)
    answers = [
        learner.play(key, kept[key], x[None], [np.nan])[0][0]
        for key, x in zip(keys[some], X[some], strict=True)
    ]
    leaning = back.corrections_.answers(
        list(keys[some]), X[some], model.common_.predict(X[some])[:, None], True
    )
    np.testing.assert_array_equal(leaning[:, 0], answers)
    assert back.n_keys_ == len({*kept, *model.corrections_.table.numbers})
    other = KeyedRegressor(rank=7).partial_fit(keys[:600], X[:600], X[:600, 0])
    with pytest.raises(ValueError, match="is that of another model"):
        keyed_model(spark, killed / "checkpoint", other)


def test_classes_and_whole_numbers_as_keys(spark, tmp_path):
    from forks.compat.spark import learn_keyed

    keys, X, y = keyed_stream(1500, 30)
    numbers = np.array([int(key.split()[1]) for key in keys])
    words = np.where(y > 0.5, "high", np.where(y > -0.5, "middle", "low"))
    model = KeyedClassifier().partial_fit(numbers[:900], X[:900], words[:900])
    table = pd.DataFrame(X[900:], columns=list("abcd")).assign(
        key=numbers[900:], label=words[900:], id=range(600)
    )
    (tmp_path / "rows").mkdir()
    table.to_parquet(tmp_path / "rows" / "0.parquet")
    rows = spark.readStream.schema(
        "a double, b double, c double, d double, key long, label string, id long"
    ).parquet(str(tmp_path / "rows"))
    answers = learn_keyed(
        rows, model, key="key", label="label", features=list("abcd"), order="id", keep=["id"]
    )
    query = (
        answers.writeStream.format("memory")
        .queryName("classes")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    out = spark.table("classes").toPandas().sort_values("id")
    assert out.columns.tolist() == ["key", "id", "prediction", "probability"]
    learner, expected = ApartLearner(model), np.empty(600, object)
    for key in np.unique(numbers[900:]):
        own = np.flatnonzero(numbers[900:] == key)
        scores, _ = learner.play(int(key), None, X[900:][own], words[900:][own])
        expected[own] = model.labels_of(scores)
    assert out["prediction"].tolist() == expected.tolist()
    assert np.mean(out["prediction"] == words[900:]) > 0.6
    assert out["probability"].between(1 / 3, 1).all()


def test_bad_arguments_of_streams(spark, tmp_path):
    from forks.compat.spark import learn_keyed

    keys, X, y = keyed_stream(700, 20)
    model = KeyedRegressor().partial_fit(keys, X, y)
    rows = spark.readStream.schema("key string, x array<double>, y double").parquet(str(tmp_path))
    good = {"key": "key", "features": "x", "label": "y"}
    cold = KeyedRegressor().partial_fit(keys[:100], X[:100], y[:100])
    for wrong, given, reason in (
        (cold, {}, "let it learn 512 at least"),
        (KeyedRegressor(), {}, "has learned rows"),
        (model, {"key": "station"}, "key: the frame has 0 columns 'station'"),
        (model, {"keep": ["id"]}, "keep: the frame has 0 columns 'id'"),
        (model, {"keep": ["key"]}, "keep: the key 'key' is there already"),
    ):
        with pytest.raises(ValueError, match=reason):
            learn_keyed(rows, wrong, **{**good, **given})
