"""Experts over time: any learner, started again and again, and weighed by what each is worth now.

No single machine is right for a stream that changes: what it was started with (the scale of the
features, which of them matter, its landmarks) grows old, and how much of the past it should keep is
not known. So there are several, each on a map of its own made from recent rows:

- two *long* ones, a champion and a challenger. After 1,000 rounds, and each time that their number
  has tripled, the loser makes room for a new challenger, started on as many rows as are kept, with
  another width of the kernel and another prior in turn, and with a Laplacian kernel in place of a
  Gaussian one every other time. The mean of the two has a say of its own;
- *early* ones, which learn from the first row on beside the first champion: with a narrower kernel,
  with a Laplacian one, and with one so wide that they are almost linear. Recent ones take their
  places later;
- *recent* ones, started in turn on the last 250 rows, which forget at the rate 1 / 200; on the last
  500, which forget nothing; and twice on the last 1,000 (1 / 1,000), once almost linear, in
  regression also far beyond most rows. Those that forget, and so know fewer rows, have narrower
  kernels. A new one takes the place of the one of least weight;
- after an alarm of the watch (`parts.watch`) on the mistakes of the mixture, one on the rows since
  the change; while the expert that led before sleeps until its concept returns (`parts.recall`);
- beside them, the label of the last row, repeated, and the base rates (`parts.persistence`).

They are weighed by `parts.experts`; in regression the answer for the next row is corrected by what
all of them say (`parts.stack`). A new one is started on the relevance of features that
`parts.relevance` finds in the last rows. It does not stall the stream: in each round it learns
`pace` of the rows that it was given, from the ring, until it has caught up with the others, and
only then has a say. One that has next to no weight after its first 1,000 rounds is dismissed, but
for the older of the long ones.

**New starts cost time, and are rarer where they are in vain.** The first ones are due after
300, 750 and 1,250 rounds. If nothing that was started of late has earned a weight above `WORTH`,
the time to the next is doubled, up to `LONGEST` rounds; otherwise, and where mistakes have risen
slowly (`parts.rise`), it is halved, down to 250; an alarm sets it to 250. `starting` has these
rules, `mixture` the compiled round, and `apart` what becomes of it in forks.

**Two questions.** `step` answers what comes next in the stream, and may lean on the last labels;
`score` answers what of rows whose labels will not come, by the experts that do not forget. Whether
those that are best one row ahead are to be believed about them, or those that live long, or the
base rates, is judged by how each does at a delay (`parts.horizon`).

References: Hazan, Seshadhri, "Efficient learning algorithms for changing environments", ICML 2009;
Daniely, Gonen, Shalev-Shwartz, "Strongly adaptive online learning", ICML 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forks.engine import (
    MANY,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Shapes,
    Vector,
)
from forks.engine.checks import whole
from forks.engine.memory import repeat_last
from forks.engine.outputs import count_outputs, fill_outputs
from forks.learners.earlier import Earlier
from forks.learners.machine import SMALLEST_BUFFER, Machine
from forks.learners.mixture import (
    COUNT,
    EMPTY,
    LIVE,
    LONG,
    OverTimeRule,
    OverTimeState,
    OverTimeWork,
)
from forks.learners.starting import EARLIEST, FIRST, PAGE, RECALL, RELEVANCE, STACK
from forks.parts import experts as weighing
from forks.parts import history as histories
from forks.parts import persistence as lasting
from forks.parts import relevance as relevances
from forks.parts import ring as rings
from forks.parts import watch as watching
from forks.parts.calibration import H_AB, A, B, begin_line, calibration_limits
from forks.parts.conformal import ConformalRule, begin_quantiles, conformal_limits, threshold
from forks.parts.conformal import interval as conformal_interval
from forks.parts.experts import BASE, LAST, NEXT, SETTLED, ExpertsRule
from forks.parts.horizon import LASTING, HorizonRule, begin_horizon, horizon_limits
from forks.parts.persistence import PersistenceRule
from forks.parts.picks import picks_limits
from forks.parts.recall import recall_limits
from forks.parts.rise import begin_rise, rise_limits
from forks.parts.stack import NoStack, begin_stack, stack_limits

_MOST_NUMBERS = 400_000  # in the rows kept: fewer rows where they are wide
SMALL, LARGE = Machine(buffer=192), Machine(buffer=400)


@dataclass(frozen=True, kw_only=True)
class OverTime(Earlier):
    """Experts over time.

    Parameters
    ----------
    learner : learner
        The recent experts. Any of `forks.learners` whose memory does not grow.
    long : learner, optional
        The two that live long; like `learner` except for sizes. None for the same.
    experts : int
        How many there are, the long ones among them.
    window : int
        Rows kept to start new ones with, fewer where there are many features.
    relevance : bool
        Is it found out which features matter? Only a `Machine` can use it.
    restart : bool
        Does a rise of mistakes lead to a new start?
    repeat : bool
        Is the last label, or the last residual, among what answers the next row?
    """

    learner: Any = SMALL
    long: Any = LARGE
    experts: int = 7
    window: int = 2000
    relevance: bool = True
    restart: bool = True
    repeat: bool = True

    alike = ("sums", "spread", "covariance", "trust", "errors")
    state_class = OverTimeState
    work_class = OverTimeWork
    rule_class = OverTimeRule

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("experts", self.experts, LONG + 1, 64)
        whole("window", self.window, 2 * FIRST)
        for name in ("learner", "long"):
            learner = getattr(self, name)
            if name == "long" and learner is None:
                continue
            if not isinstance(learner, Learner) or isinstance(learner, OverTime):
                raise ValueError(f"{name} must be one of forks.learners, got {learner!r}")
            if learner.growing():
                raise ValueError(f"{name}: the memory of {learner!r} grows without bounds")
        if self.long is not None and self.long.rule() != self.learner.rule():
            raise ValueError("long must be like learner except for sizes")

    @property
    def multi_output(self) -> bool:  # type: ignore[override]
        """Whether several outputs share one state."""
        return bool(self.learner.multi_output)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of problem that the experts can learn."""
        return tuple(self.learner.tasks)

    @property
    def kernel(self) -> Any:
        """The kernel of the experts."""
        return self.learner.kernel

    @property
    def loss(self) -> Any:
        """The loss of the experts."""
        return self.learner.loss

    def derived(self) -> dict[str, Any]:
        """Return the rules of the parts and of the experts."""
        classifies = self.tasks != ("regression",)
        return {
            "learner": self.learner.rule(),
            "experts": ExpertsRule(classifies),
            "persistence": PersistenceRule(classifies),
            "conformal": ConformalRule(classifies),
            "conformal_far": ConformalRule(
                classifies, step=0.02, step_of_sets=0.004, memory=1000.0
            ),
            "stack": NoStack() if classifies else STACK,
            "page": PAGE,
            "horizon": HorizonRule(classifies),
            "recall": RECALL,
        }

    def rule_ahead(self) -> Any:
        """Return the rule for scoring the next row of the stream."""
        return self.rule()._replace(ahead=True)

    def expect_delay(self, view: OverTimeState, n: int) -> None:
        """Judge the last label, and the last residual, by how they do n rows later."""
        view.counts[COUNT.delay] = min(n, len(view.ring.rows) - 1)

    # ---- memory ------------------------------------------------------------------------------

    def shapes(self, n_features: int, n_outputs: int, **more: int) -> Shapes:
        """Return the shapes of the arrays; those of the experts' memories depend on all."""
        window = min(self.window, max(2 * FIRST, _MOST_NUMBERS // max(1, n_features)))
        sizes = self._lengths_of(self._begun(n_features, n_outputs))
        return super().shapes(n_features, n_outputs, **{"window": window, **sizes, **more})

    def _lengths_of(self, memories: list[Memory]) -> dict[str, int]:
        scratch = [self._learner(e).scratch_size(memory) for e, memory in enumerate(memories)]
        floats, ints = (_ends(arrays)[-1] for arrays in zip(*memories, strict=True))
        return {"scratch": max(scratch), "floats": int(floats), "ints": int(ints)}

    def _begun(self, n_features: int, n_outputs: int) -> list[Memory]:
        """Return a memory for each place, of experts that have seen nothing."""
        rng = np.random.default_rng(0)
        learners = list(map(self._learner, range(self.experts)))
        begun = {each: each.init(n_features, n_outputs, rng) for each in dict.fromkeys(learners)}
        return [begun[learner] for learner in learners]

    def begin(self, view: OverTimeState, rng: np.random.Generator) -> None:
        """Begin with a champion that has seen nothing."""
        super().begin(view, rng)
        if isinstance(self.learner, Machine):
            view.random[:] = 0  # machines draw nothing: whatever the seed, the same bits
        self._put_all(view, self._begun(view.ring.rows.shape[1], view.ring.targets.shape[1]))
        self._put(view, 0, self._new(view, 0))
        view.places.status[0] = LIVE
        counts, weights = view.counts, view.experts.weights
        counts[COUNT.period], counts[COUNT.due] = 2 * FIRST, EARLIEST
        counts[COUNT.challenge] = 4 * FIRST
        weights[NEXT, 0], weights[NEXT, LAST] = 1.0, 0.01 if self.repeat else 0.0
        weights[SETTLED, 0] = weights[SETTLED, BASE] = 1.0
        self._start_early(view)
        weights /= weights.sum(axis=1, keepdims=True)
        for e in range(len(weights[NEXT])):
            self._begin_line(view, e)
        begin_line(self._rule.experts.calibration, view.calibration, 0, 1.0)
        begin_quantiles(self._rule.conformal, view.conformal)
        begin_rise(view.rise)
        begin_stack(STACK, view.stack)
        begin_horizon(self._rule.horizon, view.horizon, self._slope)

    def _put_all(self, view: OverTimeState, memories: list[Memory]) -> None:
        """Store the memories of all experts, one after the other."""
        floats, ints = (_ends(arrays) for arrays in zip(*memories, strict=True))
        view.places.floats[:], view.places.ints[:] = floats, ints
        for e, memory in enumerate(memories):
            self._put(view, e, memory)

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Return the memory for rows with more features, which were 0 in all rows so far."""
        old = self.view(memory)
        wider = [self._learner(e).widened(self.memory_of(old, e), n_features)
                 for e in range(self.experts)]  # fmt: skip
        larger = self.resized(old, features=n_features, **self._lengths_of(wider))
        self._put_all(self.view(larger), wider)
        return larger

    def with_outputs(self, memory: Memory, n_outputs: int) -> Memory:
        """Return the memory for more outputs, copies of the last one."""
        old = self.view(memory)
        more = [self._learner(e).with_outputs(self.memory_of(old, e), n_outputs)
                for e in range(self.experts)]  # fmt: skip
        larger = self.resized(old, outputs=n_outputs, **self._lengths_of(more))
        new = self.view(larger)
        repeat_last(old, new, "outputs")
        self._put_all(new, more)
        return larger

    def with_classes(self, memory: Memory, sources: tuple[int, ...]) -> Memory:
        """Return the memory for other classes, those of all experts included.

        Of one output f the probability of +1 is 1 / (1 + exp(-a f - b)); of several there is no b,
        and -f and f have these probabilities (b aside) with a / 2.
        """
        old = self.view(memory)
        more = [self._learner(e).with_classes(self.memory_of(old, e), sources)
                for e in range(self.experts)]  # fmt: skip
        n_outputs = count_outputs(len(sources))
        larger = self.resized(old, outputs=n_outputs, **self._lengths_of(more))
        new = self.view(larger)
        fill_outputs(old, new, sources, self.alike)
        self._put_all(new, more)
        if old.ring.targets.shape[1] == 1 < n_outputs:
            new.experts.calibration.lines[:, A] /= 2.0
            new.horizon.calibration.lines[LASTING, A] /= 2.0
            for part in (new.experts, new, new.horizon):
                part.calibration.lines[:, [B, H_AB]] = 0.0
        return larger

    def limits(self, view: OverTimeState) -> list[Limit]:
        """Return the bounds of what compiled code relies on, the experts' included."""
        counts, places = view.counts, view.places
        rounds = int(counts[COUNT.rounds])
        begun = self._begun(view.ring.rows.shape[1], view.ring.targets.shape[1])
        floats, ints = (_ends(arrays) for arrays in zip(*begun, strict=True))
        return [
            Limit("number of rounds", rounds, 0, MANY),
            Limit("stage", counts[COUNT.stage], 0, 0),
            Limit("other counts", counts[COUNT.due :], 0, MANY),
            Limit("delay", counts[COUNT.delay], 0, len(view.ring.rows) - 1),
            Limit("status of experts", places.status, EMPTY, LIVE),
            Limit("begin of experts", places.born, 0, MANY),
            Limit("next rows of experts", places.next, 0, rounds),
            Limit("mends of experts", places.mends, 0, MANY),
            Limit("marks of experts", places.tracks, 0, 1),
            *recall_limits(view.recall),
            *rise_limits(view.rise),
            *picks_limits(view.picks, self.experts, rounds),
            Limit("places of floats", places.floats - floats, 0, 0),
            Limit("places of integers", places.ints - ints, 0, 0),
            *weighing.experts_limits(view.experts),
            *horizon_limits(view.horizon),
            *calibration_limits(view.calibration),
            *conformal_limits(view.conformal),
            *stack_limits(STACK, view.stack),
            *lasting.persistence_limits(view.persistence),
            *histories.history_limits(view.history, self.experts),
            *watching.watch_limits(PAGE, view.watch, rounds),
        ]

    def check_memory(self, memory: Memory, n_features: int, n_outputs: int) -> None:
        """Check that memory from outside can be this learner's, and that of all experts theirs."""
        needed = self._needed((n_features, n_outputs))
        for array, least in zip(memory, needed, strict=True):
            if array.size < least:  # before as much is reserved to compare with
                raise ValueError(f"the memory has {array.size} numbers, and its experts {least}")
        super().check_memory(memory, n_features, n_outputs)
        view = self.view(memory)
        for e in range(self.experts):
            self._learner(e).check_memory(self.memory_of(view, e), n_features, n_outputs)

    def stored_points(self, memory: Memory) -> int:
        """Count the points that all experts keep."""
        view = self.view(memory)
        return sum(
            self._learner(e).stored_points(self.memory_of(view, e))
            for e in range(self.experts)
            if view.places.status[e] != EMPTY
        )

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.experts.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    # ---- what users ask for --------------------------------------------------------------------

    def events(self, memory: Memory) -> list[dict[str, Any]]:
        """Return what happened, oldest first: starts, alarms and changes of the leader."""
        return histories.events(self.view(memory).history)

    def expert_weights(self, memory: Memory) -> Vector:
        """Return how much each answer counts for the next row, summing to 1.

        First the experts, by their places; then the mean of the first two, the last label, and the
        base rates.
        """
        return self.view(memory).experts.weights[NEXT].copy()

    def feature_relevance(self, memory: Memory) -> Vector | None:
        """Return how much each scaled feature moves the score: mean squared slopes, summing to 1.

        They are those of a small machine with the relevance of the leader, fitted to the last
        rows; None before there are any.
        """
        view = self.view(memory)
        n = min(int(view.counts[COUNT.rounds]), len(view.ring.rows), 1000)
        if n < SMALLEST_BUFFER:
            return None
        sample = self._sample(view, n, min(150, n // 2))
        leader = self.leader(view)
        learner = self._learner(leader)
        relevance = np.ones(sample.Z.shape[1])
        if isinstance(learner, Machine):
            relevance = learner.view(self.memory_of(view, leader)).map.relevance
        trial = relevances.tried(RELEVANCE, sample, relevance)
        slopes = relevance**2 * relevances.mean_squared_slopes(RELEVANCE, trial.f)
        return slopes / (slopes.sum() or 1.0)

    def mean_row(self, memory: Memory) -> Vector | None:
        """Return the mean of the last rows."""
        view = self.view(memory)
        return rings.mean_row(view.ring, int(view.counts[COUNT.rounds]))

    def interval(self, memory: Memory, level: float, ahead: bool) -> tuple[float, float]:
        """Return what is to be added to predictions for the ends of intervals of a coverage."""
        view = self.view(memory)
        return conformal_interval(view.conformal, NEXT if ahead else SETTLED, level)

    def least_probability(self, memory: Memory, level: float, ahead: bool) -> float:
        """Return the least probability of a class in prediction sets of a coverage."""
        view = self.view(memory)
        return threshold(view.conformal, NEXT if ahead else SETTLED, level)


def _ends(arrays: Sequence[Any]) -> Counter:
    """Return where arrays begin that are stored one after the other, and where the last ends."""
    return np.cumsum([0, *map(len, arrays)])
