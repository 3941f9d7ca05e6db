"""Rows of a stream, dense or sparse."""

from typing import Any, NamedTuple

import numpy as np

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


def _take_dense(X, t):
    return X[t]


def _take_sparse(X, t):
    start, stop = X.starts[t], X.starts[t + 1]
    return SparseRow(X.values[start:stop], X.features[start:stop])


def _entries_dense(x):
    return x.shape[0]


def _entries_sparse(x):
    return x.values.shape[0]


def _feature_dense(x, e):
    return e


def _feature_sparse(x, e):
    return x.features[e]


def _value_dense(x, e):
    return x[e]


def _value_sparse(x, e):
    return x.values[e]


take = by_form(_take_dense, _take_sparse)
entries = by_form(_entries_dense, _entries_sparse)
feature = by_form(_feature_dense, _feature_sparse)
value = by_form(_value_dense, _value_sparse)
take.__doc__ = "take(X, t): row t of a chunk."
entries.__doc__ = "entries(x): how many entries a row has; a dense one has all, zeros included."
feature.__doc__ = "feature(x, e): the feature of entry e of a row."
value.__doc__ = "value(x, e): the value of entry e of a row."


def dense_row(X: Any, t: int, n_features: int) -> Vector:
    """Row t of a chunk as a new dense vector."""
    x = take(X, t)
    if not is_sparse(x):
        return np.array(x)
    dense = np.zeros(n_features)
    dense[x.features] = x.values
    return dense


def rows_from(X: Any) -> Any:
    """Turn a chunk (an array, or CSR) into what compiled code takes, which trusts its layout."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    small = max(X.nnz, X.shape[1]) < 2**31
    kind = np.int32 if small else np.int64
    return SparseRows(X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False))
