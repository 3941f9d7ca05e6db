"""Projectron and Projectron++: Orabona, Keshet, Caputo, "Bounded kernel-based online learning",
2009; here with a budget.
"""

import numpy as np
from numpy.typing import ArrayLike

from forks.oracles.expansion import expansion, is_mistake, kernel_values, row_weights, squared_norm
from forks.oracles.kernels import Kernel, Matrix, Vector


def projectron(
    X: Matrix,
    y: Vector,
    kernel: Kernel,
    budget: int,
    cut: float = 1e-10,
    margin: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Vector, Matrix]:
    """Projectron, and Projectron++ with `margin`. Returns the scores and the stored points.

    d = K_S^-1 k, delta^2 = k(x, x) - k'd. A mistake appends (x, y) if there is room and delta^2
    is above cut k(x, x), else alpha += y d. With `margin`, 0 < y f < 1 adds y tau d if
    tau (2 l - tau P - 2 U delta) >= 0, where l = 1 - y f, P = d'K_S d, tau = min(l / P, 1) and
    U = sqrt((B + 1) / ln(B + 1)) / 4.
    """
    points: list[Vector] = []
    alpha = np.zeros(0)
    scores = []
    U = 0.25 * np.sqrt((budget + 1) / np.log(budget + 1))
    for x, label, c in zip(X, y, row_weights(len(y), weights), strict=True):
        f = expansion(points, alpha, x, kernel)
        scores.append(f)
        wrong = is_mistake(f, label)
        if c == 0.0 or not (wrong or (margin and 0.0 < label * f < 1.0)):
            continue
        d, P = np.zeros(0), 0.0
        if points:
            K = kernel(np.array(points), np.array(points))
            d = np.linalg.solve(K, kernel_values(points, x, kernel))
            P = float(d @ K @ d)
        square = squared_norm(x, kernel)
        delta_squared = square - P
        if wrong and len(points) < budget and delta_squared > cut * square:
            points.append(x)
            alpha = np.append(alpha, c * label)
        elif wrong:
            alpha = alpha + c * label * d
        else:
            loss = 1.0 - label * f
            tau = min(loss / P, 1.0)
            if tau * (2.0 * loss - tau * P - 2.0 * U * np.sqrt(max(delta_squared, 0.0))) >= 0.0:
                alpha = alpha + c * label * tau * d
    return np.array(scores), np.array(points)


def linear_projectron(X: Matrix, y: Vector, budget: int) -> Vector:
    """Projectron for k(x, z) = x'z with its function as a vector w, f(x) = w'x.

    When the budget is full, w grows by y times the projection of x onto the span of the stored
    rows, by least squares. Returns the scores.
    """
    w = np.zeros(X.shape[1])
    rows: list[Vector] = []
    scores = []
    for x, label in zip(X, y, strict=True):
        f = float(w @ x)
        scores.append(f)
        if not is_mistake(f, label):
            continue
        if len(rows) < budget:
            rows.append(x)
            w = w + label * x
        else:
            S = np.array(rows).T
            w = w + label * (S @ np.linalg.lstsq(S, x, rcond=None)[0])
    return np.array(scores)
