"""A growing positive definite matrix M = L L', kept as its Cholesky factor L.

For a vector v

    f = L^-1 v,   q = f'f = v'M^-1 v,   u = L'^-1 f = M^-1 v,

by substitution, and M bordered by the column v and the corner m has the new row of L

    [f' delta],   delta^2 = m - q,

all in O(n^2). The errors of substitution do not grow with n, however close the rows of M come to
depend on each other; those of L^-1 extended row by row (`forks.linalg.inverse_cholesky`) do.

L has rows of whole blocks, zero beyond the diagonal, and vectors are zero from n up to a whole
block.
"""

import math

from forks.engine import njit
from forks.engine.blocks import LANES, fma, load, splat, store, total
from forks.linalg.vectors import dot


@njit
def forward(L, n, v, f):
    """Write f = L^-1 v, with zeros up to a whole block; return q = f'f."""
    width = L.shape[1]
    for j in range(0, n, LANES):
        store(splat(0.0), f, j)
    for i in range(n):
        sums = splat(0.0)
        for j in range(0, i, LANES):  # f is zero from i on
            sums = fma(load(L, i * width + j), load(f, j), sums)
        f[i] = (v[i] - total(sums)) / L[i, i]
    return dot(f, f, n)


@njit
def backward(L, n, f, u):
    """Write u = L'^-1 f, with zeros up to a whole block."""
    width = L.shape[1]
    for j in range(0, n, LANES):
        store(load(f, j), u, j)
    for i in range(n - 1, -1, -1):
        value = u[i] / L[i, i]
        for j in range(0, i, LANES):
            store(fma(splat(-value), load(L, i * width + j), load(u, j)), u, j)
        u[i] = value


@njit
def border(L, n, f, pivot):
    """Append the row of a column v with f = L^-1 v and pivot m - q > 0; n grows by one."""
    for j in range(n):
        L[n, j] = f[j] if abs(f[j]) > _NOTHING else 0.0
    L[n, n] = math.sqrt(pivot)


_NOTHING = 1e-100  # products of such numbers would be subnormal, which is slow
