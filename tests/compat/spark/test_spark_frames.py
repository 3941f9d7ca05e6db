"""One model from a DataFrame, and scoring: as without Spark, bit for bit."""

import functools
import os
import signal

import numpy as np
import pandas as pd
import pytest

from forks import OnlineKernelClassifier, OnlineKernelRegressor, distributed
from forks.distributed import SparkExecutor, WorkerLostError
from forks.estimators.saving import as_bytes
from forks.learners import Adaptive
from oracle_streams import made_up

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated"),
]
SIZES = {"start": 200, "spare": 40}
NAMES = ["a", "b", "c", "d"]


def small():
    return OnlineKernelClassifier(Adaptive(buffer=40))


def rows(n=1200):
    return made_up(n, len(NAMES))


def table(n=1200):
    X, y = rows(n)
    return pd.DataFrame(X, columns=NAMES).assign(y=y)


def third(k, mark):
    """The rows of a partition; the worker that asks for the second dies, the first time."""
    if k == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    X, y = rows()
    return X[k::3], y[k::3]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_tasks_give_the_same_model_as_joblib_though_a_worker_is_killed(spark, tmp_path):
    parts = [functools.partial(third, k, tmp_path / "killed") for k in range(3)]
    learned = distributed.learn(parts, small(), executor=SparkExecutor(spark), **SIZES)
    assert (tmp_path / "killed").exists()
    again = distributed.learn(rows(), small(), executor=2, partitions=3, **SIZES)
    assert as_bytes(learned) == as_bytes(again)


def test_workers_that_always_die_end_it_and_errors_are_raised_as_they_are(spark):
    with pytest.raises(WorkerLostError, match="2 of 2 tasks were lost 1 times"):
        distributed.learn([die, die], small(), executor=SparkExecutor(spark, tries=1))
    X, y = rows(300)
    with pytest.raises(ValueError, match="partition 1: X has 3 rows, but y has 2"):
        distributed.learn([(X, y), (X[:3], y[:2])], small(), executor=SparkExecutor(spark), **SIZES)


def itself(number, part):
    return part


def test_a_frame_gives_the_model_of_its_partitions(spark):
    from forks.compat.spark import learn_frame
    from forks.compat.spark.frames import FrameExecutor

    frame = spark.createDataFrame(table())
    learned = learn_frame(frame, small(), label="y", partitions=3, **SIZES)
    assert learned.n_rounds_ == 1200
    with FrameExecutor(frame, NAMES, "y", None, 3) as executor:
        parts = executor.run(itself, list(enumerate(executor.parts)))
    joined = np.concatenate([np.column_stack(part) for part in parts])
    given = table().to_numpy()
    assert np.array_equal(joined[np.lexsort(joined.T)], given[np.lexsort(given.T)])
    again = distributed.learn(parts, small(), executor=1, **SIZES)
    assert as_bytes(learned) == as_bytes(again)
    elsewhere = frame.repartition(7).sort("c")  # the same rows
    other = learn_frame(elsewhere, small(), label="y", features=NAMES, partitions=3, **SIZES)
    assert as_bytes(other) == as_bytes(learned)


def test_rows_without_a_label_arrays_empty_partitions_and_an_order(spark):
    from pyspark.sql import functions as F

    from forks.compat.spark import learn_frame
    from forks.compat.spark.frames import FrameExecutor

    frame = spark.createDataFrame(table(300).assign(t=range(300)))
    y = F.when(F.col("t") < 240, F.when(F.col("y") > 0, "yes").otherwise("no"))
    frame = frame.select(F.array(*NAMES).alias("x"), y.alias("y"), "t")
    learned = learn_frame(
        frame, small(), label="y", features="x", order="t", partitions=2, start=100, spare=9
    )
    assert learned.n_rounds_ == 240
    assert learned.classes_.tolist() == ["no", "yes"]
    with FrameExecutor(frame, ["t"], "y", "t", 2) as executor:
        parts = executor.run(itself, list(enumerate(executor.parts)))
    for X, _ in parts:
        assert (np.diff(X[:, 0]) > 0).all()
    few = learn_frame(frame.limit(2), small(), label="y", features="x", partitions=5)
    assert few.n_rounds_ == 2


