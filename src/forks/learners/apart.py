"""Experts over time that learn apart and are merged: see `forks.parts.merging`.

A fork has the experts that live, forget nothing, and have made their maps from a whole buffer: the
champion and the challenger above all. Those of them that have not caught up do so at once, from
the rows that are kept. The others depend on the order of rows, or have a weight below `WORTH`,
which is not worth their time, and leave. None is started or dismissed in a fork: a challenger that
would come due while the forks learn starts with them, and of several the first does. Merged, each
expert is the sum of what it has learned in all forks.

What was learned row by row is pooled: weights of experts, calibration, intervals, rates and mean
errors are means over forks, weighed by the rows of each; base rates are those of all rows; the
history is that of the start. A challenger that has started with the forks was judged while it knew
little; merged, the mean of the long experts enters again with the largest weight. The model that
was forked then goes on: new experts are due a period after the merge, and a challenger at the round
at which it would have been.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from forks.engine import EVENT, MANY, Learner, Memory
from forks.learners.mixture import (
    CATCHING_UP,
    COUNT,
    EMPTY,
    LIVE,
    LONG,
    OverTimeState,
    catch_up,
)
from forks.learners.starting import NEXT_CHALLENGE, WORTH, Starting
from forks.parts import merging
from forks.parts import watch as watching
from forks.parts.experts import COUNTED, HEAVIEST, PAIR, SETTLED
from forks.parts.horizon import begin_period
from forks.parts.merging import CannotForkError, Shares
from forks.parts.watch import RATE


class Apart(Starting):
    """What `OverTime` does to be forked and merged."""

    def for_forks(self) -> Learner:
        """Return the learner of forks: its experts are those of forks, and it does not restart."""
        small = self.learner.for_forks()
        large = None if self.long is None else self.long.for_forks()
        return replace(self, learner=small, long=large, restart=False)  # type: ignore[type-var]

    def forked(self, memory: Memory, rows: int = 0) -> Memory:
        """Return a memory whose experts stay, as far as they can be merged."""
        memory = memory.copy()
        view = self.view(memory)
        places, weights, reasons = view.places, view.experts.weights, []
        rounds = int(view.counts[COUNT.rounds])
        if view.counts[COUNT.challenge] < rounds + rows:
            self._challenge(view)
        self._catch_up(memory)
        for e in range(self.experts):
            try:
                if places.status[e] != LIVE:
                    raise CannotForkError("it has not caught up yet")
                if e >= LONG and weights[:, e].max() < WORTH:
                    raise CannotForkError("it is of little use")
                self._put(view, e, self._learner(e).forked(self.memory_of(view, e), rows))
            except CannotForkError as error:
                reasons.append(str(error))
                _leave(view, e)
        if np.all(places.status == EMPTY):
            raise CannotForkError(f"of its experts none can be merged; the first: {reasons[0]}")
        weights[:, : self.experts][:, places.status == EMPTY] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        begin_period(self._rule.horizon, view.horizon, weights[SETTLED], rounds)
        view.counts[COUNT.due] = view.counts[COUNT.challenge] = MANY
        places.born[:] += MANY - rounds  # far ahead: none has had its chance, and none is dismissed
        return memory

    def _catch_up(self, memory: Memory) -> None:
        """Let experts that are behind learn the rows that are kept; those that forget leave."""
        view = self.view(memory)
        behind = view.places.status == CATCHING_UP
        for e in np.flatnonzero(behind & (view.places.tracks == 1)).tolist():
            _leave(view, e)
        oldest = int(view.counts[COUNT.rounds]) - len(view.ring.rows) + 1
        view.places.next[behind] = np.maximum(view.places.next[behind], oldest)
        rule, scratch = self._rule._replace(pace=MANY), np.zeros(self.scratch_size(memory))
        while not catch_up.over(rule)(rule, *memory, scratch):
            self._handle_expert(view, np.empty(0))
        view.counts[EVENT] = 0

    def weigh_anew(self, memory: Memory) -> None:
        """Deal what the long experts and their mean are worth together to them in equal parts."""
        view = self.view(memory)
        if np.all(view.places.status[:LONG] == LIVE):
            weights, long = view.experts.weights[SETTLED], [*range(LONG), PAIR]
            weights[long] = weights[long].mean()

    def largest_error(self, memory: Memory) -> float:
        """Return the largest error of a leading expert that is not clipped."""
        view = self.view(memory)
        bounds = [
            self._learner(e).largest_error(self.memory_of(view, e))
            for e in np.flatnonzero(view.places.status == LIVE).tolist()
        ]
        return max(bounds, default=np.inf)

    def merged(self, start: Memory, forks: Sequence[Memory]) -> Memory:
        """Return the experts merged, and what is beside them pooled."""
        memory = start.copy()
        view, first, others = self.view(memory), self.view(start), list(map(self.view, forks))
        for e in np.flatnonzero(first.places.status == LIVE).tolist():
            own = [self.memory_of(each, e) for each in (first, *others)]
            self._put(view, e, self._learner(e).merged(own[0], own[1:]))
            counts = [each.places.mends[e] for each in others]
            view.places.mends[e] += sum(int(n - first.places.mends[e]) for n in counts)
        shares = merging.shares_of(COUNT.rounds, first, others)
        view.counts[COUNT.rounds] = shares.rounds
        _pool(view, first, others, shares)
        weights = view.experts.weights[SETTLED]
        begin_period(self._rule.horizon, view.horizon, weights, shares.rounds)
        watching.reset(view.watch, shares.rounds)
        return memory

    def rejoined(self, memory: Memory, before: Memory) -> Memory:
        """Go on with starts; experts bring their priors up to date."""
        memory, old = memory.copy(), self.view(before)
        view = self.view(memory)
        for e in np.flatnonzero(view.places.status == LIVE).tolist():
            own = self._learner(e).rejoined(self.memory_of(view, e), self.memory_of(old, e))
            self._put(view, e, own)
        counts, rounds = view.counts, int(view.counts[COUNT.rounds])
        view.places.born[:] -= MANY - int(old.counts[COUNT.rounds])
        challenge = int(old.counts[COUNT.challenge])
        if counts[COUNT.challenges] > old.counts[COUNT.challenges]:
            challenge = NEXT_CHALLENGE * max(challenge, int(old.counts[COUNT.rounds]))
            while challenge <= rounds:  # those that would have come and gone
                challenge *= NEXT_CHALLENGE
                counts[COUNT.challenges] += 1
            if np.all(view.places.status[:LONG] == LIVE):
                weights = view.experts.weights
                weights[:, PAIR] = weights.max(axis=1)
                weights /= weights.sum(axis=1, keepdims=True)
        counts[COUNT.challenge] = challenge
        counts[COUNT.due] = rounds + old.counts[COUNT.period]
        return memory


def _leave(view: OverTimeState, e: int) -> None:
    """Empty a place; what the long ones were worth together is the other's."""
    view.places.status[e] = EMPTY
    view.recall.chosen[e] = 0
    weights = view.experts.weights
    if e < LONG:
        weights[:, LONG - 1 - e] += weights[:, PAIR]
        weights[:, PAIR] = 0.0


