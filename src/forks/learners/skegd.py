"""SkeGD: gradient descent on a sketched, incrementally updated feature map.

The first-order ancestor of FORKS. Stage one stores the points with loss in a buffer; the switch
sketches them into a feature map phi of rank k (`forks.features.sketched`); stage two takes
gradient steps on it,

    f_t = w'phi_t,   w <- w - step_size l'(f_t, y_t) phi_t.

Every rho rounds with loss an update round lets its point join the sketches, whose decomposition
is computed anew, and w becomes the smallest one that keeps the score of that point,

    w = f_t phi_t / |phi_t|^2,    phi_t in the new map,

before the round's step. A regular round costs O(d s_m + s_m k), an update round O(s_p^3).

Reference: Zhang and Liao, "Incremental randomized sketching for online kernel learning", ICML
2019, and the authors' code where the paper is silent: the switch is made at the first round with
loss after the buffer is full, and w starts by the rule above. That code also keeps all s_p
singular vectors from the switch to the first update, and lets the switch's point join the sketch;
here the map has rank k throughout, as in the FORKS paper. Steps that would diverge are held, see
`forks.parts.gradient`.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import RESUME, Counter, Matrix, Points, Vector, njit, score, step
from forks.engine.checks import one_of, positive, whole
from forks.features.sketched import FeatureMap, Sketch, write_features
from forks.kernels import Gaussian, Kernel
from forks.losses import Hinge, Loss
from forks.parts.linear import has_loss, linear_scores, linear_step
from forks.parts.sketching import NO_CUT, SketchedLearner, update_is_due
from forks.parts.stage_one import COUNT, UPDATE, Count, expansion_scores, gradient_round


class SkeGDState(NamedTuple):
    """State that rounds change in place."""

    counts: Annotated[Counter, len(Count._fields)]
    points: Annotated[Points, "capacity = capacity + 1"]  # stage one's, then update points
    alpha: Annotated[Matrix, "outputs", "padded(buffer)"]  # coefficients of stage one
    spare: Annotated[Points, "capacity = 1"]  # room to compare a row with itself
    map: FeatureMap
    w: Annotated[Matrix, "outputs", "padded(rank)"]  # zero beyond k


class SkeGDMemory(NamedTuple):
    """Everything that is kept: what rounds change, then what only events use."""

    hot: SkeGDState
    random: Annotated[Counter, 2]  # generator of landmarks, seed of the sketch
    sketch: Sketch


class SkeGDRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    buffer: int
    eta: float
    step_size: float
    update_cycle: int
    count_losses: bool


class SkeGDWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "odd_blocks(capacity + 1)"]  # kernel values
    phi: Annotated[Vector, "padded(rank)"]
    change: Annotated[Vector, "outputs"]  # coefficients of a point of stage one


@dataclass(frozen=True, kw_only=True)
class SkeGD(SketchedLearner):
    """Sketched online gradient descent.

    Parameters
    ----------
    kernel, loss
        One of `forks.kernels`, one of `forks.losses`.
    budget : int
        B, from which the sizes below follow where they are None.
    buffer : int, default 2 B
        Points stored in stage one.
    sketch_size : int, default B
        s_p, columns of the sparse Johnson-Lindenstrauss sketch.
    n_landmarks : int, default 0.2 s_p
        s_m, points that the feature map compares a row with.
    rank : int, default 0.1 B
        k, features.
    update_cycle : int, default 0
        rho: an update round every so many rounds; 0 for never. The paper has 0.3 N.
    cycle_counts : {"losses", "rounds"}
        What rho counts: rounds with a non-zero slope, or all rounds since the switch.
    n_blocks : int
        D, non-zeros in a row of the sketch.
    eta : float
        Step size of stage one.
    step_size : float, default eta
        Step size of stage two.
    weight_start : {"point", "zero", "projection"}
        w at the switch: the smallest that keeps the score of the point at hand; zero; or the
        least-squares fit to the scores of all stored points.
    on_update : {"point", "keep"}
        w at an update: the smallest that keeps the score of the point at hand (the method's own
        code), or left as it is, in coordinates that have changed (the FORKS authors' version).
    landmarks : {"fixed", "refreshed"}
        Drawn once at the switch, or an update point also replaces a landmark.
    sketch_points : {"growing", "buffer"}
        Do update points join the points that later ones are compared with?
    max_points : int, default 2 buffers
        Cap of the growing list; beyond it the oldest point leaves the sketch.
    decomposition : {"svd", "tisvd", "recursive", "randomized"}
        Of Phi_pp at an update round: from scratch (the method), incremental, the same recursion
        by dense decompositions, or from scratch by random projections.
    extra_rank : int
        Eigenpairs of Phi_pp that an incremental decomposition keeps beyond the k of the map; the
        more, the less its truncation costs over many updates. 0 is the published method.
    cut : float
        Relative cut of the pseudo-inverse of Phi_pm.
    """

    step_size: float | None = None
    on_update: str = "point"
    decomposition: str = "svd"

    memory_class = SkeGDMemory
    state_class = SkeGDState
    work_class = SkeGDWork
    rule_class = SkeGDRule

    @classmethod
    def as_published(
        cls,
        *,
        kernel: Kernel = Gaussian(),
        loss: Loss = Hinge(),
        budget: int = 100,
        n_rounds: int,
        **changes: Any,
    ) -> "SkeGD":
        """With the sizes that the FORKS paper's text gives it, for `n_rounds` rounds.

        Buffer 2 B, s_p = B, s_m = 0.2 s_p, k = 0.1 B, rho = 0.3 N, eta = 0.2; `changes` are set
        last.
        """
        whole("n_rounds", n_rounds, 1)
        cycle = max(1, 3 * n_rounds // 10)
        return replace(cls(kernel=kernel, loss=loss, budget=budget, update_cycle=cycle), **changes)

    @classmethod
    def as_released(
        cls,
        *,
        kernel: Kernel = Gaussian(),
        loss: Loss = Hinge(),
        buffer: int = 200,
        sketch_size: int = 150,
        n_landmarks: int = 100,
        rank: int = 15,
        update_cycle: int = 17860,
        **changes: Any,
    ) -> "SkeGD":
        """As in the FORKS authors' code, which the tables of their paper come from.

        It departs from the method: w is left as it is at an update, update points are compared
        with the points of stage one only, and the pseudo-inverse of Phi_pm has no cut that counts
        (see `FORKS.as_released`), so that where points repeat each other huge features make the
        weights jump. Its single precision is not copied.
        """
        released = cls(
            kernel=kernel,
            loss=loss,
            buffer=buffer,
            sketch_size=sketch_size,
            n_landmarks=n_landmarks,
            rank=rank,
            update_cycle=update_cycle,
            on_update="keep",
            sketch_points="buffer",
            cut=NO_CUT,
        )
        return replace(released, **changes)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step_size is not None:
            positive("step_size", self.step_size)
        one_of("on_update", self.on_update, ("point", "keep"))

    def _own_sizes(self, buffer: int) -> tuple[int, int, int]:
        sketch_size = self._given("sketch_size", self.budget)
        n_landmarks = self._given("n_landmarks", min(max(1, sketch_size // 5), buffer))
        rank = self._given("rank", min(max(1, self.budget // 10), n_landmarks, sketch_size))
        return sketch_size, n_landmarks, rank

    def derived(self) -> dict[str, Any]:
        """Return the step size with None filled in, beside what the base has."""
        step_size = self.eta if self.step_size is None else self.step_size
        return {**super().derived(), "step_size": step_size}

    def _before(self, state: SkeGDState, x: Vector) -> Vector:
        """Scores of x in the old map."""
        phi = self._features(state.map, x.reshape(1, -1))[0]
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(state.w[:, : phi.shape[0]] @ phi)

    def _after(self, state: SkeGDState, x: Vector, before: Vector) -> None:
        if self.on_update == "point":
            self._keep_scores(state, x, before)


@score.register(SkeGDRule)
def _score(rule, state, work, x, out):
    if state.counts[COUNT.stage] == 0:
        expansion_scores(rule, state, work, x, out)
    else:
        write_features(rule.kernel, state.map, x, work.row, work.phi)
        linear_scores(state.w, work.phi, out)


@step.register(SkeGDRule)
def _step(rule, state, work, x, y, weight, out):
    if state.counts[COUNT.stage] == 0:
        gradient_round(rule, state, work, x, y, weight, out)
    else:
        _feature_round(rule, state, work, x, y, weight, out)


@njit
def _feature_round(rule, state, work, x, y, weight, out):
    """Stage two: predict, and take a gradient step or ask for an update of the map."""
    counts = state.counts
    if counts[COUNT.event] == RESUME:
        # The round is scored; its slope is that of its score, whatever the new map makes of x.
        write_features(rule.kernel, state.map, x, work.row, work.phi)
        counts[COUNT.event] = 0
    else:
        score(rule, state, work, x, out)
        if weight == 0.0:
            return
        lost = has_loss(rule.loss, y, weight, out)
        counts[COUNT.rounds] += 1
        counts[COUNT.losses] += lost
        if update_is_due(rule, counts, lost):
            counts[COUNT.event] = UPDATE
            return
    step_size, phi = rule.step_size, work.phi
    counts[COUNT.mends] += linear_step(rule.loss, step_size, state.w, phi, y, weight, out)
