"""Slow, plain NumPy versions of the algorithms of the FORKS paper, used as oracles in tests.

Everything is dense and explicit: the kernel matrix K, the sketch matrices S_p and S_m, the matrix
A of the online Newton step, np.linalg.svd, np.linalg.pinv and np.linalg.solve. Nothing here is
shared with the package under test. Symbols in comments are those of the paper:

    S_p   (points x s_p)  sparse Johnson-Lindenstrauss rows      S_m  column sampling
    Phi_pm = S_p' K S_m   (s_p x s_m)                            Phi_pp = S_p' K S_p  (s_p x s_p)
    Phi_pp ~ U Sigma V'   (rank k)                               Z = pinv(Phi_pm) V Sigma^(1/2)
    phi(x) = Z' k_m(x)    k_m(x) = kernel values of x to the s_m landmarks
"""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

EPS = np.finfo(float).eps  # 2.2e-16

# ----------------------------------------------------------------------------------------------
# Kernels: each factory returns a function of two matrices, (n, d) x (m, d) -> (n, m)
# ----------------------------------------------------------------------------------------------


def gaussian(bandwidth: float):
    """k(x, z) = exp(-|x - z|^2 / (2 bandwidth^2))."""

    def kernel(X, Z):
        differences = X[:, None, :] - Z[None, :, :]
        return np.exp(-np.sum(differences**2, axis=2) / (2.0 * bandwidth**2))

    return kernel


def laplacian(scale: float):
    """k(x, z) = exp(-|x - z|_1 / scale)."""

    def kernel(X, Z):
        differences = X[:, None, :] - Z[None, :, :]
        return np.exp(-np.sum(np.abs(differences), axis=2) / scale)

    return kernel


def polynomial(degree: int, gamma: float, coef0: float):
    """k(x, z) = (gamma x'z + coef0)^degree."""

    def kernel(X, Z):
        return (gamma * (X @ Z.T) + coef0) ** degree

    return kernel


def linear():
    """k(x, z) = x'z."""

    def kernel(X, Z):
        return X @ Z.T

    return kernel


# ----------------------------------------------------------------------------------------------
# Losses: value(f, y), slope(f, y) = d value / d f and curvature(f, y), its derivative, which is
# that of the side without loss at a kink; scalars or arrays
# ----------------------------------------------------------------------------------------------


class Hinge:
    """max(0, 1 - y f); slope -y where y f < 1, else 0."""

    def value(self, f, y):
        return np.maximum(0.0, 1.0 - y * f)

    def slope(self, f, y):
        return np.where(y * f < 1.0, -1.0 * y, 0.0)

    def curvature(self, f, y):
        return 0.0 * (y * f)


class SquaredHinge:
    """max(0, 1 - y f)^2; slope -2 y max(0, 1 - y f)."""

    def value(self, f, y):
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def slope(self, f, y):
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, f, y):
        return np.where(y * f < 1.0, 2.0, 0.0)


class Logistic:
    """log(1 + exp(-y f)); slope -y / (1 + exp(y f))."""

    def value(self, f, y):
        return np.logaddexp(0.0, -y * f)

    def slope(self, f, y):
        # 1 / (1 + exp(z)) = exp(-log(1 + exp(z))), which cannot overflow.
        return -y * np.exp(-np.logaddexp(0.0, y * f))

    def curvature(self, f, y):
        return np.exp(-np.logaddexp(0.0, f) - np.logaddexp(0.0, -f))


class SquaredError:
    """(f - y)^2 / 2; slope f - y."""

    def value(self, f, y):
        return 0.5 * (f - y) ** 2

    def slope(self, f, y):
        return 1.0 * (f - y)

    def curvature(self, f, y):
        return 1.0 + 0.0 * (f - y)


class EpsilonInsensitive:
    """max(0, |f - y| - epsilon); slope sign(f - y) where |f - y| > epsilon, else 0."""

    def __init__(self, epsilon: float):
        self.epsilon = epsilon

    def value(self, f, y):
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def slope(self, f, y):
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def curvature(self, f, y):
        return 0.0 * (f - y)


