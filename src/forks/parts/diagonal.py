"""A linear part with diagonal second order: eight of them at once, for rows of many features.

A value x of feature j becomes

    z = sign(x) log(1 + |x| / m_j),

m_j the mean size of its values other than 0 so far: counts, frequencies and amounts of any unit
are of one size, and long tails are drawn in. With the slope g and the curvature h of the loss at
f = w'z + w_0 b, each weight has a variance v_j, 1 at first, and

    q = sum_j v_j z_j^2,
    w_j <- w_j - g v_j z_j / (R + h q),
    1 / v_j <- 1 / v_j + h z_j^2 / (R + c h q).

With c = 0 this is a Newton step on the diagonal of the second-order matrix; with c = 1 it is close
to the diagonal of the exact inverse, which falls more slowly where features come together, as in
AROW. R is `ridge` times the mean of |z|^2. No ridge and no c is best on all streams. So there are
eight learners, with ridges from 0.01 to 10 and both c, as many as a block of the processor holds:
they share the search for the places of features and the values, and take little more time than
one. `parts.blend` makes one answer of theirs.

A row of n entries other than 0 takes O(n) time, and memory goes with the features that have been
seen (`parts.seen`).

References: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", NeurIPS 2009;
Ross, Mineiro, Langford, "Normalized online learning", UAI 2013.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Cube, Limit, Matrix, Vector, njit
from forks.engine.blocks import LANES, divide, fma, load, splat, store, times
from forks.engine.rows import entries, feature, value
from forks.parts.seen import BIAS, NONE, key_of, place_of, take_place

RIDGES = (0.01, 0.1, 1.0, 10.0) * 2
SHARES = (0.0,) * 4 + (1.0,) * 4  # the c of each
MEAN, COUNT = 0, 1  # what `sizes` holds of a feature
NORM, ROWS = 0, 1  # what `levels` holds: mean of |z|^2, rows counted
_SIZE_MEMORY, _NORM_MEMORY = 1000.0, 1000.0  # rows, of the means
_LARGEST = 1e6  # |x| / m
_LEAST_NORM = 1e-30  # rows without entries, or of next to nothing, count as 1
_BIAS = 0.3  # b, in units of the root of the mean of |z|^2


class Diagonal(NamedTuple):
    """The linear parts."""

    levels: Annotated[Vector, 2]
    lanes: Annotated[Matrix, 2, LANES]  # ridge and c of each
    sizes: Annotated[Matrix, "places", 2]
    weights: Annotated[Cube, "places", "outputs", LANES]
    variances: Annotated[Matrix, "places", LANES]


class DiagonalWork(NamedTuple):
    """Scratch."""

    f: Annotated[Matrix, "outputs", LANES]  # scores, without the clip of `parts.blend`
    q: Annotated[Matrix, 2, LANES]  # the sums q; the curvatures
    gain: Annotated[Matrix, "outputs", LANES]  # slopes, then factors of v z


def begin_diagonal(diagonal: Diagonal) -> None:
    """Begin with weights 0, of variance 1."""
    diagonal.lanes[:] = RIDGES, SHARES
    diagonal.variances[:] = 1.0


def extend(diagonal: Diagonal, n_before: int) -> None:
    """Begin with places that are new."""
    diagonal.variances[n_before:] = 1.0


def diagonal_limits(diagonal: Diagonal) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("mean of squared norms", diagonal.levels[NORM], 0.0, 1e15),
        Limit("rows of the linear part", diagonal.levels[ROWS], 0.0, _NORM_MEMORY),
        Limit("ridges", diagonal.lanes[0] - np.array(RIDGES), 0.0, 0.0),
        Limit("shares", diagonal.lanes[1] - np.array(SHARES), 0.0, 0.0),
        Limit("sizes of features", diagonal.sizes[:, MEAN], 0.0, math.inf),
        Limit("counts of features", diagonal.sizes[:, COUNT], 0.0, _SIZE_MEMORY),
        Limit("variances", diagonal.variances, 0.0, 1.0),
    ]


def scaled_values(sizes: Matrix, places: np.ndarray, values: Vector) -> Vector:
    """Return z of values other than 0, outside compiled code."""
    mean = sizes[places, MEAN]
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.where(mean > 0.0, np.abs(values) / mean, 1.0)
    return np.asarray(np.sign(values) * np.log1p(np.minimum(ratio, _LARGEST)))


@njit
def scaled(sizes, place, x):
    """Return z for a value x other than 0 of the feature in a place, or in none yet."""
    ratio = 1.0
    if place != NONE and sizes[place, MEAN] > 0.0:
        ratio = min(abs(x) / sizes[place, MEAN], _LARGEST)
    return math.copysign(math.log1p(ratio), x)


@njit
def bias_value(levels, square):
    """Return b, for a row of which |z|^2 is `square`."""
    return _BIAS * math.sqrt(_norm(levels, square))


@njit
def _norm(levels, square):
    """Return the mean of |z|^2, or that of the first row."""
    norm = levels[NORM] if levels[ROWS] > 0.0 else square
    return norm if norm > _LEAST_NORM else 1.0


@njit
def find_places(seen, hash_bits, most, x):
    """Give a place to each feature of a row that has none."""
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            take_place(seen, key_of(hash_bits, feature(x, e)), most)


@njit
def score_lanes(diagonal, seen, hash_bits, most, x, work):
    """Write the scores of a row and the sums q; return |z|^2, and how many features are new."""
    weights, variances = diagonal.weights, diagonal.variances
    n_outputs, none = weights.shape[1], splat(0.0)
    square, new, q = 0.0, 0, none
    for o in range(n_outputs):
        store(none, work.f, o * LANES)
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            place = place_of(seen, key_of(hash_bits, feature(x, e)), most)
            z = scaled(diagonal.sizes, place, value(x, e))
            square += z * z
            if place == NONE:
                new += 1
            else:
                _add_scores(weights, place, z, work.f)
                q = fma(splat(z * z), load(variances, place * LANES), q)
    b = bias_value(diagonal.levels, square)
    _add_scores(weights, BIAS, b, work.f)
    store(fma(splat(b * b), load(variances, BIAS * LANES), q), work.q, 0)
    return square, new


@njit
def _add_scores(weights, place, z, f):
    n_outputs = weights.shape[1]
    at = place * n_outputs * LANES
    for o in range(0, n_outputs * LANES, LANES):
        store(fma(splat(z), load(weights, at + o), load(f, o)), f, o)


@njit
def learn_lanes(diagonal, seen, hash_bits, most, x, square, work):
    """Take the steps with slopes in `gain` and curvatures in q[1]; then update the scale.

    All features of the row have places, and `square` is its |z|^2.
    """
    levels, variances = diagonal.levels, diagonal.variances
    ridge = times(splat(_norm(levels, square)), load(diagonal.lanes, 0))
    q, h = load(work.q, 0), load(work.q, LANES)
    grown = fma(h, q, ridge)
    slower = fma(times(load(diagonal.lanes, LANES), h), q, ridge)
    rate = divide(h, slower)
    n_outputs = diagonal.weights.shape[1]
    for o in range(n_outputs):
        store(divide(load(work.gain, o * LANES), grown), work.gain, o * LANES)
    b = bias_value(levels, square)
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            place = place_of(seen, key_of(hash_bits, feature(x, e)), most)
            z = scaled(diagonal.sizes, place, value(x, e))
            _step(diagonal.weights, variances, place, z, work.gain, rate)
    _step(diagonal.weights, variances, BIAS, b, work.gain, rate)
    for e in range(entries(x)):
        if value(x, e) != 0.0:
            place = place_of(seen, key_of(hash_bits, feature(x, e)), most)
            _update_size(diagonal.sizes[place], abs(value(x, e)))
    levels[ROWS] = min(levels[ROWS] + 1.0, _NORM_MEMORY)
    levels[NORM] += (square - levels[NORM]) / levels[ROWS]


@njit
def _step(weights, variances, place, z, gain, rate):
    """Change the weights and the variances of one feature."""
    n_outputs = weights.shape[1]
    v = load(variances, place * LANES)
    at = place * n_outputs * LANES
    move = times(splat(-z), v)
    for o in range(0, n_outputs * LANES, LANES):
        store(fma(move, load(gain, o), load(weights, at + o)), weights, at + o)
    shrunk = fma(times(splat(z * z), rate), v, splat(1.0))
    store(divide(v, shrunk), variances, place * LANES)


@njit
def _update_size(size, x):
    size[COUNT] = min(size[COUNT] + 1.0, _SIZE_MEMORY)
    size[MEAN] += (x - size[MEAN]) / size[COUNT]
