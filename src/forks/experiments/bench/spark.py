"""One model per key in Spark, beside the same work without it.

Structured Streaming in ``local[2]``, with RocksDB and its changelog, files in and files out:
batches of so many keys with so many rows each, and the least time that a batch took. A batch costs
a + b keys + c rows, fitted to these by least squares. "without Spark" are the same batches by
`forks.keyed.apart`, key by key in one process, and by `KeyedRegressor.prequential`, row by row. The
answers of both sides are compared.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import wall_time
from forks.experiments.bench.keyed import MadeStream
from forks.experiments.record import Missing
from forks.keyed import KeyedRegressor
from forks.keyed.apart import ApartLearner

_SCHEMA = "id long, key long, x array<double>, y double"
SIZES = (100, 1), (100, 20), (1000, 1), (1000, 10), (10_000, 1), (10_000, 10)
Batch = tuple[Any, Matrix, Any]  # keys, rows, numbers


def measure(
    sizes: Sequence[tuple[int, int]] = SIZES,
    repeats: int = 3,
    learned: int = 20_000,
) -> Iterator[Number]:
    """Play batches of so many keys with so many rows each."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise Missing("pip install 'forks-learn[spark]'") from None
    most = max(keys for keys, _ in sizes)
    stream = _rows(learned + repeats * sum(keys * rows for keys, rows in sizes), most)
    model = KeyedRegressor().partial_fit(*(part[:learned] for part in stream))
    batches = list(_batches([part[learned:] for part in stream], sizes, repeats))
    with tempfile.TemporaryDirectory() as folder:
        times, answers, state = _with_spark(Path(folder), model, batches)
    alone, expected = _without_spark(model, batches)
    n = len(sizes)
    seconds, apart = ([min(each[i::n]) for i in range(n)] for each in (times, alone))
    for (keys, rows), spark, one in zip(sizes, seconds, apart, strict=True):
        each = "one row" if rows == 1 else f"{rows} rows"
        name = f"{keys:,} keys, {each} each"
        yield Number(name, spark, "s", column="a batch in Spark")
        yield Number(name, keys * rows / spark, column="rows a second")
        yield Number(name, keys * rows / one, column="without Spark, by key")
    rate = _row_by_row(model, batches)
    yield Number("rows a second, without Spark, row by row", rate)
    yield from _costs(sizes, seconds)
    yield Number("state of a key", float(ApartLearner(model).bytes_per_key), "bytes")
    yield Number("state on disk, of a key learned once in a batch", state, "bytes")
    yield Number("first batch, which starts and loads all", times[0], "s")
    different = float(np.sum(answers != expected))
    yield Number("answers that differ from those without Spark", different, at_most=0.0)


def _rows(n: int, n_keys: int) -> Batch:
    """Return keys, rows and numbers of a made stream."""
    made = MadeStream(n_keys, (2 * n // n_keys, 2 * n // n_keys + 2))
    chunks = []
    for chunk in made.chunks():
        chunks.append(chunk)
        if sum(len(keys) for keys, _, _ in chunks) >= n:
            break
    keys, X, y = (np.concatenate(parts)[:n] for parts in zip(*chunks, strict=True))
    return keys, X, y


def _batches(rest: Any, sizes: Sequence[tuple[int, int]], repeats: int) -> Iterator[Batch]:
    """Yield the batches, the sizes in turns; rows are given to keys anew."""
    at = 0
    for _ in range(repeats):
        for keys, rows in sizes:
            part = slice(at, at + keys * rows)
            at = part.stop
            yield np.tile(np.arange(keys), rows), rest[1][part], rest[2][part]


def _costs(sizes: Sequence[tuple[int, int]], seconds: Sequence[float]) -> Iterator[Number]:
    """Fit what a batch, a key and a row cost, none less than nothing."""
    from scipy.optimize import nnls

    A = np.array([(1.0, keys, keys * rows) for keys, rows in sizes])
    weights = 1.0 / np.array(seconds)  # relative errors count
    costs, _ = nnls(A * weights[:, None], np.ones(len(sizes)))
    for name, cost in zip(("batch", "key", "row"), costs, strict=True):
        yield Number(f"Spark's time for a {name}", 1e3 * float(cost), "ms")


# ---- with Spark --------------------------------------------------------------------------------


def _with_spark(
    folder: Path, model: KeyedRegressor, batches: Sequence[Batch]
) -> tuple[list[float], Any, float]:
    """Return the seconds of each batch, the answers, and bytes on disk for a key of a batch."""
    from pyspark.sql import SparkSession

    from forks.compat.spark import learn_keyed
    from forks.compat.spark.keyed import STATE_STORE

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _write(folder / "rows", batches)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        **STATE_STORE,
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        rows = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
        frame = rows.parquet(str(folder / "rows"))
        answers = learn_keyed(
            frame, model, key="key", features="x", label="y", order="id", keep=["id"]
        )
        query = (
            answers.writeStream.format("parquet")
            .option("path", str(folder / "answers"))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        done = [each for each in query.recentProgress if each["numInputRows"]]
        times = [each["durationMs"]["triggerExecution"] / 1e3 for each in done]
        found = spark.read.parquet(str(folder / "answers")).toPandas().sort_values("id")
    finally:
        spark.stop()
    written = sum(
        path.stat().st_size for path in (folder / "checkpoint/state").rglob("*.changelog")
    )
    updates = sum(len(np.unique(keys)) for keys, _, _ in batches)
    return times, found["prediction"].to_numpy(), written / updates


def _write(folder: Path, batches: Sequence[Batch]) -> None:
    """Write a file for each batch; their times tell their order."""
    import pandas as pd

    folder.mkdir()
    at = 0
    for i, (keys, X, y) in enumerate(batches):
        cells = {"id": np.arange(at, at + len(y)), "key": keys, "x": list(X), "y": y}
        at += len(y)
        pd.DataFrame(cells).to_parquet(folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1e9 + i, 1e9 + i))


# ---- without -----------------------------------------------------------------------------------


def _without_spark(model: KeyedRegressor, batches: Sequence[Batch]) -> tuple[list[float], Any]:
    """Return the seconds of each batch, key by key, and the answers."""
    learner, times, found = ApartLearner(model), [], []
    kept: dict[int, bytes] = {}
    for keys, X, y in batches:
        begun = time.perf_counter()
        answers = np.empty(len(y))
        order = np.argsort(keys, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            key = int(keys[own[0]])
            answers[own], kept[key] = learner.play(key, kept.get(key), X[own], y[own])
        times.append(time.perf_counter() - begun)
        found.append(answers)
    return times, np.concatenate(found)


def _row_by_row(model: KeyedRegressor, batches: Sequence[Batch]) -> float:
    """Return rows a second of the model itself, which learns all rows in their order."""
    return max(len(batch[2]) / wall_time(partial(model.prequential, *batch)) for batch in batches)


PART = Part(__doc__, measure, {"sizes": ((50, 1), (50, 10), (200, 2)), "repeats": 2})