class Huber:
    """(f - y)^2 / 2 where |f - y| <= delta, else delta (|f - y| - delta / 2)."""

    def __init__(self, delta: float):
        self.delta = delta

    def value(self, f, y):
        r = np.abs(f - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def slope(self, f, y):
        return np.where(np.abs(f - y) <= self.delta, f - y, self.delta * np.sign(f - y))

    def curvature(self, f, y):
        return np.where(np.abs(f - y) < self.delta, 1.0, 0.0)


# ----------------------------------------------------------------------------------------------
# KOGD
# ----------------------------------------------------------------------------------------------


def kogd(X, y, kernel, loss, eta: float, weights=None):
    """Kernel online gradient descent, no budget and no regularisation.

    f_t(x) = sum_i alpha_i k(x_i, x); if s = weight * slope(f_t(x_t), y_t) is not zero, x_t joins
    with alpha = -eta s. Returns the scores f_t(x_t).
    """
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    points, alphas = [], []
    scores = np.zeros(n)
    for t in range(n):
        f = _expansion(points, alphas, X[t], kernel)
        scores[t] = f
        s = float(c[t] * loss.slope(f, y[t]))
        if s != 0.0:
            points.append(X[t])
            alphas.append(-eta * s)
    return scores


def _expansion(points, alphas, x, kernel) -> float:
    """f(x) = sum_i alpha_i k(x_i, x), 0 when there is no point."""
    if not points:
        return 0.0
    return float(np.array(alphas) @ _kernel_values(points, x, kernel))


def _kernel_values(points, x, kernel):
    """psi = [k(x_1, x), ..., k(x_n, x)]'."""
    return kernel(np.array(points), x[None, :])[:, 0]


# ----------------------------------------------------------------------------------------------
# Matrix decomposition
# ----------------------------------------------------------------------------------------------


def svd_rank_k(M, k: int):
    """M ~ U diag(s) V' with the k largest singular values. Returns U, s, V."""
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    return U[:, :k], s[:k], Vt[:k].T


def tisvd_dense(M, D1, D2, k: int):
    """What TISVD must give: the rank-k SVD of the dense M + D1 D2'. Returns U, s, V.

    M is the running rank-k matrix U diag(s) V' (or any other dense matrix), D1 and D2 are the
    paper's Delta_1 and Delta_2, with any number of columns.
    """
    return svd_rank_k(M + D1 @ D2.T, k)


def feature_matrix(Phi_pm, V, s, cut: float):
    """Z = pinv(Phi_pm) V Sigma^(1/2); s_m x k.

    Singular values of Phi_pm not above cut * the largest are dropped in the pseudo-inverse;
    entries of Sigma not above s_p * 2.2e-16 * the largest count as zero.
    """
    s_p = Phi_pm.shape[0]
    sigma = np.where(s > s_p * EPS * np.max(s), s, 0.0)
    return np.linalg.pinv(Phi_pm, rcond=cut) @ V @ np.diag(np.sqrt(sigma))


def condition_number(M) -> float:
    """Largest over smallest of the min(rows, columns) singular values; inf when singular."""
    s = np.linalg.svd(M, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")


# ----------------------------------------------------------------------------------------------
# FORKS
# ----------------------------------------------------------------------------------------------


@dataclass
class ForksResult:
    """What a run of `forks` leaves behind.

    scores         score of every row, made before anything is learned from the row
    switch_round   row (from 0) at which the feature map was built, or None
    update_rounds  rows at which the feature map was updated
    conditions     2-norm condition numbers of Phi_pm, at the switch and after every update
    final          w, A, Z, landmarks (s_m x d), points (n x d); also coefficients (of stage one),
                   S_p, Phi_pm, Phi_pp, T0, n_steps. None for what does not exist yet. Phi_pp is
                   the running matrix: of rank k with decomposition "tisvd", full with "svd".
    """

    scores: np.ndarray
    switch_round: int | None = None
    update_rounds: list = field(default_factory=list)
    conditions: list = field(default_factory=list)
    final: dict = field(default_factory=dict)


def forks(
    X,
    y,
    kernel,
    loss,
    *,
    buffer: int,
    sketch_size: int,
    n_landmarks: int,
    rank: int,
    update_cycle: int,
    eta: float,
    alpha: float,
    curvature: float,
    curvature_decay: float,
    step_size: float,
    clip: float,
    damping: float,
    curvature_first: bool,
    projection: str,
    weight_start: str,
    on_update: str,
    landmarks: str,
    sketch_points: str,
    max_points: int | None,
    cycle_counts: str,
    decomposition: str,
    cut: float,
    sjlt_row,
    choose_landmarks,
    weights=None,
) -> ForksResult:
    """FORKS (Algorithm 1), predict then learn on every row of X in order.

    sjlt_row(i)                the row s_p of S_p of stored point number i (i = 0, 1, 2, ...)
    choose_landmarks(n, size)  `size` distinct indices among the n buffer points (S_m)

    projection: "current", "next", anything else for none. weight_start: "point", "zero" or
    "projection". on_update: "reset" or "carry". landmarks: "refreshed", anything else keeps them.
    sketch_points: "buffer" or "growing" (at most max_points, None for no limit). cycle_counts:
    "losses" or "rounds". decomposition: "tisvd" or "svd". update_cycle is rho, 0 for no updates.
    """
    assert weight_start in ("point", "zero", "projection"), weight_start
    assert on_update in ("reset", "carry"), on_update
    assert sketch_points in ("buffer", "growing"), sketch_points
    assert cycle_counts in ("losses", "rounds"), cycle_counts
    assert decomposition in ("tisvd", "svd"), decomposition
    assert landmarks != "refreshed" or sketch_points == "growing", "refreshed needs growing"

    learner = _Forks(
        kernel,
        loss,
        SimpleNamespace(
            buffer=buffer,
            s_p=sketch_size,
            s_m=n_landmarks,
            k=rank,
            rho=update_cycle,
            eta=eta,
            alpha=alpha,
            curvature=curvature,
            curvature_decay=curvature_decay,
            step_size=step_size,
            C=clip,
            damping=damping,
            curvature_first=curvature_first,
            projection=projection,
            weight_start=weight_start,
            on_update=on_update,
            landmarks=landmarks,
            sketch_points=sketch_points,
            max_points=max_points,
            cycle_counts=cycle_counts,
            decomposition=decomposition,
            cut=cut,
            sjlt_row=sjlt_row,
            choose_landmarks=choose_landmarks,
        ),
    )
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    result = ForksResult(scores=np.zeros(n), conditions=learner.conditions)
    for t in range(n):
        result.scores[t], event = learner.round(X[t], y[t], c[t])
        if event == "switch":
            result.switch_round = t
        elif event == "update":
            result.update_rounds.append(t)
    result.final = {
        "w": learner.w,
        "A": learner.A,
        "Z": learner.Z,
        "landmarks": learner.landmark_points,
        "points": np.array(learner.points),
        "coefficients": np.array(learner.alphas),
        "S_p": np.array(learner.rows) if learner.rows else None,
        "Phi_pm": learner.Phi_pm,
        "Phi_pp": learner.Phi_pp,
        "T0": learner.T0,
        "n_steps": learner.n_steps,
    }
    return result


class _Forks:
    """The state of FORKS and its steps, one method for each step of the algorithm."""

    def __init__(self, kernel, loss, options):
        self.kernel = kernel
        self.loss = loss
        self.options = options
        self.points = []  # stored points: the buffer SV, in "growing" mode the update points too
        self.alphas = []  # stage-one coefficients of the buffer points
        self.rows = []  # rows of S_p, one for each stored point (from the switch on)
        self.T0 = 0  # rounds with loss so far
        self.rounds_since_switch = 0
        self.n_updates = 0
        self.landmark_points = None  # x~_1 .. x~_{s_m}
        self.Phi_pm = None
        self.Phi_pp = None  # running matrix, see ForksResult
        self.Z = None
        self.w = None
        self.A = None
        self.n_steps = 0  # ONS steps since the last reset
        self.conditions = []

    # ---- one round ---------------------------------------------------------------------------

    def round(self, x, y, c):
        """Predict, then learn (x, y) with weight c. Returns the score and what happened."""
        if self.Z is None:
            return self.stage_one(x, y, c)
        return self.stage_two(x, y, c)

    def stage_one(self, x, y, c):
        """KOGD until the buffer is full; the next round with loss builds the map."""
        o = self.options
        f = _expansion(self.points, self.alphas, x, self.kernel)
        s = float(c * self.loss.slope(f, y))
        if s == 0.0:
            return f, None
        self.T0 += 1
        if len(self.points) < o.buffer:
            self.points.append(x)
            self.alphas.append(-o.eta * s)
            return f, None
        self.switch(x, y, c, f)
        return f, "switch"

    def stage_two(self, x, y, c):
        """ONS in the explicit feature space, with the map updated once in every cycle."""
        o = self.options
        phi = self.feature(x)
        p = float(self.w @ phi)
        if c == 0.0:  # scored, not learned: the round does not count
            return (float(np.clip(p, -o.C, o.C)) if o.projection == "next" else p), None
        if o.projection == "next" and abs(p) > o.C:
            # the projection of Eq. (ONS) at phi_{t+1}, made now that the next point is known
            self.w = self.project(self.w, phi)
            p = float(np.sign(p) * o.C)
        s = float(c * self.loss.slope(p, y))
        self.rounds_since_switch += 1
        if s != 0.0:
            self.T0 += 1
        if self.update_is_due(s):
            self.update(x, y, c)
            return p, "update"
        self.ons_step(phi, y, c, p)  # does nothing when s = 0
        return p, None

    def update_is_due(self, s) -> bool:
        o = self.options
        if o.rho <= 0:
            return False
        if o.cycle_counts == "losses":
            return s != 0.0 and self.T0 % o.rho == 1 % o.rho
        return self.rounds_since_switch % o.rho == 0

    # ---- feature map -------------------------------------------------------------------------

    def feature(self, x):
        """phi(x) = Z' k_m(x)."""
        return self.features(x[None, :])[0]

    def features(self, X):
        """Features of the rows of X, one in each row: k(X, landmarks) Z."""
        return self.kernel(X, self.landmark_points) @ self.Z

    # ---- online Newton step --------------------------------------------------------------------

    def ons_step(self, phi, y, c, p):
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
        q = o.curvature + o.curvature_decay * np.sqrt(o.k / self.n_steps)  # sigma_i + eta_i
        if o.curvature_first:
            self.A = self.A + q * np.outer(g, g)
        v = self.w - np.linalg.solve(self.A, g)
        self.w = self.project(v, phi, o.damping) if o.projection == "current" else v
        if not o.curvature_first:
            self.A = self.A + q * np.outer(g, g)

    def project(self, v, phi, damping=0.0):
        """v - h(phi'v) / (phi'A^-1 phi + damping) A^-1 phi,  h(z) = sign(z) max(|z| - C, 0)."""
        A_inv_phi = np.linalg.solve(self.A, phi)
        length = phi @ A_inv_phi
        if length == 0.0:
            return v
        z = phi @ v
        h = np.sign(z) * max(abs(z) - self.options.C, 0.0)
        return v - h / (length + damping) * A_inv_phi

    # ---- switch --------------------------------------------------------------------------------

    def switch(self, x, y, c, f):
        """Build the sketches and the map from the buffer, start w and A, learn (x, y)."""
        o = self.options
        B = np.array(self.points)
        K = self.kernel(B, B)
        self.rows = [np.asarray(o.sjlt_row(i), dtype=float) for i in range(len(B))]
        S_p = np.array(self.rows)
        chosen = np.asarray(o.choose_landmarks(len(B), o.s_m))
        S_m = np.eye(len(B))[:, chosen]
        self.landmark_points = B[chosen]

        self.Phi_pm = S_p.T @ K @ S_m
        Phi_pp = S_p.T @ K @ S_p
        U, sigma, V = svd_rank_k(Phi_pp, o.k)
        self.Phi_pp = U @ np.diag(sigma) @ V.T if o.decomposition == "tisvd" else Phi_pp
        self.Z = feature_matrix(self.Phi_pm, V, sigma, o.cut)
        self.conditions.append(condition_number(self.Phi_pm))

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

    def reset(self):
        """w = 0, A = alpha I."""
        k = self.Z.shape[1]
        self.w = np.zeros(k)
        self.A = self.options.alpha * np.eye(k)
        self.n_steps = 0

    # ---- update --------------------------------------------------------------------------------

    def update(self, x, y, c):
        """Bring x into the sketches (Appendix B.1), rebuild the map, learn (x, y) in it."""
        o = self.options
        s_new = np.asarray(o.sjlt_row(o.buffer + self.n_updates), dtype=float)
        Delta_1, Delta_2 = [], []  # columns: the change of Phi_pp is Delta_1 Delta_2'

        if o.sketch_points == "growing" and self.is_full():
            self.drop_oldest(Delta_1, Delta_2)
        self.add(x, s_new, Delta_1, Delta_2)

        D1, D2 = np.array(Delta_1).T, np.array(Delta_2).T
        if o.decomposition == "tisvd":
            U, sigma, V = tisvd_dense(self.Phi_pp, D1, D2, o.k)
            self.Phi_pp = U @ np.diag(sigma) @ V.T
        else:
            self.Phi_pp = self.Phi_pp + D1 @ D2.T
            U, sigma, V = svd_rank_k(self.Phi_pp, o.k)

        old_landmarks, old_Z = self.landmark_points, self.Z
        if o.landmarks == "refreshed":
            self.refresh_landmark(x)
        self.Z = feature_matrix(self.Phi_pm, V, sigma, o.cut)
        self.conditions.append(condition_number(self.Phi_pm))
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

    def drop_oldest(self, Delta_1, Delta_2):
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

    def add(self, x, s_new, Delta_1, Delta_2):
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

    def kernel_terms(self, x):
        """S_p'psi over the points now in the list, k(x, x), k_m(x)."""
        if self.points:
            S_psi = np.array(self.rows).T @ _kernel_values(self.points, x, self.kernel)
        else:
            S_psi = np.zeros(self.options.s_p)
        k_xx = float(self.kernel(x[None, :], x[None, :])[0, 0])
        return S_psi, k_xx, _kernel_values(self.landmark_points, x, self.kernel)

    def refresh_landmark(self, x):
        """x replaces a landmark, in turn; its column of Phi_pm is sum_i s_i k(x_i, x)."""
        j = self.n_updates % self.options.s_m
        self.landmark_points = self.landmark_points.copy()
        self.landmark_points[j] = x
        self.Phi_pm[:, j] = np.array(self.rows).T @ _kernel_values(self.points, x, self.kernel)

    def carry(self, old_landmarks, old_Z):
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


def ridge_fit(F, G):
    """B that minimises |F B - G|^2 + ridge |B|^2, ridge = 1e-10 |F|_2^2."""
    ridge = 1e-10 * np.linalg.norm(F, 2) ** 2
    return np.linalg.inv(F.T @ F + ridge * np.eye(F.shape[1])) @ F.T @ G


# ----------------------------------------------------------------------------------------------
# SkeGD
# ----------------------------------------------------------------------------------------------


def skegd(
    X,
    y,
    kernel,
    loss,
    *,
    buffer: int,
    sketch_size: int,
    n_landmarks: int,
    rank: int,
    update_cycle: int,
    eta: float,
    step_size: float,
    on_update: str,
    sketch_points: str,
    cut: float,
    sjlt_row,
    choose_landmarks,
    weights=None,
):
    """SkeGD: KOGD into a buffer, then w <- w - step_size slope phi on a sketched map.

    Every update_cycle-th round with loss (T0 mod rho = 1) brings its point into the sketches and
    decomposes Phi_pp anew. on_update "point": w = f phi / |phi|^2 with the round's score f; "keep":
    w as it is, in coordinates whose axes V point as near to the old ones as their signs allow.
    sketch_points "growing" or "buffer". Returns the scores and the rows of the updates.
    """
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    points, alphas, scores, updates = [], [], np.zeros(n), []
    S_p = Phi_pm = Phi_pp = V = Z = L = w = None
    T0 = 0

    def new_map(Phi_pm, Phi_pp, V_old):
        _, sigma, V = svd_rank_k(Phi_pp, rank)
        if V_old is not None:
            V = V * np.where(np.sum(V * V_old, axis=0) < 0.0, -1.0, 1.0)
        return V, feature_matrix(Phi_pm, V, sigma, cut)

    for t in range(n):
        x = X[t]
        if Z is None:
            f = _expansion(points, alphas, x, kernel)
        else:
            phi = Z.T @ _kernel_values(L, x, kernel)
            f = float(w @ phi)
        scores[t] = f
        s = float(c[t] * loss.slope(f, y[t]))
        if s == 0.0:
            continue
        T0 += 1
        if Z is None and len(points) < buffer:
            points.append(x)
            alphas.append(-eta * s)
            continue
        if Z is None:
            B = np.array(points)
            K = kernel(B, B)
            S_p = np.array([sjlt_row(i) for i in range(buffer)], dtype=float)
            chosen = np.asarray(choose_landmarks(buffer, n_landmarks))
            L = B[chosen]
            Phi_pm, Phi_pp = S_p.T @ K[:, chosen], S_p.T @ K @ S_p
            V, Z = new_map(Phi_pm, Phi_pp, None)
            phi = Z.T @ _kernel_values(L, x, kernel)
            w = f * phi / (phi @ phi)
        elif update_cycle > 0 and T0 % update_cycle == 1 % update_cycle:
            s_new = np.asarray(sjlt_row(buffer + len(updates)), dtype=float)
            S_psi = S_p.T @ _kernel_values(points, x, kernel)
            k_xx = float(kernel(x[None, :], x[None, :])[0, 0])
            Phi_pm = Phi_pm + np.outer(s_new, _kernel_values(L, x, kernel))
            Phi_pp = Phi_pp + np.outer(s_new, S_psi) + np.outer(S_psi, s_new)
            Phi_pp = Phi_pp + k_xx * np.outer(s_new, s_new)
            if sketch_points == "growing":
                points.append(x)
                S_p = np.vstack([S_p, s_new])
            V, Z = new_map(Phi_pm, Phi_pp, V)
            phi = Z.T @ _kernel_values(L, x, kernel)
            if on_update == "point":
                w = f * phi / (phi @ phi)
            updates.append(t)
        w = w - step_size * s * phi
    return scores, updates


# ----------------------------------------------------------------------------------------------
# Online Newton step on given features
# ----------------------------------------------------------------------------------------------


def dense_ons(Phi, y, loss, alpha: float, curvature: float, step_size: float, curvature_first):
    """Online Newton step without projection on the rows of Phi, from w = 0, A = alpha I.

    g = step_size * slope * phi; A includes g before the step w - A^-1 g if curvature_first, else
    after it. Rounds without loss change nothing. Returns the scores w_t'phi_t.
    """
    n, k = Phi.shape
    w, A = np.zeros(k), alpha * np.eye(k)
    scores = np.zeros(n)
    for t in range(n):
        scores[t] = w @ Phi[t]
        s = float(loss.slope(scores[t], y[t]))
        if s == 0.0:
            continue
        g = step_size * s * Phi[t]
        A_next = A + curvature * np.outer(g, g)
        w = w - np.linalg.solve(A_next if curvature_first else A, g)
        A = A_next
    return scores


# ----------------------------------------------------------------------------------------------
# Adversarial stream
# ----------------------------------------------------------------------------------------------


def adversarial(X, y, order, n_blocks: int, repeats: int):
    """Section 5.2: block j = 1, 2, ... repeats point order[j - 1]; labels flip in even blocks."""
    rows, labels = [], []
    for j in range(1, n_blocks + 1):
        i = order[j - 1]
        sign = -1 if j % 2 == 0 else 1
        for _ in range(repeats):
            rows.append(X[i])
            labels.append(sign * y[i])
    return np.array(rows), np.array(labels)


# ----------------------------------------------------------------------------------------------
# Perceptrons, with and without a budget. A score of zero answers +1.
# ----------------------------------------------------------------------------------------------


def _wrong(f: float, y: float) -> bool:
    return (f >= 0.0) != (y > 0.0)


def _weights(y, weights):
    return np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)


def _square(x, kernel) -> float:
    """k(x, x)."""
    return float(kernel(x[None, :], x[None, :])[0, 0])


def perceptron(X, y, kernel, zero_is_wrong: bool = False, weights=None):
    """Kernel perceptron: a mistake adds (x, y), nothing leaves. Returns the scores.

    Is a score of zero a mistake for y = +1 too? It is in the papers that ask for y f > 0.
    """
    points, alphas, scores = [], [], []
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, alphas, x, kernel)
        scores.append(f)
        if c != 0.0 and (label * f <= 0.0 if zero_is_wrong else _wrong(f, label)):
            points.append(x)
            alphas.append(c * label)
    return np.array(scores)


