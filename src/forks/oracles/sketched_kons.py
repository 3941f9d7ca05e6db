"""KONS and SKETCHED-KONS: Calandriello, Lazaric, Valko, "Second-order kernel online convex
optimization with adaptive sketching", 2017.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.kors import kors_leverage
from forks.oracles.losses import Loss
from forks.oracles.newton import newton_projection


def kons(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    loss: Loss,
    *,
    alpha: float,
    curvature: float,
    clip: float,
    weights: ArrayLike | None = None,
) -> Vector:
    """KONS, exact: in coordinates of the span of all rows, made from the whole kernel matrix.

    A contains every gradient. Rounds of weight zero leave no trace. Returns the scores.
    """
    Phi = explicit_features(kernel(X, X))
    return sketched_kons_on(Phi, y, loss, alpha, curvature, clip, weights, lambda t, c, past: True)


def sketched_kons(
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
    weights: ArrayLike | None = None,
) -> tuple[Vector, list[int]]:
    """SKETCHED-KONS: A gets the gradient of a round with p = max(gamma, min(beta tau, 1)).

    tau is the KORS estimate of the scaled features c phi with the ridge alpha, members weighing
    1 / sqrt(p) there and 1 in A. Returns the scores and the rounds in A.
    """
    K = kernel(X, X)
    probabilities: list[float] = []
    members: list[int] = []

    def sampled(t: int, scaled: float, past: list[tuple[int, float]]) -> bool:
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

    Phi = explicit_features(K)
    scores = sketched_kons_on(Phi, y, loss, alpha, curvature, clip, weights, sampled)
    return scores, members


def explicit_features(K: Matrix) -> Matrix:
    """Return Phi with Phi Phi' = K: row t is the feature of x_t."""
    D, U = np.linalg.eigh(K)
    kept = 1e-13 * D.max(initial=0.0) < D
    return U[:, kept] * np.sqrt(D[kept])


def sketched_kons_on(
    Phi: Matrix,
    y: Vector,
    loss: Loss,
    alpha: float,
    curvature: float,
    clip: float,
    weights: ArrayLike | None,
    sampled: Callable[[int, float, list[tuple[int, float]]], bool],
) -> Vector:
    """The steps of KONS on explicit features; A gets the gradient of round t if sampled(...).

    sampled(t, c, past) is asked in rounds with a non-zero scaled feature c phi_t,
    c = sqrt(curvature) weight slope; `past` lists the (round, c) that A contains.
    """
    n, k = Phi.shape
    weight = row_weights(n, weights)
    w, A, g = np.zeros(k), alpha * np.eye(k), np.zeros(k)
    past: list[tuple[int, float]] = []
    scores = np.zeros(n)
    for t in range(n):
        projected, scores[t] = newton_projection(w - np.linalg.solve(A, g), A, Phi[t], clip)
        if weight[t] == 0.0:
            continue
        slope = float(weight[t] * loss.slope(scores[t], y[t]))
        w, g = projected, slope * Phi[t]
        scaled = np.sqrt(curvature) * slope
        if scaled != 0.0 and Phi[t].any() and sampled(t, scaled, past):
            A = A + curvature * np.outer(g, g)
            past.append((t, scaled))
    return scores
