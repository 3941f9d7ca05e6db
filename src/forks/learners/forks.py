"""FORKS: second-order online kernel learning on a sketched, incrementally updated feature map.

Stage one is kernel online gradient descent: every point with a non-zero slope l' of the loss is
stored with the coefficient -eta l' until the buffer is full. The next such round is the switch:
the stored points are sketched into an explicit feature map phi of rank k
(`forks.features.sketched`). Stage two is the online Newton step on phi,

    f_t = w'phi_t,   g_t = step_size l'(f_t, y_t) phi_t,   A <- A + (sigma + eta_t) g_t g_t',
    v = w - A^-1 g_t,   w <- v - h(phi'v) / (phi'A^-1 phi) A^-1 phi,
    h(f) = sign(f) max(|f| - C, 0),

made only in rounds with a non-zero slope. Every rho rounds an update round changes the map by a
low-rank change of the sketches, and w and A are reset or carried over. A regular round costs
O(d s_m + s_m k + k^2) and allocates nothing; memory is bounded.

All vectors in a Newton step are multiples of u = A^-1 phi, so the round comes down to a few
numbers and one rank-one change of the root of A^-1 (`forks.linalg.inverse_root`).

Reference: Wen, Zhang, Wei, Hou, Li, Zhang, "Fast second-order online kernel learning through
incremental matrix sketching and decomposition", IJCAI 2025, algorithm 1, equation (ONS) and
appendices B.1 and C.2. Where the paper is silent or the authors' code departs from it, the
parameters below offer both; `as_published` and `as_released` set them.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    RESUME,
    Counter,
    Cube,
    Matrix,
    Points,
    Vector,
    dense_points,
    finite,
    njit,
    score,
    step,
    viewer,
)
from forks.engine.checks import not_negative, one_of, positive, whole
from forks.features.sketched import FeatureMap, Sketch, write_features
from forks.kernels import Gaussian, Kernel
from forks.linalg.inverse_root import half_solve, solve, solve_and_absorb
from forks.linalg.transfer import carried_root, transfer
from forks.linalg.vectors import add_multiple, clear, dot, l1_norm
from forks.losses import Hinge, Loss, slope
from forks.parts.expansion import finite_or_zero
from forks.parts.gradient import LARGEST
from forks.parts.sketching import NO_CUT, SketchedLearner, clear_tiny, update_is_due
from forks.parts.stage_one import COUNT, UPDATE, Count, expansion_scores, gradient_round


class FORKSState(NamedTuple):
    """State that rounds change in place. Vectors of features are zero beyond k."""

    counts: Annotated[Counter, len(Count._fields)]
    steps: Annotated[Counter, "outputs"]  # Newton steps since A was reset
    points: Annotated[Points, "capacity = capacity + 1"]  # stage one's, then update points
    alpha: Annotated[Matrix, "outputs", "padded(buffer)"]  # coefficients of stage one
    spare: Annotated[Points, "capacity = 1"]  # room to compare a row with itself
    map: FeatureMap
    w: Annotated[Matrix, "outputs", "padded(rank)"]
    roots: Annotated[Cube, "outputs", "rank", "padded(rank)"]  # S with A^-1 = S S'


class FORKSMemory(NamedTuple):
    """Everything that is kept: what rounds change, then what only events use."""

    hot: FORKSState
    random: Annotated[Counter, 2]  # generator of landmarks, seed of the sketch
    sketch: Sketch


class FORKSRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    buffer: int
    eta: float
    curvature: float
    curvature_decay: float
    step_size: float
    clip: float
    damping: float
    project_next: bool
    curvature_first: bool
    update_cycle: int
    count_losses: bool


class FORKSWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "odd_blocks(capacity + 1)"]  # kernel values
    phi: Annotated[Vector, "padded(rank)"]
    half: Annotated[Vector, "padded(rank)"]  # S' phi
    u: Annotated[Vector, "padded(rank)"]  # A^-1 phi
    f: Annotated[Vector, "outputs"]  # scores
    change: Annotated[Vector, "outputs"]  # coefficients of a point of stage one


memory_of = viewer(FORKSMemory)


@dataclass(frozen=True, kw_only=True)
class FORKS(SketchedLearner):
    """FORKS with every parameter of the paper.

    Parameters
    ----------
    kernel, loss
        One of `forks.kernels`, one of `forks.losses`.
    budget : int
        B, from which the sizes below follow where they are None.
    buffer : int, default 2 B
        Points stored in stage one.
    sketch_size : int, default the buffer
        s_p, columns of the sparse Johnson-Lindenstrauss sketch.
    n_landmarks : int, default B
        s_m, points that the feature map compares a row with.
    rank : int, default n_landmarks
        k, features.
    update_cycle : int, default 0
        rho: an update round every so many rounds; 0 for never.
    cycle_counts : {"losses", "rounds"}
        What rho counts: rounds with a non-zero slope, or all rounds since the switch.
    n_blocks : int
        D, non-zeros in a row of the sketch.
    eta : float
        Step size of stage one.
    alpha : float
        A starts as alpha times the identity.
    curvature : float
        sigma, weight of g g' in A.
    curvature_decay : float
        c in eta_t = c sqrt(k / t), added to `curvature` in the t-th step since A was reset;
        appendix C.2 has c = 1 / L for losses with slopes up to L that are merely convex.
    step_size : float
        Factor of the gradient in stage two.
    clip : float
        C, bound of the score in the projection; infinite for none.
    damping : float
        Added to phi'A^-1 phi in the projection "current". The authors' code has 1e-4: the score
        then ends just beyond C, and an example that is repeated is not a loss again.
    projection : {"next", "current", "none"}
        Which point the projection looks at: the one about to be predicted (the paper), the one
        just learned (the authors' code), or no projection.
    curvature_first : bool
        Does A contain g_t when w takes the step along A^-1 g_t?
    weight_start : {"point", "zero", "projection"}
        w at the switch: the smallest that keeps the score of the point at hand; zero; or the
        least-squares fit to the scores of all stored points.
    on_update : {"reset", "carry"}
        At an update w = 0 and A = alpha I (the paper), or both are carried into the new map.
    landmarks : {"fixed", "refreshed"}
        Drawn once at the switch (the paper), or an update point also replaces a landmark.
    sketch_points : {"growing", "buffer"}
        Do update points join the points that later ones are compared with? "buffer" compares
        with the points of stage one for ever.
    max_points : int, default 2 buffers
        Cap of the growing list; beyond it the oldest point leaves the sketch.
    decomposition : {"tisvd", "recursive", "svd", "randomized"}
        Of Phi_pp at an update round: incremental; the same recursion by a dense decomposition at
        each step, which is slow and there to check it; from scratch; or from scratch by random
        projections.
    extra_rank : int
        Eigenpairs of Phi_pp that an incremental decomposition keeps beyond the k of the map; the
        more, the less its truncation costs over many updates. 0 is the published method.
    cut : float
        Relative cut of the pseudo-inverse of Phi_pm (a smooth one, see `forks.linalg.smooth_pinv`).
    """

    alpha: float = 0.05
    curvature: float = 0.1
    curvature_decay: float = 0.0
    step_size: float = 1.0
    clip: float = math.inf
    damping: float = 0.0
    projection: str = "none"
    curvature_first: bool = True
    weight_start: str = "projection"
    on_update: str = "carry"

    memory_class = FORKSMemory
    alike = ("roots",)
    state_class = FORKSState
    work_class = FORKSWork
    rule_class = FORKSRule

    @classmethod
    def as_published(
        cls,
        *,
        kernel: Kernel = Gaussian(),
        loss: Loss = Hinge(),
        budget: int = 100,
        n_rounds: int,
        **changes: Any,
    ) -> "FORKS":
        """Every setting as the paper's text has it, for a stream of `n_rounds` rounds.

        Buffer 2 B, s_p = B, s_m = 0.2 s_p, k = 0.1 B, rho = 0.3 N in rounds, eta = 0.2,
        alpha = 0.01, sigma = 0.5, eta_i = 0, C = 1 (the text gives none; the code has 1). The
        switch is made at the first round with loss after the buffer is full, an update round
        predicts before it resets, and w starts as in the authors' code; `changes` are set last.
        """
        whole("budget", budget, 1)
        whole("n_rounds", n_rounds, 1)
        published = cls(
            kernel=kernel,
            loss=loss,
            budget=budget,
            buffer=2 * budget,
            sketch_size=budget,
            n_landmarks=max(1, budget // 5),
            rank=max(1, budget // 10),
            update_cycle=3 * n_rounds // 10,
            cycle_counts="rounds",
            eta=0.2,
            alpha=0.01,
            curvature=0.5,
            step_size=1.0,
            clip=1.0,
            projection="next",
            curvature_first=True,
            weight_start="point",
            on_update="reset",
            landmarks="fixed",
            sketch_points="growing",
        )
        return replace(published, **changes)

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
    ) -> "FORKS":
        """As the authors' code: its sizes, and its departures from the text.

        The gradient is scaled by eta = 0.2 in stage two as well and enters A with weight 1, after
        the step; the projection looks at the point just learned; rho counts rounds with loss;
        update points are compared with the points of stage one only. Its pseudo-inverse cuts at
        1e-8 of single precision, which is no cut: where points repeat each other, rounding errors
        become features, and `cut` lets them through here as well. Its single precision and its
        TISVD that loses orthogonality are not copied.
        """
        released = cls(
            kernel=kernel,
            loss=loss,
            buffer=buffer,
            sketch_size=sketch_size,
            n_landmarks=n_landmarks,
            rank=rank,
            update_cycle=update_cycle,
            cycle_counts="losses",
            eta=0.2,
            alpha=0.01,
            curvature=1.0,
            step_size=0.2,
            clip=1.0,
            damping=1e-4,
            projection="current",
            curvature_first=False,
            weight_start="point",
            on_update="reset",
            landmarks="fixed",
            sketch_points="buffer",
            cut=NO_CUT,
        )
        return replace(released, **changes)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        positive("step_size", self.step_size)
        positive("clip", self.clip, infinite=True)
        for name in ("damping", "curvature", "curvature_decay"):
            not_negative(name, getattr(self, name))
        one_of("projection", self.projection, ("next", "current", "none"))
        one_of("on_update", self.on_update, ("reset", "carry"))

    def _own_sizes(self, buffer: int) -> tuple[int, int, int]:
        sketch_size = self._given("sketch_size", buffer)
        n_landmarks = self._given("n_landmarks", min(self.budget, buffer))
        return sketch_size, n_landmarks, self._given("rank", min(n_landmarks, sketch_size))

    def derived(self) -> dict[str, Any]:
        """Return how the projection is made, beside what the base has."""
        return {
            **super().derived(),
            "clip": self.clip if self.projection != "none" else math.inf,
            "project_next": self.projection == "next",
        }

    def _forget(self, state: FORKSState) -> None:
        """Start anew: w = 0, A = alpha I."""
        super()._forget(state)
        state.roots[:] = 0.0
        diagonal = np.arange(state.roots.shape[1])
        state.roots[:, diagonal, diagonal] = 1.0 / math.sqrt(self.alpha)
        state.steps[:] = 0

    def _before(self, state: FORKSState, x: Vector) -> FeatureMap | None:
        if self.on_update == "reset":
            return None
        return FeatureMap(Points(*map(np.copy, state.map.landmarks)), state.map.Z.copy())

    def _after(self, state: FORKSState, x: Vector, before: FeatureMap | None) -> None:
        """Start anew, or take w and A into the new map, by the features of points in both.

        See `forks.linalg.transfer`. The points are the landmarks and all others that are stored:
        landmarks alone are no more than features, T would agree with each of them and be wild
        between them, and A would grow by orders of magnitude with every update until nothing can
        be learned any more.
        """
        if before is None:
            self._forget(state)
            return
        n = min(int(state.counts[COUNT.stored]), self.plan().capacity)
        landmarks = dense_points(state.map.landmarks, state.map.Z.shape[0])
        X = np.vstack([landmarks, dense_points(state.points, n)])
        by = transfer(self._features(before, X), self._features(state.map, X))
        k = len(by.fit)
        w, roots = state.w[:, :k], state.roots[:, :, :k]
        if by.is_finite:
            with np.errstate(over="ignore", invalid="ignore"):
                w[:] = [by.fit @ one for one in w]
            roots[:] = [carried_root(root, by, self.alpha) for root in roots]
        if not (by.is_finite and np.isfinite(w).all() and np.isfinite(roots).all()):
            state.counts[COUNT.mends] += 1
            self._forget(state)


@score.register(FORKSRule)
def _score(rule, state, work, x, out):
    if state.counts[COUNT.stage] == 0:
        expansion_scores(rule, state, work, x, out)
    else:
        write_features(rule.kernel, state.map, x, work.row, work.phi)
        for o in range(out.shape[0]):
            f = finite_or_zero(dot(state.w[o], work.phi, work.phi.shape[0]))
            out[o] = min(max(f, -rule.clip), rule.clip) if rule.project_next else f


@step.register(FORKSRule)
def _step(rule, state, work, x, y, weight, out):
    if state.counts[COUNT.stage] == 0:
        gradient_round(rule, state, work, x, y, weight, out)
    else:
        _newton_round(rule, state, work, x, y, weight, out)


@njit
def _newton_round(rule, state, work, x, y, weight, out):
    """Stage two: predict, and learn or ask for an update of the map."""
    counts, phi = state.counts, work.phi
    write_features(rule.kernel, state.map, x, work.row, phi)
    resumed = counts[COUNT.event] == RESUME
    lost = False
    solved, q = -1, 0.0  # the output whose S' phi is in `work.half`, and its phi'A^-1 phi
    for o in range(state.w.shape[0]):
        f = finite_or_zero(dot(state.w[o], phi, phi.shape[0]))
        if rule.project_next and not resumed and abs(f) > rule.clip:
            if weight != 0.0:
                q = half_solve(state.roots[o], phi, work.half)
                solved = o
                if abs(f) < LARGEST * q:  # false for zero and NaN
                    solve(state.roots[o], work.half, work.u)
                    _move(state, o, work.u, -_excess(f, rule.clip) / q)
            f = math.copysign(rule.clip, f)
        work.f[o] = f
        if not resumed:
            out[o] = f
        lost = lost or weight * slope(rule.loss, f, y[o]) != 0.0
    if resumed:
        counts[COUNT.event] = 0
    elif weight != 0.0:
        counts[COUNT.rounds] += 1
        counts[COUNT.losses] += lost
        if update_is_due(rule, counts, lost):
            counts[COUNT.event] = UPDATE
            return
    if lost:
        clear_tiny(phi)
        for o in range(state.w.shape[0]):
            gain = rule.step_size * weight * slope(rule.loss, work.f[o], y[o])  # g = gain phi
            if gain != 0.0:
                if o != solved:
                    q = half_solve(state.roots[o], phi, work.half)
                    solved = o
                if not _newton_step(rule, state, work, o, gain, q):
                    counts[COUNT.mends] += 1
                    fresh = rule.step_size * weight * slope(rule.loss, 0.0, y[o])
                    if finite(fresh * fresh * q):  # not the row, but w has overflowed
                        clear(state.w[o])


@njit
def _newton_step(rule, state, work, o, gain, q):
    """Take the step of output o, with q = phi'A^-1 phi and S' phi in `work.half`.

    Returns False, changing nothing, if the numbers are not finite.
    """
    root, f = state.roots[o], work.f[o]
    t = state.steps[o] + 1
    c = (rule.curvature + rule.curvature_decay * math.sqrt(root.shape[0] / t)) * gain * gain
    grown = 1.0 + c * q  # A^-1 phi shrinks by it when A gets c phi phi'
    move = -gain / grown if rule.curvature_first else -gain
    if not rule.project_next and q > 0.0:
        # With A^-1 phi = u or u / grown, h(phi'v) / (phi'A^-1 phi) A^-1 phi is the same vector.
        damping = rule.damping * grown if rule.curvature_first else rule.damping
        move -= _excess(f + move * q, rule.clip) / (q + damping)
    gamma = c / (grown + math.sqrt(grown))
    if not (finite(move * q) and finite(move) and finite(gamma * q)):
        return False
    solve_and_absorb(root, work.half, work.u, gamma)
    _move(state, o, work.u, move)
    state.steps[o] = t
    return True


@njit
def _move(state, o, u, amount):
    """w += amount u, or w = 0 if that overflows."""
    w, n = state.w[o], u.shape[0]
    if l1_norm(w, n) + abs(amount) * l1_norm(u, n) <= LARGEST:  # false for NaN
        add_multiple(w, u, amount)
    else:
        state.counts[COUNT.mends] += 1
        clear(w)


@njit
def _excess(f, clip):
    """h(f) = sign(f) max(|f| - C, 0)."""
    return math.copysign(max(abs(f) - clip, 0.0), f)
