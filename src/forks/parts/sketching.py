"""What SkeGD and FORKS share: a feature map that is sketched at the switch and updated later.

Stage one fills a buffer (`forks.parts.stage_one`). At the switch the stored points become the
map of `forks.features.sketched`; every `update_cycle` rounds an update round changes it. The files
of the two learners say what a round of stage two does, and what becomes of the weights.

A learner's memory has the parts `hot` (what rounds change), `random` and `sketch`; `hot` has
`counts`, `points`, `alpha`, `spare`, `map` and `w`. Axes name the sizes of `SketchedLearner.sizes`
and of `SketchedLearner.plan`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from forks.engine import (
    MANY,
    RESUME,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Vector,
    dense_points,
    njit,
)
from forks.engine.checks import one_of, positive, whole
from forks.engine.random import choose
from forks.features.sketched import FeatureMap, Sketch, SketchPlan, build, join
from forks.kernels import Gaussian, Kernel, check_kernel, kernel_block
from forks.losses import Hinge, Loss
from forks.parts.gradient import LARGEST
from forks.parts.stage_one import COUNT, SWITCH, count_limits

NO_CUT = 1e-20  # of a pseudo-inverse: below all rounding errors
TINY = 1e-150  # features below it have subnormal squares: they count as zero


class SketchSizes(NamedTuple):
    """The sizes in force."""

    buffer: int
    sketch_size: int
    n_landmarks: int
    rank: int
    update_cycle: int
    max_points: int


@dataclass(frozen=True, kw_only=True)
class SketchedLearner(Learner):
    """Base of the two learners; their docstrings tell the parameters."""

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    buffer: int | None = None
    sketch_size: int | None = None
    n_landmarks: int | None = None
    rank: int | None = None
    update_cycle: int | None = None
    cycle_counts: str = "losses"
    n_blocks: int = 1
    eta: float = 0.2
    weight_start: str = "point"
    landmarks: str = "fixed"
    sketch_points: str = "growing"
    max_points: int | None = None
    decomposition: str = "tisvd"
    extra_rank: int = 0
    cut: float = 1e-8

    multi_output: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("budget", self.budget, 1)
        for name in ("buffer", "sketch_size", "n_landmarks", "rank", "max_points"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        sizes = self.sizes()
        whole("n_landmarks", sizes.n_landmarks, 1, sizes.buffer, "the buffer")
        whole("rank", sizes.rank, 1, sizes.n_landmarks, "n_landmarks")
        whole("rank", sizes.rank, 1, sizes.sketch_size, "sketch_size")
        whole("update_cycle", sizes.update_cycle, 0)
        whole("max_points", sizes.max_points, sizes.buffer)
        whole("n_blocks", self.n_blocks, 1, sizes.sketch_size, "sketch_size")
        positive("eta", self.eta)
        positive("cut", self.cut)
        one_of("cycle_counts", self.cycle_counts, ("losses", "rounds"))
        one_of("weight_start", self.weight_start, ("point", "zero", "projection"))
        one_of("landmarks", self.landmarks, ("fixed", "refreshed"))
        one_of("sketch_points", self.sketch_points, ("growing", "buffer"))
        one_of("decomposition", self.decomposition, ("tisvd", "recursive", "svd", "randomized"))
        whole("extra_rank", self.extra_rank, 0)
        if self.landmarks == "refreshed" and self.sketch_points != "growing":
            raise ValueError("landmarks='refreshed' needs sketch_points='growing', got 'buffer'")

    def sizes(self) -> SketchSizes:
        """Return the sizes with None filled in."""
        return self._sizes

    @cached_property
    def _sizes(self) -> SketchSizes:
        buffer = self._given("buffer", 2 * self.budget)
        own = self._own_sizes(buffer)
        cycle, most = self._given("update_cycle", 0), self._given("max_points", 2 * buffer)
        return SketchSizes(buffer, *own, cycle, most)

    def _given(self, name: str, default: int) -> int:
        value: int | None = getattr(self, name)
        return default if value is None else value

    @abstractmethod
    def _own_sizes(self, buffer: int) -> tuple[int, int, int]:
        """Return s_p, s_m and k, with the learner's own defaults."""

    def plan(self) -> SketchPlan:
        """Return the part of the configuration that shapes the feature map."""
        return self._plan

    @cached_property
    def _plan(self) -> SketchPlan:
        sizes = self.sizes()
        return SketchPlan(
            sizes.sketch_size,
            sizes.n_landmarks,
            sizes.rank,
            self.n_blocks,
            sizes.max_points if self.sketch_points == "growing" else sizes.buffer,
            self.cut,
            growing=self.sketch_points == "growing",
            refreshed=self.landmarks == "refreshed",
            decomposition=self.decomposition,
            extra_rank=self.extra_rank,
        )

    @cached_property
    def _kernel(self) -> Kernel:
        return check_kernel(self.kernel)

    def lengths(self) -> dict[str, int]:
        """Return the sizes in force, and those of the plan."""
        return {**self.sizes()._asdict(), **self.plan().lengths()}

    def derived(self) -> dict[str, Any]:
        """Return what the update cycle counts."""
        return {"count_losses": self.cycle_counts == "losses"}

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of the counts, and of where sketch rows have their entries."""
        return [
            *count_limits(view.hot.counts, self.sizes().buffer),
            Limit("seed of the sketch", view.random[1], 0, 2**63 - 1),
            Limit("columns of the sketch", view.sketch.columns, 0, self.sizes().sketch_size - 1),
            Limit("steps", getattr(view.hot, "steps", 0), 0, MANY),
        ]

    def stored_points(self, memory: Memory) -> int:
        """Count the points that the learner keeps now, landmarks among them."""
        return min(int(self.view(memory).hot.counts[COUNT.stored]), self.plan().capacity)

    def map_updates(self, memory: Memory) -> int:
        """Count the update rounds."""
        return int(self.view(memory).hot.counts[COUNT.updates])

    def rounds_since_switch(self, memory: Memory) -> int:
        """Count the rounds of stage two."""
        return int(self.view(memory).hot.counts[COUNT.rounds])

    def features(self, memory: Memory, X: Matrix) -> Matrix | None:
        """Return phi of the rows, in the map as it is now; None in stage one."""
        state = self.view(memory).hot
        return self._features(state.map, X) if state.counts[COUNT.stage] else None

    def handle(self, view: Any, x: Vector) -> None:
        """Switch to stage two, or update the map, with row x."""
        state, random, sketch = view
        try:
            if state.counts[COUNT.event] == SWITCH:
                self._switch(state, random, sketch, x)
            else:
                self._update(state, random, sketch, x)
        except (np.linalg.LinAlgError, ValueError):  # SciPy's words for numbers that overflow
            self._begin_again(state, sketch)
            return
        state.counts[COUNT.event] = RESUME  # let compiled code learn from (x, y) in the new map

    def _begin_again(self, state: Any, sketch: Sketch) -> None:
        """Go back to an empty stage one: nothing can be made of the map, or of the points."""
        self._forget(state)
        for array in (state.alpha, state.map.Z, *sketch):
            array[...] = 0
        counts = state.counts
        counts[COUNT.mends] += 1
        for zero in (COUNT.event, COUNT.stage, COUNT.stored, COUNT.rounds, COUNT.updates):
            counts[zero] = 0

    def _switch(self, state: Any, random: Counter, sketch: Sketch, x: Vector) -> None:
        plan, n = self.plan(), self.sizes().buffer
        kernel = self._kernel
        chosen = choose(random[:1], n, plan.n_landmarks)
        build(plan, state.map, sketch, kernel, state.points, n, int(random[1]), chosen)
        self._forget(state)
        if self.weight_start == "point":
            psi = kernel_block(kernel, x.reshape(1, -1), state.points, n)[0]
            with np.errstate(over="ignore", invalid="ignore"):
                scores = state.alpha[:, :n] @ psi
            self._keep_scores(state, x, scores)
        elif self.weight_start == "projection":
            X = dense_points(state.points, n)
            with np.errstate(over="ignore", invalid="ignore"):
                f = kernel_block(kernel, X, state.points, n) @ state.alpha[:, :n].T
            f = np.where(np.isfinite(f), f, 0.0)  # a score that overflows says nothing
            fit = np.linalg.lstsq(self._features(state.map, X), f, rcond=self.cut)[0]
            self._set_weights(state, np.asarray(fit.T, dtype=np.float64))
        state.counts[COUNT.stage] = 2

    def _update(self, state: Any, random: Counter, sketch: Sketch, x: Vector) -> None:
        """Let x join the map, and do with the weights what `_before` and `_after` say."""
        plan, counts = self.plan(), state.counts
        before = self._before(state, x)
        updates = int(counts[COUNT.updates])
        number = self.sizes().buffer + updates
        seed = int(random[1])
        join(plan, state.map, sketch, self._kernel, state.points, x, number, updates, seed)
        counts[COUNT.updates] += 1
        counts[COUNT.stored] += plan.growing
        self._after(state, x, before)

    @abstractmethod
    def _before(self, state: Any, x: Vector) -> Any:
        """Note what an update needs to know of the old map."""

    @abstractmethod
    def _after(self, state: Any, x: Vector, before: Any) -> None:
        """Set the weights after an update."""

    def _forget(self, state: Any) -> None:
        """Start anew: w = 0."""
        state.w[:] = 0.0

    def _keep_scores(self, state: Any, x: Vector, scores: Vector) -> None:
        """Set each w to the smallest one with w'phi(x) = its score."""
        phi = self._features(state.map, x.reshape(1, -1))[0]
        length = phi @ phi
        if length > TINY**2:
            with np.errstate(over="ignore", invalid="ignore"):
                self._set_weights(state, np.outer(scores, phi / length))
        else:
            state.w[:] = 0.0

    def _set_weights(self, state: Any, w: Matrix) -> None:
        """Set w, output by output, or start anew where it overflows."""
        bounded = np.abs(w).sum(axis=1) <= LARGEST  # false for NaN
        state.counts[COUNT.mends] += np.count_nonzero(~bounded)
        state.w[:, : w.shape[1]] = np.where(bounded[:, None], w, 0.0)

    def _features(self, feature_map: FeatureMap, X: Matrix) -> Matrix:
        landmarks, Z = feature_map.landmarks, feature_map.Z[:, : self.sizes().rank]
        return kernel_block(self._kernel, X, landmarks, Z.shape[0]) @ Z


@njit
def clear_tiny(phi):
    """Set features to zero whose squares would be subnormal."""
    for j in range(phi.shape[0]):
        if abs(phi[j]) < TINY:
            phi[j] = 0.0


@njit
def update_is_due(rule, counts, lost):
    """Return whether this round, which has been counted, is an update round."""
    rho = rule.update_cycle
    if rho == 0:
        return False
    if rule.count_losses:
        return lost and counts[COUNT.losses] % rho == 1 % rho  # T0 mod rho = 1, as in the code
    return counts[COUNT.rounds] % rho == 0
