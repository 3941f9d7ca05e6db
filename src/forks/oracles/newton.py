"""Newton steps on given features, and the projection of the online Newton step."""

import numpy as np

from forks.oracles.kernels import Matrix, Vector
from forks.oracles.losses import Loss


def dense_ons(
    Phi: Matrix,
    y: Vector,
    loss: Loss,
    alpha: float,
    curvature: float,
    step_size: float,
    curvature_first: bool,
) -> Vector:
    """Online Newton step without projection on the rows of Phi, from w = 0, A = alpha I.

    g = step_size * slope * phi; A includes g before the step w - A^-1 g if curvature_first, else
    after it. Rounds without loss change nothing. Returns the scores w_t'phi_t.
    """
    n, k = Phi.shape
    w, A = np.zeros(k), alpha * np.eye(k)
    scores = np.zeros(n)
    for t in range(n):
        scores[t] = w @ Phi[t]
        s = float(loss.slope(scores[t], y[t]))
        if s == 0.0:
            continue
        g = step_size * s * Phi[t]
        A_next = A + curvature * np.outer(g, g)
        w = w - np.linalg.solve(A_next if curvature_first else A, g)
        A = A_next
    return scores


def newton_projection(
    u: Vector, A: Matrix, phi: Vector, clip: float, damping: float = 0.0
) -> tuple[Vector, float]:
    """W = u - h(phi'u) / (phi'A^-1 phi + damping) A^-1 phi, h(z) = sign(z) max(|z| - C, 0).

    Returns w and its score phi'w, which is C or -C exactly if the projection moves w undamped:
    a hinge has its kink there.
    """
    z = float(phi @ u)
    if abs(z) <= clip:
        return u, z
    direction = np.linalg.solve(A, phi)
    w = u - np.sign(z) * (abs(z) - clip) / (phi @ direction + damping) * direction
    return w, float(phi @ w) if damping else float(np.sign(z)) * clip


def newton_step(
    A: Matrix, w: Matrix, phi: Vector, slopes: Vector, h: float
) -> tuple[Matrix, Matrix]:
    """Return A + h phi phi' and w - A^-1 phi slopes', with the new A: one column per output."""
    A = A + h * np.outer(phi, phi)
    return A, w - np.outer(np.linalg.solve(A, phi), slopes)


def lower_prior(A: Matrix, w: Matrix, Lambda: Matrix, delta: float) -> tuple[Matrix, Matrix]:
    """Return A - delta Lambda, and the w that solves the same equations with it."""
    lowered = A - delta * Lambda
    return lowered, np.linalg.solve(lowered, A @ w)
