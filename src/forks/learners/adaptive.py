"""One kernel machine that follows and starts again: the fast form of the default learner.

It is the `forks.learners.machine` with two more parts:

    row -> psi -> theta'psi ----------------> answer
               -> follower (parts.follower) -^
    mistake -> watch (parts.watch) -> start again from the last rows (parts.ring)

**Learn and follow.** For classes a follower that makes every example right at once stands beside
theta. The one of more weight gives the answer, 2 p - 1, where p is the probability that its score
stands for (the logistic function of a log-odds, else (1 + f) / 2), kept `sure` away from 0 and 1.
If the stream changes all the time, or repeats itself, the follower takes over within some rounds,
and the price on other streams is small.

**Start again when the concept has changed.** The watch sees the mistakes of theta: with several
outputs, whether the largest score is that of a right one; in regression, whether the square of the
slope is above its recent mean. After an alarm the learner starts anew from the rows since the
change, at most the buffer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    RESUME,
    Counter,
    Limit,
    Matrix,
    Memory,
    Vector,
    njit,
    score,
    step,
)
from forks.kernels import Kernel
from forks.learners.machine import SMALLEST_BUFFER, Machine
from forks.learners.machine_round import COUNT, FIT, MachineCount, learn
from forks.linalg.vectors import dot
from forks.losses import Loss, slope
from forks.parts import follower as followers
from forks.parts import landmarks, newton, ring, targets, watch
from forks.parts.expansion import finite_or_zero, is_wrong
from forks.parts.follower import SHARE, Follower
from forks.parts.gate import RESIDUAL, Gate, GateRule
from forks.parts.landmarks import LANDMARKS, WIDTH, LandmarkMap, MappedRows, whole_blocks
from forks.parts.targets import Targets

RESTARTS = len(MachineCount._fields)  # index into `counts`, after those of a machine


class AdaptiveState(NamedTuple):
    """State of a machine, with a follower and a watch."""

    counts: Annotated[Counter, RESTARTS + 1]
    alpha: Annotated[Vector, 2]
    forgetting: Annotated[Vector, 1]
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
class Adaptive(Machine):
    """Second order from the first rows on, scaled, following, and restarted when it must be.

    Parameters
    ----------
    kernel, loss, buffer, scaling, bandwidth, linear, early, robust
        See `forks.learners.Machine`.
    follow : bool
        Is there a follower?
    restart : bool
        Does a change of the concept lead to a new start?
    """

    follow: bool = True
    restart: bool = True

    alike = ("trust",)
    state_class = AdaptiveState
    work_class = AdaptiveWork
    rule_class = AdaptiveRule

    def derived(self) -> dict[str, Any]:
        """Return the rules of the parts, and what the loss is for."""
        derived = super().derived()
        follow = self.follow and derived["classifies"]
        probabilistic = getattr(self.loss, "probabilistic", False)
        return {
            **derived,
            "page": watch.PageRule(),
            "follow": follow,
            "probabilistic": probabilistic,
        }

    def begin(self, view: AdaptiveState, rng: np.random.Generator) -> None:
        """Begin with the prior alone, and little trust in the follower; nothing is drawn."""
        super().begin(view, rng)
        self._begin_trust(view)

    def _begin_trust(self, view: AdaptiveState) -> None:
        view.follower.trust[:] = (1.0 - SHARE, SHARE) if self._rule.follow else (1.0, 0.0)

    def _begin_output(self, view: Any, o: int, bias: int) -> None:
        super()._begin_output(view, o, bias)
        view.follower.v[o] = 0.0
        view.follower.v[o, bias] = -1.0

    def _insert_features(self, new: Any, old: Any, bias: int, added: int) -> None:
        super()._insert_features(new, old, bias, added)
        newton.insert_zeros(new.follower.v, bias, added)

    def limits(self, view: AdaptiveState) -> list[Limit]:
        """Return the bounds of the counts, and of the levels that events go by."""
        rounds = int(view.counts[COUNT.rounds])
        return [
            *super().limits(view),
            *followers.follower_limits(view.follower),
            *watch.watch_limits(self._rule.page, view.watch, rounds),
        ]

    def _kept_in_forks(self) -> dict[str, Any]:
        """A fork follows nothing, and does not start again: both depend on the order of rows."""
        return {**super()._kept_in_forks(), "follow": False, "restart": False}

    def merged(self, start: Memory, forks: Sequence[Memory]) -> Memory:
        """Return the sum of what forks have learned; the follower is that of the start."""
        memory = super().merged(start, forks)
        watch.reset(self.view(memory).watch, int(self.view(memory).counts[COUNT.rounds]))
        return memory

    def rejoined(self, memory: Memory, before: Memory) -> Memory:
        """Go on with events; the follower, who knows the last rows best, has to earn its trust."""
        memory = super().rejoined(memory, before)
        self._begin_trust(self.view(memory))
        return memory

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    def handle(self, view: AdaptiveState, x: Vector) -> None:
        """Fit anew, or adapt alpha and the tolerance to the number of rounds."""
        if self._goes_on_as_fork(view):
            return
        counts, rule = view.counts, self._rule
        rounds = int(counts[COUNT.rounds])
        changed = watch.is_alarmed(rule.page, view.watch)
        if changed:
            n = watch.rounds_since_change(rule.page, view.watch, rounds, SMALLEST_BUFFER)
            self._take_last_rows(view, n)
            counts[RESTARTS] += 1
        elif counts[COUNT.refused] >= rule.most_refused:
            self._take_last_rows(view, min(rounds, self.buffer))
        self._bring_up_to_date(view, choose=changed)
        watch.reset(view.watch, int(counts[COUNT.rounds]))

    def _take_last_rows(self, state: Any, n: int) -> int:
        slots = ring.last_slots(int(state.counts[COUNT.rounds]), n, self.buffer)
        watch.keep_outcomes(state.watch, slots)
        return super()._take_last_rows(state, n)

    def _fit(self, state: Any, n: int, choose: bool) -> tuple[MappedRows, Matrix]:
        rows, y = super()._fit(state, n, choose)
        if self._rule.follow:
            K, rest = rows.K[:, rows.chosen], rows.F[:, len(rows.chosen) :]
            followers.start_follower(state.follower, K, rest, y)
        return rows, y


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
        learn(rule, state, work, y, weight, counted)
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
    return is_wrong(work.f, y)
