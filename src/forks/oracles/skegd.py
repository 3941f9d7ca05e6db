"""SkeGD: Zhang and Liao, "Incremental randomized sketching for online kernel learning", 2019.

Symbols are those of `forks.oracles.forks`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forks.oracles.decompositions import feature_matrix, svd_rank_k
from forks.oracles.expansion import expansion, kernel_values, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Loss


def skegd(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    loss: Loss,
    *,
    buffer: int,
    n_landmarks: int,
    rank: int,
    update_cycle: int,
    eta: float,
    step_size: float,
    on_update: str,
    sketch_points: str,
    cut: float,
    sjlt_row: Callable[[int], Vector],
    choose_landmarks: Callable[[int, int], NDArray[np.int64]],
    weights: ArrayLike | None = None,
) -> tuple[Vector, list[int]]:
    """SkeGD: KOGD into a buffer, then w <- w - step_size slope phi on a sketched map.

    Every update_cycle-th round with loss (T0 mod rho = 1) brings its point into the sketches and
    decomposes Phi_pp anew. on_update "point": w = f phi / |phi|^2 with the round's score f; "keep":
    w as it is, in coordinates whose axes V point as near to the old ones as their signs allow.
    sketch_points "growing" or "buffer". Returns the scores and the rows of the updates.
    """
    n = len(X)
    c = row_weights(n, weights)
    points: list[Vector] = []
    alphas: list[float] = []
    updates: list[int] = []
    scores = np.zeros(n)
    S_p = Phi_pm = Phi_pp = V = Z = L = np.zeros((0, 0))
    w = np.zeros(0)
    T0 = 0
    switched = False

    def new_map(V_old: Matrix | None) -> tuple[Matrix, Matrix]:
        _, sigma, V = svd_rank_k(Phi_pp, rank)
        if V_old is not None:
            V = V * np.where(np.sum(V * V_old, axis=0) < 0.0, -1.0, 1.0)
        return V, feature_matrix(Phi_pm, V, sigma, cut)

    for t in range(n):
        x = X[t]
        if not switched:
            f = expansion(points, alphas, x, kernel)
        else:
            phi = Z.T @ kernel_values(L, x, kernel)
            f = float(w @ phi)
        scores[t] = f
        s = float(c[t] * loss.slope(f, y[t]))
        if s == 0.0:
            continue
        T0 += 1
        if not switched and len(points) < buffer:
            points.append(x)
            alphas.append(-eta * s)
            continue
        if not switched:
            B = np.array(points)
            K = kernel(B, B)
            S_p = np.array([sjlt_row(i) for i in range(buffer)], dtype=float)
            chosen = np.asarray(choose_landmarks(buffer, n_landmarks))
            L = B[chosen]
            Phi_pm, Phi_pp = S_p.T @ K[:, chosen], S_p.T @ K @ S_p
            V, Z = new_map(None)
            phi = Z.T @ kernel_values(L, x, kernel)
            w = f * phi / (phi @ phi)
            switched = True
        elif update_cycle > 0 and T0 % update_cycle == 1 % update_cycle:
            s_new = np.asarray(sjlt_row(buffer + len(updates)), dtype=float)
            S_psi = S_p.T @ kernel_values(points, x, kernel)
            Phi_pm = Phi_pm + np.outer(s_new, kernel_values(L, x, kernel))
            Phi_pp = Phi_pp + np.outer(s_new, S_psi) + np.outer(S_psi, s_new)
            Phi_pp = Phi_pp + squared_norm(x, kernel) * np.outer(s_new, s_new)
            if sketch_points == "growing":
                points.append(x)
                S_p = np.vstack([S_p, s_new])
            V, Z = new_map(V)
            phi = Z.T @ kernel_values(L, x, kernel)
            if on_update == "point":
                w = f * phi / (phi @ phi)
            updates.append(t)
        w = w - step_size * s * phi
    return scores, updates
