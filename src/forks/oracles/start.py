"""When the adaptive learner makes its fits, and the ridge regression that they are."""

import numpy as np

from forks.oracles.kernels import Matrix, Vector

FIRST = 4  # rows; then twice as many, and so on below the buffer


def next_event(rounds: int, buffer: int, early: bool = True) -> int:
    """Return 4, 8, 16, ..., and the buffer: the first of them after so many rounds."""
    if rounds < buffer and not early:
        return buffer
    due = [FIRST]
    while due[-1] <= rounds:
        due.append(2 * due[-1])
    return min(d for d in [*due, buffer] if d > rounds)


def ridge_fit(Phi: Matrix, y: Matrix, h: Vector, alpha: float) -> tuple[Matrix, Matrix]:
    """Return w and A = alpha I + sum_i h_i phi_i phi_i', w = A^-1 sum_i h_i phi_i y_i'."""
    A = alpha * np.eye(Phi.shape[1]) + Phi.T @ (h[:, None] * Phi)
    return np.linalg.solve(A, Phi.T @ (h[:, None] * y)), A


def squared_hinge_fit(Phi: Matrix, y: Matrix, h: Vector, alpha: float) -> tuple[Matrix, Matrix]:
    """Fit all rows, and once more those with a loss, y f < 1, if there are any."""
    w, A = ridge_fit(Phi, y, h, alpha)
    lost = (y * (Phi @ w))[:, 0] < 1.0
    return ridge_fit(Phi[lost], y[lost], h[lost], alpha) if lost.any() else (w, A)
