"""When and how experts over time are started: see `forks.learners.over_time`.

All of it is done in events, in NumPy, and none of it takes long: a start makes an empty expert and
searches the relevance of features; what it learns it learns in the rounds to come.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from forks.engine import (
    EVENT,
    RESUME,
    Learner,
    Memory,
    Vector,
)
from forks.kernels import Gaussian
from forks.learners.machine import SMALLEST_BUFFER, Machine
from forks.learners.mixture import (
    CATCHING_UP,
    COUNT,
    EMPTY,
    EXPERT,
    LIVE,
    LONG,
    OverTimeState,
)
from forks.parts import history as histories
from forks.parts import relevance as relevances
from forks.parts import ring as rings
from forks.parts import watch as watching
from forks.parts.calibration import begin_line
from forks.parts.experts import NEXT, PAIR, SETTLED
from forks.parts.history import ALARM, CHALLENGE, START
from forks.parts.horizon import leave_horizon
from forks.parts.landmarks import FAR, GIVEN, LAPLACIAN, WIDTH
from forks.parts.picks import OWNER, leave_picks, pick
from forks.parts.recall import RecallRule, choose, forget_expert, is_kept
from forks.parts.relevance import RelevanceRule
from forks.parts.rise import RiseRule, has_risen
from forks.parts.stack import StackRule, begin_expert
from forks.parts.watch import PageRule

NEW = math.exp(-4.0)  # weight of a new expert, relative to the largest


class Start(NamedTuple):
    """How a new expert is started."""

    rows: int
    forgetting: float = 0.0
    searched: int = 500  # rows that the relevance is searched with
    entry: float = NEW
    width: float = 1.0  # of the kernel, and
    prior: float = 1.0  # factor of alpha, in units of what they usually are
    shape: int = GIVEN  # see `parts.landmarks`
    picks: bool = False  # are landmarks picked from all rows, of classes? See `parts.picks`


EARLY = (  # beside the first champion
    Start(0, width=0.5),
    Start(0, width=0.6, shape=LAPLACIAN),
    Start(0, width=20.0, prior=4.0),  # whose functions are almost linear
)
EARLY_WEIGHT = 0.25  # in units of the champion's
KINDS = (
    Start(250, 0.005, width=0.7),
    Start(500, picks=True),
    Start(1000, 0.001, width=0.6, picks=True),
    Start(1000, 0.001, width=20.0, prior=4.0, shape=FAR),  # almost linear
)
CHOICES = (  # width, prior and shape of challengers
    (1.0, 0.25, GIVEN),
    (0.6, 0.25, LAPLACIAN),
    (0.5, 1.0, GIVEN),
    (1.6, 0.25, LAPLACIAN),
)
NEXT_CHALLENGE = 3  # in units of the rounds of the one before
SEARCH_ROUNDS, SEARCH_LANDMARKS = 2, 64
MARGIN = 3.0  # log-odds that a margin of 1 stands for at first
CLEARLY = 10.0  # odds by which a challenger must lead to take the champion's place
GRACE = 500  # rounds that a new expert has to prove itself
FIRST, LONGEST, WORTH = 250, 4000, 0.05
EARLIEST = 300  # rounds before an extra start, between two fits of the champion
PAGE = PageRule(gain=2.0, alarm=10.0, most=0.9, highest=0.99)
RELEVANCE = RelevanceRule()
STACK = StackRule()
RECALL = RecallRule()
RISE = RiseRule()


class Starting(Learner):
    """What `OverTime` does when experts are due to start, or have events of their own."""

    learner: Any
    long: Any
    experts: int
    relevance: bool

    @cached_property
    def _rule(self) -> Any:
        return self.rule()

    @property
    def _slope(self) -> float:
        """Log-odds that a score of 1 stands for at first: scores of the loss may be margins."""
        log_odds = getattr(getattr(self.learner, "loss", None), "probabilistic", False)
        return 1.0 if log_odds else MARGIN

    @property
    def _may_change_kernel(self) -> bool:
        """Whether kernel and bandwidth are the usual ones, and nobody has chosen them."""
        learner = self.learner
        if not (isinstance(learner, Machine) and isinstance(learner.kernel, Gaussian)):
            return False
        return learner.kernel == Gaussian() and learner.bandwidth == "median"

    def _learner(self, e: int) -> Learner:
        """Return the configuration of the expert in place e."""
        long = e < LONG and self.long is not None
        chosen: Learner = self.long if long else self.learner
        return chosen

    def _new(self, view: OverTimeState, e: int) -> Memory:
        """Return the memory of a new expert for place e."""
        rng = np.random.default_rng([abs(int(view.random[0])), int(view.counts[COUNT.starts])])
        return self._learner(e).init(view.ring.rows.shape[1], view.ring.targets.shape[1], rng)

    def memory_of(self, view: OverTimeState, e: int) -> Memory:
        """Return the memory of the expert in place e, as views."""
        floats, ints = view.places.floats, view.places.ints
        kept = view.memories
        return Memory(kept.floats[floats[e] : floats[e + 1]], kept.ints[ints[e] : ints[e + 1]])

    def state_of(self, view: OverTimeState, e: int) -> Any:
        """Return the state of the expert in place e, as views."""
        return self._learner(e).view(self.memory_of(view, e))

    def _put(self, view: OverTimeState, e: int, memory: Memory) -> None:
        for place, new in zip(self.memory_of(view, e), memory, strict=True):
            place[:] = new

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: OverTimeState, x: Vector) -> None:
        """Handle the event of an expert, or start those that are due."""
        counts = view.counts
        if counts[EVENT] == EXPERT:
            self._handle_expert(view, x)
        else:
            self._manage(view)
        counts[EVENT] = RESUME

    def _handle_expert(self, view: OverTimeState, x: Vector) -> None:
        memories = [self.memory_of(view, e) for e in range(self.experts)]
        e = next(e for e, memory in enumerate(memories) if memory.event[EVENT] > 0)
        if view.places.status[e] == CATCHING_UP:
            x = view.ring.rows[view.places.next[e] % len(view.ring.rows)].copy()
        learner, memory = self._learner(e), memories[e]
        moved = learner.handle(learner.view(memory), x)
        if moved is not None:
            self._put(view, e, moved)

    def _manage(self, view: OverTimeState) -> None:
        """Start what is due: after an alarm, a challenger, or one of the recent ones."""
        counts = view.counts
        rounds = int(counts[COUNT.rounds])
        if watching.is_alarmed(PAGE, view.watch):
            n = watching.rounds_since_change(PAGE, view.watch, rounds, SMALLEST_BUFFER)
            entry = NEW if self._has_returned(view) else 1.0
            self._start(view, self._place(view, LONG), Start(n, searched=0, entry=entry), ALARM)
            watching.reset(view.watch, rounds)
            watching.keep_outcomes(view.watch, np.empty(0, np.int64))
            counts[COUNT.begun] = rounds
            counts[COUNT.period] = FIRST
            counts[COUNT.due] = rounds + FIRST
        elif rounds >= counts[COUNT.challenge]:
            self._challenge(view)
            counts[COUNT.challenge] = NEXT_CHALLENGE * rounds
        else:
            is_extra = counts[COUNT.starts] == 0 and rounds < 3 * FIRST
            if rounds > 3 * FIRST:
                self._adapt_period(view, rounds)
            kind = KINDS[int(counts[COUNT.starts]) % len(KINDS)]
            if self._rule.experts.classifies:
                kind = kind._replace(shape=GIVEN)
            self._start(view, self._place(view, LONG), kind, START)
            counts[COUNT.due] = 3 * FIRST if is_extra else rounds + counts[COUNT.period]

    def _has_returned(self, view: OverTimeState) -> bool:
        """Remember the expert that knew what has ended; return whether another has come back."""
        recall, leader = view.recall, self.leader(view)
        usual = int(np.argmax(recall.usual))
        if usual >= LONG and view.places.status[usual] == LIVE and not recall.chosen[usual]:
            choose(RECALL, recall, usual)
            learner = self._learner(usual)
            if isinstance(learner, Machine):
                learner.forget_no_more(self.state_of(view, usual))
        return bool(recall.chosen[leader]) and leader != usual

    def _challenge(self, view: OverTimeState) -> None:
        """Start a challenger."""
        counts = view.counts
        width, factor, shape = CHOICES[int(counts[COUNT.challenges]) % len(CHOICES)]
        how = Start(len(view.ring.rows), searched=1000, width=width, prior=factor, picks=True)
        how = how._replace(shape=self._shape(shape))
        counts[COUNT.challenges] += 1
        self._start(view, self._loser(view), how, CHALLENGE)

    def _loser(self, view: OverTimeState) -> int:
        """Return which long expert makes room: the younger, unless it is clearly the better.

        What the older one has learned over time cannot be had again, so a close call is its.
        """
        old, young = np.argsort(view.places.born[:LONG], kind="stable")
        weights = view.experts.weights[SETTLED]
        return int(old if weights[young] > CLEARLY * weights[old] else young)

    def _adapt_period(self, view: OverTimeState, rounds: int) -> None:
        """Start more often if what was started of late has earned a weight, else more rarely.

        Where mistakes have risen it is not in vain, whatever became of the last ones.
        """
        counts, places = view.counts, view.places
        period = int(counts[COUNT.period])
        recent = (places.status == LIVE) & (places.born > rounds - 4 * period)
        recent[:LONG] = False
        earned = view.experts.weights[NEXT, : self.experts][recent].max(initial=0.0)
        risen = has_risen(RISE, view.rise, float(view.watch.levels[watching.RATE]), rounds)
        if earned > WORTH or risen:
            counts[COUNT.period] = max(FIRST, period // 2)
        elif counts[COUNT.starts] > 0:
            counts[COUNT.period] = min(LONGEST, 2 * period)

    def _place(self, view: OverTimeState, first: int) -> int:
        """Return an empty place, or that of the expert of least weight that has had its chance.

        The one that answers for rows without labels stays: nobody could take over at once. So do
        those whose concept may return.
        """
        places, rounds = view.places, int(view.counts[COUNT.rounds])
        weights, settled = view.experts.weights[:, : self.experts].copy()
        weights[np.argmax(settled)] += 2.0
        weights[np.argmax(view.horizon.weights[: self.experts])] += 2.0
        weights[[is_kept(RECALL, view.recall, e, rounds) for e in range(self.experts)]] += 2.0
        young = places.born > rounds - GRACE
        weights[young] += 1.0
        weights[places.status == EMPTY] = -1.0
        return first + int(np.argmin(weights[first:]))

    def _shape(self, wanted: int) -> int:
        """Return the shape that a machine is to have, which nobody has chosen otherwise."""
        return wanted if self._may_change_kernel else GIVEN

    def _start_early(self, view: OverTimeState) -> None:
        """Let machines of other kernels learn from the first row on, beside the champion."""
        if not isinstance(self.learner, Machine):
            return
        relevance = np.ones(view.ring.rows.shape[1])
        for e, how in zip(range(LONG, self.experts), EARLY, strict=False):
            memory = self._new(view, e)
            choice = (how.width, how.prior, self._shape(how.shape))
            self.learner.adopt(self.learner.view(memory), relevance, 0, how.forgetting, *choice)
            self._put(view, e, memory)
            view.places.status[e] = LIVE
            view.experts.weights[:, e] = EARLY_WEIGHT * view.experts.weights[:, 0]

    def _start(self, view: OverTimeState, e: int, how: Start, kind: int) -> None:
        """Start an expert in place e; it begins to catch up."""
        counts, places = view.counts, view.places
        rounds, size = int(counts[COUNT.rounds]), len(view.ring.rows)
        counts[COUNT.starts] += 1
        memory = self._new(view, e)
        learner = self._learner(e)
        if isinstance(learner, Machine):
            n = min(how.searched, rounds, size)
            found = self._found_relevance(view, n) if n > 0 else None
            relevance = np.ones(view.ring.rows.shape[1]) if found is None else found
            self._write_start(view, e, how, kind, relevance)
            rows = min(how.rows, rounds)
            choice = (how.width, how.prior, how.shape)
            learner.adopt(learner.view(memory), relevance, rows, how.forgetting, *choice)
        self._put(view, e, memory)
        begin = max(0, rounds - min(how.rows, size - 1))
        leave_picks(view.picks, e)
        if how.picks:
            self._pick(view, e, begin, rounds)
        weights = view.experts.weights
        if e < LONG:  # what the two are worth together is the other's
            weights[:, LONG - 1 - e] += weights[:, PAIR]
            weights[:, PAIR] = 0.0
            leave_horizon(view.horizon, PAIR, rounds)
        weights[:, e] = 0.0
        leave_horizon(view.horizon, e, rounds)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        self._begin_line(view, e)
        forget_expert(view.recall, e, rounds)
        begin_expert(STACK, view.stack, e)
        places.status[e] = CATCHING_UP
        places.born[e] = rounds
        places.next[e] = begin
        places.mends[e] = 0
        places.tracks[e] = int(how.forgetting > 0.0)
        places.entry[e] = how.entry

    def _pick(self, view: OverTimeState, e: int, begin: int, rounds: int) -> None:
        """Let a machine pick its landmarks, if there is a choice, and nobody else is at it."""
        learner, owner = self._learner(e), int(view.picks.turn[OWNER])
        if owner > 0 and view.places.status[owner - 1] == CATCHING_UP:
            return
        if not (isinstance(learner, Machine) and self._rule.experts.classifies):
            return
        if rounds - begin > learner.buffer:
            pick(view.picks, e, begin, rounds, learner.buffer)

    def _begin_line(self, view: OverTimeState, e: int) -> None:
        begin_line(self._rule.experts.calibration, view.experts.calibration, e, self._slope)

    def _found_relevance(self, view: OverTimeState, n: int) -> Vector | None:
        """Search with the last n rows, from none, from the quadratic one and from the leader's."""
        if not self.relevance:
            return None
        sample = self._sample(view, n, min(SEARCH_LANDMARKS, n // 2))
        known = self.state_of(view, self.leader(view)).map.relevance
        candidates = [known] if np.ptp(known) > 0.0 else []
        return relevances.search(RELEVANCE, sample, candidates, SEARCH_ROUNDS).relevance

    def _sample(self, view: OverTimeState, n: int, m: int) -> relevances.Sample:
        """Return the last n rows, m of them as landmarks."""
        slots = rings.last_slots(int(view.counts[COUNT.rounds]), n, len(view.ring.rows))
        X, y, weights = (array[slots] for array in view.ring)
        return relevances.sample_of(X, y, weights, m, self._rule.experts.classifies)

    def _write_start(
        self, view: OverTimeState, e: int, how: Start, kind: int, relevance: Vector
    ) -> None:
        """Write into the history what is new: which features' relevance and scale."""
        rounds, size = int(view.counts[COUNT.rounds]), len(view.ring.rows)
        known = self.state_of(view, self.leader(view)).map
        news: tuple[float, ...] = (0.0, 1.0, 0.0, 0.0)
        if known.sizes[WIDTH] > 0:
            slots = rings.last_slots(rounds, min(rounds, how.rows, size), size)
            news = histories.differences(known, relevance, view.ring.rows[slots])
        histories.write_start(view.history, rounds, kind, e, min(how.rows, rounds), news)

    def leader(self, view: OverTimeState) -> int:
        """Return the place of the learner of the largest weight for the next row."""
        return int(np.argmax(view.experts.weights[NEXT, : self.experts]))
