"""FOGD: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", 2016."""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import row_weights
from forks.oracles.kernels import Matrix, Vector
from forks.oracles.losses import Loss


def fogd(
    X: Matrix,
    y: Vector,
    frequencies: Matrix,
    bandwidth: float,
    loss: Loss,
    eta: float,
    weights: ArrayLike | None = None,
) -> Vector:
    """Online gradient descent on random Fourier features; `frequencies` has one in each column.

    phi = [cos(U'x / bandwidth); sin(U'x / bandwidth)] / sqrt(D), f = w'phi, w <- w - eta s phi
    with s = weight * slope(f, y). Returns the scores.
    """
    n, D = len(X), frequencies.shape[1]
    c = row_weights(n, weights)
    w = np.zeros(2 * D)
    scores = np.zeros(n)
    for t in range(n):
        angles = frequencies.T @ X[t] / bandwidth
        phi = np.concatenate([np.cos(angles), np.sin(angles)]) / np.sqrt(D)
        scores[t] = w @ phi
        w = w - eta * c[t] * loss.slope(scores[t], y[t]) * phi
    return scores