def passive_aggressive(X, y, kernel, C: float, weights=None):
    """PA-I without a budget: l = 1 - y f > 0 adds (x, y min(C, l / k(x, x)))."""
    points, alphas, scores = [], [], []
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, alphas, x, kernel)
        scores.append(f)
        loss = max(0.0, 1.0 - label * f)
        if c != 0.0 and loss > 0.0:
            points.append(x)
            alphas.append(label * min(c * C, loss / _square(x, kernel)))
    return np.array(scores)


def rbp(X, y, kernel, budget: int, draw, insert_when_full: bool = True, weights=None):
    """Random budget perceptron. draw(n) gives the place of the point that leaves, below n.

    The new point takes its place; without `insert_when_full` the last one does.
    """
    points, alphas, scores = [], [], []
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, alphas, x, kernel)
        scores.append(f)
        if c == 0.0 or not _wrong(f, label):
            continue
        if len(points) < budget:
            points.append(x)
            alphas.append(c * label)
            continue
        place = draw(budget)
        if insert_when_full:
            points[place], alphas[place] = x, c * label
        else:
            points[place], alphas[place] = points[-1], alphas[-1]
            points.pop()
            alphas.pop()
    return np.array(scores)


def forgetron(X, y, kernel, budget: int, root: str, weights=None):
    """Forgetron: append, shrink by phi, drop the oldest. Returns scores, all phi and Q.

    phi is the largest number in (0, 1] with Q + Psi(phi) <= 15/32 M, where Psi(phi) =
    (delta phi)^2 k(x_1, x_1) + 2 delta phi (1 - phi mu). Psi(0) = 0 is within the bound, so if
    Psi(1) is not, the bound is met at exactly one phi between.

    root "lsokl": the larger root where the quadratic opens downwards; M counts wrong answers.
    """
    points, labels, sizes, scores, shrinkings = [], [], [], [], []
    M, Q = 0, 0.0
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, np.array(labels) * np.array(sizes), x, kernel)
        scores.append(f)
        if c == 0.0 or label * f > 0.0:
            continue
        M += 1 if root == "published" else int(_wrong(f, label))
        points, labels, sizes = [*points, x], [*labels, label], [*sizes, c]
        if len(points) <= budget:
            continue
        delta = sizes[0]
        mu = labels[0] * _expansion(points, np.array(labels) * np.array(sizes), points[0], kernel)
        psi = np.poly1d(
            [delta**2 * _square(points[0], kernel) - 2.0 * delta * mu, 2.0 * delta, 0.0]
        )
        bound = 15.0 / 32.0 * M - Q
        phi = 1.0
        if psi(1.0) > bound:
            roots = np.real((psi - bound).roots)
            if root == "lsokl" and psi.order == 2 and psi.coeffs[0] < 0.0:
                phi = max(roots)
            else:
                (phi,) = roots[(roots > 0.0) & (roots < 1.0)]
        Q += psi(phi)
        shrinkings.append(phi)
        points, labels = points[1:], labels[1:]
        sizes = [phi * size for size in sizes[1:]]
    return np.array(scores), np.array(shrinkings), Q


