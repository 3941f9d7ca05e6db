"""For wide sparse rows, of text say: linear parts of second order, and a kernel part beside them.

    row -> eight linear parts (parts.diagonal) --------> blend (parts.blend) -> answer
        -> sparse landmarks (parts.sparse_landmarks) -^

Where rows have thousands of features and a few hundred entries other than 0, a linear function is
most of what can be learned, and a kernel that compares whole rows with a few hundred others adds to
it. The linear parts have one variance for each weight, the kernel part has full second order on
its landmarks; which of them to believe, and how much, is learned from how they do.

**Cost.** A round takes time in proportion to the entries of the row, the entries that it shares
with landmarks, and the squared number of these. Memory goes with the features that have been seen
(`parts.seen`), up to 2^`table_bits` of them: about 190 bytes each, and 64 for every further output.
Beyond that features share places; with several outputs there are fewer, so that memory stays the
same. Nothing is as long as a row would be if it were dense.

**Hashing.** With `hash_bits` features are hashed into 2^`hash_bits` first.

**Regression.** Targets are brought to mean 0 and standard deviation 1, those of all rows so far,
and clipped at ten deviations, like slopes, so that absurd ones do little harm.

**Overflow.** A step that would not be finite is left out, and counted as a mend.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    MANY,
    MENDS,
    RESUME,
    Counter,
    Growth,
    Learner,
    Limit,
    Matrix,
    Memory,
    Vector,
    finite,
    njit,
    score,
    step,
)
from forks.engine.blocks import LANES
from forks.engine.checks import whole
from forks.kernels import Gaussian, Kernel
from forks.linalg.vectors import dot
from forks.losses import Loss, SquaredHinge, curvature, slope
from forks.parts import blend as blending
from forks.parts import diagonal as linear
from forks.parts import newton as newtons
from forks.parts import sparse_landmarks as kernels
from forks.parts import targets as units
from forks.parts.blend import Blend, BlendRule, BlendWork
from forks.parts.conformal import (
    Conformal,
    ConformalRule,
    begin_quantiles,
    conformal_limits,
    observe_class,
    observe_residual,
    threshold,
)
from forks.parts.conformal import interval as conformal_interval
from forks.parts.diagonal import Diagonal, DiagonalWork
from forks.parts.expansion import finite_or_zero
from forks.parts.landmarks import whole_blocks
from forks.parts.seen import Seen, begin_seen, rebuild, seen_limits
from forks.parts.sparse_landmarks import ENTRIES, KEPT, OPEN, WIDTH, SparseLandmarks
from forks.parts.targets import MEAN, SPREAD, Targets

EVENT, ROUNDS = 0, 2  # indices into `counts`
MORE_PLACES, MORE_ROOM, FIT = 1, 2, 3  # events
_FIRST_PLACES, _FIRST_ROOM, _MOST_ROOM = 2**10, 2**10, 2**16
_ALPHA = 0.1  # prior of the kernel part
_LARGEST_VARIANCE = 1e12  # of the kernel part: independent rows are farther apart
_HEAVIEST = 1e6  # weight of a row
_LARGEST_SLOPE = 1e100  # others, of weights beyond all bounds, are left out
_FARTHEST = 10.0  # targets of regression, and slopes, in standard deviations


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


@dataclass(frozen=True, kw_only=True)
class Wide(Learner):
    """Linear and kernel parts of second order for wide sparse rows.

    Parameters
    ----------
    kernel : Gaussian
        Its bandwidth is in units of the median distance of the first rows.
    loss : loss
        One of `forks.losses`.
    landmarks : int
        Rows that are compared with every row, 0 for none. The first ones are taken, as many as
        have 65,536 entries together.
    table_bits : int
        2^`table_bits` features have weights of their own, fewer if there are several outputs.
    hash_bits : int
        Into how many numbers features are hashed, as a power of two; 0 for no hashing.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = SquaredHinge()
    landmarks: int = 128
    table_bits: int = 18
    hash_bits: int = 0

    multi_output = True
    events_need_rows = False
    state_class = WideState
    work_class = WideWork
    rule_class = WideRule

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Gaussian):
            raise ValueError(f"kernel must be Gaussian, got {self.kernel!r}")
        whole("landmarks", self.landmarks, 0, 4096)
        whole("table_bits", self.table_bits, 4, 26)
        whole("hash_bits", self.hash_bits, 0, 31)

    def derived(self) -> dict[str, Any]:
        """Return the rules of the parts, and what the loss is for."""
        classifies = self.tasks != ("regression",)
        return {
            "unit": float(curvature(self.loss, 0.0, 1.0)) or 1.0,
            "classifies": classifies,
            "blend": BlendRule(classifies),
            "conformal": ConformalRule(classifies),
            "places": 2**self.table_bits,
        }

    @cached_property
    def _rule(self) -> Any:
        return self.rule()

    def growing(self) -> dict[str, Growth]:
        """Return the lengths that grow: places of features, and room for entries of kept rows."""
        most = 2**self.table_bits
        return {
            "places": Growth(min(_FIRST_PLACES, most), most),
            "room": Growth(_FIRST_ROOM, _MOST_ROOM),
        }

    def begin(self, view: WideState, rng: np.random.Generator) -> None:
        """Begin with what the parts begin with; nothing is drawn."""
        begin_seen(view.seen)
        linear.begin_diagonal(view.diagonal)
        kernels.begin_landmarks(view.landmarks, self.landmarks)
        blending.begin_blend(self._rule.blend, view.blend, LANES)
        begin_quantiles(self._rule.conformal, view.conformal)

    def limits(self, view: WideState) -> list[Limit]:
        """Return the bounds of what compiled code relies on."""
        used = int(view.seen.used[0])
        return [
            Limit("number of rounds", view.counts[ROUNDS], 0, MANY),
            *seen_limits(view.seen),
            *linear.diagonal_limits(view.diagonal),
            *kernels.landmark_limits(view.landmarks, self.landmarks, used),
            Limit("variances of the kernel part", view.newton.P.d, 0.0, _LARGEST_VARIANCE),
            *blending.blend_limits(self._rule.blend, view.blend),
            *conformal_limits(view.conformal),
            Limit("spread of the targets", view.targets.levels[SPREAD], 0.0, math.inf),
            Limit("moment of the targets", view.moment, 0.0, math.inf),
        ]

    def stored_points(self, memory: Memory) -> int:
        """Count the rows that are kept."""
        return int(self.view(memory).landmarks.sizes[KEPT])

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: WideState, x: Vector) -> Memory | None:
        """Make more room, or choose the landmarks."""
        event = int(view.counts[EVENT])
        if event == MORE_ROOM:
            return self.doubled(view, "room")
        if event == MORE_PLACES:
            return self._with_more_places(view)
        self._fit(view)
        view.counts[EVENT] = RESUME
        return None

    def _with_more_places(self, view: WideState) -> Memory:
        memory = self.doubled(view, "places")
        new = self.view(memory)
        new.seen.keys[:], new.seen.where[:] = 0, 0
        rebuild(new.seen, view.seen.keys, view.seen.where)
        linear.extend(new.diagonal, len(view.diagonal.sizes))
        if new.landmarks.sizes[WIDTH] > 0:
            kernels.sort_entries(new.landmarks)
        return memory

    def _fit(self, view: WideState) -> None:
        rule = self._rule
        y = view.landmarks.targets
        if not rule.classifies:
            y = np.clip(units.standardise(view.targets, y), -_FARTHEST, _FARTHEST)
        one_sided = rule.classifies and y.shape[1] == 1
        with np.errstate(over="ignore", invalid="ignore"):
            view.counts[MENDS] += not kernels.fit(
                view.landmarks,
                view.newton,
                view.diagonal.sizes,
                y,
                float(self.kernel.bandwidth),
                _ALPHA,
                one_sided,
            )

    # ---- what users ask for --------------------------------------------------------------------

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    def interval(self, memory: Memory, level: float, ahead: bool) -> tuple[float, float]:
        """Return what is to be added to predictions for the ends of intervals of a coverage."""
        return conformal_interval(self.view(memory).conformal, 0, level)

    def least_probability(self, memory: Memory, level: float, ahead: bool) -> float:
        """Return the least probability of a class in prediction sets of a coverage."""
        return threshold(self.view(memory).conformal, 0, level)


# ---- compiled --------------------------------------------------------------------------------


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
    _observe(rule, state, work, y, out)
    _learn(rule, state, work, x, y, weight, square, most)
    if state.landmarks.sizes[OPEN] != 0:
        _keep(rule, state, x, y, weight, n, most)
    counts[ROUNDS] += 1


@njit
def _most_places(rule, n_outputs):
    """Return how many places there can be: fewer with several outputs, whose weights are long."""
    most = rule.places
    while most > 1024 and most * (2 + n_outputs) > 3 * rule.places:
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
    if n > 0 and room < _MOST_ROOM and landmarks.sizes[ENTRIES] + n > room:
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
def _observe(rule, state, work, y, out):
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
    return min(max(units.standardised(state.targets, y), -_FARTHEST), _FARTHEST)


@njit
def _slope(rule, f, y):
    """Return slope and curvature of the loss in units of `unit`; slopes of regression clipped."""
    g = slope(rule.loss, f, y) / rule.unit
    h = curvature(rule.loss, f, y) / rule.unit
    if not rule.classifies:
        g = min(max(g, -_FARTHEST), _FARTHEST)
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
