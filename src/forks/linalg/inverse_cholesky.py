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

from forks.engine import njit
from forks.engine.blocks import LANES, fma, load, splat, store, total
from forks.linalg.vectors import dot


@njit
def forward(T, n, v, f):
    """Write f = T v, with zeros up to a whole block; return q = f'f."""
    width = T.shape[1]
    fours = n - n % 4
    for i in range(0, fours, 4):  # four rows at a time, so that v is read a quarter as often
        at = i * width
        a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(0, i + 4, LANES):
            block = load(v, j)
            a = fma(load(T, at + j), block, a)
            b = fma(load(T, at + width + j), block, b)
            c = fma(load(T, at + 2 * width + j), block, c)
            d = fma(load(T, at + 3 * width + j), block, d)
        f[i], f[i + 1], f[i + 2], f[i + 3] = total(a), total(b), total(c), total(d)
    for i in range(fours, n):
        a = splat(0.0)
        for j in range(0, i + 1, LANES):
            a = fma(load(T, i * width + j), load(v, j), a)
        f[i] = total(a)
    for i in range(n, min(n + LANES, width)):
        f[i] = 0.0
    return dot(f, f, n)


@njit
def backward(T, n, f, u):
    """Write u = T'f, with zeros up to a whole block."""
    width = T.shape[1]
    for j in range(0, min(n + LANES, width), LANES):
        store(splat(0.0), u, j)
    fours = n - n % 4
    for i in range(0, fours, 4):  # as above
        at = i * width
        a, b, c, d = splat(f[i]), splat(f[i + 1]), splat(f[i + 2]), splat(f[i + 3])
        for j in range(0, i + 4, LANES):
            sums = fma(a, load(T, at + j), load(u, j))
            sums = fma(b, load(T, at + width + j), sums)
            sums = fma(c, load(T, at + 2 * width + j), sums)
            sums = fma(d, load(T, at + 3 * width + j), sums)
            store(sums, u, j)
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
        T[n, j] = -scale * u[j] if abs(u[j]) > _NOTHING else 0.0
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
_NOTHING = 1e-100  # beside 1; products of such numbers would be subnormal, which is slow
