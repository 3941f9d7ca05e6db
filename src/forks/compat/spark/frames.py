"""One model from the rows of a DataFrame: forks learn partitions where they are, and are merged."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forks.compat.spark._columns import check_columns, feature_names, rows_of
from forks.distributed import SparkExecutor, learn
from forks.distributed.executors import Task, until_done
from forks.distributed.on_spark import done, results_of
from forks.engine.checks import whole


def learn_frame(
    frame: Any,
    model: Any = None,
    *,
    label: str,
    features: str | Sequence[str] | None = None,
    order: str | None = None,
    partitions: int | None = None,
    **settings: Any,
) -> Any:
    """Return one model that has learned all rows of a DataFrame, by the workers of Spark.

    A DataFrame has no order: rows go to partitions, and are learned there, in the order of a hash
    of what they are. So the model depends on the rows and the number of partitions alone, and a
    partition that is lost comes back the same. The rows are kept in the memory of the workers, or
    on their disks, while the model is made.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    model : estimator, optional
        See `forks.distributed.learn`.
    label : str
        The column of the labels. Rows without one are left out.
    features : list of str, or str, optional
        Columns of numbers, or one column of arrays. By default all others, without the order.
    order : str, optional
        A column by which the rows of a partition are sorted, where time matters.
    partitions : int, optional
        How many; by default as many tasks as Spark does at a time.
    **settings
        `start`, `rounds` and `spare` of `forks.distributed.learn`.

    Returns
    -------
    model : estimator
        A new one.
    """
    names = feature_names(frame, features, label, order)
    check_columns(frame, label=label, features=names, order=order)
    with FrameExecutor(frame, names, label, order, partitions) as rows:
        return learn(rows.parts, model, executor=rows, **settings)


class InFrame:
    """A partition of a frame, by its number: rows and labels on the worker that has it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self) -> Any:
        raise RuntimeError("the rows of this partition are in Spark")


class FrameExecutor:
    """Calls functions on workers with the rows of partitions in place of `InFrame`."""

    def __init__(
        self, frame: Any, names: list[str], label: str, order: str | None, partitions: int | None
    ) -> None:
        self._executor = SparkExecutor(frame.sparkSession)
        n = self.workers if partitions is None else whole("partitions", partitions, 1)
        self.parts = [InFrame(k) for k in range(n)]
        self._names, self._label = names, label
        self._width = _width(frame, names)
        self._rows = _in_partitions(frame, names, label, order, n)

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time."""
        return self._executor.workers

    def __enter__(self) -> "FrameExecutor":
        self._rows = self._rows.persist()
        return self

    def __exit__(self, *error: Any) -> None:
        self._rows.unpersist()

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task, which has one `InFrame`."""
        from pyspark.cloudpickle import dumps

        context = self._rows.sparkSession.sparkContext
        places = [next(part.number for part in task if isinstance(part, InFrame)) for task in tasks]

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            asked = {places[i]: dumps((i, function, tasks[i])) for i in left}
            shared = context.broadcast(asked)
            work = _Work(shared, self._names, self._label, self._width)
            job = self._rows.mapInPandas(work, "result binary")
            try:
                yield from results_of(lambda: [bytes(row[0]) for row in job.collect()])
            finally:
                shared.destroy()

        return until_done(self._executor.tries, len(tasks), attempt)


class _Work:
    """Does the task of the partition that a worker has."""

    def __init__(self, shared: Any, names: list[str], label: str, width: int) -> None:
        self.shared, self.names, self.label, self.width = shared, names, label, width

    def __call__(self, tables: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext
        from pyspark.cloudpickle import loads

        context = TaskContext.get()
        assert context is not None  # on a worker
        packed = self.shared.value.get(context.partitionId())
        if packed is None:
            return
        i, function, task = loads(packed)

        def on_rows(*task: Any) -> Any:
            rows = self._rows(list(tables))
            return function(*(rows if isinstance(part, InFrame) else part for part in task))

        yield pd.DataFrame({"result": [done(i, on_rows, task)]})

    def _rows(self, tables: list[Any]) -> tuple[Any, Any]:
        if not tables:
            return np.empty((0, self.width)), np.empty(0)
        table = pd.concat(tables, ignore_index=True)
        return rows_of(table, self.names), table[self.label].to_numpy()


def _width(frame: Any, names: list[str]) -> int:
    """Return the number of features; that of a column of arrays is the length of the first."""
    if len(names) > 1 or frame.schema[names[0]].dataType.typeName() != "array":
        return len(names)
    first = frame.select(names[0]).first()
    return 1 if first is None else len(first[0])


def _in_partitions(frame: Any, names: list[str], label: str, order: str | None, n: int) -> Any:
    """Return the rows that have a label, in n partitions that depend on what they are alone."""
    from pyspark.sql import functions as F

    columns = list(dict.fromkeys([*names, label, *([] if order is None else [order])]))
    digest = F.xxhash64(*columns)
    by = [digest if order is None else F.col(order), *(F.col(name) for name in columns)]
    has_label = F.col(label).isNotNull()
    if frame.schema[label].dataType.typeName() in ("double", "float"):
        has_label &= ~F.isnan(label)
    labelled = frame.where(has_label).select(*columns)
    return labelled.repartition(n, digest).sortWithinPartitions(*by)
