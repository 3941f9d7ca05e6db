"""BPA-S: Wang, Vucetic, "Online passive-aggressive algorithms on a budget", 2010."""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, kernel_values, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector


def bpas(
    X: Matrix, y: Vector, kernel: Kernel, budget: int, C: float, weights: ArrayLike | None = None
) -> Vector:
    """BPA-S: with no room left, the new point and its beta take the place of one stored point.

    Of all r and beta, the smallest |f_new - f|^2 / 2 + C max(0, 1 - y f_new(x)), with f_new =
    f - alpha_r k(x_r, .) + beta k(x, .): a convex function of beta with one kink, so its minimum
    is at the kink or where the derivative of one of the two sides vanishes. Returns the scores.
    """
    points: list[Vector] = []
    alphas: list[float] = []
    scores = []
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, alphas, x, kernel)
        scores.append(f)
        loss = max(0.0, 1.0 - label * f)
        if c == 0.0 or loss == 0.0:
            continue
        square = squared_norm(x, kernel)
        if len(points) < budget:
            points.append(x)
            alphas.append(label * min(c * C, loss / square))
            continue
        row = kernel_values(points, x, kernel)
        best = (np.inf, 0, 0.0)
        for r in range(budget):
            alpha, value, own = alphas[r], row[r], squared_norm(points[r], kernel)
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
