"""RBP: Cavallanti, Cesa-Bianchi, Gentile, "Tracking the best hyperplane with a simple budget
perceptron", 2007.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, is_mistake, row_weights
from forks.oracles.kernels import Kernel, Matrix, Vector


def rbp(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    budget: int,
    draw: Callable[[int], int],
    insert_when_full: bool = True,
    weights: ArrayLike | None = None,
) -> Vector:
    """Random budget perceptron. Returns the scores.

    draw(n) returns the place of the point that leaves, below n. The new point takes its place;
    without `insert_when_full` the last one does.
    """
    points: list[Vector] = []
    alphas: list[float] = []
    scores = []
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, alphas, x, kernel)
        scores.append(f)
        if c == 0.0 or not is_mistake(f, label):
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
