"""Gradient steps that stay within bounds, for the first-order learners and for stage one.

A step f <- f - eta l'(f(x), y) k(x, .) changes the score of its own row by -eta l' k(x, x). Where
the loss is curved, l'' > 0, the slope at the new score is about (1 - eta l'' k(x, x)) l': steps
with eta l'' k(x, x) > 2 answer each error with a larger one, and the numbers overflow within a
hundred rounds. That happens to the squared losses only, with large sample weights (factors of
eta) or with unbounded kernels of unscaled rows. Such a step is held at the one that brings the
slope to zero, -l' / (l'' k(x, x)); all others are as published.

What still leaves its bounds, with weights or targets beyond 1e100, say, is left out and counted,
or starts anew (see `is_harmless`).
"""

from forks.engine import njit
from forks.losses import curvature, slope

LARGEST = 1e150  # of coefficients and weights: their products with features are finite
_DIVERGING = 2.0


@njit
def is_curved(loss, y, weight, out):
    """Return whether any output has a curved loss, so that `gradient_step` needs k(x, x)."""
    for o in range(out.shape[0]):
        if weight * curvature(loss, out[o], y[o]) != 0.0:
            return True
    return False


@njit
def gradient_step(loss, eta, weight, f, y, square):
    """Return -eta weight l'(f, y), held where steps would diverge; `square` is k(x, x)."""
    gradient = weight * slope(loss, f, y)
    bend = square * curvature(loss, f, y)
    if eta * weight * bend > _DIVERGING:
        return -slope(loss, f, y) / bend
    return -eta * gradient


@njit
def is_harmless(loss, eta, weight, y, square, length):
    """Would a learner that starts anew, with a score of zero, take this row's step?

    If so, a step that overflows is due to what was learned, else to the row. `length` is
    the size of what the step is a multiple of.
    """
    return abs(gradient_step(loss, eta, weight, 0.0, y, square)) * length <= LARGEST
