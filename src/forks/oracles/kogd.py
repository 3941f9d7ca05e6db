"""KOGD: Kivinen, Smola, Williamson, "Online learning with kernels", 2004."""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Loss


def kogd(
    X: Matrix, y: Vector, kernel: Kernel, loss: Loss, eta: float, weights: ArrayLike | None = None
) -> Vector:
    """Kernel online gradient descent, no budget and no regularisation.

    f_t(x) = sum_i alpha_i k(x_i, x); if s = weight * slope(f_t(x_t), y_t) is not zero, x_t joins
    with alpha = -eta s. Returns the scores f_t(x_t).
    """
    n = len(X)
    c = row_weights(n, weights)
    points: list[Vector] = []
    alphas: list[float] = []
    scores = np.zeros(n)
    for t in range(n):
        f = expansion(points, alphas, X[t], kernel)
        scores[t] = f
        s = float(c[t] * loss.slope(f, y[t]))
        if s != 0.0:
            points.append(X[t])
            alphas.append(-eta * s)
    return scores
