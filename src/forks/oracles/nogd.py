"""NOGD: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", 2016."""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import kernel_values, row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Loss


def nogd(
    X: Matrix,
    Y: Matrix,
    kernel: Kernel,
    loss: Loss,
    *,
    budget: int,
    rank: int,
    eta: float,
    step_size: float,
    cut: float,
    weights: ArrayLike | None = None,
) -> Matrix:
    """Nystrom online gradient descent; Y has a column for each output.

    Until `budget` points are stored: KOGD, a point joining if any output has a slope. The next
    round with a slope switches, K = V D V' with the `rank` largest eigenvalues, of which those
    up to cut times the largest are dropped:

        phi(x) = D^(-1/2) V' k(x),   w = D^(1/2) V' alpha,   f = w'phi,

    and learns, like all that follow: w <- w - step_size * weight * slope * phi. The slope of the
    round of the switch is that of its score, which stage one made. Returns the scores.
    """
    n = len(X)
    c = row_weights(n, weights)
    points: list[Vector] = []
    alphas: list[Vector] = []
    to_features: Matrix | None = None
    w = np.zeros((0, 0))
    scores = np.zeros(Y.shape)
    for t in range(n):
        if points:
            k = kernel_values(points, X[t], kernel)
            if to_features is None:
                scores[t] = np.array(alphas).T @ k
            else:
                scores[t] = w.T @ (to_features @ k)
        s = np.asarray(c[t] * loss.slope(scores[t], Y[t]))
        if not s.any():
            continue
        if len(points) < budget:
            points.append(X[t])
            alphas.append(-eta * s)
            continue
        if to_features is None:
            values, vectors = np.linalg.eigh(kernel(np.array(points), np.array(points)))
            kept = (np.arange(budget) >= budget - rank) & (values > cut * values[-1])
            D, V = values[kept], vectors[:, kept]
            to_features = np.diag(D**-0.5) @ V.T
            w = np.diag(D**0.5) @ V.T @ np.array(alphas)
        w = w - step_size * np.outer(to_features @ k, s)
    return scores
