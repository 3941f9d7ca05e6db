"""What first-order learners share whose hypothesis is linear in explicit features, f = w'phi."""

from forks.engine import njit
from forks.linalg.vectors import add_multiple, clear, dot, l1_norm
from forks.losses import slope
from forks.parts.expansion import finite_or_zero
from forks.parts.gradient import LARGEST, gradient_step, is_curved, is_harmless


@njit
def linear_scores(w, phi, out):
    """Write w'phi, one per output."""
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(w[o], phi, phi.shape[0]))


@njit
def has_loss(loss, y, weight, out):
    """Return whether any output has a non-zero slope at its score."""
    for o in range(out.shape[0]):
        if weight * slope(loss, out[o], y[o]) != 0.0:
            return True
    return False


@njit
def linear_step(loss, step_size, w, phi, y, weight, out):
    """w <- w - step_size l' phi, per output; return how many steps were left out, or mended."""
    mends, n = 0, phi.shape[0]
    square = dot(phi, phi, n) if is_curved(loss, y, weight, out) else 0.0
    for o in range(out.shape[0]):
        change = gradient_step(loss, step_size, weight, out[o], y[o], square)
        if change != 0.0:
            length = l1_norm(phi, n)
            if l1_norm(w[o], n) + abs(change) * length <= LARGEST:  # false for NaN
                add_multiple(w[o], phi, change)
            else:
                mends += 1
                if is_harmless(loss, step_size, weight, y[o], square, length):
                    clear(w[o])
                    start = gradient_step(loss, step_size, weight, 0.0, y[o], square)
                    add_multiple(w[o], phi, start)
    return mends
