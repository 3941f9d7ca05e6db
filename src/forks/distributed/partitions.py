"""Rows in partitions, and what workers do: look at one, let a fork learn of it, merge forks."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.estimators import merge

# Rows and labels, or a function without arguments that returns them, called by the worker.
Partition = tuple[Any, Any] | Callable[[], tuple[Any, Any]]

_MOST_CLASSES = 1000  # different labels of a partition: more are taken for numbers


class Look(NamedTuple):
    """What is known of a partition."""

    rows: int
    X: Any  # the first rows
    y: Any  # and their labels
    labels: Any  # all that are different; None if there are many


def partitions_of(source: Any, n: int) -> list[Partition]:
    """Return the partitions that a source has; rows and labels are dealt to n of them.

    Raises ValueError if the source is neither a pair nor a sequence of partitions.
    """
    if is_pair(source):
        X, y = (_as_array(part) for part in source)
        if X.shape[0] != y.shape[0]:
            raise ValueError(f"source: X has {X.shape[0]} rows, but y has {y.shape[0]}")
        X = X.tocsr() if sparse.issparse(X) else X
        dealt = (slice(k, None, n) for k in range(n))
        return [(_taken(X, rows), _taken(y, rows)) for rows in dealt]
    if isinstance(source, Sequence) and source and all(map(_is_partition, source)):
        return list(source)
    raise ValueError(
        "source must be a tuple (X, y), or a sequence of such tuples and of functions that return "
        f"them, got {type(source).__name__}"
    )


def is_pair(source: Any) -> bool:
    """Return whether a source is a pair of rows and labels, and no sequence of partitions."""
    return isinstance(source, tuple) and len(source) == 2 and not _is_partition(source[0])


def _as_array(rows: Any) -> Any:
    return rows if hasattr(rows, "shape") else np.asarray(rows)


def _is_partition(value: Any) -> bool:
    return callable(value) or (isinstance(value, tuple) and len(value) == 2)


def _taken(rows: Any, which: slice) -> Any:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Context in which an error tells of which partition it is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from error


def _load(partition: Partition) -> tuple[Any, Any]:
    X, y = partition() if callable(partition) else partition
    y = np.asarray(y)
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but y has {y.shape[0]}")
    return X, y


def look(number: int, partition: Partition, head: int) -> Look:
    """Return what is to be known of a partition before anything is learned."""
    with _named(number):
        X, y = _load(partition)
        labels = np.unique(y) if y.ndim == 1 else None
        few = labels is not None and len(labels) <= _MOST_CLASSES
        return Look(X.shape[0], _taken(X, slice(head)), y[:head], labels if few else None)


def cut(partition: Partition, low: int, high: int) -> tuple[Partition, int, int]:
    """Return a partition of which rows are to be learned, and the bounds of these rows in it.

    Of rows in this process it has those alone, so that no others are sent to a worker.
    """
    if callable(partition):
        return partition, low, high
    X, y = partition
    return (_taken(X, slice(low, high)), _taken(y, slice(low, high))), 0, high - low


def learn_share(
    number: int, fork: Any, partition: Partition, low: int, high: int, spare: int
) -> tuple[Any, Any, Any, Any]:
    """Return a fork that has learned rows of a partition, those that it has left out, and scores.

    Of the rows from `low` to `high` the last `spare` are left out, at most half of them. The scores
    are those of the rows that were learned, each made before. What the fork began with is not sent
    back: see `brought_back`.
    """
    with _named(number):
        X, y = _load(partition)
        stop = high - min(spare, (high - low) // 2)
        fork = copy.copy(fork)  # where there is one process, the caller's stays as it was
        half, scores = (low + stop) // 2, []
        for first, last in ((low, half), (half, stop)):
            scores.append(fork.prequential(_taken(X, slice(first, last)), y[first:last]))
            if first == low:
                fork._weigh_anew()
        fork._origin = None
        return fork, _taken(X, slice(stop, high)), y[stop:high], np.concatenate(scores)


def merge_group(forks: Sequence[Any], begins: Any) -> Any:
    """Return one fork of what several know; `begins` are the memories that they began with.

    What it began with is not sent back.
    """
    for fork in forks:
        fork._origin = fork._origin.begun_with(begins)
    merged = merge(forks, close=False)
    merged._origin = None
    return merged


def brought_back(fork: Any, sent: Sequence[Any]) -> Any:
    """Return what a worker has made of the forks that were sent, with what they began with."""
    parts = sorted(part for each in sent for part in each._origin.parts)
    fork._origin = sent[0]._origin._replace(parts=tuple(parts))
    return fork


def dealt(parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any] | None:
    """Return rows and labels of several parts in turns: the first of each, the second of each..."""
    order = _turns([len(y) for _, y in parts])
    parts = [(X, y) for X, y in parts if len(y) > 0]
    if not parts:
        return None
    rows = [X for X, _ in parts]
    if hasattr(rows[0], "iloc"):
        import pandas as pd

        X = pd.concat(rows).iloc[order]
    elif any(map(sparse.issparse, rows)):
        X = sparse.vstack(rows, format="csr")[order]
    else:
        X = np.concatenate([np.asarray(each) for each in rows])[order]
    return X, np.concatenate([y for _, y in parts])[order]


def dealt_back(values: Any, lengths: Sequence[int]) -> list[Any]:
    """Return the values of rows that were dealt, those of each part in its order."""
    back = np.empty_like(values)
    back[_turns(lengths)] = values
    return np.split(back, np.cumsum(lengths)[:-1])


def _turns(lengths: Sequence[int]) -> np.ndarray:
    """Return the rows of parts, one part behind the other, in the order of turns."""
    return np.argsort(np.concatenate([np.arange(n) for n in lengths]), kind="stable")
