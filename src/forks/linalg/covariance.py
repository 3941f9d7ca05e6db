"""Second-order memory: P = A^-1 of A = A_0 + sum_t h_t x_t x_t', kept as it is.

A round needs u = P x and q = x'P x, and

    (A + h x x')^-1 = P - h / (1 + h q) u u'.

P is symmetric, and kept packed: four rows at a time, in blocks of 4 x 8 numbers, up to and with
the 8 x 8 tile on the diagonal. So half of P is read and written, from one end of the memory to
the other. A square root of P (`forks.linalg.root`) stands rounding better, and moves four times as
many numbers.
"""

import numpy as np

from forks._jit import entry, njit
from forks._simd import LANES, fma, load, splat, store, total
from forks.linalg.vectors import add_multiple, dot
from forks.typing import Counter, Matrix, Vector

_ROWS = 4  # at a time: half a tile
LATE = 4  # changes that `absorb` makes in one pass


def packed_size(n: int) -> int:
    """Count the numbers of a packed n x n matrix; n is of whole tiles."""
    tiles = n // LANES
    return LANES * LANES * tiles * (tiles + 1) // 2


@njit
def _at(i, j):
    """Position of the number in row i and column j, j <= i or in the same tile."""
    tile = i // LANES
    blocks = (tile + 1) * (tile + (i // _ROWS) % 2) + j // LANES
    return (blocks * _ROWS + i % _ROWS) * LANES + j % LANES


@entry
def _pack(lower, places, packed):
    for position in range(packed.shape[0]):
        packed[position] = 0.0
    for a in range(lower.shape[0]):
        i = places[a]
        for b in range(a + 1):
            j = places[b]
            packed[_at(i, j)] = lower[a, b]
            if i // LANES == j // LANES:
                packed[_at(j, i)] = lower[a, b]


@entry
def _unpack(packed, places, lower):
    for a in range(lower.shape[0]):
        for b in range(a + 1):
            lower[a, b] = packed[_at(places[a], places[b])]


def pack(lower: Matrix, places: Counter, packed: Vector) -> None:
    """Write a symmetric matrix, given by its lower triangle, packed.

    Its rows and columns go where `places`, which rise, say; the rest is zero.
    """
    _pack.over()(lower, places, packed)


def unpack(packed: Vector, places: Counter) -> Matrix:
    """Give the lower triangle of some rows and columns; above it are zeros."""
    lower = np.zeros((len(places), len(places)))
    _unpack.over()(packed, places, lower)
    return lower


@njit
def multiply(P, x, u):
    """Write u = P x; return x'P x. P is packed, and the vectors are of whole tiles."""
    n = x.shape[0]
    at = 0
    for i in range(0, n, _ROWS):
        tile = i - i % LANES
        xa, xb, xc, xe = splat(x[i]), splat(x[i + 1]), splat(x[i + 2]), splat(x[i + 3])
        a, b, c, e = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(0, tile, LANES):
            other = load(x, j)
            pa, pb = load(P, at), load(P, at + LANES)
            pc, pe = load(P, at + 2 * LANES), load(P, at + 3 * LANES)
            a, b, c, e = fma(pa, other, a), fma(pb, other, b), fma(pc, other, c), fma(pe, other, e)
            above = fma(pa, xa, fma(pb, xb, load(u, j)))  # these rows are columns of those above
            store(fma(pc, xc, fma(pe, xe, above)), u, j)
            at += _ROWS * LANES
        other = load(x, tile)
        u[i] = total(fma(load(P, at), other, a))
        u[i + 1] = total(fma(load(P, at + LANES), other, b))
        u[i + 2] = total(fma(load(P, at + 2 * LANES), other, c))
        u[i + 3] = total(fma(load(P, at + 3 * LANES), other, e))
        at += _ROWS * LANES
    sums = splat(0.0)
    for j in range(0, n, LANES):
        sums = fma(load(u, j), load(x, j), sums)
    return total(sums)


@njit
def multiply_late(P, late, n_late, x, u):
    """Write u = (P - sum_s v_s v_s') x, v_s the first rows of `late`; return x'u."""
    q = multiply(P, x, u)
    for s in range(n_late):
        along = dot(late[s], x, x.shape[0])
        add_multiple(u, late[s], -along)
        q -= along * along
    return q


@njit
def absorb(P, late):
    """P <- P - sum_s v_s v_s', P packed, v_s the four rows of `late`: four changes in one pass."""
    n = late.shape[1]
    at = 0
    for i in range(0, n, _ROWS):
        aa, ab, ac, ae = _negated(late, 0, i)
        ba, bb, bc, be = _negated(late, 1, i)
        ca, cb, cc, ce = _negated(late, 2, i)
        ea, eb, ec, ee = _negated(late, 3, i)
        for j in range(0, i - i % LANES + LANES, LANES):
            va, vb = load(late, j), load(late, n + j)
            vc, ve = load(late, 2 * n + j), load(late, 3 * n + j)
            one = fma(ca, vc, fma(ea, ve, load(P, at)))
            two = fma(cb, vc, fma(eb, ve, load(P, at + LANES)))
            three = fma(cc, vc, fma(ec, ve, load(P, at + 2 * LANES)))
            four = fma(ce, vc, fma(ee, ve, load(P, at + 3 * LANES)))
            store(fma(aa, va, fma(ba, vb, one)), P, at)
            store(fma(ab, va, fma(bb, vb, two)), P, at + LANES)
            store(fma(ac, va, fma(bc, vb, three)), P, at + 2 * LANES)
            store(fma(ae, va, fma(be, vb, four)), P, at + 3 * LANES)
            at += _ROWS * LANES


@njit
def _negated(late, s, i):
    v = late[s]
    return splat(-v[i]), splat(-v[i + 1]), splat(-v[i + 2]), splat(-v[i + 3])
