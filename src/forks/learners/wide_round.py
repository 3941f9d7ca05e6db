"""One round of the learner for wide sparse rows, compiled: see `forks.learners.wide`."""

import math
from typing import Annotated, NamedTuple

from forks.engine import MENDS, RESUME, Counter, Vector, finite, njit, score, step
from forks.engine.blocks import LANES
from forks.linalg.vectors import dot
from forks.losses import Loss, curvature, slope
from forks.parts import blend as blending
from forks.parts import diagonal as linear
from forks.parts import newton as newtons
from forks.parts import sparse_landmarks as kernels
from forks.parts import targets as units
from forks.parts.blend import Blend, BlendRule, BlendWork
from forks.parts.conformal import Conformal, ConformalRule, observe_class, observe_residual
from forks.parts.diagonal import Diagonal, DiagonalWork
from forks.parts.expansion import finite_or_zero
from forks.parts.landmarks import whole_blocks
from forks.parts.seen import Seen
from forks.parts.sparse_landmarks import ENTRIES, KEPT, OPEN, WIDTH, SparseLandmarks
from forks.parts.targets import MEAN, SPREAD, Targets

EVENT, ROUNDS = 0, 2  # indices into `counts`
MORE_PLACES, MORE_ROOM, FIT = 1, 2, 3  # events
MOST_ROOM = 2**16  # entries of kept rows
FARTHEST = 10.0  # targets of regression, and slopes, in standard deviations
_LEAST_PLACES = 2**10
_HEAVIEST = 1e6  # weight of a row
_LARGEST_SLOPE = 1e100  # others, of weights beyond all bounds, are left out


class WideState(NamedTuple):
    """State that learning changes in place."""

    counts: Annotated[Counter, 3]  # the event; mends; rounds
    seen: Seen
    diagonal: Diagonal
    landmarks: SparseLandmarks
    newton: Annotated[newtons.Newton, "width = padded(landmarks + 1)"]
    blend: Annotated[Blend, f"inputs = {LANES + 2}"]
    conformal: Annotated[Conformal, "kinds = 1"]
    targets: Targets
    moment: Annotated[Vector, 1]  # sum of squared distances of targets from their mean


class WideRule(NamedTuple):
    """Constants for compiled code."""

    loss: Loss
    unit: float  # curvature of the loss at f = 0
    classifies: bool
    blend: BlendRule
    conformal: ConformalRule
    landmarks: int
    places: int
    hash_bits: int


class WideWork(NamedTuple):
    """Scratch."""

    diagonal: DiagonalWork
    blend: Annotated[BlendWork, f"inputs = {LANES + 2}"]
    psi: Annotated[Vector, "padded(landmarks + 1)"]
    u: Annotated[Vector, "padded(landmarks + 1)"]
    g: Annotated[Vector, "outputs"]
    z: Annotated[Vector, "outputs"]  # log-odds, or numbers in the unit of the targets


@score.register(WideRule)
def _score(rule, state, work, x, out):
    _answer(rule, state, work, x, out)


@step.register(WideRule)
def _step(rule, state, work, x, y, weight, out):
    counts = state.counts
    if counts[EVENT] == RESUME:  # the round has been played, and its event is done
        counts[EVENT] = 0
        return
    square, new = _answer(rule, state, work, x, out)
    if weight == 0.0:
        return
    most = _most_places(rule, out.shape[0])
    n = kernels.entries_of(x) if state.landmarks.sizes[OPEN] != 0 else 0
    counts[EVENT] = _room_needed(state, most, new, n)
    if counts[EVENT] > 0:
        return
    weight = min(weight, _HEAVIEST)
    if new > 0:
        linear.find_places(state.seen, rule.hash_bits, most, x)
        square, new = linear.score_lanes(
            state.diagonal, state.seen, rule.hash_bits, most, x, work.diagonal
        )
    if not rule.classifies:
        _count_targets(state, y)
    _observe(rule, state, y, out)
    _learn(rule, state, work, x, y, weight, square, most)
    if state.landmarks.sizes[OPEN] != 0:
        _keep(rule, state, x, y, weight, n, most)
    counts[ROUNDS] += 1


@njit
def _most_places(rule, n_outputs):
    """Return how many places there can be: fewer with several outputs, whose weights are long."""
    most = rule.places
    while most > _LEAST_PLACES and most * (2 + n_outputs) > 3 * rule.places:
        most //= 2
    return most


@njit
def _room_needed(state, most, new, n):
    """Return the event that makes room for a row with so many new features and entries, or 0."""
    seen, landmarks = state.seen, state.landmarks
    places = seen.keys.shape[0] // 2
    if new > 0 and places < most and seen.used[0] + new > places:
        return MORE_PLACES
    room = landmarks.values.shape[0]
    if n > 0 and room < MOST_ROOM and landmarks.sizes[ENTRIES] + n > room:
        return MORE_ROOM
    return 0


