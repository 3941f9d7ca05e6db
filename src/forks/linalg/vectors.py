"""Vectors of whole blocks, zero beyond their length, in compiled code."""

from forks.engine import either, njit
from forks.engine.blocks import LANES, absolute, fma, load, splat, store, total


@njit
def dot(a, b, n):
    """Return the sum of a_i b_i over the first n, rounded up to whole blocks."""
    sums = splat(0.0)
    for i in range(0, n, LANES):
        sums = fma(load(a, i), load(b, i), sums)
    return total(sums)


@njit
def l1_norm(a, n):
    """Return the sum of |a_i| over the first n, rounded up to whole blocks."""
    sums = splat(0.0)
    for i in range(0, n, LANES):
        sums = fma(splat(1.0), absolute(load(a, i)), sums)
    return total(sums)


@njit
def add_multiple(w, u, amount):
    """w += amount u."""
    for i in range(0, w.shape[0], LANES):
        store(fma(splat(amount), load(u, i), load(w, i)), w, i)


@njit
def clear(w):
    """w = 0."""
    for i in range(w.shape[0]):
        w[i] = 0.0


@either
def copy(w, u):
    """w = u, as w[:] = u would have it: that takes numba 2 s to compile."""
    for i in range(w.shape[0]):
        w[i] = u[i]
