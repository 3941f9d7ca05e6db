"""A growing positive definite matrix M, kept as the inverse of its Cholesky factor.

With M = L L' and T = L^-1, lower triangular, M^-1 = T'T: a vector v needs

    f = T v,   q = f'f = v'M^-1 v,   u = T'f = M^-1 v,

and M bordered by the column v and the corner m has the new row of T

    [-u' 1] / delta,   delta^2 = m - q,

all in O(n^2), where a new factorisation takes O(n^3). A row that depends on the others, with
delta^2 nothing but rounding, is left at zero: what is computed is then the pseudo-inverse on the
rows that do not.

T has rows of whole blocks, zero beyond the diagonal, and vectors are zero from n up to a whole
block.
"""

import math

from forks._jit import njit
from forks._simd import LANES, fma, load, splat, store, total


@njit
def forward(T, n, v, f):
    """Write f = T v, with zeros up to a whole block; return q = f'f."""
    width = T.shape[1]
    q = 0.0
    for i in range(n):
        sums = splat(0.0)
        for j in range(0, i + 1, LANES):
            sums = fma(load(T, i * width + j), load(v, j), sums)
        f[i] = total(sums)
        q += f[i] * f[i]
    for i in range(n, min(n + LANES, width)):
        f[i] = 0.0
    return q


@njit
def backward(T, n, f, u):
    """Write u = T'f, with zeros up to a whole block."""
    width = T.shape[1]
    for j in range(0, min(n + LANES, width), LANES):
        store(splat(0.0), u, j)
    for i in range(n):
        for j in range(0, i + 1, LANES):
            store(fma(splat(f[i]), load(T, i * width + j), load(u, j)), u, j)


@njit
def border(T, n, u, pivot):
    """Append the row for a column v with u = M^-1 v and pivot m - v'M^-1 v; n grows by one.

    A pivot of zero or less, or one too small to divide by, appends a row of zeros.
    """
    scale = 1.0 / math.sqrt(pivot) if pivot > _SMALLEST else 0.0
    for j in range(n):
        T[n, j] = -scale * u[j]
    T[n, n] = scale


_SMALLEST = 1e-300
