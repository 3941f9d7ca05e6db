"""One model per key in Structured Streaming: what a key keeps is Spark's state of the key.

`learn_keyed` makes a stream of answers out of a stream of rows. Each key has one value of state, of
`ApartLearner.bytes_per_key` bytes. The common model and the map are sent once, as a file: variables
that are broadcast do not come to where Spark prepares such queries. A query that is killed goes on
from its checkpoint: each row is learned once, and answered once by sinks that keep what Spark
promises (files do).

Rows come one by one: `transformWithStateInPandas`, which makes a frame for each key, took three
times as long. The state store must be RocksDB, and its changelog makes batches cheap: see
`STATE_STORE`.
"""

import copy
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkFiles
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from forks.compat.spark._columns import check_columns, feature_names, rows_from
from forks.keyed import load
from forks.keyed.apart import ApartLearner

_NAME = "forks"  # of the state
_PREDICTION = "prediction"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STORE = "spark.sql.streaming.stateStore"
# Settings of a session: `builder.config(map=STATE_STORE)`.
STATE_STORE = {
    f"{_STORE}.providerClass": _PROVIDER,
    f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
}
_KINDS = {"b": BooleanType, "i": LongType, "u": LongType, "f": DoubleType}


def learn_keyed(
    frame: Any,
    model: Any,
    *,
    key: str,
    label: str,
    features: str | Sequence[str] | None = None,
    order: str | None = None,
    keep: Sequence[str] = (),
) -> Any:
    """Return a frame of answers to the rows of a stream, each made before its label is learned.

    The common model, the map and what keys share stay as they are in `model`; each key learns from
    its own rows. The answers depend on the rows of a key in their order alone, not on batches or
    partitions.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        A stream. The session's state store must be RocksDB: see `STATE_STORE`.
    model : KeyedRegressor or KeyedClassifier
        One that has learned 512 rows at least. Keys that it knows go on from there.
    key : str
        The column of the keys, strings or integers.
    label : str
        The column of the labels. Rows without one are answered, and not learned.
    features : list of str, or str, optional
        Columns of numbers, as the model has learned them, or one column of arrays. By default all
        others, without those that are kept.
    order : str, optional
        A column by which the rows of a key are sorted within a batch. Without it they are learned
        in the order in which Spark brings them, which may differ from run to run.
    keep : list of str
        Columns that are handed on beside the answers.

    Returns
    -------
    frame : pyspark.sql.DataFrame
        The key, the columns that are kept, and `prediction`: a number, or a label with its
        `probability`.
    """
    learner = ApartLearner(model)
    keep = list(dict.fromkeys(keep))
    names = feature_names(frame, features, key, label, order, *keep)
    check_columns(frame, key=key, label=label, features=names, order=order, keep=keep)
    session = frame.sparkSession
    if session.conf.get(f"{_STORE}.providerClass") != _PROVIDER:
        raise ValueError(
            "the session's state store is not RocksDB: make it with builder.config(map=STATE_STORE)"
        )
    if key in keep:
        raise ValueError(f"keep: the key {key!r} is there already")
    schema = StructType([frame.schema[key], *(frame.schema[name] for name in keep)])
    for field in _answer_fields(model):
        schema = schema.add(field)
    handed = list(dict.fromkeys([*names, label, *([] if order is None else [order]), *keep]))
    file = _sent(session.sparkContext, learner.model)
    return (
        frame.select(key, *handed)
        .groupBy(key)
        .transformWithState(
            KeyProcessor(file, key, names, label, order, keep),
            outputStructType=schema,
            outputMode="append",
            timeMode="none",
        )
    )


@lru_cache(maxsize=1)
def _outbox() -> Any:
    """Return a temporary folder, which is gone when this process ends."""
    return tempfile.TemporaryDirectory(prefix="forks-spark-")


def _sent(context: Any, model: Any) -> str:
    """Send a model to all workers, present and to come; return the name of its file there.

    The file stays: workers may ask for it later.
    """
    folder = Path(_outbox().name)
    model.save(folder / "model")
    name = f"forks-{hashlib.sha256((folder / 'model').read_bytes()).hexdigest()[:32]}"
    context.addFile(str((folder / "model").replace(folder / name)))
    return name


@lru_cache(maxsize=4)
def _learner(name: str) -> ApartLearner:
    """Return the learner of a file that was sent; a worker makes it once."""
    return ApartLearner(load(SparkFiles.get(name)))


def _answer_fields(model: Any) -> list[StructField]:
    if not hasattr(model, "classes_"):
        return [StructField(_PREDICTION, DoubleType())]
    kind = _KINDS.get(np.asarray(model.classes_).dtype.kind, StringType)
    return [StructField(_PREDICTION, kind()), StructField("probability", DoubleType())]


def _answers(model: Any, scores: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Return what is answered to each row, in the order of `_answer_fields`."""
    if not hasattr(model, "classes_"):
        return zip(scores.tolist(), strict=True)
    positive = 0.5 + 0.5 * scores
    sure = np.maximum(positive, 1.0 - positive) if scores.ndim == 1 else positive.max(axis=1)
    return zip(model.labels_of(scores).tolist(), sure.tolist(), strict=True)


class KeyProcessor(StatefulProcessor):
    """What Spark calls for each key of a batch."""

    def __init__(
        self, file: str, key: str, names: list[str], label: str, order: str | None, keep: Any
    ) -> None:
        self.file, self.key, self.names = file, key, names
        self.label, self.order, self.keep = label, order, keep

    def init(self, handle: Any) -> None:
        """Get the state, before the first key of a partition."""
        self.state = handle.getValueState(_NAME, "kept binary")

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:
        """Answer and learn the rows of a key that are in a batch."""
        learner, before = _learner(self.file), self.state.get()
        try:
            given = self._ordered(rows)
            X, y = rows_from(given, self.names), [row[self.label] for row in given]
            answers, kept = learner.play(key[0], before and bytes(before[0]), X, y)
        except ValueError as error:
            raise ValueError(f"column {self.key!r}, key {key[0]!r:.80}: {error}") from error
        self.state.update((kept,))
        names = [field.name for field in _answer_fields(learner.model)]
        answered = Row(self.key, *self.keep, *names)
        for row, answer in zip(given, _answers(learner.model, answers), strict=True):
            yield answered(key[0], *(row[name] for name in self.keep), *answer)

    def _ordered(self, rows: Iterable[Any]) -> list[Any]:
        given = list(rows)
        if self.order is None:
            return given
        if any(row[self.order] is None for row in given):
            raise ValueError(f"column {self.order!r}, by which rows are sorted, has a gap")
        return sorted(given, key=itemgetter(self.order))

    def close(self) -> None:
        """Do nothing: Spark keeps the state."""


def keyed_model(spark: Any, checkpoint: str, model: Any) -> Any:
    """Return a copy of a model with what the keys of a stream have learned.

    It answers as the stream would. It may learn further, all keys and the common model together,
    and be the model of a new stream.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    checkpoint : str
        The folder of the query's checkpoint.
    model : KeyedRegressor or KeyedClassifier
        The one that `learn_keyed` was given.
    """
    learner = ApartLearner(copy.deepcopy(model))
    state = spark.read.format("statestore").option("stateVarName", _NAME).load(str(checkpoint))
    table = learner.model.corrections_.table
    for row in state.select("key", "value").sort("key").toLocalIterator():
        key = row["key"][0]
        record = learner.record_of(key, bytes(row["value"][0]))
        slots = table.slots_for(table.add([key]))
        table.records[slots] = record
    return learner.model
