"""Second-order memory that lasts: P = A^-1 of A = A_0 + sum_t h_t x_t x_t', in factors.

P = T'D T, T lower triangular with ones on its diagonal, D diagonal. With t_i the rows of T, d_i
the diagonal of D, f = T x and s_i = 1 + h (d_1 f_1^2 + ... + d_i f_i^2), A + h x x' has

    t_i <- t_i - h f_i / s_{i-1} sum_{l < i} d_l f_l t_l,   d_i <- d_i s_{i-1} / s_i

(t_l and d_l as they were), and the sum over all rows is P x, for the P before the change: Bierman's
form of the Kalman filter.

P itself needs as many operations, P <- P - h / (1 + h q) u u' with u = P x and q = x'u. But it
subtracts in every round, and rounding errors add up until P is indefinite: after n rounds, with a
prior that falls as 1 / n, the condition of A has grown as n^2, and 10^6 rounds are too many. In
factors P is positive definite whatever the rounding, since every s_i is at least 1, and the errors
are those of the square root of the condition.

T is kept packed in tiles of 8 x 8 numbers, row by row, up to and with the tiles on the diagonal;
above the diagonal are zeros. Rows and columns of padding have d_i = 0 and zeros in T.

Reference: Bierman, "Measurement updating using the U-D factorization", 1976.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Matrix, Vector, axis_length, entry, finite, njit
from forks.engine.blocks import (
    LANES,
    divide,
    first,
    fma,
    lanes,
    last,
    load,
    minus,
    plus,
    running,
    shifted,
    splat,
    store,
    times,
    total,
    totals,
)

_TILE = LANES * LANES


class PackedInverse(NamedTuple):
    """P = T'D T, of n rows and columns; n is of whole tiles."""

    T: Annotated[Vector, "packed_size(n)"]
    d: Annotated[Vector, "n"]


@axis_length
def packed_size(n: int) -> int:
    """Count the numbers of a packed n x n triangle; n is of whole tiles."""
    tiles = n // LANES
    return _TILE * tiles * (tiles + 1) // 2


def set_root(inverse: PackedInverse, R: Matrix) -> None:
    """Set the first rows and columns of P to R'R, R lower triangular; the rest is padding."""
    inverse.d[:] = 0.0
    _set_root.over()(R, inverse.T, inverse.d)


def root(inverse: PackedInverse, n: int) -> Matrix:
    """Return the lower triangle R with P = R'R, of the first n rows and columns."""
    R = np.zeros((n, n))
    _root.over()(inverse.T, inverse.d, R)
    return R


@njit
def _at(i, j):
    """Position of the number in row i and column j, j <= i or in the same tile."""
    row, column = i // LANES, j // LANES
    return (row * (row + 1) // 2 + column) * _TILE + (i % LANES) * LANES + j % LANES


@entry
def _set_root(R, T, d):
    for position in range(T.shape[0]):
        T[position] = 0.0
    for i in range(R.shape[0]):
        d[i] = R[i, i] * R[i, i]
        for j in range(i + 1):
            T[_at(i, j)] = R[i, j] / R[i, i]


@entry
def _root(T, d, R):
    for i in range(R.shape[0]):
        scale = math.sqrt(d[i])
        for j in range(i + 1):
            R[i, j] = scale * T[_at(i, j)]


@njit
def add(P, h, x, u):
    """Change A to A + h x x', h > 0; write u = P x and return q = x'P x, for P as it was.

    The vectors are of whole tiles, and may be shorter than P: the rest is padding then. Where q
    would not be finite, infinity is returned and u is useless; P is what it was, or has some of
    the change. While eight rows of T are changed, the products of x with the next eight are made.
    """
    T, d = P
    n, none = x.shape[0], splat(0.0)
    for j in range(0, n, LANES):
        store(none, u, j)
    H, s, q, at = splat(h), splat(1.0), none, 0
    f = _products(T, 0, load(x, 0))
    for i in range(0, n, LANES):
        D = load(d, i)
        b = times(D, f)
        q = fma(b, f, q)
        after = fma(H, running(times(b, f)), last(s))  # s_i, and s_{i-1}:
        before = shifted(s, after)
        s = after
        if not finite(first(last(s))):
            return math.inf
        store(divide(times(D, before), after), d, i)
        a0, a1, a2, a3, a4, a5, a6, a7 = lanes(divide(times(H, f), minus(none, before)))
        b0, b1, b2, b3, b4, b5, b6, b7 = lanes(b)
        f0, f1, f2, f3, f4, f5, f6, f7 = none, none, none, none, none, none, none, none
        more = i + LANES < n
        row = at + (i + LANES) * LANES if more else at
        for j in range(0, i + LANES, LANES):
            X, sums = load(x, j), load(u, j)
            f0, sums = fma(load(T, row), X, f0), _change(T, at, a0, b0, sums)
            f1, sums = fma(load(T, row + 8), X, f1), _change(T, at + 8, a1, b1, sums)
            f2, sums = fma(load(T, row + 16), X, f2), _change(T, at + 16, a2, b2, sums)
            f3, sums = fma(load(T, row + 24), X, f3), _change(T, at + 24, a3, b3, sums)
            f4, sums = fma(load(T, row + 32), X, f4), _change(T, at + 32, a4, b4, sums)
            f5, sums = fma(load(T, row + 40), X, f5), _change(T, at + 40, a5, b5, sums)
            f6, sums = fma(load(T, row + 48), X, f6), _change(T, at + 48, a6, b6, sums)
            f7, sums = fma(load(T, row + 56), X, f7), _change(T, at + 56, a7, b7, sums)
            store(sums, u, j)
            at += _TILE
            row += _TILE
        f = totals(f0, f1, f2, f3, f4, f5, f6, f7)
        if more:
            f = plus(f, _products(T, row, load(x, i + LANES)))
    return total(q)


@njit
def _products(T, at, X):
    """Return the products of a block with the eight rows of a tile."""
    return totals(
        times(load(T, at), X),
        times(load(T, at + 8), X),
        times(load(T, at + 16), X),
        times(load(T, at + 24), X),
        times(load(T, at + 32), X),
        times(load(T, at + 40), X),
        times(load(T, at + 48), X),
        times(load(T, at + 56), X),
    )


@njit
def _change(T, at, a, b, sums):
    """Change one block of a row of T by its share of the sums; return the sums with it."""
    row = load(T, at)
    store(fma(a, sums, row), T, at)
    return fma(b, row, sums)