@njit
def _answer(rule, state, work, x, out):
    """Write the answers of a row; return |z|^2 when it is scaled, and how many features are new."""
    diagonal, landmarks, theta = state.diagonal, state.landmarks, state.newton.theta
    n_outputs = out.shape[0]
    most = _most_places(rule, n_outputs)
    square, new = linear.score_lanes(diagonal, state.seen, rule.hash_bits, most, x, work.diagonal)
    m = landmarks.sizes[WIDTH]
    if m > 0:
        sizes = diagonal.sizes
        kernels.write_psi(landmarks, sizes, state.seen, rule.hash_bits, most, x, square, work.psi)
    for o in range(n_outputs):
        s = work.blend.s[o]
        for lane in range(LANES):
            s[lane] = blending.clipped(rule.blend, work.diagonal.f[o, lane])
        s[LANES] = 0.0
        if m > 0:
            s[LANES] = blending.clipped(rule.blend, dot(theta[o], work.psi, m + 1))
        s[LANES + 1] = 1.0
        z = blending.blended(rule.blend, state.blend.weights[o], s)
        work.z[o] = z
        if rule.classifies:
            out[o] = 2.0 * blending.probability(z) - 1.0
        else:
            out[o] = finite_or_zero(units.restored(state.targets, z))
    return square, new


@njit
def _count_targets(state, y):
    """Update mean and spread of the targets, of all outputs together."""
    levels, moment = state.targets.levels, state.moment
    n = float(y.shape[0]) * state.counts[ROUNDS]
    for o in range(y.shape[0]):
        n += 1.0
        away = y[o] - levels[MEAN]
        change = levels[MEAN] + away / n
        grown = moment[0] + away * (y[o] - change)
        if finite(grown):
            levels[MEAN], moment[0] = change, grown
    levels[SPREAD] = math.sqrt(moment[0] / n) if moment[0] > 0.0 else 1.0


@njit
def _observe(rule, state, y, out):
    """Track how far off the answers were, for intervals and prediction sets."""
    n_outputs = y.shape[0]
    if not rule.classifies:
        if n_outputs == 1:
            observe_residual(rule.conformal, state.conformal, 0, y[0] - out[0])
        return
    right, total = 0.0, 0.0
    for o in range(n_outputs):
        p = 0.5 + 0.5 * out[o]
        total += p
        if y[o] > 0.0:
            right += p
    if n_outputs == 1:
        right, total = (right if y[0] > 0.0 else 1.0 - total), 1.0
    observe_class(rule.conformal, state.conformal, 0, right / max(total, 1e-300))


@njit
def _target(rule, state, y):
    """Return a target as the parts take it."""
    if rule.classifies:
        return y
    return min(max(units.standardised(state.targets, y), -FARTHEST), FARTHEST)


@njit
def _slope(rule, f, y):
    """Return slope and curvature of the loss in units of `unit`; slopes of regression clipped."""
    g = slope(rule.loss, f, y) / rule.unit
    h = curvature(rule.loss, f, y) / rule.unit
    if not rule.classifies:
        g = min(max(g, -FARTHEST), FARTHEST)
    if g == 0.0 or not abs(g) <= _LARGEST_SLOPE:
        return 0.0, 0.0
    return g, (h if h > 0.0 else 1.0)


@njit
def _learn(rule, state, work, x, y, weight, square, most):
    """Let all parts learn a row, each from its own answer."""
    n_outputs = y.shape[0]
    lanes, m = work.diagonal, state.landmarks.sizes[WIDTH]
    for lane in range(LANES):
        lanes.q[1, lane] = 0.0
    total, bend = 0.0, 0.0
    for o in range(n_outputs):
        target = _target(rule, state, y[o])
        for lane in range(LANES):
            g, h = _slope(rule, lanes.f[o, lane], target)
            lanes.gain[o, lane] = weight * g
            lanes.q[1, lane] = max(lanes.q[1, lane], weight * h)
        if m > 0:
            g, h = _slope(rule, dot(state.newton.theta[o], work.psi, m + 1), target)
            work.g[o], bend, total = g, max(bend, weight * h), total + g * g
        s, u, P = work.blend.s[o], work.blend.u, state.blend.covariance[o]
        a = state.blend.weights[o]
        if not blending.learn_blend(rule.blend, a, P, s, u, work.z[o], target, weight):
            state.counts[MENDS] += 1
    linear.learn_lanes(state.diagonal, state.seen, rule.hash_bits, most, x, square, work.diagonal)
    if bend > 0.0:
        W = whole_blocks(m + 1)
        if not newtons.newton_step(
            state.newton, work.psi[:W], work.u[:W], work.g, bend, weight, total
        ):
            state.counts[MENDS] += 1


@njit
def _keep(rule, state, x, y, weight, n, most):
    """Keep a row to be a landmark; raise an event when these are to be chosen."""
    landmarks = state.landmarks
    sizes = landmarks.sizes
    fits = sizes[ENTRIES] + n <= landmarks.values.shape[0]
    if fits:
        kernels.keep_row(landmarks, state.seen, rule.hash_bits, most, x, y, weight)
    if not fits or sizes[KEPT] == rule.landmarks:
        state.counts[EVENT] = FIT
