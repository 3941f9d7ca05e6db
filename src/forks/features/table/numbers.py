"""Columns of numbers: a missing one is the mean of those before it.

Columns with gaps in the first rows get an indicator each, which is 1 where a number is missing.
Gaps that appear later, in columns that had none, are told by one indicator that all share.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from forks.engine import Matrix, Vector

_LARGEST = 1e280  # of a number in a sum: sums of 1e28 of them are finite


@dataclass
class Means:
    """Running means of features, of the values that were not missing."""

    counts: Vector
    sums: Vector

    @classmethod
    def of_none(cls, n: int) -> "Means":
        """Return the means of no rows, which are 0."""
        return cls(np.zeros(n), np.zeros(n))

    @property
    def now(self) -> Vector:
        """The means of all rows so far."""
        return self.sums / np.maximum(self.counts, 1.0)

    def fill(self, X: Matrix, gaps: Any) -> None:
        """Fill gaps with the means of now."""
        np.copyto(X, self.now, where=gaps)

    def learn(self, X: Matrix, gaps: Any | None) -> None:
        """Learn rows, and fill each gap with the mean of the rows before it.

        Sums go row by row, so they do not depend on how rows are cut into chunks.
        """
        held = np.clip(X, -_LARGEST, _LARGEST)
        if gaps is None:
            self.sums = _sums(self.sums, held)[-1]
            self.counts = self.counts + len(X)
            return
        sums = _sums(self.sums, np.where(gaps, 0.0, held))
        counts = _sums(self.counts, ~gaps)
        np.copyto(X, sums[:-1] / np.maximum(counts[:-1], 1.0), where=gaps)
        self.sums, self.counts = sums[-1], counts[-1]


def _sums(before: Vector, rows: Any) -> Matrix:
    """Return the sums before the first row, after it, after the second, ..."""
    table = np.empty((len(rows) + 1, len(before)))
    table[0], table[1:] = before, rows
    return np.cumsum(table, axis=0, out=table)
