"""What most methods share: kernel expansions, mistakes, and the weights of rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.kernels import Kernel, Matrix, Vector


def expansion(
    points: Sequence[Vector], alphas: Sequence[float] | Vector, x: Vector, kernel: Kernel
) -> float:
    """f(x) = sum_i alpha_i k(x_i, x), 0 when there is no point."""
    if not len(points):
        return 0.0
    return float(np.array(alphas) @ kernel_values(points, x, kernel))


def kernel_values(points: Sequence[Vector] | Matrix, x: Vector, kernel: Kernel) -> Vector:
    """Psi = [k(x_1, x), ..., k(x_n, x)]'."""
    return kernel(np.array(points), x[None, :])[:, 0]


def squared_norm(x: Vector, kernel: Kernel) -> float:
    """k(x, x), the squared norm of the feature of x."""
    return float(kernel(x[None, :], x[None, :])[0, 0])


def is_mistake(f: float, y: float) -> bool:
    """Is the answer to the score f wrong? A score of zero answers +1."""
    return bool((f >= 0.0) != (y > 0.0))


def row_weights(n: int, weights: ArrayLike | None) -> Vector:
    """Return the weights of n rows, 1 each if none are given. Rows of weight 0 are only scored."""
    return np.ones(n) if weights is None else np.asarray(weights, dtype=float)
