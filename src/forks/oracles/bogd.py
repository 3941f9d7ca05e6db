"""BOGD: Zhao, Wang, Wu, Jin, Hoi, "Fast bounded online gradient descent algorithms for scalable
kernel-based online learning", 2012.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Loss


def bogd(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    loss: Loss,
    *,
    budget: int,
    eta: float,
    regularisation: float,
    largest: float,
    removal: str,
    uniform: Callable[[], float],
    weights: ArrayLike | None = None,
) -> Vector:
    """Bounded online gradient descent; `uniform` draws a number from [0, 1).

    A round of weight 0 is scored only. Any other shrinks all coefficients by 1 - eta lambda. If
    s = weight * slope is not zero, x_t joins with -eta s, held at +-eta gamma; at a full budget
    it takes the place of point i, which was drawn with probability p_i, and the coefficients of
    the others are divided by 1 - p_j. Finally all are scaled by min(1, eta gamma / max |alpha|).
    Returns the scores. lambda is `regularisation`, gamma `largest`; removal is "uniform" or
    "weighted".
    """
    n = len(X)
    c = row_weights(n, weights)
    points: list[Vector] = []
    alphas: list[float] = []
    scores = np.zeros(n)
    for t in range(n):
        scores[t] = expansion(points, alphas, X[t], kernel)
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
            kept = kept_probabilities(points, alphas, kernel, removal)  # 1 - p_i
            i = int(np.searchsorted(np.cumsum(1.0 - kept), uniform(), side="right"))
            if budget > 1:
                alphas = [a if j == i else a / kept[j] for j, a in enumerate(alphas)]
            points[i], alphas[i] = X[t], new
        top = max(abs(alpha) for alpha in alphas)
        alphas = [alpha * min(1.0, eta * largest / top) for alpha in alphas]
    return scores


def kept_probabilities(
    points: list[Vector], alphas: list[float], kernel: Kernel, removal: str
) -> Vector:
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
