"""Newton steps on a linear hypothesis theta'psi, with the inverse P of the sum of curvatures.

With slope g and curvature h of the loss at theta'psi,

    u = P psi,   q = psi'u,   theta <- theta - g / (1 + h q) u,   P <- P - h / (1 + h q) u u'.

P = (alpha Lambda + sum h psi psi')^-1 is shared by all outputs and kept in factors, which stay
positive definite however many rounds there are (`forks.linalg.packed_inverse`). For squared losses
this is recursive least squares, or AROW.

A learner that forgets multiplies P by 1 + `rate` before each round, so that a row of n rounds ago
counts exp(-n rate): recursive least squares with exponential forgetting. In directions that no row
has had for long, P would grow without end, theta would follow the noise, and the first row that has
them again would get an absurd score; so the diagonal of P's factors grows up to a bound only.

References: Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", 2004; Crammer,
Kulesza, Dredze, "Adaptive regularization of weight vectors", 2009.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Matrix, finite, njit
from forks.linalg import spd, triangles
from forks.linalg.packed_inverse import PackedInverse, add, root, set_root
from forks.linalg.vectors import add_multiple

MOST_VARIANCE = 1e5  # up to which P's diagonal factor grows by forgetting


class Newton(NamedTuple):
    """Weights, and the inverse of their precision."""

    theta: Annotated[Matrix, "outputs", "width"]  # of whole blocks
    earlier: Annotated[Matrix, "outputs", "width"]  # theta as it was when it was kept
    P: Annotated[PackedInverse, "n = width"]


@njit
def newton_step(newton, psi, u, g, h, weight, total):
    """Take the step with slopes g, whose sum of squares is `total`; return whether it is finite.

    `u` is scratch. A step that is not finite leaves theta as it was, and P if that is the fault of
    the slopes; where psi'P psi overflows P has some of the change, and remains positive definite.
    """
    if not finite(weight * math.sqrt(total)):
        return False
    grown = 1.0 + h * add(newton.P, h, psi, u)
    if not finite(grown):
        return False
    for o in range(newton.theta.shape[0]):
        if g[o] != 0.0:
            add_multiple(newton.theta[o][: u.shape[0]], u, -weight * g[o] / grown)
    return True


@njit
def keep_weights(newton):
    """Keep theta as it is now, to see later how it would have done without learning since."""
    for o in range(newton.theta.shape[0]):
        for i in range(newton.theta.shape[1]):
            newton.earlier[o, i] = newton.theta[o, i]


@njit
def forget(newton, n, rate):
    """Multiply P by 1 + rate, n rows and columns of it, but for what is beyond the bound then."""
    d = newton.P.d
    for i in range(n):
        d[i] = max(d[i], min((1.0 + rate) * d[i], MOST_VARIANCE))


def set_solution(newton: Newton, w: Matrix, B: Matrix, L: Matrix) -> None:
    """Set theta and P from a solution in whitened features.

    The first m features have the prior L L', the rest the identity; w (W, n_outputs) are the
    weights for features L^-1 psi, and B the Cholesky factor of their precision, which is
    overwritten.
    """
    m, width = len(L), len(w)
    newton.theta[:] = 0.0
    newton.theta[:, :width] = w.T
    if m > 0:
        newton.theta[:, :m] = spd.solve_upper(L, w[:m]).T
        B[:m, :m] = triangles.times(L, B[:m, :m])
    newton.earlier[:] = newton.theta  # the features may be others than before
    set_root(newton.P, triangles.invert(B))


def lower_prior(newton: Newton, width: int, L: Matrix, delta: float) -> None:
    """Subtract delta Lambda from A = P^-1, Lambda = diag(L L', I); theta becomes A'^-1 A theta.

    So theta remains the solution for all rows, with the smaller prior. With P = R'R, A - delta
    Lambda is R^-1 (I - V V') R'^-1 for V = sqrt(delta) R diag(L, I). Raises LinAlgError, changing
    nothing, if that is not positive definite.
    """
    m = len(L)
    R, theta = root(newton.P, width), newton.theta[:, :width]
    V, drawn = R.copy(), theta.copy()  # drawn = Lambda theta
    if m > 0:
        V[:m, :m] = triangles.times(R[:m, :m], L)
        V[m:, :m] = spd.times_lower(R[m:, :m], L)
        drawn[:, :m] = (theta[:, :m] @ L) @ L.T
    V *= math.sqrt(delta)
    left = triangles.add_squares(np.eye(width), V, -1.0)
    R = triangles.solve(spd.factorise(left), R)
    theta += delta * (drawn @ R.T) @ R
    set_root(newton.P, R)


def insert_weights(newton: Newton, old: Newton, at: int, n: int, variance: float) -> None:
    """Insert n weights of prior `variance` before the last one, weight `at`.

    `newton` has room for them, and the weights of `old` as its first.
    """
    insert_zeros(newton.theta, at, n)
    insert_zeros(newton.earlier, at, n)
    before = root(old.P, at + 1)
    R = np.zeros((at + n + 1, at + n + 1))
    R[:at, :at] = before[:-1, :-1]
    R[-1, :at], R[-1, -1] = before[-1, :-1], before[-1, -1]
    inserted = np.arange(at, at + n)
    R[inserted, inserted] = math.sqrt(variance)
    set_root(newton.P, R)


def insert_zeros(weights: Matrix, at: int, n: int) -> None:
    """Move column `at`, the last in use, by n places, and set those to 0."""
    weights[:, at + n] = weights[:, at]
    weights[:, at : at + n] = 0.0
