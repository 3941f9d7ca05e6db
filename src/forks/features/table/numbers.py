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
        table = np.empty((len(X) + 1, len(self.sums)))
        table[0] = self.sums
        np.clip(X, -_LARGEST, _LARGEST, out=table[1:])
        if gaps is None:
            self.sums = np.cumsum(table, axis=0, out=table)[-1].copy()
            self.counts = self.counts + len(X)
            return
        table[1:][gaps] = 0.0
        sums = np.cumsum(table, axis=0, out=table)
        counts = np.cumsum(np.vstack([self.counts, ~gaps]), axis=0)
        rows, columns = np.nonzero(gaps)
        X[rows, columns] = sums[rows, columns] / np.maximum(counts[rows, columns], 1.0)
        self.sums, self.counts = sums[-1].copy(), counts[-1].copy()
