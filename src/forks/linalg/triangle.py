"""A growing positive definite matrix M, kept as the inverse of its Cholesky factor.

With M = L L' and T = L^-1, lower triangular, M^-1 = T'T: a vector v needs

    f = T v,   q = f'f = v'M^-1 v,   u = T'f = M^-1 v,

and M bordered by the column v and the corner m has the new row of T

    [-u' 1] / delta,   delta^2 = m - q,

and M + c v v' has the rows (Carlson's form of the Kalman filter)

    t_i <- sqrt(s_{i-1} / s_i) t_i - c f_i / sqrt(s_{i-1} s_i) sum_{l < i} f_l t_l,
    s_i = 1 + c (f_1^2 + ... + f_i^2),

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
    fours = n // 4 * 4
    for i in range(0, fours, 4):  # four rows of as many blocks
        sums_0, sums_1, sums_2, sums_3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(0, i + 1, LANES):
            at, block = i * width + j, load(v, j)
            sums_0 = fma(load(T, at), block, sums_0)
            sums_1 = fma(load(T, at + width), block, sums_1)
            sums_2 = fma(load(T, at + 2 * width), block, sums_2)
            sums_3 = fma(load(T, at + 3 * width), block, sums_3)
        f[i], f[i + 1] = total(sums_0), total(sums_1)
        f[i + 2], f[i + 3] = total(sums_2), total(sums_3)
        q += f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2] + f[i + 3] * f[i + 3]
    for i in range(fours, n):
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
    fours = n // 4 * 4
    for i in range(0, fours, 4):
        f_0, f_1, f_2, f_3 = splat(f[i]), splat(f[i + 1]), splat(f[i + 2]), splat(f[i + 3])
        for j in range(0, i + 1, LANES):
            at = i * width + j
            sums = fma(f_0, load(T, at), load(u, j))
            sums = fma(f_1, load(T, at + width), sums)
            sums = fma(f_2, load(T, at + 2 * width), sums)
            store(fma(f_3, load(T, at + 3 * width), sums), u, j)
    for i in range(fours, n):
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


@njit
def absorb(T, n, f, u, c):
    """Make T the triangle of M + c v v', c >= 0, with f = T v; write u = M^-1 v, M as it was."""
    width = T.shape[1]
    for j in range(0, min(n + LANES, width), LANES):
        store(splat(0.0), u, j)
    s = 1.0
    fours = n // 4 * 4
    for i in range(0, fours, 4):
        s_0, keep_0, take_0 = _shares(s, f[i], c)
        s_1, keep_1, take_1 = _shares(s_0, f[i + 1], c)
        s_2, keep_2, take_2 = _shares(s_1, f[i + 2], c)
        s, keep_3, take_3 = _shares(s_2, f[i + 3], c)
        f_0, f_1, f_2, f_3 = splat(f[i]), splat(f[i + 1]), splat(f[i + 2]), splat(f[i + 3])
        for j in range(0, i + 1, LANES):
            at = i * width + j
            sums = load(u, j)
            sums = _mix(T, at, keep_0, take_0, f_0, sums)
            sums = _mix(T, at + width, keep_1, take_1, f_1, sums)
            sums = _mix(T, at + 2 * width, keep_2, take_2, f_2, sums)
            store(_mix(T, at + 3 * width, keep_3, take_3, f_3, sums), u, j)
    for i in range(fours, n):
        s, keep, take = _shares(s, f[i], c)
        for j in range(0, i + 1, LANES):
            store(_mix(T, i * width + j, keep, take, splat(f[i]), load(u, j)), u, j)


@njit
def _shares(s, f, c):
    """s_i, and what row i keeps of itself and takes of the rows before."""
    after = s + c * f * f
    root = 1.0 / math.sqrt(s * after)
    return after, splat(s * root), splat(-c * f * root)


@njit
def _mix(T, at, keep, take, f, sums):
    """Change one block of a row of T; return the sum of f_l t_l with it, as it was."""
    row = load(T, at)
    store(fma(keep, row, fma(take, sums, splat(0.0))), T, at)
    return fma(f, row, sums)


_SMALLEST = 1e-300
