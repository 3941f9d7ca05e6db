"""What first-order learners share whose hypothesis is linear in explicit features, f = w'phi."""

from forks._jit import njit
from forks.learners._expansion import finite_or_zero
from forks.linalg.vectors import add_multiple, dot, stays_finite
from forks.losses import slope


@njit
def linear_scores(w, phi, out):
    """Write w'phi, one per output."""
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(w[o], phi, phi.shape[0]))


@njit
def has_loss(loss, y, weight, out):
    """Has any output a non-zero slope at its score?"""
    for o in range(out.shape[0]):
        if weight * slope(loss, out[o], y[o]) != 0.0:
            return True
    return False


@njit
def linear_step(loss, step_size, w, phi, y, weight, out):
    """W <- w - step_size l' phi, per output; return how many steps would not have been finite."""
    refused = 0
    for o in range(out.shape[0]):
        change = -step_size * weight * slope(loss, out[o], y[o])
        if change != 0.0:
            if stays_finite(w[o], phi, change):
                add_multiple(w[o], phi, change)
            else:
                refused += 1
    return refused
