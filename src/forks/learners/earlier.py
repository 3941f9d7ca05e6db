"""Learners in files of before: which arrays their memories had, and what those since begin with.

Since version 4 a file says which arrays its memories have (`forks.engine.older`), and only what new
ones of experts over time begin with is to be told here. Files of version 3 do not say, so the steps
from what there is now back to what they have are kept: an array that comes is one step more.
"""

from collections.abc import Callable, Mapping

import numpy as np

from forks.engine import Memory
from forks.engine.memory import size_of
from forks.engine.older import Lines, is_much_too_small, stored_arrays, take_over
from forks.learners.apart import Apart
from forks.learners.mixture import COUNT, LIVE, LONG, OverTimeState
from forks.parts.experts import NEXT, SETTLED
from forks.parts.horizon import LASTING, MIXTURE, begin_period
from forks.parts.persistence import COMPARED, REPEATED

_VOICES = (("experts.weights", 1), ("experts.answers", 0), ("experts.calibration.lines", 0))
_APART = ("places.floats", "places.ints", "memories.floats", "memories.ints", "blank")


def _without(*names: str) -> Callable[[Lines], Lines]:
    return lambda lines: [line for line in lines if not line.startswith(names)]


def _with_levels(lines: Lines) -> Lines:
    new, old = "persistence.counts float 2", "persistence.levels float 1"
    return [old if line == new else line for line in lines]


_KEPT = (_without("newton.earlier "),)
_STEPS: dict[str, tuple[Callable[[Lines], Lines], ...]] = {
    "Adaptive": _KEPT,
    "Machine": _KEPT,
    "Wide": _KEPT,
    "OverTime": (
        _without("rise."),
        _without("picks."),
        _without("recall."),
        _with_levels,
        _without("horizon.", "persistence.spread "),
        _without("stack."),
    ),
}


def of_version_3(described: Mapping[str, Lines]) -> dict[str, list[Lines]]:
    """Return what the arrays of memories may be in a file of version 3, the latest first."""
    candidates: dict[str, list[Lines]] = {}
    for name, lines in described.items():
        candidates[name] = [lines]
        for step in _STEPS.get(name, ()):
            candidates[name].append(step(candidates[name][-1]))
    return candidates


class Earlier(Apart):
    """What `OverTime` does with memories from files of other versions."""

    def described(self) -> dict[str, Lines]:
        """Return the arrays of experts over time, and those of the experts."""
        return {**super().described(), **self.learner.described()}

    def brought_up(
        self, memory: Memory, candidates: Mapping[str, list[Lines]], sizes: tuple[int, int]
    ) -> Memory:
        """Return the memory as this version would have it, and those of the experts in it.

        One that is much too small for the experts is returned as it is: nothing is reserved then.
        """
        stored = stored_arrays(memory, candidates[type(self).__name__])
        if stored is None or not stored.keys() >= {*_APART}:
            return memory
        if is_much_too_small(memory, self._needed(sizes)):
            return memory
        known = self.described()
        same = stored.keys() == {line.split(" ")[0] for line in known[type(self).__name__]}
        if same and all(candidates[name] == [known[name]] for name in known):
            return memory
        begun = self.init(*sizes, np.random.default_rng(0))
        view = self.view(begun)
        ours = {name: stored[name] for name in stored if name not in _APART}
        missing = take_over(begun, self.memory_class, self._with_pair(ours))
        floats, ints = stored["places.floats"].tolist(), stored["places.ints"].tolist()
        for e in range(self.experts):
            expert = Memory(
                stored["memories.floats"][slice(*floats[e : e + 2])],
                stored["memories.ints"][slice(*ints[e : e + 2])],
            )
            self._put(view, e, self._learner(e).brought_up(expert, candidates, sizes))
        with np.errstate(all="ignore"):  # whatever overflows is found when the memory is checked
            self._begin_missing(view, missing, stored)
        return begun

    def _needed(self, sizes: tuple[int, int]) -> tuple[int, ...]:
        """Count the floats and integers of all experts, reserving nothing."""
        experts = map(self._learner, range(self.experts))
        each = [size_of(e.memory_class, e.shapes(*sizes)) for e in experts]
        return tuple(map(sum, zip(*each, strict=True)))

    def _with_pair(self, stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Make room for the mean of the long experts, which the first version did not have."""
        n = self.experts
        if stored["experts.weights"].shape[1] == n + 2:
            for name, axis in _VOICES:
                stored[name] = np.insert(stored[name], n, 0.0, axis)
            stored["experts.calibration.lines"][n] = stored["experts.calibration.lines"][0]
        return stored

    def _begin_missing(
        self, view: OverTimeState, missing: set[str], stored: dict[str, np.ndarray]
    ) -> None:
        """Set arrays that have come since to what they may have been."""
        counts, places, experts = view.counts, view.places, view.experts
        rounds = int(counts[COUNT.rounds])
        if "horizon.trust" in missing:
            rule = self._rule.horizon
            begin_period(rule, view.horizon, experts.weights[SETTLED], rounds)
            view.horizon.trust[:] = rule.rates
            view.horizon.trust[MIXTURE] = 1.0 - 2.0 * rule.rates
            view.horizon.calibration.lines[MIXTURE] = stored["calibration.lines"][SETTLED]
        if "picks.turn" in missing:  # when these came, the line of the oldest had its scores
            oldest = min(range(LONG), key=lambda e: (places.status[e] != LIVE, places.born[e]))
            view.horizon.calibration.lines[LASTING] = experts.calibration.lines[oldest]
        if "persistence.spread" in missing:
            targets = view.ring.targets[: min(rounds, len(view.ring.targets))]
            if len(targets) and not self._rule.persistence.classifies:
                spread = np.abs(targets - view.persistence.base).mean(axis=0)
                view.persistence.spread[:] = spread
        if "persistence.counts" in missing:
            compared = min(float(rounds), self._rule.persistence.memory)
            view.persistence.counts[0, COMPARED] = compared
            view.persistence.counts[0, REPEATED] = compared * stored["persistence.levels"][0]
        if "recall.usual" in missing:
            live = places.status == LIVE
            view.recall.awake[live] = np.maximum(rounds - places.born[live], 0)
            view.recall.last[live] = max(rounds - 1, 0)
            view.recall.usual[:] = experts.weights[NEXT, : len(live)]
