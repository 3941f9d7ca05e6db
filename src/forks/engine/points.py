"""The points that learners keep, and the three comparisons of a row with them.

Points are stored by column, feature by feature, so that the inner loops run over points and
vectorise whatever the number of features, and a sparse row touches only its non-zero features.
"""

import sys
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine.axes import axis_length
from forks.engine.blocks import (
    LANES,
    absolute,
    first,
    fma,
    load,
    minus,
    padded,
    plus_positive,
    splat,
)
from forks.engine.blocks import store as store_block
from forks.engine.compile import entry
from forks.engine.types import Matrix, Vector
from forks.engine.verbs import by_form


@axis_length
def odd_blocks(n: int) -> int:
    """Round up to an odd number of blocks.

    With a power of two, the numbers of one point would share few places in the processor's
    caches, and a comparison take three times as long.
    """
    width = padded(n)
    return width + LANES * (1 - width // LANES % 2)


_LARGEST = sys.float_info.max


class Points(NamedTuple):
    """Kept points, up to `capacity`; columns [:, :n] are in use."""

    columns: Annotated[Matrix, "features", "odd_blocks(capacity)"]  # point i is columns[:, i]
    norms: Annotated[Matrix, 2, "odd_blocks(capacity)"]  # |x_i|_2^2 and |x_i|_1


def dense_points(points: Points, n: int) -> Matrix:
    """The first n points as rows of a new array."""
    return np.ascontiguousarray(points.columns[:, :n].T)


def copy_point(source: Points, i: int, target: Points, j: int) -> None:
    """Keep point i of `source` as point j of `target`."""
    for ours, theirs in zip(target, source, strict=True):
        ours[:, j] = theirs[:, i]


# The three comparisons of a row with n points. Eight points are compared at a time, in registers
# over all features; `out` has room for n rounded up to whole blocks, and the numbers beyond n are
# of no meaning.


def _squared_distances_dense(x, points, n, out):
    # four blocks at a time: their sums do not wait for each other, and lines are read in a row
    columns = points.columns
    d, capacity = columns.shape
    i = 0
    while i + 3 * LANES < n:
        a, b, c, e = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(d):
            value, at = splat(x[j]), j * capacity + i
            difference = minus(value, load(columns, at))
            a = fma(difference, difference, a)
            difference = minus(value, load(columns, at + LANES))
            b = fma(difference, difference, b)
            difference = minus(value, load(columns, at + 2 * LANES))
            c = fma(difference, difference, c)
            difference = minus(value, load(columns, at + 3 * LANES))
            e = fma(difference, difference, e)
        store_block(a, out, i)
        store_block(b, out, i + LANES)
        store_block(c, out, i + 2 * LANES)
        store_block(e, out, i + 3 * LANES)
        i += 4 * LANES
    while i < n:
        sums = splat(0.0)
        for j in range(d):
            difference = minus(splat(x[j]), load(columns, j * capacity + i))
            sums = fma(difference, difference, sums)
        store_block(sums, out, i)
        i += LANES


def _squared_distances_sparse(x, points, n, out):
    # sum of (x_j - z_j)^2 over the non-zeros of x, plus |z|^2 less the z_j^2 met there: if z has
    # no others, that is exactly zero, since `store` adds the squares up in the same way
    columns, norms = points.columns, points.norms
    capacity = columns.shape[1]
    for i in range(0, n, LANES):
        sums, met = splat(0.0), splat(0.0)
        for e in range(x.values.shape[0]):
            z = load(columns, x.features[e] * capacity + i)
            difference = minus(splat(x.values[e]), z)
            sums = fma(difference, difference, sums)
            met = fma(z, z, met)
        store_block(plus_positive(sums, minus(load(norms, i), met)), out, i)


def _inner_products_dense(x, points, n, out):
    # as above
    columns = points.columns
    d, capacity = columns.shape
    i = 0
    while i + 3 * LANES < n:
        a, b, c, e = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(d):
            value, at = splat(x[j]), j * capacity + i
            a = fma(value, load(columns, at), a)
            b = fma(value, load(columns, at + LANES), b)
            c = fma(value, load(columns, at + 2 * LANES), c)
            e = fma(value, load(columns, at + 3 * LANES), e)
        store_block(a, out, i)
        store_block(b, out, i + LANES)
        store_block(c, out, i + 2 * LANES)
        store_block(e, out, i + 3 * LANES)
        i += 4 * LANES
    while i < n:
        sums = splat(0.0)
        for j in range(d):
            sums = fma(splat(x[j]), load(columns, j * capacity + i), sums)
        store_block(sums, out, i)
        i += LANES


def _inner_products_sparse(x, points, n, out):
    columns = points.columns
    capacity = columns.shape[1]
    for i in range(0, n, LANES):
        sums = splat(0.0)
        for e in range(x.values.shape[0]):
            z = load(columns, x.features[e] * capacity + i)
            sums = fma(splat(x.values[e]), z, sums)
        store_block(sums, out, i)


def _absolute_distances_dense(x, points, n, out):
    columns = points.columns
    d, capacity = columns.shape
    for i in range(0, n, LANES):
        sums = splat(0.0)
        for j in range(d):
            difference = minus(splat(x[j]), load(columns, j * capacity + i))
            sums = fma(splat(1.0), absolute(difference), sums)
        store_block(sums, out, i)


def _absolute_distances_sparse(x, points, n, out):
    # as above, with absolute values
    columns, norms = points.columns, points.norms
    capacity = columns.shape[1]
    for i in range(0, n, LANES):
        sums, met = splat(0.0), splat(0.0)
        for e in range(x.values.shape[0]):
            z = load(columns, x.features[e] * capacity + i)
            sums = fma(splat(1.0), absolute(minus(splat(x.values[e]), z)), sums)
            met = fma(splat(1.0), absolute(z), met)
        store_block(plus_positive(sums, minus(load(norms, capacity + i), met)), out, i)


def _store_dense(x, points, i):
    square, sum_ = splat(0.0), splat(0.0)
    for j in range(x.shape[0]):
        points.columns[j, i] = x[j]
        value = splat(x[j])
        square = fma(value, value, square)
        sum_ = fma(splat(1.0), absolute(value), sum_)
    points.norms[0, i] = min(first(square), _LARGEST)  # finite, as all that is stored
    points.norms[1, i] = min(first(sum_), _LARGEST)


def _store_sparse(x, points, i):
    square, sum_ = splat(0.0), splat(0.0)
    points.columns[:, i] = 0.0
    for e in range(x.values.shape[0]):
        points.columns[x.features[e], i] = x.values[e]
        value = splat(x.values[e])
        square = fma(value, value, square)
        sum_ = fma(splat(1.0), absolute(value), sum_)
    points.norms[0, i] = min(first(square), _LARGEST)  # finite, as all that is stored
    points.norms[1, i] = min(first(sum_), _LARGEST)


squared_distances = by_form(_squared_distances_dense, _squared_distances_sparse)
inner_products = by_form(_inner_products_dense, _inner_products_sparse)
absolute_distances = by_form(_absolute_distances_dense, _absolute_distances_sparse)
store = by_form(_store_dense, _store_sparse)

squared_distances.__doc__ = "squared_distances(x, points, n, out): out[i] = |x - x_i|_2^2, i < n."
inner_products.__doc__ = "inner_products(x, points, n, out): out[i] = <x, x_i>, i < n."
absolute_distances.__doc__ = "absolute_distances(x, points, n, out): out[i] = |x - x_i|_1, i < n."
store.__doc__ = "store(x, points, i): keep x as point i."


@entry
def _store_from_python(x, points, i):
    store(x, points, i)


def store_point(x: Vector, points: Points, i: int) -> None:
    """Keep dense x as point i; `store` for use outside compiled code."""
    _store_from_python.over()(x, points, i)


@entry
def _store_all(X, points):
    for i in range(X.shape[0]):
        store(X[i], points, i)


def store_points(X: Matrix, points: Points) -> None:
    """Keep dense rows as the first points."""
    _store_all.over()(np.ascontiguousarray(X), points)
