"""Missing numbers in the rows of an estimator: NaN, filled with running means."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Engine, EngineGroup, Vector
from forks.features.means import Means


def has_gaps(X: Any) -> bool:
    """Return whether numbers are missing among rows that have no infinite ones."""
    return not sparse.issparse(X) and bool(np.isnan(np.maximum.reduce(X, axis=None, initial=0.0)))


class Gaps(NamedTuple):
    """Means of the features of all dense rows that were learned, and rows about to be learned.

    It is never changed, but replaced by another one. How many of the rows have been learned is
    known when a call is over: an interrupt may have cut it.
    """

    means: Means
    learned: int = 0  # rows that had been learned before the call
    rows: Any = None  # of the call, as they were given; None between calls
    counted: Any = None  # which of them have a weight above 0; None if all have

    def after(self, learned: int) -> "Gaps":
        """Return it after a call, when so many rows have been learned."""
        n = min(learned - self.learned, len(self.rows))
        counted = None if self.counted is None else self.counted[:n]
        return Gaps(self.means.after(self.rows[:n], counted))


class GapFiller:
    """Mixin of estimators: gaps of dense rows are filled with means of the rows learned before."""

    engine_: Engine | EngineGroup
    _gaps: Gaps

    def _without_gaps(self, X: Any) -> Any:
        """Return rows to predict with their gaps filled."""
        if not has_gaps(X):
            return X
        X = X.copy()
        self._gaps.means.fill(X)
        return X

    def _fill_as_learned(self, weights: Vector | None, X: Any, *others: Any) -> list[Any]:
        """Return rows that are about to be learned, and others beside them, with gaps filled.

        Each by the means of the rows that will have been learned before it.
        """
        if sparse.issparse(X):
            return [X, *map(self._without_gaps, others)]
        counted = None if weights is None else weights > 0.0
        self._gaps = Gaps(self._gaps.means, self.engine_.rounds, X, counted)
        if not any(map(has_gaps, (X, *others))):
            return [X, *others]
        filled = [rows.copy() for rows in (X, *others)]
        self._gaps.means.fill_running(*filled, counted=counted)
        return filled

    def _settle_gaps(self) -> None:
        """Learn the means of the rows that have been learned since the last time."""
        if self._gaps.rows is not None:
            self._gaps = self._gaps.after(self.engine_.rounds)


# ---- in model files ----------------------------------------------------------------------------


def write_gaps(gaps: Gaps, arrays: dict[str, np.ndarray]) -> None:
    """Put the means among the arrays of a model file; between calls there is nothing else."""
    arrays["means"] = np.stack(gaps.means)


def read_gaps(n_features: int, arrays: dict[str, np.ndarray]) -> Gaps:
    """Return what a model file has; files from before there were means have none."""
    if "means" not in arrays:
        return Gaps(Means.of_none(n_features))
    means = arrays.pop("means")
    fits = means.shape == (2, n_features) and means.dtype == np.float64
    if not (fits and np.isfinite(means).all() and (means[0] >= 0.0).all()):
        raise ValueError("the means of the features are no numbers, or of another width")
    return Gaps(Means(*means))
