"""Rows with labels, as requests bring them: columns of cells."""

from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Rows, perhaps with labels and weights."""

    columns: dict[str, list[Any]]
    labels: list[Any]  # none if the rows are to be predicted only
    weights: list[float] | None
    n: int

    @classmethod
    def of_columns(
        cls, columns: dict[str, Any], labels: list[Any], weights: list[float] | None
    ) -> "Batch":
        """Make it of columns of one length."""
        n = len(next(iter(columns.values()))) if columns else len(labels)
        for name, cells in columns.items():
            if len(cells) != n:
                raise ValueError(f"column {name!r} has {len(cells)} cells, but the first has {n}")
        return cls(columns, labels, weights, n)

    @classmethod
    def of_rows(
        cls, rows: list[dict[str, Any]], labels: list[Any], weights: list[float] | None
    ) -> "Batch":
        """Make it of rows; a cell that a row does not have is missing."""
        if len(rows) == 1:
            return cls({name: [cell] for name, cell in rows[0].items()}, labels, weights, 1)
        columns = _of_like_rows(rows)
        if columns is None:
            names = dict.fromkeys(chain.from_iterable(rows))
            columns = {name: [row.get(name) for row in rows] for name in names}
        return cls(columns, labels, weights, len(rows))

    def __len__(self) -> int:
        return self.n

    def part(self, start: int, stop: int) -> "Batch":
        columns = {name: cells[start:stop] for name, cells in self.columns.items()}
        weights = None if self.weights is None else self.weights[start:stop]
        n = len(range(*slice(start, stop).indices(self.n)))
        return Batch(columns, self.labels[start:stop], weights, n)

    @classmethod
    def concatenated(cls, batches: list["Batch"]) -> "Batch":
        """Return the rows of batches, one after the other; cells that one has not are missing."""
        names = dict.fromkeys(name for batch in batches for name in batch.columns)
        columns = {
            name: [c for batch in batches for c in batch.columns.get(name) or [None] * batch.n]
            for name in names
        }
        labels = [label for batch in batches for label in batch.labels]
        weights = None
        if any(batch.weights is not None for batch in batches):
            weights = [w for batch in batches for w in batch.weights or [1.0] * batch.n]
        return cls(columns, labels, weights, sum(batch.n for batch in batches))

    def columns_for(self, encoder: Any) -> dict[str, list[Any]]:
        """Return the columns that an encoder knows; those that no row has are missing."""
        names = encoder.feature_names_in_
        return {name: self.columns.get(name) or [None] * self.n for name in names}

    def matrix(self, estimator: Any) -> np.ndarray:
        """Return numbers, for an estimator without an encoder: columns by their names, or order."""
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = list(self.columns)
            width = estimator.n_features_in_
            if len(names) != width:
                raise ValueError(f"the rows have {len(names)} columns, but the model {width}")
        cells = [self.columns.get(name) or [None] * self.n for name in names]
        found = np.array([[np.nan if c is None else c for c in column] for column in cells], object)
        for name, column in zip(names, found, strict=True):
            wrong = [i for i, cell in enumerate(column) if isinstance(cell, str)]
            if wrong:
                raise ValueError(f"row {wrong[0] + 1}, column {name!r}: not a number")
        return found.astype(np.float64).T.copy()


def _of_like_rows(rows: list[dict[str, Any]]) -> dict[str, list[Any]] | None:
    """Return the columns of rows that have the same names, as most have; None for others."""
    if len({*map(len, rows)}) != 1:
        return None
    try:
        return {name: list(map(itemgetter(name), rows)) for name in rows[0]}
    except KeyError:
        return None
