"""PROS-N-KONS: Calandriello, Lazaric, Valko, "Efficient second-order online kernel learning with
adaptive embedding", 2017.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forks.oracles.expansion import kernel_values, row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.kors import kors_leverage
from forks.oracles.losses import Loss
from forks.oracles.newton import newton_projection


def pros_n_kons(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    loss: Loss,
    uniform: Callable[[], float],
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
    weights: ArrayLike | None = None,
) -> tuple[Vector, NDArray[np.int64]]:
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
    c = row_weights(n, weights)
    points: list[Vector] = []
    s: list[float] = []
    to_features = np.zeros((0, 0))
    w, A, g = np.zeros(0), np.zeros((0, 0)), np.zeros(0)
    scores, sizes = np.zeros(n), np.zeros(n, int)
    for t in range(n):
        sizes[t] = len(points)
        phi = to_features @ kernel_values(points, X[t], kernel) if points else np.zeros(0)
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
