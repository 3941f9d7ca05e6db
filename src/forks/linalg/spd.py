"""Positive definite matrices and their Cholesky factors, by LAPACK, on one core.

Matrices are C-ordered, symmetric ones given by their lower triangles, and factors are lower
triangular. To LAPACK, which goes by columns, they are the upper triangles of transposed ones:
nothing is copied.
"""

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from forks.engine import Matrix, Vector


def factorise(A: Matrix) -> Matrix:
    """Overwrite A with its Cholesky factor; LinAlgError if it is not positive definite."""
    factor, info = lapack.dpotrf(A.T, lower=0, clean=1, overwrite_a=1)
    if info != 0 or not np.isfinite(factor[-1, -1]):
        raise np.linalg.LinAlgError("not positive definite")
    return np.asarray(factor.T)


def factorise_sum(alpha: float, F: Matrix, h: Vector) -> Matrix:
    """Return the Cholesky factor of alpha I + F'diag(h) F, alpha > 0 and h >= 0.

    Where rounding leaves the sum indefinite, its factor is that of a QR decomposition, which does
    not form it; `LinAlgError` if numbers overflow.
    """
    alike = len(h) > 0 and bool(np.all(h == h[0]))
    G = F if alike else np.sqrt(h)[:, None] * F
    A = np.zeros((F.shape[1], F.shape[1]), order="F")
    np.fill_diagonal(A, alpha)
    A = blas.dsyrk(h[0] if alike else 1.0, G.T, 1.0, A, overwrite_c=1).T
    try:
        return factorise(A)
    except np.linalg.LinAlgError:
        stacked = np.vstack([np.sqrt(h)[:, None] * F, np.sqrt(alpha) * np.eye(F.shape[1])])
        if not np.isfinite(stacked).all():
            raise
        (factor,) = linalg.qr(stacked, mode="r", check_finite=False)
        factor = factor[: F.shape[1]].T
        factor = factor * np.where(np.diagonal(factor) < 0.0, -1.0, 1.0)
        if not (np.isfinite(factor).all() and np.all(np.diagonal(factor) > 0.0)):
            raise
        return np.ascontiguousarray(factor)


def solve(L: Matrix, B: Matrix) -> Matrix:
    """Return A^-1 B, A = L L'."""
    solution, _ = lapack.dpotrs(L.T, B, lower=0)
    return np.asarray(solution)


def solve_upper(L: Matrix, B: Matrix) -> Matrix:
    """Return L'^-1 B."""
    return np.asarray(blas.dtrsm(1.0, L.T, B))


def times_lower(B: Matrix, L: Matrix) -> Matrix:
    """Return B L."""
    return np.asarray(blas.dtrmm(1.0, L.T, B.T).T)


def squares(V: Matrix) -> Matrix:
    """Return V V'."""
    return np.asarray(blas.dsyrk(1.0, V.T, trans=1).T)


def add_squares(A: Matrix, V: Matrix) -> Matrix:
    """Overwrite A with A + V V'."""
    return np.asarray(blas.dsyrk(1.0, V.T, 1.0, A.T, trans=1, overwrite_c=1).T)
