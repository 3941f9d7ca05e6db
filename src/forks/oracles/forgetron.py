"""Forgetron: Dekel, Shalev-Shwartz, Singer, "The Forgetron: a kernel-based perceptron on a
budget", 2008. The paper has k(x, x) <= 1 and writes 1 for it.
"""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, is_mistake, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector


def forgetron(
    X: Matrix, y: Vector, kernel: Kernel, budget: int, root: str, weights: ArrayLike | None = None
) -> tuple[Vector, Vector, float]:
    """Forgetron: append, shrink by phi, drop the oldest. Returns scores, all phi and Q.

    phi is the largest number in (0, 1] with Q + Psi(phi) <= 15/32 M, where Psi(phi) =
    (delta phi)^2 k(x_1, x_1) + 2 delta phi (1 - phi mu). Psi(0) = 0 is within the bound, so if
    Psi(1) is not, the bound is met at exactly one phi between.

    root "lsokl": the larger root where the quadratic opens downwards; M counts wrong answers.
    """
    points: list[Vector] = []
    labels: list[float] = []
    sizes: list[float] = []
    scores, shrinkings = [], []
    M, Q = 0, 0.0
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, np.array(labels) * np.array(sizes), x, kernel)
        scores.append(f)
        if c == 0.0 or label * f > 0.0:
            continue
        M += 1 if root == "published" else int(is_mistake(f, label))
        points, labels, sizes = [*points, x], [*labels, label], [*sizes, c]
        if len(points) <= budget:
            continue
        oldest, delta = points[0], sizes[0]
        mu = labels[0] * expansion(points, np.array(labels) * np.array(sizes), oldest, kernel)
        psi = np.poly1d(
            [delta**2 * squared_norm(oldest, kernel) - 2.0 * delta * mu, 2.0 * delta, 0.0]
        )
        bound = 15.0 / 32.0 * M - Q
        phi = 1.0
        if psi(1.0) > bound:
            roots = np.real((psi - bound).roots)
            if root == "lsokl" and psi.order == 2 and psi.coeffs[0] < 0.0:
                phi = max(roots)
            else:
                (phi,) = roots[(roots > 0.0) & (roots < 1.0)]
        Q += psi(phi)
        shrinkings.append(phi)
        points, labels = points[1:], labels[1:]
        sizes = [phi * size for size in sizes[1:]]
    return np.array(scores), np.array(shrinkings), Q
