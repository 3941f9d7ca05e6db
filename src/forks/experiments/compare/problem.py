"""What is compared: rows, labels and task of a data set, or of any file that `forks run` takes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forks.datasets import describe, load, names, published_orders
from forks.evaluate.rows import labelled_of, labels_among
from forks.features import TableEncoder
from forks.streams import CHANGING, StreamError, changing
from forks.streams.columns import RawTable, joined
from forks.streams.tables import InputFile, Told

REGRESSION, CLASSIFICATION = "regression", "classification"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared."""

    data: str
    task: str
    order: str  # "shuffled" or "file"
    scale: bool
    budget: int
    bandwidth: float
    n_rows: int
    n_permutations: int
    seed: int
    batch: int


class Problem(NamedTuple):
    """Rows and labels, two classes as False and True, which every library takes.

    joblib shares large arrays between processes.
    """

    name: str
    X: Any
    y: np.ndarray
    task: str
    orders: Any  # the published ones
    time_order: bool  # is the order of the rows known to be that of time?

    @property
    def classes(self) -> np.ndarray | None:
        return None if self.task == REGRESSION else np.unique(self.y)


def made_up_problem(name: str, n_rows: int, seed: int) -> Problem:
    """Return a generated stream that changes, in its own order."""
    X, y = changing(name, n_rows, seed)
    return Problem(name, X, _labels(y), CLASSIFICATION, np.empty((0, 0), np.int64), True)


def read_problem(
    data: str, label: str | None, task: str | None, task_of: Callable[[np.ndarray], str]
) -> Problem:
    """Read a data set by its name, or a file; `task_of` guesses the task by the labels."""
    if data in names(None):
        if label is not None:
            raise ValueError(f"--label is for files, and {data} is a data set")
        entry = describe(data)
        X, y = load(data)
        of_entry = None if entry.task == "either" else entry.task
        orders, in_time = published_orders(data), entry.time_order
    else:
        X, y = _read_file(data, label)
        of_entry, orders, in_time = None, published_orders(data), False
    task = task or of_entry or task_of(y)
    if task == REGRESSION:
        if y.dtype.kind not in "biuf":
            raise StreamError(f"{data}: the labels are text, and regression needs numbers")
        y = y.astype(np.float64)
    elif len(np.unique(y)) < 2:
        first = f"{y[0]:g}" if y.dtype.kind in "biuf" else str(y[0])
        raise ValueError(f"{data}: labels must be of two classes or more, got one: {first}")
    else:
        y = _labels(y)
    return Problem(data, X, y, task, orders, in_time)


def _labels(y: np.ndarray) -> np.ndarray:
    classes = np.unique(y)
    return np.asarray(y == classes[1]) if len(classes) == 2 else y


def _read_file(data: str, label: str | None) -> tuple[Any, np.ndarray]:
    """Return the rows and labels of a file, read as by `forks run`."""
    if not Path(data).is_file():
        known = [name for name in names(None) if describe(name).read is not None]
        raise FileNotFoundError(
            f"{data!r} is neither a file nor one of the data sets {', '.join(known)}, nor one of "
            f"the generated streams {', '.join(CHANGING)}"
        )
    with InputFile(data, told=Told(label=label)) as file:
        chunks = list(file.chunks())
    if not chunks:
        raise StreamError(f"{data} has no rows")
    labels: Any = [chunk.y for chunk in chunks]
    y: np.ndarray = np.concatenate(labels)
    there = labelled_of(y)
    some: Any = slice(None) if there is None else there
    X = joined([chunk.X for chunk in chunks])
    if isinstance(X, RawTable):  # encoded without the labels, whatever their order
        X = TableEncoder(kinds=file.kinds).fit_transform(X)
    return X[some], labels_among(y, there)
