"""The learner of the default estimators: second order from the first rows on, and nothing to tune.

It is put together from parts, each of which has its formulas, constants and references in its own
file:

    row -> psi (parts.landmarks) -> theta'psi (parts.newton) --> answer
                                 -> follower (parts.follower) -^
    slope -> gate (parts.gate) -> Newton step (parts.newton)
    mistake -> watch (parts.watch) -> start again from the last rows (parts.ring)

**A start that learns.** The first `buffer` rows are kept. When 16, 64, ... of them have come, and
when all have, map, prior, theta and P are made anew from all rows so far (`parts.start`,
`parts.prior`): a batch machine on few rows. Targets of regression are brought to mean 0 and
standard deviation 1 (`parts.targets`).

**Then a Newton step per round**, at a cost of O(m d), and O((m + d)^2) more if the gate lets the
round learn. After the buffer there is an event each time the number of rounds has doubled, which
brings the tolerance of the gate and the prior up to date.

**Learn and follow.** For classes a follower that makes every example right at once stands beside
theta. The one of more weight gives the answer, 2 p - 1, where p is the probability that its score
stands for (the logistic function of a log-odds, else (1 + f) / 2), kept `sure` away from 0 and 1.
If the stream changes all the time, or repeats itself, the follower takes over within some rounds,
and the price on other streams is small.

**Start again when the concept has changed.** The watch sees the mistakes of theta: with several
outputs, whether the largest score is that of a right one; in regression, whether the square of the
slope is above its recent mean. After an alarm the learner starts anew from the rows since the
change, at most the buffer.

**Overflow.** A step that would not be finite is left out; after `most_refused` of
them since the last fit the learner starts anew from the rows that it keeps. Both are counted as
mends, as are fits without a finite solution, which begin with the prior alone.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    MANY,
    RESUME,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Shapes,
    Vector,
    njit,
    score,
    step,
)
from forks.engine.checks import one_of, whole
from forks.kernels import Gaussian, Kernel
from forks.linalg import spd
from forks.linalg.packed_inverse import set_root
from forks.linalg.vectors import dot
from forks.losses import Loss, SquaredHinge, curvature, slope
from forks.parts import follower as followers
from forks.parts import gate as gates
from forks.parts import landmarks, newton, prior, ring, start, targets, watch
from forks.parts.expansion import finite_or_zero, is_mistake
from forks.parts.follower import SHARE, Follower
from forks.parts.gate import RESIDUAL, Gate, GateRule
from forks.parts.landmarks import LANDMARKS, LINEAR, WIDTH, LandmarkMap, whole_blocks
from forks.parts.targets import SPREAD, Targets

START, PRIOR = start.StartRule(), prior.PriorRule()
SMALLEST_BUFFER = START.first
FIT = 1


class AdaptiveCount(NamedTuple):
    """Indices into `counts`."""

    event: int
    mends: int  # steps left out because they would not have been finite, and fits that failed
    rounds: int  # since the start, or since the concept changed
    due: int  # rounds at which the next event is due
    begun: int  # rounds when the means of the watch and of the gate were begun
    restarts: int
    refused: int  # steps left out since the last fit


COUNT = AdaptiveCount(*range(len(AdaptiveCount._fields)))


class AdaptiveState(NamedTuple):
    """State that learning changes in place; psi has at most buffer + linear + 1 features."""

    counts: Annotated[Counter, len(AdaptiveCount._fields)]
    alpha: Annotated[Vector, 1]  # factor of the prior
    map: Annotated[LandmarkMap, "capacity = buffer"]
    newton: Annotated[newton.Newton, "width = padded(buffer + linear + 1)"]
    gate: Gate
    targets: Targets
    follower: Annotated[Follower, "width = padded(buffer + linear + 1)", "capacity = buffer"]
    watch: Annotated[watch.Watch, "size = buffer"]
    ring: Annotated[ring.Ring, "size = buffer"]


class AdaptiveRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    page: watch.PageRule
    gate: GateRule
    classifies: bool
    probabilistic: bool  # is the score a log-odds?
    follow: bool
    restart: bool
    sure: float = 0.01
    most_refused: int = 16


class AdaptiveWork(NamedTuple):
    """Scratch."""

    psi: Annotated[Vector, "padded(buffer + linear + 1)"]
    centred: Annotated[Vector, "padded(buffer + linear + 1)"]  # the follower's features
    u: Annotated[Vector, "padded(buffer + linear + 1)"]  # P psi
    z: Annotated[Vector, "features"]  # the scaled row
    f: Annotated[Vector, "outputs"]  # theta'psi
    second: Annotated[Vector, "outputs"]  # the follower's scores
    g: Annotated[Vector, "outputs"]  # slopes


@dataclass(frozen=True, kw_only=True)
class Adaptive(Learner):
    """Second order from the first rows on, scaled, following, and restarted when it must be.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`. A bandwidth is in units of the median distance of scaled rows, or
        of the scaled features if `bandwidth` is "absolute".
    loss : loss
        One of `forks.losses`.
    buffer : int
        M, rows kept: those that the first fits are made from, each of them a landmark, and later
        the last ones, that a new start begins with.
    scaling : {"standard", "none"}
    bandwidth : {"median", "absolute"}
    linear : bool
        Has the model a linear part beside the kernel's?
    follow : bool
        Is there a follower?
    restart : bool
        Does a change of the concept lead to a new start?
    early : bool
        Are there fits before the buffer is full? Without them only the bias learns until then.
    robust : bool
        Are large slopes clipped, so that wrong labels and absurd targets do little harm?
    """

    kernel: Kernel = Gaussian()
    loss: Loss = SquaredHinge()
    buffer: int = 250
    scaling: str = "standard"
    bandwidth: str = "median"
    linear: bool = True
    follow: bool = True
    restart: bool = True
    early: bool = True
    robust: bool = True

    multi_output = True
    state_class = AdaptiveState
    work_class = AdaptiveWork
    rule_class = AdaptiveRule

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("buffer", self.buffer, SMALLEST_BUFFER)
        one_of("scaling", self.scaling, ("standard", "none"))
        one_of("bandwidth", self.bandwidth, ("median", "absolute"))

    def derived(self) -> dict[str, Any]:
        """Return the rules of the parts, and what the loss is for."""
        classifies = self.tasks != ("regression",)
        reference = float(abs(slope(self.loss, 0.0, 1.0)))
        return {
            "page": watch.PageRule(),
            "gate": GateRule(classifies, bool(self.robust), reference),
            "classifies": classifies,
            "probabilistic": getattr(self.loss, "probabilistic", False),
            "follow": self.follow and classifies,
        }

    @cached_property
    def _rule(self) -> Any:
        return self.rule()

    @property
    def _unit(self) -> float:
        """Return the curvature of the loss at f = 0, the unit of alpha."""
        return float(curvature(self._rule.loss, 0.0, 1.0)) or 1.0

    def begin(self, view: AdaptiveState, rng: np.random.Generator) -> None:
        """Begin with the prior alone; nothing is drawn."""
        view.map.sizes[LINEAR] = self._linear(view.ring.rows.shape[1])
        view.counts[COUNT.due] = start.next_event(START, 0, self.buffer, self.early)
        view.alpha[0] = self._unit * PRIOR.usual
        view.targets.levels[SPREAD] = 1.0
        view.follower.trust[:] = (1.0 - SHARE, SHARE) if self._rule.follow else (1.0, 0.0)
        set_root(view.newton.P, np.array([[1.0 / math.sqrt(view.alpha[0])]]))

    def _linear(self, n_features: int) -> int:
        return landmarks.linear_features(n_features, self.linear)

    def shapes(self, n_features: int, n_outputs: int, **more: int) -> Shapes:
        """Return the shapes of the arrays; `linear` features of psi depend on all."""
        linear = self._linear(n_features)
        return super().shapes(n_features, n_outputs, linear=linear, **more)

    def resized(self, view: AdaptiveState, **changed: int) -> Memory:
        """Return a copy of the state for other lengths of its axes."""
        return super().resized(view, **{"linear": int(view.map.sizes[LINEAR]), **changed})

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Return the memory for more features, which were 0 in all rows so far.

        Their weights and their part of P are those of the prior.
        """
        old = self.view(memory)
        d, before = old.ring.rows.shape[1], int(old.map.sizes[LINEAR])
        linear = landmarks.linear_features_after(n_features, before, d)
        memory = self.resized(old, features=n_features, linear=linear)
        new = self.view(memory)
        new.map.sizes[LINEAR] = linear
        bias = int(old.map.sizes[WIDTH])
        if bias > 0:  # there has been a fit
            added = linear - before
            newton.insert_zeros(new.follower.v, bias, added)
            newton.insert_weights(new.newton, old.newton, bias, added, 1.0 / new.alpha[0])
            new.map.sizes[WIDTH] = bias + added
            landmarks.extend_scale(new.map, d, self.scaling == "standard")
        return memory

    def limits(self, view: AdaptiveState) -> list[Limit]:
        """Return the bounds of the counts, and of the levels that events go by."""
        counts, rule = view.counts, self._rule
        rounds = int(counts[COUNT.rounds])
        return [
            Limit("number of rounds", rounds, 0, MANY),
            Limit("next event", counts[COUNT.due], max(SMALLEST_BUFFER, rounds), MANY),
            Limit("begin of the means", counts[COUNT.begun], 0, rounds),
            Limit("other counts", counts[COUNT.restarts :], 0, MANY),
            *landmarks.map_limits(view.map, self._linear(view.ring.rows.shape[1]), self.buffer),
            *gates.gate_limits(rule.gate, view.gate),
            *targets.target_limits(view.targets),
            *followers.follower_limits(view.follower),
            *watch.watch_limits(rule.page, view.watch, rounds),
        ]

    def stored_points(self, memory: Memory) -> int:
        """Count the rows in the buffer; the landmarks were such rows."""
        return int(min(self.view(memory).counts[COUNT.rounds], self.buffer))

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: AdaptiveState, x: Vector) -> None:
        """Fit anew, or adapt alpha and the tolerance to the number of rounds."""
        state, counts, rule = view, view.counts, self._rule
        rounds = int(counts[COUNT.rounds])
        changed = watch.is_alarmed(rule.page, state.watch)
        if changed:
            n = watch.rounds_since_change(rule.page, state.watch, rounds, SMALLEST_BUFFER)
            rounds = self._take_last_rows(state, n)
            counts[COUNT.restarts] += 1
        elif counts[COUNT.refused] >= rule.most_refused:
            rounds = self._take_last_rows(state, min(rounds, self.buffer))
        if rounds > self.buffer and not self._lower_alpha(state, rounds):
            counts[COUNT.mends] += 1
            rounds = self._take_last_rows(state, self.buffer)
        if rounds <= self.buffer:
            self._fit(state, rounds, choose=changed or rounds <= PRIOR.choose_up_to)
        watch.reset(state.watch, int(counts[COUNT.rounds]))
        gates.set_tolerance(rule.gate, state.gate, rounds)
        counts[COUNT.due] = start.next_event(START, rounds, self.buffer, self.early)
        counts[COUNT.event] = RESUME

    def _take_last_rows(self, state: AdaptiveState, n: int) -> int:
        """Keep the last n rows, in their order, as the first of the ring: a new start."""
        counts = state.counts
        slots = ring.last_slots(int(counts[COUNT.rounds]), n, self.buffer)
        ring.keep(state.ring, slots)
        watch.keep_outcomes(state.watch, slots)
        counts[COUNT.rounds] = counts[COUNT.begun] = n
        return n

    def _fit(self, state: AdaptiveState, n: int, choose: bool) -> None:
        """Make map, theta and P anew from the first n rows of the ring; alpha too?"""
        X, y, weights = (array[:n] for array in state.ring)
        counts, rule, unit = state.counts, self._rule, self._unit
        scaled, median = self.scaling == "standard", self.bandwidth == "median"
        rows, finite = landmarks.fit_map(state.map, rule.kernel, X, weights, scaled, median)
        counts[COUNT.mends] += not finite
        if not rule.classifies:
            targets.set_unit(state.targets, y, weights)
            state.gate.levels[RESIDUAL] = 0.0
            counts[COUNT.begun] = n
        y = targets.standardise(state.targets, y)
        gram = spd.squares(rows.F)
        if choose:
            last = slice(max(0, n - PRIOR.choose_up_to), n)
            chosen = prior.chosen_alpha(PRIOR, gram[last, last], y[last], rule.classifies)
            state.alpha[0] = unit * chosen
        if n == self.buffer:
            state.alpha[0] = min(state.alpha[0], prior.most_alpha(PRIOR, unit, n))
        alpha, h = float(state.alpha[0]), unit * np.maximum(weights, START.least_weight)
        one_sided = rule.classifies and y.shape[1] == 1
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is mended
            w, B, solved = start.fit_or_prior(rows.F, gram, y, h, alpha, one_sided)
            counts[COUNT.mends] += not solved
            newton.set_solution(state.newton, w, B, rows.L)
        if rule.follow:
            m = rows.K.shape[1]
            followers.start_follower(state.follower, rows.K, rows.F[:, m:], y)
        counts[COUNT.refused] = 0

    def _lower_alpha(self, state: AdaptiveState, rounds: int) -> bool:
        """Let alpha fall with the number of rounds; return False if it cannot."""
        alpha, target = float(state.alpha[0]), prior.most_alpha(PRIOR, self._unit, rounds)
        if not prior.is_to_be_lowered(PRIOR, alpha, target):
            return True
        try:
            L = landmarks.landmark_factor(state.map, self._rule.kernel)
            newton.lower_prior(state.newton, int(state.map.sizes[WIDTH]) + 1, L, alpha - target)
        except np.linalg.LinAlgError:
            return False
        state.alpha[0] = target
        return True


# ---- compiled --------------------------------------------------------------------------------


@score.register(AdaptiveRule)
def _score(rule, state, work, x, out):
    _describe(rule, state, work, x)
    _answer(rule, state, work, out)


@step.register(AdaptiveRule)
def _step(rule, state, work, x, y, weight, out):
    counts = state.counts
    if counts[COUNT.event] == RESUME:  # the round has been played, and its event is done
        counts[COUNT.event] = 0
        return
    _describe(rule, state, work, x)
    _answer(rule, state, work, out)
    if weight != 0.0:
        t = counts[COUNT.rounds]
        counted = t + 1 - counts[COUNT.begun]
        W = whole_blocks(state.map.sizes[WIDTH] + 1)
        ring.remember(state.ring, t, x, y, weight)
        if rule.restart:
            watch.observe(rule.page, state.watch, t, counted, _is_wrong(rule, state, work, y))
        if rule.follow:
            followers.follow(state.follower, work.centred[:W], work.f, work.second, y, weight)
        _learn(rule, state, work, W, y, weight, counted)
        counts[COUNT.rounds] = t + 1
        due = t + 1 >= counts[COUNT.due] or watch.alarmed(rule.page, state.watch)
        if due or counts[COUNT.refused] == rule.most_refused:
            counts[COUNT.event] = FIT


@njit
def _describe(rule, state, work, x):
    """Write psi, and the follower's features."""
    landmarks.write_psi(rule.kernel, state.map, x, work.z, work.psi)
    if rule.follow:
        sizes = state.map.sizes
        W = whole_blocks(sizes[WIDTH] + 1)
        followers.write_centred(state.follower, work.psi, sizes[LANDMARKS], W, work.centred)


@njit
def _answer(rule, state, work, out):
    """Write the scores: of theta, of the follower, and the answer of the one to be trusted."""
    W = state.map.sizes[WIDTH] + 1
    for o in range(out.shape[0]):
        f = finite_or_zero(dot(state.newton.theta[o], work.psi, W))
        work.f[o] = f
        if rule.follow:
            g = finite_or_zero(dot(state.follower.v[o], work.centred, W))
            work.second[o] = g
            leading = f if state.follower.trust[o, 0] >= 0.5 else g
            out[o] = 2.0 * _probability(rule, leading) - 1.0
        elif rule.classifies:
            out[o] = 2.0 * _probability(rule, f) - 1.0
        else:
            out[o] = finite_or_zero(targets.restored(state.targets, f))


@njit
def _probability(rule, f):
    """Return the probability of +1 that a score stands for."""
    p = 0.5 + 0.5 * (math.tanh(0.5 * f) if rule.probabilistic else f)
    return min(max(p, rule.sure), 1.0 - rule.sure)


@njit
def _is_wrong(rule, state, work, y):
    """Return whether theta has made a mistake, or an error above its recent mean."""
    if not rule.classifies:
        square = 0.0
        for o in range(y.shape[0]):
            g = slope(rule.loss, work.f[o], targets.standardised(state.targets, y[o]))
            square += g * g
        return square > state.gate.levels[RESIDUAL]
    if y.shape[0] == 1:
        return is_mistake(work.f[0], y[0])
    best = 0
    for o in range(1, y.shape[0]):
        if work.f[o] > work.f[best]:
            best = o
    return y[best] < 0.0


@njit
def _learn(rule, state, work, W, y, weight, counted):
    """Take the Newton step, if a slope passes the gate."""
    smallest, largest = gates.slope_bounds(rule.gate, state.gate, counted)
    h, total = 0.0, 0.0
    for o in range(y.shape[0]):
        target = targets.standardised(state.targets, y[o])
        g, bend = gates.gated(rule.loss, work.f[o], target, weight, smallest, largest)
        h = max(h, bend)
        work.g[o] = g
        total += g * g
    gates.update_residual(rule.gate, state.gate, total, counted)
    if h > 0.0:
        psi, u = work.psi[:W], work.u[:W]
        if not newton.newton_step(state.newton, psi, u, work.g, h, weight, total):
            state.counts[COUNT.mends] += 1
            state.counts[COUNT.refused] += 1