def test_numbers_with_gaps_and_columns_that_are_no_numbers(spark):
    from forks.compat.spark import learn_frame

    rows = table(300)
    rows.loc[5, "a"] = rows.loc[7, "y"] = np.nan
    frame = spark.createDataFrame(rows.assign(y=rows["y"] + 0.1 * rows["b"], town="Bonn"))
    model = OnlineKernelRegressor(effort="fast")
    assert learn_frame(frame, model, label="y", features=NAMES, partitions=2).n_rounds_ == 299
    with pytest.raises(ValueError, match="could not convert string to float: 'Bonn'"):
        learn_frame(frame, model, label="y", partitions=2)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"label": "z"}, "label: the frame has 0 columns 'z'; it has a, b, c, d, y"),
        ({"features": ["a", "q"]}, "features: the frame has 0 columns 'q'"),
        ({"partitions": 0}, "partitions must be"),
        ({"features": []}, "features: there is no column"),
    ],
    ids=str,
)
def test_bad_arguments_of_frames(spark, given, reason):
    from forks.compat.spark import learn_frame

    frame = spark.createDataFrame(table(10))
    with pytest.raises(ValueError, match=reason):
        learn_frame(frame, **{"label": "y", **given})


# ---- scoring -----------------------------------------------------------------------------------


def test_a_saved_model_scores_as_it_does_here(spark, tmp_path):
    from pyspark.sql.functions import struct

    from forks.compat.spark import predict_udf

    X, y = rows()
    words = np.where(y > 0, "yes", "no")
    model = OnlineKernelClassifier(effort="fast").partial_fit(X, words)
    model.save(tmp_path / "model.forks")
    frame = spark.createDataFrame(table())
    columns = struct(*NAMES)
    predict = predict_udf(tmp_path / "model.forks")
    likely = predict_udf(model, proba="yes")
    out = frame.select(predict(columns).alias("p"), likely(columns).alias("q")).toPandas()
    assert out["p"].tolist() == model.predict(X).tolist()
    assert np.array_equal(out["q"], model.predict_proba(X)[:, 1])
    numbers = OnlineKernelRegressor(effort="fast").partial_fit(X, X[:, 0])
    out = frame.select(predict_udf(numbers)(columns).alias("p")).toPandas()
    assert np.array_equal(out["p"], numbers.predict(X))


def test_a_model_of_a_table_encodes_columns_by_name(spark, tmp_path):
    from pyspark.sql.functions import struct
    from typer.testing import CliRunner

    from forks.cli import main
    from forks.compat.spark import predict_udf

    rng = np.random.default_rng(0)
    towns = rng.choice(["Bonn", "Ulm"], 400)
    x = rng.normal(size=400)
    data = pd.DataFrame({"x": x, "town": towns, "y": np.where(towns == "Ulm", x, -x)})
    data.to_csv(tmp_path / "data.csv", index=False)
    saved, told = tmp_path / "model.forks", tmp_path / "told.csv"
    runner = CliRunner()
    command = ["run", str(tmp_path / "data.csv"), "--effort", "fast", "--save", str(saved)]
    assert runner.invoke(main, command).exit_code == 0
    command = ["predict", str(saved), str(tmp_path / "data.csv"), "--output", str(told)]
    assert runner.invoke(main, command).exit_code == 0
    frame = spark.createDataFrame(data)
    out = frame.select(predict_udf(saved)(struct("town", "x")).alias("p")).toPandas()
    np.testing.assert_allclose(out["p"], pd.read_csv(told)["prediction"], rtol=1e-9)


def test_models_that_cannot_score(spark):
    from forks.compat.spark import predict_udf

    with pytest.raises(ValueError, match="has learned nothing"):
        predict_udf(OnlineKernelClassifier())
    X, y = rows(100)
    with pytest.raises(ValueError, match="proba: the model has no class 7"):
        predict_udf(small().partial_fit(X, y), proba=7)
