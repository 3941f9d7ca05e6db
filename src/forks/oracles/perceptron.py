"""The kernel perceptron and the passive-aggressive learner PA-I, both without a budget."""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, is_mistake, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector


def perceptron(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    zero_is_wrong: bool = False,
    weights: ArrayLike | None = None,
) -> Vector:
    """Kernel perceptron: a mistake adds (x, y), nothing leaves. Returns the scores.

    With `zero_is_wrong` a score of zero is a mistake for y = +1 too, as in papers that ask for
    y f > 0.
    """
    points: list[Vector] = []
    alphas: list[float] = []
    scores = []
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, alphas, x, kernel)
        scores.append(f)
        if c != 0.0 and (label * f <= 0.0 if zero_is_wrong else is_mistake(f, label)):
            points.append(x)
            alphas.append(c * label)
    return np.array(scores)


def passive_aggressive(
    X: Matrix, y: Vector, kernel: Kernel, C: float, weights: ArrayLike | None = None
) -> Vector:
    """PA-I without a budget: l = 1 - y f > 0 adds (x, y min(C, l / k(x, x)))."""
    points: list[Vector] = []
    alphas: list[float] = []
    scores = []
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, alphas, x, kernel)
        scores.append(f)
        loss = max(0.0, 1.0 - label * f)
        if c != 0.0 and loss > 0.0:
            points.append(x)
            alphas.append(label * min(c * C, loss / squared_norm(x, kernel)))
    return np.array(scores)
