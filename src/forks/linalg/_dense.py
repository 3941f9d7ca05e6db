"""Checks of the arrays that decompositions take, and the dense decompositions themselves."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from forks.engine import Matrix, Vector


def check_update(D1: ArrayLike, D2: ArrayLike, n: int, m: int) -> tuple[Matrix, Matrix]:
    """Return D1 (n, c) and D2 (m, c) as arrays; a vector counts as one column."""
    D1, D2 = _finite_columns("D1", D1), _finite_columns("D2", D2)
    if len(D1) != n:
        raise ValueError(f"D1 must have n = {n} rows, got shape {D1.shape}")
    if len(D2) != m:
        raise ValueError(f"D2 must have m = {m} rows, got shape {D2.shape}")
    if D1.shape[1] != D2.shape[1]:
        raise ValueError(f"D1 and D2 must have equally many columns, got {D1.shape} and {D2.shape}")
    return D1, D2


def truncated_svd(name: str, M: Matrix, k: int) -> tuple[Matrix, Vector, Matrix]:
    """Return the k leading singular triplets of M; `name` is used in error messages."""
    if not np.isfinite(M).all():
        raise ValueError(f"{name} is too large: the result exceeds the range of float64")
    try:
        U, s, Vt = linalg.svd(M, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        U, s, Vt = linalg.svd(M, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    if not np.isfinite(s).all():
        raise ValueError(f"{name} is too large: its singular values exceed the range of float64")
    return np.ascontiguousarray(U[:, :k]), s[:k].copy(), np.ascontiguousarray(Vt[:k].T)


def finite_matrix(name: str, value: ArrayLike, columns: bool = False) -> Matrix:
    """Return a finite float64 matrix; it may be empty only if `columns`."""
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise ValueError("it is complex")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from error
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got shape {array.shape}")
    if array.size == 0 and not columns:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array


def _finite_columns(name: str, value: ArrayLike) -> Matrix:
    """As `finite_matrix`, with a vector as one column."""
    value = np.asarray(value)[:, np.newaxis] if np.ndim(value) == 1 else value
    return finite_matrix(name, value, columns=True)


def leading_eigenpairs(M: Matrix, k: int) -> tuple[Vector, Matrix]:
    """Return the k largest eigenvalues of a symmetric matrix, ascending, and vectors (n, k)."""
    n = len(M)
    values, vectors = linalg.eigh(M, subset_by_index=[n - k, n - 1])
    if len(values) != k:  # on nearly repeated eigenvalues LAPACK's search for some may lose them
        values, vectors = linalg.eigh(M)
        values, vectors = values[n - k :], vectors[:, n - k :]
    return values, vectors
