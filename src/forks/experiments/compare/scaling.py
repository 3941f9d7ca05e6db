"""Features scaled online, for all methods of a comparison alike.

A row is scaled by what came up to it and itself, labels left out, so nothing is known too early.
Dense features lose the mean so far and are divided by the standard deviation so far, as by River's
`StandardScaler`; sparse ones are divided by the largest size so far, as by its `MaxAbsScaler`, and
stay sparse. What is beyond 5 in size is held there: a value that is new after many that were all
the same would be as large as the root of their number.
"""

from typing import Any

import numpy as np
from scipy import sparse

from forks.engine import Matrix, Vector

_MOST = 5.0
_BLOCK = 20_000  # rows at once


def scaled_online(X: Any) -> Any:
    """Return rows scaled in their order."""
    return _sparse(X) if sparse.issparse(X) else _dense(np.asarray(X, np.float64))


def _dense(X: Matrix) -> Matrix:
    first = X[0]  # sums of differences to it stay accurate
    scaled = np.empty_like(X)
    total, squares = np.zeros((2, X.shape[1]))
    for start in range(0, len(X), _BLOCK):
        moved = X[start : start + _BLOCK] - first
        n = np.arange(start + 1, start + 1 + len(moved))[:, None]
        totals = total + np.cumsum(moved, axis=0)
        all_squares = squares + np.cumsum(moved**2, axis=0)
        total, squares = totals[-1], all_squares[-1]
        mean = totals / n
        spread = np.sqrt(np.maximum(all_squares / n - mean**2, 0.0))
        scaled[start : start + _BLOCK] = _quotient(moved - mean, spread)
    return scaled


def _sparse(X: Any) -> Any:
    X = X.tocsr()
    order = np.argsort(X.indices, kind="stable")  # by feature, rows in their order
    features, sizes = X.indices[order], np.abs(X.data[order])
    largest = np.empty_like(sizes)
    starts = np.flatnonzero(np.diff(features, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(features)], strict=True):
        largest[start:stop] = np.maximum.accumulate(sizes[start:stop])
    scaled = np.empty_like(sizes)
    scaled[order] = _quotient(X.data[order], largest)
    return sparse.csr_array((scaled, X.indices, X.indptr), shape=X.shape)


def _quotient(values: Any, by: Any) -> Any:
    """Return values over a spread, 0 where there is none yet, at most 5 in size."""
    return np.clip(np.divide(values, by, out=np.zeros_like(values), where=by > 0.0), -_MOST, _MOST)


def scaled_at_once(X: Any) -> Any:
    """Return rows scaled by all of them, to measure distances that are as large as online ones."""
    if sparse.issparse(X):
        largest: Vector = np.abs(X).max(axis=0).toarray().ravel()
        return X @ sparse.diags_array(np.divide(1.0, largest, where=largest > 0, out=largest * 0.0))
    return _quotient(X - X.mean(axis=0), X.std(axis=0))
