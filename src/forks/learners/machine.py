"""One second-order kernel machine on one map: the expert that the default learner is made of.

It is put together from parts, each of which has its formulas, constants and references in its own
file:

    row -> psi (parts.landmarks) -> theta'psi (parts.newton) -> answer
    slope -> gate (parts.gate) -> Newton step (parts.newton)

**A start that learns.** The first `buffer` rows are kept. When 4, 8, 16, ... of them have come, and
when all have, map, prior, theta and P are made anew from all rows so far (`parts.start`,
`parts.prior`): a batch machine on few rows. Targets of regression are brought to mean 0 and
standard deviation 1 (`parts.targets`).

**Then a Newton step per round**, at a cost of O(m d), and O((m + d)^2) more if the gate lets the
round learn. After the buffer, each time the number of rounds has doubled, the tolerance of the gate
is brought up to date, and the prior, by an event, if it is much too large.

**What it may be given** before its first row (`adopt`): a relevance for each feature, a rate of
forgetting, factors of the kernel's width and of the prior, a Laplacian kernel in place of its own.

**Overflow.** A step that would not be finite is left out; after `most_refused` of
them since the last fit the learner starts anew from the rows that it keeps. Both are counted as
mends, as are fits without a finite solution, which begin with the prior alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from forks.engine import (
    MANY,
    RESUME,
    Learner,
    Limit,
    Matrix,
    Memory,
    Shapes,
    Vector,
)
from forks.engine.checks import one_of, whole
from forks.engine.outputs import NEW
from forks.kernels import Gaussian, Kernel
from forks.learners.machine_round import COUNT, MachineRule, MachineState, MachineWork
from forks.linalg.packed_inverse import set_root
from forks.losses import Loss, SquaredHinge, curvature, slope
from forks.parts import gate as gates
from forks.parts import landmarks, merging, newton, prior, ring, start, targets
from forks.parts.gate import RESIDUAL, TOLERANCE, GateRule
from forks.parts.landmarks import GIVEN, LINEAR, SHAPE, WIDTH, MappedRows
from forks.parts.merging import CannotForkError
from forks.parts.targets import SPREAD

START, PRIOR = start.StartRule(), prior.PriorRule()
SMALLEST_BUFFER = 16
MOST_FORGETTING = 0.1


@dataclass(frozen=True, kw_only=True)
class Machine(Learner):
    """A second-order kernel machine with an exact start, which scales its rows itself.

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
    early: bool = True
    robust: bool = True

    multi_output = True
    state_class: ClassVar[type] = MachineState
    work_class: ClassVar[type] = MachineWork
    rule_class: ClassVar[type] = MachineRule

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
            "gate": GateRule(classifies, bool(self.robust), reference),
            "prior": PRIOR,
            "classifies": classifies,
            "unit": self._unit,
        }

    @cached_property
    def _rule(self) -> Any:
        return self.rule()

    @cached_property
    def _unit(self) -> float:
        """Return the curvature of the loss at f = 0, the unit of alpha."""
        return float(curvature(self.loss, 0.0, 1.0)) or 1.0

    def begin(self, view: Any, rng: np.random.Generator) -> None:
        """Begin with the prior alone; nothing is drawn."""
        landmarks.begin_map(view.map, self._linear(view.ring.rows.shape[1]))
        view.counts[COUNT.due] = start.next_event(START, 0, self.buffer, self.early)
        view.alpha[:] = self._unit * PRIOR.usual, 1.0
        view.targets.levels[SPREAD] = 1.0
        set_root(view.newton.P, np.array([[1.0 / math.sqrt(view.alpha[0])]]))

    def adopt(
        self,
        view: Any,
        relevance: Vector,
        rows: int,
        forgetting: float = 0.0,
        width: float = 1.0,
        prior: float = 1.0,
        shape: int = GIVEN,
    ) -> None:
        """Set what a new machine, which has seen no row, does not find out by itself.

        `width` and `prior` are factors of what the kernel's width and alpha usually are, `shape`
        is one of `parts.landmarks`. Early fits are left out if as many `rows` as the buffer takes
        are there to be learned.
        """
        view.map.relevance[:] = relevance
        view.map.width[0] = width
        view.map.sizes[SHAPE] = shape
        view.alpha[1] = prior
        view.forgetting[0] = forgetting
        if rows >= self.buffer:
            view.counts[COUNT.due] = self.buffer

    def forget_no_more(self, view: Any) -> None:
        """Keep what is known from now on; the prior has been forgotten as the first rows have."""
        alpha, rounds = float(view.alpha[0]), int(view.counts[COUNT.rounds])
        left = alpha * math.exp(-view.forgetting[0] * max(0, rounds - self.buffer))
        view.alpha[0] = min(alpha, max(left, 1.0 / newton.MOST_VARIANCE))
        view.forgetting[0] = 0.0

    def _linear(self, n_features: int) -> int:
        return landmarks.linear_features(n_features, self.linear)

    def shapes(self, n_features: int, n_outputs: int, **more: int) -> Shapes:
        """Return the shapes of the arrays; `linear` features of psi depend on all."""
        linear = self._linear(n_features)
        return super().shapes(n_features, n_outputs, linear=linear, **more)

    def resized(self, view: Any, **changed: int) -> Memory:
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
        new.map.relevance[d:] = 1.0
        bias = int(old.map.sizes[WIDTH])
        if bias > 0:  # there has been a fit
            self._insert_features(new, old, bias, linear - before)
            new.map.sizes[WIDTH] = bias + linear - before
            landmarks.extend_scale(new.map, d, self.scaling == "standard")
        return memory

    def with_classes(self, memory: Memory, sources: tuple[int, ...]) -> Memory:
        """Return the memory for other classes; of a new one the score is -1, its bias."""
        larger = super().with_classes(memory, sources)
        if len(sources) > 2:
            view = self.view(larger)
            for o in [o for o, source in enumerate(sources) if source == NEW]:
                self._begin_output(view, o, int(view.map.sizes[WIDTH]))
        return larger

    def _begin_output(self, view: Any, o: int, bias: int) -> None:
        for weights in (view.newton.theta[o], view.newton.earlier[o]):
            weights[:] = 0.0
            weights[bias] = -1.0

    def _insert_features(self, new: Any, old: Any, bias: int, added: int) -> None:
        """Insert features of psi, which have no weight yet, before the bias."""
        newton.insert_weights(new.newton, old.newton, bias, added, 1.0 / new.alpha[0])

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of the counts, and of the levels that events go by."""
        counts, rule = view.counts, self._rule
        rounds = int(counts[COUNT.rounds])
        return [
            Limit("number of rounds", rounds, 0, MANY),
            Limit("next event", counts[COUNT.due], max(START.first, rounds), MANY),
            Limit("begin of the means", counts[COUNT.begun], 0, rounds),
            Limit("other counts", counts[COUNT.refused :], 0, MANY),
            Limit("factor of the prior", view.alpha[1], 1e-3, 1e3),
            Limit("rate of forgetting", view.forgetting, 0.0, MOST_FORGETTING),
            *landmarks.map_limits(view.map, self._linear(view.ring.rows.shape[1]), self.buffer),
            *gates.gate_limits(rule.gate, view.gate),
            *targets.target_limits(view.targets),
        ]

    def stored_points(self, memory: Memory) -> int:
        """Count the rows in the buffer; the landmarks were such rows."""
        return int(min(self.view(memory).counts[COUNT.rounds], self.buffer))

    def mean_row(self, memory: Memory) -> Vector | None:
        """Return the mean of the last rows."""
        view = self.view(memory)
        return ring.mean_row(view.ring, int(view.counts[COUNT.rounds]))

    # ---- forks: see `forks.parts.merging` ----------------------------------------------------

    def for_forks(self) -> Learner:
        """Return the machine of forks: in regression none of its rows is clipped."""
        merging.check_second_order(self.loss, self._rule.classifies)
        return replace(self, **self._kept_in_forks())

    def _kept_in_forks(self) -> dict[str, Any]:
        return {} if self._rule.classifies else {"robust": False}

    def forked(self, memory: Memory, rows: int = 0) -> Memory:
        """Return a memory without events: map, prior and tolerance stay.

        Prior and tolerance are those for all rows to come. In regression every row counts, so that
        A and b are sums over rows.
        """
        memory = memory.copy()
        view = self.view(memory)
        rounds = int(view.counts[COUNT.rounds])
        merging.check_begun(rounds, self.buffer)
        if view.forgetting[0] > 0.0:
            raise CannotForkError("a machine that forgets depends on the order of rows")
        self._lower_alpha(view, rounds + rows)
        view.counts[COUNT.due] = MANY
        if not self._rule.classifies:
            view.gate.levels[TOLERANCE] = 0.0
        elif rows > 0:
            gates.set_tolerance(self._rule.gate, view.gate, rounds + rows)
        return memory

    def largest_error(self, memory: Memory) -> float:
        """Return the error that would be clipped now; infinity for classes."""
        rule, view = self._rule, self.view(memory)
        if rule.classifies or not self.robust:
            return math.inf
        size = math.sqrt(view.gate.levels[RESIDUAL]) or math.inf
        return float(rule.gate.outlier * size * view.targets.levels[SPREAD])

    def merged(self, start: Memory, forks: Sequence[Memory]) -> Memory:
        """Return the sum of what forks have learned, with the last rows of all of them."""
        memory = start.copy()
        view, first, others = self.view(memory), self.view(start), list(map(self.view, forks))
        shares = merging.shares_of(COUNT.rounds, first, others)
        L, width = landmarks.landmark_factor(first.map, self._rule.kernel), first.map.sizes[WIDTH]
        newtons = [other.newton for other in others]
        merging.add_newtons(view.newton, first.newton, newtons, int(width) + 1, L)
        counts = [other.counts for other in others]
        for i in (COUNT.mends, COUNT.rounds, COUNT.refused):
            view.counts[i] = shares.total(first.counts[i], [each[i] for each in counts])
        levels = [other.gate.levels for other in others]
        view.gate.levels[:] = shares.mean(first.gate.levels, levels)
        shares.pool_rows(view.ring, first.ring, [other.ring for other in others])
        return memory

    def rejoined(self, memory: Memory, before: Memory) -> Memory:
        """Bring the prior and the tolerance up to date with the rounds of all, and have events.

        Classes keep their theta: which rows have a loss was seen with the prior of the forks, and
        would be others at the theta of a much smaller one.
        """
        memory = memory.copy()
        view = self.view(memory)
        theta = view.newton.theta.copy()
        view.counts[COUNT.refused] = 0
        self._bring_up_to_date(view, choose=False)
        if self._rule.classifies and view.counts[COUNT.rounds] > self.buffer:
            view.newton.theta[:] = theta
        view.counts[COUNT.event] = 0
        return memory

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: Any, x: Vector) -> None:
        """Fit anew, or adapt alpha and the tolerance to the number of rounds."""
        if self._goes_on_as_fork(view):
            return
        rounds = int(view.counts[COUNT.rounds])
        if view.counts[COUNT.refused] >= self._rule.most_refused:
            rounds = self._take_last_rows(view, min(rounds, self.buffer))
        self._bring_up_to_date(view, choose=False)

    def _goes_on_as_fork(self, view: Any) -> bool:
        """Return whether it is a fork; the map of a fork stays, whatever its steps are."""
        counts = view.counts
        if counts[COUNT.due] < MANY:
            return False
        counts[COUNT.refused] = 0
        counts[COUNT.event] = RESUME
        return True

    def _bring_up_to_date(self, state: Any, choose: bool) -> None:
        """Fit anew if there is room in the buffer, else lower alpha; `choose` alpha by the rows?"""
        counts = state.counts
        rounds = int(counts[COUNT.rounds])
        if rounds > self.buffer and not self._lower_alpha(state, rounds):
            counts[COUNT.mends] += 1
            rounds = self._take_last_rows(state, self.buffer)
        if rounds <= self.buffer:
            # What forgets also forgets its prior: alpha matters little, and costs time to choose.
            few = rounds <= PRIOR.choose_up_to and state.forgetting[0] == 0.0
            self._fit(state, rounds, choose or few)
        gates.set_tolerance(self._rule.gate, state.gate, rounds)
        counts[COUNT.due] = start.next_event(START, rounds, self.buffer, self.early)
        counts[COUNT.event] = RESUME

    def _take_last_rows(self, state: Any, n: int) -> int:
        """Keep the last n rows, in their order, as the first of the ring: a new start."""
        counts = state.counts
        ring.keep(state.ring, ring.last_slots(int(counts[COUNT.rounds]), n, self.buffer))
        counts[COUNT.rounds] = counts[COUNT.begun] = n
        return n

    def _fit(self, state: Any, n: int, choose: bool) -> tuple[MappedRows, Matrix]:
        """Make map, theta and P anew from the first n rows of the ring; alpha too?"""
        X, y, weights = (array[:n] for array in state.ring)
        counts, rule, unit = state.counts, self._rule, self._unit
        scaled, median = self.scaling == "standard", self.bandwidth == "median"
        followed = None if rule.classifies else y
        rows, finite = landmarks.fit_map(
            state.map, rule.kernel, X, weights, scaled, median, followed
        )
        counts[COUNT.mends] += not finite
        if not rule.classifies:
            targets.set_unit(state.targets, y, weights)
            state.gate.levels[RESIDUAL] = 0.0
            counts[COUNT.begun] = n
        y = targets.standardise(state.targets, y)
        gram = rows.gram()
        if choose:
            last = slice(max(0, n - PRIOR.choose_up_to), n)
            chosen = prior.chosen_alpha(PRIOR, gram[last, last], y[last], rule.classifies)
            state.alpha[0] = unit * chosen
        if n == self.buffer:
            state.alpha[0] = min(state.alpha[0], self._most_alpha(state, n))
        alpha, h = float(state.alpha[0]), unit * np.maximum(weights, START.least_weight)
        one_sided = rule.classifies and y.shape[1] == 1
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is mended
            w, B, solved = start.fit_or_prior(rows.F, gram, y, h, alpha, one_sided)
            counts[COUNT.mends] += not solved
            newton.set_solution(state.newton, w, B, rows.L)
        counts[COUNT.refused] = 0
        return rows, y

    def _most_alpha(self, state: Any, rounds: int) -> float:
        return float(state.alpha[1]) * prior.most_alpha(PRIOR, self._unit, rounds)

    def _lower_alpha(self, state: Any, rounds: int) -> bool:
        """Let alpha fall with the number of rounds; return False if it cannot.

        A machine that forgets keeps its alpha, of which less and less is left in P anyway.
        """
        alpha, target = float(state.alpha[0]), self._most_alpha(state, rounds)
        if state.forgetting[0] > 0.0 or not prior.is_to_be_lowered(PRIOR, alpha, target):
            return True
        try:
            L = landmarks.landmark_factor(state.map, self._rule.kernel)
            newton.lower_prior(state.newton, int(state.map.sizes[WIDTH]) + 1, L, alpha - target)
        except np.linalg.LinAlgError:
            return False
        state.alpha[0] = target
        return True
