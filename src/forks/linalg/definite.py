"""Positive definite matrices in their lower triangles, by LAPACK, in place.

A matrix is a C-ordered array of which only the lower triangle is looked at and written. To LAPACK,
which goes by columns, it is the upper triangle of a transposed one: nothing is copied.
"""

import numpy as np
from scipy.linalg import blas, lapack

from forks.typing import Matrix


def factorise(A: Matrix) -> Matrix:
    """Turn A into its Cholesky factor; `LinAlgError` if A is not positive definite."""
    factor, info = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    if info != 0 or not np.isfinite(factor[-1, -1]):
        raise np.linalg.LinAlgError("not positive definite")
    return np.asarray(factor.T)


def solve(factor: Matrix, B: Matrix) -> Matrix:
    """Give A^-1 B."""
    solution, _ = lapack.dpotrs(factor.T, B, lower=0)
    return np.asarray(solution)


def invert(factor: Matrix) -> Matrix:
    """Turn the factor of A into A^-1."""
    factor = np.asarray(_inverted(factor.T))
    inverse, _ = lapack.dlauum(factor, lower=0, overwrite_c=1)
    return np.asarray(inverse.T)


def _inverted(U: Matrix) -> Matrix:
    """Give the inverse of an upper triangle, in halves: LAPACK takes twice as long on one core."""
    n = len(U)
    if n <= _SMALL:
        inverse, _ = lapack.dtrtri(U, lower=0)
        return np.asarray(inverse)
    half = n // 2
    first, last = _inverted(U[:half, :half]), _inverted(U[half:, half:])
    inverse = np.zeros((n, n), order="F")
    inverse[:half, :half], inverse[half:, half:] = first, last
    across = blas.dtrmm(-1.0, first, U[:half, half:])
    inverse[:half, half:] = blas.dtrmm(1.0, last, across, side=1, overwrite_b=1)
    return inverse


_SMALL = 80


def less_squares(A: Matrix, V: Matrix) -> Matrix:
    """Turn A into A - V'V."""
    if len(V) == 0:
        return A
    return np.asarray(blas.dsyrk(-1.0, V.T, 1.0, A.T, overwrite_c=1).T)


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """Give A B."""
    return np.asarray(blas.dsymm(1.0, A.T, B, lower=0))
