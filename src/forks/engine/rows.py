"""Rows of a stream, dense or sparse."""

from typing import Any, NamedTuple

import numpy as np

from forks.engine.compile import JIT
from forks.engine.memory import view
from forks.engine.types import Vector
from forks.engine.verbs import by_form, is_sparse


class SparseRows(NamedTuple):
    """A chunk of rows in CSR form."""

    values: Vector  # (nnz,)
    features: Any  # (nnz,)    column numbers; int32, or int64 if they need it
    starts: Any  # (n + 1,)  where each row starts; the same type


class SparseRow(NamedTuple):
    """One row of a `SparseRows`."""

    values: Vector
    features: Any


def _borrowed_dense(X):
    return view(X, 0, X.shape)


def _borrowed_sparse(X):
    return SparseRows(
        view(X.values, 0, X.values.shape),
        view(X.features, 0, X.features.shape),
        view(X.starts, 0, X.starts.shape),
    )


def _itself(X):
    return X


def _take_dense(X, t):
    return X[t]


def _take_sparse(X, t):
    start, stop = X.starts[t], X.starts[t + 1]
    return SparseRow(X.values[start:stop], X.features[start:stop])


borrowed = by_form(_borrowed_dense, _borrowed_sparse) if JIT else _itself
take = by_form(_take_dense, _take_sparse)
borrowed.__doc__ = "borrowed(X): the same array without reference counts, for a loop's inside."
take.__doc__ = "take(X, t): row t of a chunk."


def dense_row(X: Any, t: int, n_features: int) -> Vector:
    """Row t of a chunk as a new dense vector."""
    x = take(X, t)
    if not is_sparse(x):
        return np.array(x)
    dense = np.zeros(n_features)
    dense[x.features] = x.values
    return dense


def rows_from(X: Any) -> Any:
    """Turn a chunk (C-ordered float64 array, or CSR) into what compiled code takes."""
    if isinstance(X, np.ndarray):
        return X
    small = max(X.nnz, X.shape[1]) < 2**31
    kind = np.int32 if small else np.int64
    return SparseRows(X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False))