def bpas(X, y, kernel, budget: int, C: float, weights=None):
    """BPA-S: with no room left, the new point and its beta take the place of one stored point.

    Of all r and beta, the smallest |f_new - f|^2 / 2 + C max(0, 1 - y f_new(x)), with f_new =
    f - alpha_r k(x_r, .) + beta k(x, .): a convex function of beta with one kink, so its minimum
    is at the kink or where the derivative of one of the two sides vanishes.
    """
    points, alphas, scores = [], [], []
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, alphas, x, kernel)
        scores.append(f)
        loss = max(0.0, 1.0 - label * f)
        if c == 0.0 or loss == 0.0:
            continue
        square = _square(x, kernel)
        if len(points) < budget:
            points.append(x)
            alphas.append(label * min(c * C, loss / square))
            continue
        row = _kernel_values(points, x, kernel)
        best = (np.inf, 0, 0.0)
        for r in range(budget):
            alpha, value, own = alphas[r], row[r], _square(points[r], kernel)
            rest = f - alpha * value
            still = alpha * value / square
            kink = (label - rest) / square
            for beta in (still, still + c * C * label, kink):
                moved = alpha**2 * own + beta**2 * square - 2.0 * alpha * beta * value
                objective = 0.5 * moved + c * C * max(0.0, 1.0 - label * (rest + beta * square))
                if objective < best[0]:
                    best = (objective, r, beta)
        points[best[1]], alphas[best[1]] = x, best[2]
    return np.array(scores)


