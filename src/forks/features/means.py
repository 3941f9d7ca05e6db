"""Running means of features, which stand in for numbers that are missing (NaN).

A gap is filled with the mean of the numbers that the feature had in the rows before, 0 if there
were none. Sums are taken row by row, so that nothing depends on how rows are cut into chunks.
"""

from typing import Any, NamedTuple

import numpy as np

from forks.engine import Matrix, Vector

_LARGEST = 1e280  # of a number in a sum: sums of 1e28 of them are finite
_BLOCK = 2048  # rows whose sums are taken at a time, and stay in the cache meanwhile


class Means(NamedTuple):
    """Numbers of each feature so far, and their sums."""

    counts: Vector
    sums: Vector

    @classmethod
    def of_none(cls, n: int) -> "Means":
        """Return the means of no rows."""
        return cls(np.zeros(n), np.zeros(n))

    @property
    def now(self) -> Vector:
        """The means."""
        return self.sums / np.maximum(self.counts, 1.0)

    def fill(self, X: Matrix) -> None:
        """Fill the gaps of rows with the means of now, in place."""
        np.copyto(X, self.now, where=np.isnan(X))

    def after(self, X: Matrix, counted: Any = None) -> "Means":
        """Return the means after further rows; with `counted`, of those that are counted."""
        means = self
        whole = counted is None and not np.isnan(np.maximum.reduce(X, axis=None, initial=0.0))
        for start in range(0, len(X), _BLOCK):
            part = slice(start, start + _BLOCK)
            if whole:
                counts, sums = means.counts + len(X[part]), means._sums(X[part])[-1]
            else:
                both = means._running(X[part], None if counted is None else counted[part])
                counts, sums = (table[-1] for table in both)
            means = Means(counts.copy(), sums.copy())
        return means

    def fill_running(self, X: Matrix, *others: Matrix, counted: Any = None) -> "Means":
        """Fill each gap with the mean of the rows of X before it, in place.

        Others are matrices of as many rows, which are filled as if they stood in the place of X.
        Return the means after X.
        """
        means = self
        for start in range(0, len(X), _BLOCK):
            part = slice(start, start + _BLOCK)
            counts, sums = means._running(X[part], None if counted is None else counted[part])
            for matrix in (X, *others):
                rows, columns = np.nonzero(np.isnan(matrix[part]))
                mean = sums[rows, columns] / np.maximum(counts[rows, columns], 1.0)
                matrix[part][rows, columns] = mean
            means = Means(counts[-1].copy(), sums[-1].copy())
        return means

    def _running(self, X: Matrix, counted: Any) -> tuple[Matrix, Matrix]:
        """Return counts and sums before the first row, after it, after the second, ..."""
        left_out = np.isnan(X)
        if counted is not None:
            left_out |= ~counted[:, None]
        counts = np.empty((len(X) + 1, X.shape[1]))
        counts[0] = self.counts
        np.logical_not(left_out, out=counts[1:])
        return np.cumsum(counts, axis=0, out=counts), self._sums(np.where(left_out, 0.0, X))

    def _sums(self, X: Matrix) -> Matrix:
        """Return the sums before the first row, after it, ...; never of pairs of rows."""
        sums = np.empty((len(X) + 1, X.shape[1]))
        sums[0] = self.sums
        np.maximum(X, -_LARGEST, out=sums[1:])
        np.minimum(sums[1:], _LARGEST, out=sums[1:])
        return np.cumsum(sums, axis=0, out=sums)
