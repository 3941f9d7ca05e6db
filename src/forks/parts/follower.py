"""A fast second opinion: a passive-aggressive follower, weighted by the fixed-share rule.

The follower makes every example right at once: v <- v + max(0, 1 - y v'x) y x / |x|^2. Its features
x are kernel values, centred and divided by the root mean square of their norm over the rows that it
was started with, and other features as they are.

The leader (another learner) and the follower have weights. A mistake on a row of weight w
multiplies a weight by exp(-w / w_max), w_max the largest weight of a row so far, and `SHARE` of all
weight is then divided evenly, so that an expert that was wrong for long can come back within some
rounds, and weights become even while both are right. Dividing by w_max keeps one wrong label of a
heavy row from deciding alone.

References: Crammer et al., "Online passive-aggressive algorithms", JMLR 7, 2006; Herbster, Warmuth,
"Tracking the best expert", Machine Learning 32, 1998.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Limit, Matrix, Vector, entry, njit
from forks.engine.blocks import LANES, load, minus, padded, splat, store, times
from forks.linalg.vectors import add_multiple, clear, dot, l1_norm
from forks.parts.expansion import finite_or_zero, is_mistake
from forks.parts.gradient import LARGEST

FACTOR, HEAVIEST = 0, 1  # what `levels` holds
SHARE = 0.001  # of all weight, divided evenly after each round
_SMALL = 1e-12  # root mean square of centred kernel values that are all alike


class Follower(NamedTuple):
    """The follower, its features, and the weights of leader and follower.

    Of `width` features, at most `capacity` are kernel values.
    """

    v: Annotated[Matrix, "outputs", "width"]
    trust: Annotated[Matrix, "outputs", 2]  # weights of the leader and the follower
    centre: Annotated[Vector, "padded(capacity)"]  # mean of the kernel values
    levels: Annotated[Vector, 2]  # factor of the centred kernel values; largest weight of a row


def follower_limits(follower: Follower) -> list[Limit]:
    """Return the bounds of what a stored follower may hold."""
    return [
        Limit("trust", follower.trust, 0.0, 1.0),
        Limit("larger trust", follower.trust.max(axis=1), 0.25, 1.0),  # their sum is divided by
        Limit("largest weight", follower.levels[HEAVIEST], 0.0, math.inf),
    ]


def start_follower(follower: Follower, K: Matrix, others: Matrix, targets: Matrix) -> None:
    """Centre the features by rows with kernel values K and other features, and follow them."""
    m, end = K.shape[1], K.shape[1] + others.shape[1]
    follower.centre[:] = 0.0
    follower.centre[:m] = K.mean(axis=0)
    centred = K - follower.centre[:m]
    size = math.sqrt(float(np.einsum("ij,ij->", centred, centred)) / len(centred))
    follower.levels[FACTOR] = 1.0 / size if size > _SMALL else 0.0
    rows = np.zeros((len(K), padded(end)))
    rows[:, :m] = follower.levels[FACTOR] * centred
    rows[:, m:end] = others
    follower.v[:] = 0.0
    _follow_rows.over()(follower.v, rows, np.ascontiguousarray(targets))


@njit
def write_centred(follower, psi, m, W, out):
    """Write the follower's features: psi, whose first m are kernel values, with these centred."""
    factor = splat(follower.levels[FACTOR])
    for i in range(0, m, LANES):
        store(times(factor, minus(load(psi, i), load(follower.centre, i))), out, i)
    for i in range(m, W):
        out[i] = psi[i]


@njit
def follow(follower, x, f, g, y, weight):
    """Weigh leader (scores f) and follower (scores g); let the follower learn (x, y).

    `weight` is positive.
    """
    heaviest = max(follower.levels[HEAVIEST], weight)
    follower.levels[HEAVIEST] = heaviest
    penalty = math.exp(-weight / heaviest)
    W = x.shape[0]
    for o in range(y.shape[0]):
        a = follower.trust[o, 0] * (penalty if is_mistake(f[o], y[o]) else 1.0)
        b = follower.trust[o, 1] * (penalty if is_mistake(g[o], y[o]) else 1.0)
        leader = (1.0 - SHARE) * a / (a + b) + 0.5 * SHARE
        follower.trust[o, 0] = leader
        follower.trust[o, 1] = 1.0 - leader
        _make_right(follower.v[o][:W], x, g[o], y[o])


@njit
def _make_right(v, x, g, y):
    """Take the passive-aggressive step: the smallest after which y v'x is 1.

    If v overflows it starts anew.
    """
    square = dot(x, x, x.shape[0])
    missing = 1.0 - y * g
    if missing > 0.0 and square > 0.0:
        add_multiple(v, x, missing * y / square)
        if not l1_norm(v, v.shape[0]) <= LARGEST:  # also for NaN
            clear(v)


@entry
def _follow_rows(v, rows, targets):
    for t in range(rows.shape[0]):
        for o in range(v.shape[0]):
            g = finite_or_zero(dot(v[o], rows[t], rows.shape[1]))
            _make_right(v[o][: rows.shape[1]], rows[t], g, targets[t, o])