def projectron(X, y, kernel, budget: int, cut: float = 1e-10, margin: bool = False, weights=None):
    """Projectron, and Projectron++ with `margin`. Returns the scores and the stored points.

    d = K_S^-1 k, delta^2 = k(x, x) - k'd. A mistake appends (x, y) if there is room and delta^2
    is above cut k(x, x), else alpha += y d. With `margin`, 0 < y f < 1 adds y tau d if
    tau (2 l - tau P - 2 U delta) >= 0, where l = 1 - y f, P = d'K_S d, tau = min(l / P, 1) and
    U = sqrt((B + 1) / ln(B + 1)) / 4.
    """
    points, scores = [], []
    alpha = np.zeros(0)
    U = 0.25 * np.sqrt((budget + 1) / np.log(budget + 1))
    for x, label, c in zip(X, y, _weights(y, weights), strict=True):
        f = _expansion(points, alpha, x, kernel)
        scores.append(f)
        wrong = _wrong(f, label)
        if c == 0.0 or not (wrong or (margin and 0.0 < label * f < 1.0)):
            continue
        d, P = np.zeros(0), 0.0
        if points:
            K = kernel(np.array(points), np.array(points))
            d = np.linalg.solve(K, _kernel_values(points, x, kernel))
            P = float(d @ K @ d)
        square = _square(x, kernel)
        delta_squared = square - P
        if wrong and len(points) < budget and delta_squared > cut * square:
            points.append(x)
            alpha = np.append(alpha, c * label)
        elif wrong:
            alpha = alpha + c * label * d
        else:
            loss = 1.0 - label * f
            tau = min(loss / P, 1.0)
            if tau * (2.0 * loss - tau * P - 2.0 * U * np.sqrt(max(delta_squared, 0.0))) >= 0.0:
                alpha = alpha + c * label * tau * d
    return np.array(scores), np.array(points)


def linear_projectron(X, y, budget: int):
    """Projectron for k(x, z) = x'z with its function as a vector w, f(x) = w'x.

    When the budget is full, w grows by y times the projection of x onto the span of the stored
    rows, by least squares.
    """
    w = np.zeros(X.shape[1])
    rows, scores = [], []
    for x, label in zip(X, y, strict=True):
        f = float(w @ x)
        scores.append(f)
        if not _wrong(f, label):
            continue
        if len(rows) < budget:
            rows.append(x)
            w = w + label * x
        else:
            S = np.array(rows).T
            w = w + label * (S @ np.linalg.lstsq(S, x, rcond=None)[0])
    return np.array(scores)


# BOGD
# ----------------------------------------------------------------------------------------------


def bogd(
    X, y, kernel, loss, *, budget, eta, regularisation, largest, removal, uniform, weights=None
):
    """Bounded online gradient descent; `uniform` draws a number from [0, 1).

    A round of weight 0 is scored only. Any other shrinks all coefficients by 1 - eta lambda. If
    s = weight * slope is not zero, x_t joins with -eta s, held at +-eta gamma; at a full budget
    it takes the place of point i, which was drawn with probability p_i, and the coefficients of
    the others are divided by 1 - p_j. At last all are scaled by min(1, eta gamma / max |alpha|).
    Returns the scores.
    """
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    points, alphas = [], []
    scores = np.zeros(n)
    for t in range(n):
        scores[t] = _expansion(points, alphas, X[t], kernel)
        if c[t] == 0.0:
            continue
        alphas = [(1.0 - eta * regularisation) * alpha for alpha in alphas]
        s = float(c[t] * loss.slope(scores[t], y[t]))
        if s == 0.0:
            continue
        new = float(np.clip(-eta * s, -eta * largest, eta * largest))
        if len(points) < budget:
            points.append(X[t])
            alphas.append(new)
        else:
            kept = _kept_probabilities(points, alphas, kernel, removal)  # 1 - p_i
            i = int(np.searchsorted(np.cumsum(1.0 - kept), uniform(), side="right"))
            if budget > 1:
                alphas = [a if j == i else a / kept[j] for j, a in enumerate(alphas)]
            points[i], alphas[i] = X[t], new
        top = max(abs(alpha) for alpha in alphas)
        alphas = [alpha * min(1.0, eta * largest / top) for alpha in alphas]
    return scores


def _kept_probabilities(points, alphas, kernel, removal):
    """1 - p_i: (B - 1) / B, or min(1, s |alpha_i| sqrt(k(x_i, x_i))) with the sum B - 1."""
    n = len(points)
    if removal == "uniform":
        return np.full(n, (n - 1) / n)
    P = np.array(points)
    share = np.abs(alphas) * np.sqrt(np.diag(kernel(P, P)))
    order = np.argsort(-share)
    for certain in range(n):  # the largest ones are kept for certain
        rest = order[certain:]
        s = (len(rest) - 1) / np.sum(share[rest])
        if s * share[rest[0]] <= 1.0:
            break
    kept = np.ones(n)
    kept[rest] = s * share[rest]
    return kept


# ----------------------------------------------------------------------------------------------
# FOGD
# ----------------------------------------------------------------------------------------------


def fogd(X, y, frequencies, bandwidth: float, loss, eta: float, weights=None):
    """Online gradient descent on random Fourier features; `frequencies` has one in each column.

    z = [cos(U'x / bandwidth); sin(U'x / bandwidth)] / sqrt(D), f = w'z, w <- w - eta s z with
    s = weight * slope(f, y). Returns the scores.
    """
    n, D = len(X), frequencies.shape[1]
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = np.zeros(2 * D)
    scores = np.zeros(n)
    for t in range(n):
        angles = frequencies.T @ X[t] / bandwidth
        z = np.concatenate([np.cos(angles), np.sin(angles)]) / np.sqrt(D)
        scores[t] = w @ z
        w = w - eta * c[t] * loss.slope(scores[t], y[t]) * z
    return scores


# ----------------------------------------------------------------------------------------------
# NOGD
# ----------------------------------------------------------------------------------------------


def nogd(X, Y, kernel, loss, *, budget, rank, eta, step_size, cut, weights=None):
    """Nystrom online gradient descent; Y has a column for each output.

    Until `budget` points are stored: KOGD, a point joining if any output has a slope. The next
    round with a slope switches, K = V D V' with the `rank` largest eigenvalues, of which those
    up to cut times the largest are dropped:

        z(x) = D^(-1/2) V' k(x),   w = D^(1/2) V' alpha,   f = w'z,

    and learns, like all that follow: w <- w - step_size * weight * slope * z. The slope of the
    round of the switch is that of its score, which stage one made. Returns the scores.
    """
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    points, alphas, M, w = [], [], None, None
    scores = np.zeros(Y.shape)
    for t in range(n):
        if points:
            k = _kernel_values(points, X[t], kernel)
            scores[t] = np.array(alphas).T @ k if M is None else w.T @ (M @ k)
        s = c[t] * loss.slope(scores[t], Y[t])
        if not s.any():
            continue
        if len(points) < budget:
            points.append(X[t])
            alphas.append(-eta * s)
            continue
        if M is None:
            values, vectors = np.linalg.eigh(kernel(np.array(points), np.array(points)))
            kept = (np.arange(budget) >= budget - rank) & (values > cut * values[-1])
            D, V = values[kept], vectors[:, kept]
            M = np.diag(D**-0.5) @ V.T
            w = np.diag(D**0.5) @ V.T @ np.array(alphas)
        w = w - step_size * np.outer(M @ k, s)
    return scores


# KORS, PROS-N-KONS, KONS and SKETCHED-KONS
# ----------------------------------------------------------------------------------------------


def kors_leverage(K, s, epsilon: float, ridge: float) -> float:
    """tau of the last point, with K over the dictionary and that point, s its weights, last 1.

    tau = (1 + epsilon) / ridge (k_tt - kbar'(Kbar + ridge I)^-1 kbar), Kbar = diag(s) K diag(s)
    and kbar its last column.
    """
    Kbar = np.diag(s) @ K @ np.diag(s)
    kbar = Kbar[:, -1]
    inverse = np.linalg.inv(Kbar + ridge * np.eye(len(K)))
    return float((1.0 + epsilon) / ridge * (K[-1, -1] - kbar @ inverse @ kbar))


