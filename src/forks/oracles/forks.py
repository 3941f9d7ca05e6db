"""FORKS: Wen, Zhang, Wei, Hou, Li, Zhang, "Fast second-order online kernel learning through
incremental matrix sketching and decomposition", 2025.

Everything is dense and explicit: the kernel matrix K, the sketch matrices S_p and S_m, the matrix
A of the online Newton step, np.linalg.svd, np.linalg.pinv and np.linalg.solve. The symbols are
those of the paper:

    S_p   (points x s_p)  sparse Johnson-Lindenstrauss rows      S_m  column sampling
    Phi_pm = S_p' K S_m   (s_p x s_m)                            Phi_pp = S_p' K S_p  (s_p x s_p)
    Phi_pp ~ U Sigma V'   (rank k)                               Z = pinv(Phi_pm) V Sigma^(1/2)
    phi(x) = Z' k_m(x)    k_m(x) = kernel values of x to the s_m landmarks
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forks.oracles.decompositions import (
    condition_number,
    feature_matrix,
    ridge_fit,
    svd_rank_k,
    tisvd_dense,
)
from forks.oracles.expansion import expansion, kernel_values, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Loss


@dataclass(frozen=True, kw_only=True)
class ForksOptions:
    """The numbers of the paper, and a choice wherever the paper or its code leaves one."""

    buffer: int
    sketch_size: int  # s_p
    n_landmarks: int  # s_m
    rank: int  # k
    update_cycle: int  # rho, 0 for no updates
    eta: float  # step of stage one
    alpha: float
    curvature: float  # sigma
    curvature_decay: float
    step_size: float
    clip: float  # C
    damping: float
    curvature_first: bool  # does A include a gradient before the step along it?
    projection: str  # "current", "next", anything else for none
    weight_start: str  # "point", "zero" or "projection"
    on_update: str  # "reset" or "carry"
    landmarks: str  # "refreshed", anything else keeps them
    sketch_points: str  # "buffer" or "growing"
    max_points: int | None  # of a growing list, None for no limit
    cycle_counts: str  # "losses" or "rounds"
    decomposition: str  # "tisvd" or "svd"
    cut: float  # of singular values, relative to the largest

    def __post_init__(self) -> None:
        assert self.weight_start in ("point", "zero", "projection"), self.weight_start
        assert self.on_update in ("reset", "carry"), self.on_update
        assert self.sketch_points in ("buffer", "growing"), self.sketch_points
        assert self.cycle_counts in ("losses", "rounds"), self.cycle_counts
        assert self.decomposition in ("tisvd", "svd"), self.decomposition
        assert self.landmarks != "refreshed" or self.sketch_points == "growing", "needs growing"


@dataclass
class ForksResult:
    """What `forks` returns.

    scores         score of every row, made before anything is learned from the row
    switch_round   row (from 0) at which the feature map was built, or None
    update_rounds  rows at which the feature map was updated
    conditions     with diagnostics: 2-norm condition numbers of Phi_pm, at the switch and after
                   every update
    """

    scores: Vector
    switch_round: int | None = None
    update_rounds: list[int] = field(default_factory=list)
    conditions: list[float] = field(default_factory=list)


def forks(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    loss: Loss,
    options: ForksOptions,
    *,
    sjlt_row: Callable[[int], Vector],
    choose_landmarks: Callable[[int, int], NDArray[np.int64]],
    weights: ArrayLike | None = None,
    diagnostics: bool = False,
    around_event: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> ForksResult:
    """FORKS (Algorithm 1), predict then learn on every row of X in order.

    sjlt_row(i)                the row s_p of S_p of stored point number i (i = 0, 1, 2, ...)
    choose_landmarks(n, size)  `size` distinct indices among the n buffer points (S_m)
    around_event(name)         a context in which the event "switch" or "update" is handled, for
                               instance one that takes its time
    """
    learner = Forks(kernel, loss, options, sjlt_row, choose_landmarks, diagnostics, around_event)
    n = len(X)
    c = row_weights(n, weights)
    result = ForksResult(scores=np.zeros(n), conditions=learner.conditions)
    for t in range(n):
        result.scores[t], event = learner.round(X[t], y[t], c[t])
        if event == "switch":
            result.switch_round = t
        elif event == "update":
            result.update_rounds.append(t)
    return result


class Forks:
    """The state of FORKS and its steps, one method for each step of the algorithm."""

    def __init__(
        self,
        kernel: Kernel,
        loss: Loss,
        options: ForksOptions,
        sjlt_row: Callable[[int], Vector],
        choose_landmarks: Callable[[int, int], NDArray[np.int64]],
        diagnostics: bool = False,
        around_event: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ):
        self.kernel, self.loss, self.options = kernel, loss, options
        self.sjlt_row, self.choose_landmarks = sjlt_row, choose_landmarks
        self.diagnostics, self.around_event = diagnostics, around_event
        self.switched = False
        self.points: list[Vector] = []  # the buffer SV, in "growing" mode the update points too
        self.alphas: list[float] = []  # stage-one coefficients of the buffer points
        self.rows: list[Vector] = []  # rows of S_p, one for each stored point, from the switch on
        self.T0 = 0  # rounds with loss so far
        self.rounds_since_switch = 0
        self.n_updates = 0
        self.n_steps = 0  # ONS steps since the last reset
        self.conditions: list[float] = []
        # From the switch on: x~_1 .. x~_{s_m}, the sketches (Phi_pp of rank k with decomposition
        # "tisvd", full with "svd"), the map, and the state of the online Newton step.
        self.landmark_points: Matrix
        self.Phi_pm: Matrix
        self.Phi_pp: Matrix
        self.Z: Matrix
        self.w: Vector
        self.A: Matrix

    # ---- one round ---------------------------------------------------------------------------

    def round(self, x: Vector, y: float, c: float) -> tuple[float, str | None]:
        """Predict, then learn (x, y) with weight c. Returns the score and what happened."""
        if not self.switched:
            return self.stage_one(x, y, c)
        return self.stage_two(x, y, c)

    def stage_one(self, x: Vector, y: float, c: float) -> tuple[float, str | None]:
        """KOGD until the buffer is full; the next round with loss builds the map."""
        o = self.options
        f = expansion(self.points, self.alphas, x, self.kernel)
        s = float(c * self.loss.slope(f, y))
        if s == 0.0:
            return f, None
        self.T0 += 1
        if len(self.points) < o.buffer:
            self.points.append(x)
            self.alphas.append(-o.eta * s)
            return f, None
        with self.around_event("switch"):
            self.switch(x, y, c, f)
        return f, "switch"

    def stage_two(self, x: Vector, y: float, c: float) -> tuple[float, str | None]:
        """ONS in the explicit feature space, with the map updated once in every cycle."""
        o = self.options
        phi = self.feature(x)
        p = float(self.w @ phi)
        if c == 0.0:  # scored, not learned: the round does not count
            return (float(np.clip(p, -o.clip, o.clip)) if o.projection == "next" else p), None
        if o.projection == "next" and abs(p) > o.clip:
            # the projection of Eq. (ONS) at phi_{t+1}, made now that the next point is known
            self.w = self.project(self.w, phi)
            p = float(np.sign(p) * o.clip)
        s = float(c * self.loss.slope(p, y))
        self.rounds_since_switch += 1
        if s != 0.0:
            self.T0 += 1
        if self.update_is_due(s):
            with self.around_event("update"):
                self.update(x, y, c)
            return p, "update"
        self.ons_step(phi, y, c, p)  # does nothing when s = 0
        return p, None

    def update_is_due(self, s: float) -> bool:
        rho = self.options.update_cycle
        if rho <= 0:
            return False
        if self.options.cycle_counts == "losses":
            return s != 0.0 and self.T0 % rho == 1 % rho
        return self.rounds_since_switch % rho == 0

    # ---- feature map -------------------------------------------------------------------------

    def feature(self, x: Vector) -> Vector:
        """phi(x) = Z' k_m(x)."""
        return self.features(x[None, :])[0]

    def features(self, X: Matrix) -> Matrix:
        """Features of the rows of X, one in each row: k(X, landmarks) Z."""
        return self.kernel(X, self.landmark_points) @ self.Z

    # ---- online Newton step --------------------------------------------------------------------

    def ons_step(self, phi: Vector, y: float, c: float, p: float) -> None:
        """One online Newton step on (phi, y) at prediction p; nothing at all without loss.

        A_t = alpha I + sum (sigma_i + eta_i) g_i g_i',  eta_i = sqrt(k / (L^2 i)) (App. C.2)
        v = w - A^-1 g,  w = v - h(phi'v) / (phi'A^-1 phi) A^-1 phi
        """
        o = self.options
        s = float(c * self.loss.slope(p, y))
        if s == 0.0:
            return
        g = o.step_size * s * phi
        self.n_steps += 1
        q = o.curvature + o.curvature_decay * np.sqrt(o.rank / self.n_steps)  # sigma_i + eta_i
        if o.curvature_first:
            self.A = self.A + q * np.outer(g, g)
        v = self.w - np.linalg.solve(self.A, g)
        self.w = self.project(v, phi, o.damping) if o.projection == "current" else v
        if not o.curvature_first:
            self.A = self.A + q * np.outer(g, g)

    def project(self, v: Vector, phi: Vector, damping: float = 0.0) -> Vector:
        """V - h(phi'v) / (phi'A^-1 phi + damping) A^-1 phi,  h(z) = sign(z) max(|z| - C, 0)."""
        A_inv_phi = np.linalg.solve(self.A, phi)
        length = phi @ A_inv_phi
        if length == 0.0:
            return v
        z = phi @ v
        h = np.sign(z) * max(abs(z) - self.options.clip, 0.0)
        return v - h / (length + damping) * A_inv_phi

    def reset(self) -> None:
        """W = 0, A = alpha I."""
        k = self.Z.shape[1]
        self.w = np.zeros(k)
        self.A = self.options.alpha * np.eye(k)
        self.n_steps = 0

    # ---- switch --------------------------------------------------------------------------------

    def switch(self, x: Vector, y: float, c: float, f: float) -> None:
        """Build the sketches and the map from the buffer, start w and A, learn (x, y)."""
        o = self.options
        B = np.array(self.points)
        K = self.kernel(B, B)
        self.rows = [np.asarray(self.sjlt_row(i), dtype=float) for i in range(len(B))]
        S_p = np.array(self.rows)
        chosen = np.asarray(self.choose_landmarks(len(B), o.n_landmarks))
        S_m = np.eye(len(B))[:, chosen]
        self.landmark_points = B[chosen]
        self.switched = True

        self.Phi_pm = S_p.T @ K @ S_m
        Phi_pp = S_p.T @ K @ S_p
        U, sigma, V = svd_rank_k(Phi_pp, o.rank)
        self.Phi_pp = U @ np.diag(sigma) @ V.T if o.decomposition == "tisvd" else Phi_pp
        self.new_map(V, sigma)

        phi = self.feature(x)
        self.reset()  # w = 0, A = alpha I
        if o.weight_start == "point" and phi @ phi != 0.0:
            # smallest w with w'phi = f at this one point
            self.w = f * phi / (phi @ phi)
        elif o.weight_start == "projection":
            # least squares of phi(x_i)'w = f(x_i) over the buffer
            f_buffer = K @ np.array(self.alphas)
            self.w = np.linalg.lstsq(self.features(B), f_buffer, rcond=o.cut)[0]
        self.ons_step(phi, y, c, float(self.w @ phi))

    def new_map(self, V: Matrix, sigma: Vector) -> None:
        self.Z = feature_matrix(self.Phi_pm, V, sigma, self.options.cut)
        if self.diagnostics:
            self.conditions.append(condition_number(self.Phi_pm))

    # ---- update --------------------------------------------------------------------------------

    def update(self, x: Vector, y: float, c: float) -> None:
        """Bring x into the sketches (Appendix B.1), rebuild the map, learn (x, y) in it."""
        o = self.options
        s_new = np.asarray(self.sjlt_row(o.buffer + self.n_updates), dtype=float)
        # columns: the change of Phi_pp is Delta_1 Delta_2'
        Delta_1: list[Vector] = []
        Delta_2: list[Vector] = []

        if o.sketch_points == "growing" and self.is_full():
            self.drop_oldest(Delta_1, Delta_2)
        self.add(x, s_new, Delta_1, Delta_2)

        D1, D2 = np.array(Delta_1).T, np.array(Delta_2).T
        if o.decomposition == "tisvd":
            U, sigma, V = tisvd_dense(self.Phi_pp, D1, D2, o.rank)
            self.Phi_pp = U @ np.diag(sigma) @ V.T
        else:
            self.Phi_pp = self.Phi_pp + D1 @ D2.T
            U, sigma, V = svd_rank_k(self.Phi_pp, o.rank)

        old_landmarks, old_Z = self.landmark_points, self.Z
        if o.landmarks == "refreshed":
            self.refresh_landmark(x)
        self.new_map(V, sigma)
        self.n_updates += 1

        if o.on_update == "reset":
            self.reset()
        else:
            self.carry(old_landmarks, old_Z)
        phi = self.feature(x)
        self.ons_step(phi, y, c, float(self.w @ phi))

    def is_full(self) -> bool:
        limit = self.options.max_points
        return limit is not None and len(self.points) >= limit

    def drop_oldest(self, Delta_1: list[Vector], Delta_2: list[Vector]) -> None:
        """Take the oldest point x_q out of the sketches and of the list.

        Phi_pp -= s_q (S_p'psi_q)' + (S_p'psi_q) s_q' + k(x_q, x_q) s_q s_q'
        Phi_pm -= s_q k_m(x_q)'
        with S_p and psi_q over the points that stay.
        """
        x_q, s_q = self.points.pop(0), self.rows.pop(0)
        S_psi, k_qq, k_m = self.kernel_terms(x_q)
        Delta_1 += [-s_q, -S_psi, -s_q]
        Delta_2 += [S_psi, s_q, k_qq * s_q]
        self.Phi_pm = self.Phi_pm - np.outer(s_q, k_m)

    def add(self, x: Vector, s_new: Vector, Delta_1: list[Vector], Delta_2: list[Vector]) -> None:
        """Bring x into the sketches with the row s_new; in "growing" mode into the list too.

        Phi_pp += s_new (S_p'psi)' + (S_p'psi) s_new' + k(x, x) s_new s_new'
        Phi_pm += s_new (psi'S_m) = s_new k_m(x)'   (the new row s_m of S_m is 0)
        """
        S_psi, k_xx, k_m = self.kernel_terms(x)
        Delta_1 += [s_new, S_psi, s_new]
        Delta_2 += [S_psi, s_new, k_xx * s_new]
        self.Phi_pm = self.Phi_pm + np.outer(s_new, k_m)
        if self.options.sketch_points == "growing":
            self.points.append(x)
            self.rows.append(s_new)

    def kernel_terms(self, x: Vector) -> tuple[Vector, float, Vector]:
        """S_p'psi over the points now in the list, k(x, x), k_m(x)."""
        if self.points:
            S_psi = np.array(self.rows).T @ kernel_values(self.points, x, self.kernel)
        else:
            S_psi = np.zeros(self.options.sketch_size)
        k_m = kernel_values(self.landmark_points, x, self.kernel)
        return S_psi, squared_norm(x, self.kernel), k_m

    def refresh_landmark(self, x: Vector) -> None:
        """X replaces a landmark, in turn; its column of Phi_pm is sum_i s_i k(x_i, x)."""
        j = self.n_updates % self.options.n_landmarks
        self.landmark_points = self.landmark_points.copy()
        self.landmark_points[j] = x
        self.Phi_pm[:, j] = np.array(self.rows).T @ kernel_values(self.points, x, self.kernel)

    def carry(self, old_landmarks: Matrix, old_Z: Matrix) -> None:
        """Move w and A to the new features by ridge regression over landmarks and points.

        F_n w_new ~ F_o w_old;  phi_new ~ T phi_old;  A <- alpha I + C, where C has the vectors of
        T (A - alpha I) T' and its values, held so that their sum is at most
        |F_n|^2 / |F_o|^2 tr(A - alpha I).
        """
        L = np.vstack([self.landmark_points, *[x[None, :] for x in self.points]])
        F_o = self.kernel(L, old_landmarks) @ old_Z
        F_n = self.features(L)
        self.w = ridge_fit(F_n, F_o @ self.w)
        T = ridge_fit(F_o, F_n).T
        prior = self.options.alpha * np.eye(len(self.A))
        C = T @ (self.A - prior) @ T.T
        most = np.sum(F_n**2) / np.sum(F_o**2) * np.trace(self.A - prior)
        if np.trace(C) > most:
            values, vectors = np.linalg.eigh(0.5 * (C + C.T))
            low, high = 0.0, values.max()
            for _ in range(200):  # bisection
                level = 0.5 * (low + high)
                low, high = (
                    (level, high) if np.minimum(values, level).sum() < most else (low, level)
                )
            C = vectors @ np.diag(np.minimum(values, low)) @ vectors.T
        self.A = prior + C
