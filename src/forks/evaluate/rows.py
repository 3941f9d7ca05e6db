"""Chunks of a stream: checked, and cut where a checkpoint is due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Rows(NamedTuple):
    """Rows of a stream, their labels and perhaps their weights."""

    X: Any  # an array, a CSR matrix, a data frame, or raw columns that are to be encoded
    y: np.ndarray  # None or NaN for rows without a label
    weights: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def part(self, start: int, stop: int) -> Rows:
        """Rows `start` to `stop`, that one left out."""
        if (start, stop) == (0, self.n_rows):
            return self  # a slice of a sparse matrix is a copy
        if hasattr(self.X, "part"):  # raw columns
            X = self.X.part(start, stop)
        else:
            X = self.X.iloc[start:stop] if hasattr(self.X, "iloc") else self.X[start:stop]
        weights = None if self.weights is None else self.weights[start:stop]
        return Rows(X, self.y[start:stop], weights)

    def parts(self, first: int, size: int) -> Iterator[Rows]:
        """Cut into `first` rows, then `size` rows each; the last part may be shorter."""
        start, stop = 0, first
        while start < self.n_rows:
            yield self.part(start, min(stop, self.n_rows))
            start, stop = stop, stop + size


def labelled_of(y: np.ndarray) -> np.ndarray | None:
    """Return which rows have a label, or None if all have."""
    if y.dtype.kind == "f":
        known = ~np.isnan(y)
    elif y.dtype.kind == "O":
        known = np.array([label is not None and label == label for label in y.tolist()], bool)
    else:
        return None
    return None if known.all() else known


def labels_among(y: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Return the labels of the rows that have one."""
    there = y if known is None else y[known]
    if there.dtype.kind == "O" and all(type(label) is str for label in there.tolist()):
        return there.astype(str)
    return there


class Queue:
    """Rows that wait for their labels, the oldest first."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._chunks: deque[Rows] = deque()

    def add(self, rows: Rows) -> None:
        self._chunks.append(rows)
        self.n_rows += rows.n_rows

    def take(self, most: int) -> Rows:
        """Take the oldest rows: those of one chunk, and not more than `most`."""
        oldest = self._chunks.popleft()
        taken = oldest.part(0, min(most, oldest.n_rows))
        if taken.n_rows < oldest.n_rows:
            self._chunks.appendleft(oldest.part(taken.n_rows, oldest.n_rows))
        self.n_rows -= taken.n_rows
        return taken

    def to_first(self) -> int:
        """Return how many rows the oldest chunk has up to the first one with a weight."""
        oldest = self._chunks[0]
        counted = [0] if oldest.weights is None else np.flatnonzero(oldest.weights)
        return int(counted[0]) + 1 if len(counted) else oldest.n_rows


def rows_of(chunk: Any, number: int) -> Rows:
    """Take a chunk (X, y) or (X, y, weights) of a stream; `number` names it in errors."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        raise ValueError(
            f"stream must give chunks (X, y) or (X, y, weights), chunk {number} is {_kind(chunk)}"
        )
    X, y, weights = chunk if len(chunk) == 3 else (*chunk, None)
    if sparse.issparse(X):
        X = X.tocsr()
    elif not (hasattr(X, "iloc") or hasattr(X, "part")):
        X = np.asarray(X)
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y of chunk {number} must have one dimension, got {y.ndim}")
    if weights is not None:
        weights = np.asarray(weights)
    for name, part in (("X", X), ("weights", weights)):
        if part is not None and (not part.shape or part.shape[0] != len(y)):
            n = part.shape[0] if part.shape else "no"
            raise ValueError(f"{name} of chunk {number} has {n} rows, but y has {len(y)}")
    return Rows(X, y, weights)


def _kind(chunk: Any) -> str:
    name = type(chunk).__name__
    return f"a {name} of {len(chunk)}" if isinstance(chunk, tuple | list) else f"of type {name}"