def newton_projection(u, A, phi, clip: float, damping: float = 0.0):
    """w = u - h(phi'u) / (phi'A^-1 phi + damping) A^-1 phi, h(z) = sign(z) max(|z| - C, 0).

    Returns w and its score phi'w, which is C or -C exactly if the projection moves w undamped:
    a hinge has its kink there.
    """
    z = float(phi @ u)
    if abs(z) <= clip:
        return u, z
    direction = np.linalg.solve(A, phi)
    w = u - np.sign(z) * (abs(z) - clip) / (phi @ direction + damping) * direction
    return w, float(phi @ w) if damping else float(np.sign(z)) * clip


def pros_n_kons(
    X,
    y,
    kernel,
    loss,
    uniform,
    *,
    alpha: float,
    beta: float,
    epsilon: float,
    gamma: float,
    curvature: float,
    clip: float,
    damping: float = 0.0,
    max_points: int | None = None,
    weighting: str = "root",
    blind_resets: bool = False,
    single_precision: bool = False,
    weights=None,
):
    """PROS-N-KONS with KORS; everything is made anew from lists of points.

    While the dictionary may grow, every round with a weight draws uniform() once; x joins if the
    draw is below p = min(beta tau, 1), the first point always. Features are D^(-1/2) U'k_I(x),
    eigenvalues below 1e-12 of the largest left out. The step of a round with loss is made at the
    beginning of the next one, as published. A round that joins is predicted with the old w,
    which is then thrown away, and has the score 0 in the new space; with blind_resets it is
    answered -1e-300 and not learned from, and so is every score of exactly 0 answered. With
    single_precision scores up to 2^-126 count as 0, and the slope is that at (1 - 2^-24) f.

    Returns the scores and, for each round, the number of points before it.
    """
    n = len(X)
    c = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    points, s = [], []
    to_features = np.zeros((0, 0))
    w, A, g = np.zeros(0), np.zeros((0, 0)), np.zeros(0)
    scores, sizes = np.zeros(n), np.zeros(n, int)
    for t in range(n):
        sizes[t] = len(points)
        phi = to_features @ _kernel_values(points, X[t], kernel) if points else np.zeros(0)
        if points:
            # A round that is not learned from leaves no trace, so its projection is not kept.
            u = w - np.linalg.solve(A, g)
            projected, scores[t] = newton_projection(u, A, phi, clip, damping)
            if c[t] != 0.0:
                w, g = projected, np.zeros(len(w))
        if blind_resets and abs(scores[t]) <= (2.0**-126 if single_precision else 0.0):
            scores[t] = -1e-300
        if c[t] == 0.0:
            continue
        f = scores[t]
        if max_points is None or len(points) < max_points:
            with_x = np.array([*points, X[t]])
            K = kernel(with_x, with_x)
            tau = kors_leverage(K, np.array([*s, 1.0]), epsilon, gamma)
            p = min(beta * tau, 1.0) if points else 1.0
            if uniform() < p:
                points.append(X[t])
                s.append(p**-0.5 if weighting == "root" else 1.0 / p)
                D, U = np.linalg.eigh(K)
                kept = 1e-12 * D.max(initial=0.0) < D
                to_features = np.diag(D[kept] ** -0.5) @ U[:, kept].T
                phi = to_features @ K[:, -1]
                w, A, g = np.zeros(len(phi)), alpha * np.eye(len(phi)), np.zeros(len(phi))
                f = 0.0
                if blind_resets:
                    scores[t] = -1e-300
                    continue
        if len(points) > 0:
            f *= 1.0 - 2.0**-24 if single_precision else 1.0
            g = float(c[t] * loss.slope(f, y[t])) * phi
            A = A + curvature * np.outer(g, g)
    return scores, sizes


def kons(X, y, kernel, loss, *, alpha: float, curvature: float, clip: float, weights=None):
    """KONS, exact: in coordinates of the span of all rows, made from the whole kernel matrix.

    A contains every gradient. Rounds of weight zero leave no trace. Returns the scores.
    """
    D, U = np.linalg.eigh(kernel(X, X))
    kept = 1e-13 * D.max(initial=0.0) < D
    Phi = U[:, kept] * np.sqrt(D[kept])  # row t is the feature of x_t: Phi Phi' = K
    return sketched_kons_on(Phi, y, loss, alpha, curvature, clip, weights, lambda t, c, past: True)


def sketched_kons_on(Phi, y, loss, alpha, curvature, clip, weights, sampled):
    """The steps of KONS on explicit features; A gets the gradient of round t if sampled(...).

    sampled(t, c, past) is asked in rounds with a non-zero scaled feature c phi_t,
    c = sqrt(curvature) weight slope; `past` lists the (round, c) that A contains.
    """
    n, k = Phi.shape
    row_weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w, A, g = np.zeros(k), alpha * np.eye(k), np.zeros(k)
    past = []
    scores = np.zeros(n)
    for t in range(n):
        projected, scores[t] = newton_projection(w - np.linalg.solve(A, g), A, Phi[t], clip)
        if row_weights[t] == 0.0:
            continue
        slope = float(row_weights[t] * loss.slope(scores[t], y[t]))
        w, g = projected, slope * Phi[t]
        scaled = np.sqrt(curvature) * slope
        if scaled != 0.0 and Phi[t].any() and sampled(t, scaled, past):
            A = A + curvature * np.outer(g, g)
            past.append((t, scaled))
    return scores


def sketched_kons(
    X,
    y,
    kernel,
    loss,
    uniform,
    *,
    alpha: float,
    beta: float,
    epsilon: float,
    gamma: float,
    curvature: float,
    clip: float,
    weights=None,
):
    """SKETCHED-KONS: A gets the gradient of a round with p = max(gamma, min(beta tau, 1)).

    tau is the KORS estimate of the scaled features c phi with the ridge alpha, members weighing
    1 / sqrt(p) there and 1 in A. Returns the scores and the rounds in A.
    """
    K = kernel(X, X)
    D, U = np.linalg.eigh(K)
    kept = 1e-13 * D.max(initial=0.0) < D
    Phi = U[:, kept] * np.sqrt(D[kept])
    probabilities, members = [], []

    def sampled(t, scaled, past):
        rounds = [i for i, _ in past] + [t]
        scales = np.array([c for _, c in past] + [scaled])
        G = np.diag(scales) @ K[np.ix_(rounds, rounds)] @ np.diag(scales)
        s = np.array([p**-0.5 for p in probabilities] + [1.0])
        p = max(gamma, min(beta * kors_leverage(G, s, epsilon, alpha), 1.0))
        if uniform() < p:
            probabilities.append(p)
            members.append(t)
            return True
        return False

    scores = sketched_kons_on(Phi, y, loss, alpha, curvature, clip, weights, sampled)
    return scores, members


# ----------------------------------------------------------------------------------------------
# Adaptive
# ----------------------------------------------------------------------------------------------


class PlainScale:
    """z = t / (1 + a |t|) / r, t = (x - m) / s, of the rows that it is made from.

    m is the median, s the mean of |x - m|, R its root mean square over s, and a half of what R
    is above that of a normal distribution, relatively, from 0 to 1. Constant features become
    +-surprise where they are not constant.
    """

    def __init__(self, X, bound: float = 5.0, surprise: float = 3.0, draw_in: float = 0.5):
        self.bound, self.surprise = bound, surprise
        self.columns = []
        for x in X.T:
            m = np.median(x)
            s = np.mean(np.abs(x - m))
            if s == 0.0:
                self.columns.append((m, 0.0, 0.0, 1.0))
                continue
            t = (x - m) / s
            a = draw_in * (np.sqrt(np.mean(t**2)) / np.sqrt(np.pi / 2.0) - 1.0)
            a = min(max(a, 0.0), 1.0)
            r = np.std(t / (1.0 + a * np.abs(t)))
            self.columns.append((m, s, a, r if r > 0.0 else 1.0))

    def __call__(self, X):
        Z = np.empty(X.shape)
        for j, (m, s, a, r) in enumerate(self.columns):
            if s == 0.0:
                Z[:, j] = self.surprise * np.sign(X[:, j] - m)
            else:
                t = (X[:, j] - m) / s
                Z[:, j] = np.clip(t / (1.0 + a * np.abs(t)) / r, -self.bound, self.bound)
        return Z