def _pool(view: Any, start: Any, forks: Sequence[Any], shares: Shares) -> None:
    """Set what is beside the experts, from all forks."""
    for path in _MEANS:
        array = _at(view, path)
        array[...] = shares.mean(_at(start, path), [_at(fork, path) for fork in forks])
    for i in (COUNTED, HEAVIEST):
        view.experts.levels[i] = max(fork.experts.levels[i] for fork in (start, *forks))
    view.watch.levels[RATE] = shares.mean(
        start.watch.levels[RATE], [fork.watch.levels[RATE] for fork in forks]
    )
    base = [fork.persistence.base for fork in forks]
    view.persistence.base[:] = merging.mean_of_all(start.persistence.base, base, shares)
    kept = [
        (*each.ring, each.persistence.residuals, each.picks.doubts)
        for each in (view, start, *forks)
    ]
    shares.pool_rows(kept[0], kept[1], kept[2:])


_MEANS = (
    "experts.weights",
    "experts.calibration.lines",
    "experts.levels",
    "experts.answers",
    "calibration.lines",
    "horizon.trust",
    "horizon.calibration.lines",
    "conformal.quantiles",
    "conformal.sizes",
    "persistence.sums",
    "persistence.spread",
    "persistence.counts",
    "stack.blend.weights",
    "stack.blend.covariance",
    "stack.trust",
    "stack.errors",
)


def _at(view: Any, path: str) -> Any:
    for name in path.split("."):
        view = getattr(view, name)
    return view
