"""The least and the largest number of each column so far, for those who look into a model."""

from typing import NamedTuple

import numpy as np

from forks.engine import Matrix, Vector


class Ranges(NamedTuple):
    """The ends of what columns of numbers have held; infinite where there was no number."""

    least: Vector
    largest: Vector

    @classmethod
    def of_none(cls, n: int) -> "Ranges":
        """Return the ranges of no rows."""
        return cls(np.full(n, np.inf), np.full(n, -np.inf))

    def after(self, X: Matrix) -> "Ranges":
        """Return the ranges after further rows, whose gaps are NaN."""
        return Ranges(
            np.fmin(self.least, np.fmin.reduce(X, axis=0, initial=np.inf)),
            np.fmax(self.largest, np.fmax.reduce(X, axis=0, initial=-np.inf)),
        )