def leave_one_out(Psi, Lambda, targets, alpha: float):
    """Scores of each row by ridge regression on the others, each of them fitted by itself.

    theta minimises sum (theta'psi_j - y_j)^2 + alpha theta'Lambda theta over the rows j other
    than i; the landmarks stay, whichever row they came from.
    """
    A, b = alpha * Lambda + Psi.T @ Psi, Psi.T @ targets
    scores = np.empty(targets.shape)
    for i, psi in enumerate(Psi):
        theta = np.linalg.solve(A - np.outer(psi, psi), b - np.outer(psi, targets[i]))
        scores[i] = psi @ theta
    return scores


class AdaptiveOracle:
    """The adaptive learner, one round at a time: `play` gives the scores and then learns.

    With K_mm = L L' of the landmarks, features are phi = [L^-1 k(x), linear part, 1], for which the
    prior is alpha I. A is kept, not its inverse, and every step solves with it. All rows since the
    start, or since the last change of the concept, are kept in `past`. `constants` has the numbers
    that are nobody's choice, by name.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        kernel,
        loss,
        constants,
        *,
        buffer: int,
        scaled: bool = True,
        median: bool = True,
        linear: bool = True,
        follow: bool = True,
        restart: bool = True,
        early: bool = True,
        robust: bool = True,
    ):
        self.n_features, self.n_outputs = n_features, n_outputs
        self.early, self.robust = early, robust
        self.kernel, self.loss, self.constants = kernel, loss, constants
        self.buffer, self.scaled, self.median, self.linear = buffer, scaled, median, linear
        self.classifies = isinstance(loss, Hinge | SquaredHinge | Logistic)
        self.follow, self.restart = follow and self.classifies, restart
        self.unit = float(loss.curvature(0.0, 1.0)) or 1.0
        self.past = []  # (x, y, weight)
        self.wrong = []  # mistakes of theta in the past
        self.landmarks = None  # nothing is known of rows yet: psi = [1]
        self.alpha = self.unit * constants.usual_alpha
        self.A, self.w = np.array([[self.alpha]]), np.zeros((1, n_outputs))
        self.follower = np.zeros((1, n_outputs))
        self.trust = np.full(n_outputs, 1.0 - constants.share)  # of theta; the rest: follower's
        self.mean, self.spread, self.tolerance = 0.0, 1.0, 0.0
        self.watch, self.rate, self.mean_square_slope = 0.0, 0.0, 0.0
        self.heaviest = 0.0  # weight of a row
        self.quiet, self.begun = 0, 0  # rounds: the watch was last 0; the two means were begun
        self.due = self.next_due(0)
        self.fits, self.lowerings, self.restarts = [], [], []  # rounds since the beginning
        self.rounds_ever = 0

    # ---- one round

    def play(self, x, y, weight: float = 1.0):
        """Return the scores of x, one per output, and learn from y."""
        psi = self.values(x)
        phi = self.features(psi)
        f = phi @ self.w
        if self.follow:
            centred = self.follower_features(psi)
            g = centred @ self.follower
            answer = 2.0 * self.probability(np.where(self.trust >= 0.5, f, g)) - 1.0
        elif self.classifies:
            answer = 2.0 * self.probability(f) - 1.0
        else:
            answer = self.mean + self.spread * f
        if weight == 0.0:
            return answer
        self.rounds_ever += 1
        self.past.append((x, y, weight))
        if self.restart:
            self.watch_mistakes(f, y)
        if self.follow:
            self.trust = self.fixed_share(f, g, y, weight)
            self.follower = self.made_right(self.follower, centred, y)
        self.newton_step(phi, f, y, weight)
        if len(self.past) == self.due or self.watch > self.constants.alarm:
            self.event()
        return answer

    def features(self, psi):
        """phi, of the values of one row."""
        if self.landmarks is None:
            return psi
        m = len(self.landmarks)
        return np.concatenate([np.linalg.solve(self.L, psi[:m]), psi[m:]])

    def values(self, x):
        """psi(x); the linear part is in scaled features before their division."""
        if self.landmarks is None:
            return np.ones(1)
        z = self.scale(x[None, :])
        values = self.kernel(z / self.divisor, self.landmarks)[0]
        return np.concatenate([values, self.linear_part(z)[0], [1.0]])

    def linear_part(self, Z):
        linear = self.linear and self.n_features <= self.constants.widest
        return Z / np.sqrt(self.n_features) if linear else Z[:, :0]

    def follower_features(self, psi):
        """Kernel values less their mean, with mean square norm 1; the rest as it is."""
        if self.landmarks is None:
            return psi
        m = len(self.landmarks)
        return np.concatenate([self.follow_factor * (psi[:m] - self.centre), psi[m:]])

    def probability(self, f):
        if isinstance(self.loss, Logistic):
            p = np.exp(-np.logaddexp(0.0, -f))
        else:
            p = 0.5 + 0.5 * f
        return np.clip(p, self.constants.sure, 1.0 - self.constants.sure)

    def fixed_share(self, f, g, y, weight):
        """A mistake costs a factor; then a share of all weight is dealt out evenly."""
        share = self.constants.share
        self.heaviest = max(self.heaviest, weight)
        factor = np.exp(-weight / self.heaviest)
        trust = np.empty(self.n_outputs)
        for o in range(self.n_outputs):
            costs = [factor if _wrong(s, y[o]) else 1.0 for s in (f[o], g[o])]
            weights = np.array([self.trust[o], 1.0 - self.trust[o]]) * costs
            trust[o] = ((1.0 - share) * weights / weights.sum() + share / 2.0)[0]
        return trust

    @staticmethod
    def made_right(follower, phi, y):
        """The passive-aggressive step without a limit."""
        missing = np.maximum(0.0, 1.0 - y * (phi @ follower))
        return follower + np.outer(phi, missing * y) / (phi @ phi)

    def watch_mistakes(self, f, y):
        """Page's sum for the hypothesis that mistakes are `gain` times as frequent as usual."""
        if not self.classifies:
            g = self.loss.slope(f, (y - self.mean) / self.spread)
            wrong = np.sum(g**2) > self.mean_square_slope
        elif self.n_outputs == 1:
            wrong = _wrong(f[0], y[0])
        else:
            wrong = y[np.argmax(f)] < 0.0
        self.wrong.append(wrong)
        rounds, counted = len(self.past), len(self.past) - self.begun
        if counted > self.constants.settle:
            usual = self.usual_rate()
            higher = min(self.constants.gain * usual, self.constants.highest_rate)
            ratio = higher / usual if wrong else (1.0 - higher) / (1.0 - usual)
            self.watch = max(0.0, self.watch + np.log(ratio))
            if self.watch == 0.0:
                self.quiet = rounds
        self.rate += (wrong - self.rate) / min(counted, self.constants.rate_rounds)

    def usual_rate(self):
        return np.clip(self.rate, self.constants.least_rate, self.constants.most_rate)

    def rows_since_change(self):
        """The last n rows whose own rate of mistakes is most likely, against the usual one."""
        smallest, usual = self.constants.smallest_buffer, self.usual_rate()
        watched = min(len(self.past) - self.quiet, self.buffer)
        likely, best = 0.0, smallest
        for n in range(smallest, watched + 1):
            wrong = np.array(self.wrong[-n:], bool)
            if wrong.mean() > usual:
                own = np.where(wrong, wrong.mean(), 1.0 - wrong.mean())
                gain = np.sum(np.log(own) - np.log(np.where(wrong, usual, 1.0 - usual)))
                if gain > likely + 1e-9:
                    likely, best = gain, n
        return best

    def newton_step(self, phi, f, y, weight):
        target = (y - self.mean) / self.spread
        g = self.loss.slope(f, target)
        if self.classifies:
            usual = abs(float(self.loss.slope(0.0, 1.0)))
        else:
            usual = np.sqrt(self.mean_square_slope)
        n = min(len(self.past) - self.begun, self.constants.rate_rounds)
        said = np.abs(g) > self.tolerance * usual
        if self.robust and self.classifies:
            loudest = 2.0 * (1.0 - self.tolerance) * usual
        elif self.robust and n > self.constants.settle:
            loudest = self.constants.outlier * usual
        else:
            loudest = np.inf
        held = np.where(said, np.clip(g, -loudest, loudest), g)
        factor = np.divide(held, g, out=np.ones_like(g), where=g != 0.0)
        self.mean_square_slope += (np.sum(held**2) - self.mean_square_slope) / n
        if not said.any():
            return
        h = self.loss.curvature(f, target)
        h = weight * np.max((factor * np.where(h > 0.0, h, 1.0))[said])
        self.A = self.A + h * np.outer(phi, phi)
        self.w = self.w - weight * np.outer(np.linalg.solve(self.A, phi), held)

    # ---- events

    def event(self):
        changed = self.watch > self.constants.alarm
        if changed:
            n = self.rows_since_change()
            self.past, self.wrong, self.rate, self.begun = self.past[-n:], self.wrong[-n:], 0.0, n
            self.restarts.append(self.rounds_ever)
        rounds = len(self.past)
        if rounds <= self.buffer:
            self.fit(choose=changed or rounds <= self.constants.choose_up_to)
        else:
            self.lower_alpha(rounds)
        self.watch, self.quiet = 0.0, rounds
        self.tolerance = min(0.5, max(0.0, 0.1 * np.log2(rounds / 128)))
        self.due = self.next_due(rounds)

    def next_due(self, rounds):
        """16, 64, ... below the buffer; the buffer; then doubled from the last on."""
        due = [self.constants.smallest_buffer]
        if rounds < self.buffer and not self.early:
            return self.buffer
        while due[-1] < self.buffer:
            due.append(self.constants.more_rows * due[-1])
        while due[-1] <= rounds:
            due.append(2 * due[-1])
        return min(d for d in [*due, self.buffer] if d > rounds)

    def fit(self, choose):
        """Everything anew from all rows of the past; alpha too, if it is to be chosen."""
        X, Y, weights = (np.array(part) for part in zip(*self.past, strict=True))
        self.fits.append(self.rounds_ever)
        self.scale = PlainScale(X, **self.constants.scale) if self.scaled else lambda X: X
        Z = self.scale(X)
        self.divisor = self.median_distance(Z) if self.median else 1.0
        K = self.kernel(Z / self.divisor, Z / self.divisor)
        chosen = independent_rows(K, self.constants.dependent)
        self.landmarks, m = Z[chosen] / self.divisor, len(chosen)
        self.L = np.linalg.cholesky(K[np.ix_(chosen, chosen)])
        values = np.array([self.values(x) for x in X])
        Phi = np.array([self.features(psi) for psi in values])
        if not self.classifies:
            self.mean, self.spread = np.mean(Y), np.std(Y) or 1.0
            self.mean_square_slope, self.begun = 0.0, len(X)  # the slopes so far had another unit
        targets = (Y - self.mean) / self.spread
        if choose:
            last = self.constants.choose_up_to
            self.alpha = self.unit * self.chosen_alpha(Phi[-last:], targets[-last:])
        if len(X) == self.buffer:
            self.alpha = min(self.alpha, self.unit * self.constants.alpha_rounds / len(X))
        self.fit_w(Phi, targets, self.unit * np.maximum(weights, self.constants.tiny))
        if self.follow:
            self.centre = values[:, :m].mean(axis=0)
            size = np.sqrt(np.mean(np.sum((values[:, :m] - self.centre) ** 2, axis=1)))
            self.follow_factor = 1.0 / size if size > 1e-12 else 0.0
            self.follower = np.zeros(self.w.shape)
            for psi, target in zip(values, targets, strict=True):
                centred = self.follower_features(psi)
                self.follower = self.made_right(self.follower, centred, target)

    @staticmethod
    def median_distance(Z):
        """Root of the median squared distance; of the mean one if most rows are alike."""
        squares = [np.sum((a - b) ** 2) for i, a in enumerate(Z) for b in Z[:i]]
        return np.sqrt(np.median(squares)) or np.sqrt(np.mean(squares)) or 1.0

    def chosen_alpha(self, Phi, targets):
        errors = []
        for alpha in self.constants.alphas:
            f = leave_one_out(Phi, np.eye(Phi.shape[1]), targets, alpha)
            if self.classifies:
                errors.append(np.mean(np.maximum(0.0, 1.0 - targets * f) ** 2))
            else:
                errors.append(np.mean((targets - f) ** 2))
        n, usual = len(Phi), self.constants.usual_alpha
        best = self.constants.alphas[int(np.argmin(errors))]
        share = n / (n + self.constants.convincing)
        return np.exp(share * np.log(best) + (1.0 - share) * np.log(usual))

    def fit_w(self, Phi, targets, h):
        """Ridge regression on all rows; for one classifier once more on those with a loss.

        Only one classifier has rows without a loss: several share A.
        """
        self.ridge_regression(Phi, targets, h)
        if self.classifies and self.n_outputs == 1:
            lost = targets[:, 0] * (Phi @ self.w)[:, 0] < 1.0
            if lost.any():
                self.ridge_regression(Phi[lost], targets[lost], h[lost])

    def ridge_regression(self, Phi, targets, h):
        self.A = self.alpha * np.eye(Phi.shape[1]) + Phi.T @ (h[:, None] * Phi)
        self.w = np.linalg.solve(self.A, Phi.T @ (h[:, None] * targets))

    def lower_alpha(self, rounds):
        """Hold alpha below alpha_rounds / rounds, if that makes it much smaller."""
        target = self.unit * self.constants.alpha_rounds / rounds
        if target > self.alpha / self.constants.step_down:
            return
        right = self.A @ self.w
        self.A = self.A - (self.alpha - target) * np.eye(len(self.A))
        self.w = np.linalg.solve(self.A, right)
        self.alpha = target
        self.lowerings.append(self.rounds_ever)


def independent_rows(K, tolerance):
    """Greedily choose the row farthest from the span of those chosen, until none is far.

    What a row has beyond the span is its Schur complement, of the kernel matrix of all rows.
    """
    chosen, beyond = [], K.copy()
    while beyond.diagonal().max() > tolerance * K.diagonal().max():
        i = int(np.argmax(beyond.diagonal()))
        chosen.append(i)
        beyond = beyond - np.outer(beyond[:, i], beyond[i]) / beyond[i, i]
        beyond[i], beyond[:, i] = 0.0, 0.0
    return chosen
