"""Lower triangles, by halves: BLAS and LAPACK take no notice of the zeros in a second triangle.

With L = [L1, 0; L2, L3] and B likewise,

    L B    = [L1 B1, 0; L2 B1 + L3 B2, L3 B3],
    L^-1 B = [X1, 0; L3^-1 (B2 - L2 X1), L3^-1 B3],   X1 = L1^-1 B1,

which takes a third of the operations that a full B takes. Matrices are C-ordered: see `spd`.
"""

import numpy as np
from scipy.linalg import blas, lapack

from forks.engine import Matrix
from forks.linalg import spd

_SMALL = 80  # up to here a whole matrix is no slower


def times(L: Matrix, B: Matrix) -> Matrix:
    """Return L B."""
    if len(L) <= _SMALL:
        return _times(L, B)
    (L1, L2, L3), (B1, B2, B3) = _quarters(L), _quarters(B)
    return _joined(times(L1, B1), L2 @ B1 + _times(L3, B2), times(L3, B3))


def solve(L: Matrix, B: Matrix) -> Matrix:
    """Return L^-1 B."""
    if len(L) <= _SMALL:
        return _solve(L, B)
    (L1, L2, L3), (B1, B2, B3) = _quarters(L), _quarters(B)
    X1 = solve(L1, B1)
    return _joined(X1, _solve(L3, B2 - L2 @ X1), solve(L3, B3))


def invert(L: Matrix) -> Matrix:
    """Return L^-1."""
    if len(L) <= _SMALL:
        inverse, _ = lapack.dtrtri(L.T, lower=0)
        return np.asarray(inverse.T)
    L1, L2, L3 = _quarters(L)
    X1, X3 = invert(L1), invert(L3)
    return _joined(X1, _times(X3, -spd.times_lower(L2, X1)), X3)


def add_squares(A: Matrix, V: Matrix, factor: float = 1.0) -> Matrix:
    """Overwrite the lower triangle of A with that of A + factor V V'."""
    if len(V) <= _SMALL:
        A += factor * (V @ V.T)
        return A
    (A1, A2, A3), (V1, V2, V3) = _quarters(A), _quarters(V)
    add_squares(A1, V1, factor)
    A2 += factor * blas.dtrmm(1.0, V1.T, V2.T, trans_a=1).T  # V2 V1'
    A3 += factor * spd.squares(V2)
    add_squares(A3, V3, factor)
    return A


def _times(L: Matrix, B: Matrix) -> Matrix:
    return np.asarray(blas.dtrmm(1.0, L.T, B.T, side=1).T)


def _solve(L: Matrix, B: Matrix) -> Matrix:
    return np.asarray(blas.dtrsm(1.0, L.T, B.T, side=1).T)


def _quarters(L: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    half = len(L) // 2
    return L[:half, :half], L[half:, :half], L[half:, half:]


def _joined(first: Matrix, across: Matrix, last: Matrix) -> Matrix:
    half, n = len(first), len(first) + len(last)
    joined = np.zeros((n, n))
    joined[:half, :half], joined[half:, :half], joined[half:, half:] = first, across, last
    return joined
