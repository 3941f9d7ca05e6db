"""Scaling of features, with long tails drawn in.

From some rows each feature gets a centre m (its median), a width s (its mean distance from m) and
a tail weight a >= 0; with t = (x - m) / s a value becomes

    z = t / (1 + a |t|) / r,   at most 5 in size,

where r makes the standard deviation of the rows one. The tail weight is 0 for features with the
tails of a normal distribution or shorter, and grows with R, the root mean square of |x - m| over
its mean: a = (R / R_normal - 1) / 2, at most 1. So counts and amounts, most of them small and a
few huge, are spread evenly. A feature that is the same in all rows says 0, and +-3 if it is ever
something else. Where tails are not `drawn_in`, a is 0 and z at most 50 in size: what is linear in x
stays so, far beyond most rows. `with_far` does so for some features, whose tail is then negative.

A feature that is zero in more than half of the rows has the centre 0, so that sparse rows stay
sparse.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forks.engine import Matrix, Vector, by_form, njit

_BOUND, _FARTHER = 5.0, 10.0
_NORMAL = math.sqrt(math.pi / 2.0)  # root mean square over mean distance of a normal distribution
_DRAW_IN = 0.5
_TINY = 1e-300
_LARGEST = 1e300  # |x - centre|: beyond, values are held there, and all that follows is finite
_LARGEST_PLAIN = 1e150  # |z| where nothing is scaled: squares are finite
_SURPRISE = 3.0  # |z| of a feature that was constant so far and is not now


class Scale(NamedTuple):
    """z = (x - centre) / (width + tail |x - centre|), at most bound[0] in size.

    A negative tail counts as 0, and z is then at most `_FARTHER` times as large.
    """

    centre: Annotated[Vector, "features"]
    width: Annotated[Vector, "features"]
    tail: Annotated[Vector, "features"]
    bound: Annotated[Vector, 1]


def fit_scale(X: Matrix, weights: Vector, centred: bool = True, drawn_in: bool = True) -> Scale:
    """Return the scale that rows call for; those of weight zero have no say.

    If they are not to be `centred`, all centres are 0; tails are `drawn_in`, or not.
    """
    X = X[weights > 0.0]
    centre = np.median(np.clip(X, -_LARGEST, _LARGEST), axis=0)
    if not centred:
        centre[:] = 0.0
    offset = _offsets(X, centre)
    distance = np.abs(offset)
    width = distance.mean(axis=0)
    flat = ~(width > 0.0)
    width[flat] = 1.0
    ratio = np.sqrt(np.mean((distance / width) ** 2, axis=0)) / _NORMAL
    tail = np.clip(_DRAW_IN * (ratio - 1.0), 0.0, 1.0) if drawn_in else np.zeros_like(ratio)
    t = offset / width
    spread = (t / (1.0 + tail * np.abs(t))).std(axis=0)
    spread[~(spread > 0.0)] = 1.0
    width, tail = np.maximum(width * spread, _TINY), tail * spread
    width[flat], tail[flat] = _TINY, 1.0 / _SURPRISE
    return Scale(centre, width, tail, np.array([_BOUND if drawn_in else _BOUND * _FARTHER]))


def with_far(scale: Scale, plain: Scale, far: NDArray[np.bool_]) -> Scale:
    """Return a scale with some features as in `plain`, whose tails are not drawn in."""
    width = np.where(far, plain.width, scale.width)
    return Scale(scale.centre, width, np.where(far, -1.0, scale.tail), scale.bound)


def no_scale(n_features: int) -> Scale:
    """Return the scale that leaves rows as they are, but for values beyond 1e150."""
    zeros = np.zeros(n_features)
    return Scale(zeros, np.ones(n_features), zeros, np.array([_LARGEST_PLAIN]))


def divided(scale: Scale, divisor: float) -> Scale:
    """Return the scale whose values are those of another, divided."""
    centre, width, tail, bound = scale
    return Scale(centre, width * divisor, tail * divisor, bound / divisor)


def apply_scale(scale: Scale, X: Matrix) -> Matrix:
    """Scale rows; outside compiled code."""
    offset = _offsets(X, scale.centre)
    with np.errstate(over="ignore"):
        z = offset / (scale.width + np.maximum(scale.tail, 0.0) * np.abs(offset))
    bound = scale.bound[0] * np.where(scale.tail < 0.0, _FARTHER, 1.0)
    return np.clip(z, -bound, bound)


def _offsets(X: Matrix, centre: Vector) -> Matrix:
    with np.errstate(over="ignore"):
        return np.clip(X - centre, -_LARGEST, _LARGEST)


@njit
def scaled_value(scale, j, value):
    """One value of feature j, scaled."""
    offset = min(max(value - scale.centre[j], -_LARGEST), _LARGEST)
    tail, bound = scale.tail[j], scale.bound[0]
    if tail < 0.0:
        tail, bound = 0.0, bound * _FARTHER
    z = offset / (scale.width[j] + tail * abs(offset))
    return min(max(z, -bound), bound)


def _write_dense(x, scale, out):
    for j in range(x.shape[0]):
        out[j] = scaled_value(scale, j, x[j])


def _write_sparse(x, scale, out):
    for j in range(scale.centre.shape[0]):
        out[j] = scaled_value(scale, j, 0.0)
    for e in range(x.values.shape[0]):
        out[x.features[e]] = scaled_value(scale, x.features[e], x.values[e])


write_scaled = by_form(_write_dense, _write_sparse)
write_scaled.__doc__ = "write_scaled(x, scale, out): a row scaled, as a dense vector."
