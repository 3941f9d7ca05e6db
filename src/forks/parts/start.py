"""A start that learns: when models are fitted to all rows so far, and how.

Fits are made when `first` rows have come, again each time their number has doubled, and when the
buffer is full; later events come with each doubling too: after 4, 8, ..., 128, 250, 256, 512, ...
rounds with a buffer of 250. The first fits are cheap, and before them nearly every row is a guess.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forks.engine import Matrix, Vector
from forks.linalg import spd


class StartRule(NamedTuple):
    """Constants of the start."""

    first: int = 4
    least_weight: float = 1e-5  # of a row in a fit


def next_event(rule: StartRule, rounds: int, buffer: int, early: bool) -> int:
    """Return the number of rounds after which the next event is due."""
    if rounds < buffer and not early:
        return buffer
    due = rule.first
    while due <= rounds:
        due *= 2
    return min(due, buffer) if rounds < buffer else due


def ridge_fit(
    F: Matrix, gram: Matrix, targets: Matrix, h: Vector, alpha: float, one_sided: bool
) -> tuple[Matrix, Matrix]:
    """Fit the squared error, or the squared hinge, by a Newton step: return w and B.

    With the rows F that have a loss, H = diag(h), and a prior alpha I,

        B B' = alpha I + F'H F,   w = (B B')^-1 F'H y.

    `one_sided`: the loss is the squared hinge of one output, and rows without loss are left out.
    Raises LinAlgError if numbers that overflow leave no solution.
    """
    if one_sided:
        lost = _rows_with_loss(F, gram, targets, alpha / h)
        F, h, targets = F[lost], h[lost], targets[lost]
    B = spd.factorise_sum(alpha, F, h)
    w = spd.solve(B, F.T @ (h[:, None] * targets))
    if not np.isfinite(w).all():
        raise np.linalg.LinAlgError("the solution is not finite")
    return w, B


def fit_or_prior(
    F: Matrix, gram: Matrix, targets: Matrix, h: Vector, alpha: float, one_sided: bool
) -> tuple[Matrix, Matrix, bool]:
    """Return the result of `ridge_fit` and True, or the prior alone and False if it has none."""
    try:
        return *ridge_fit(F, gram, targets, h, alpha, one_sided), True
    except np.linalg.LinAlgError:
        w = np.zeros((F.shape[1], targets.shape[1]))
        return w, math.sqrt(alpha) * np.eye(len(w)), False


def _rows_with_loss(F: Matrix, gram: Matrix, targets: Matrix, ridge: Vector) -> NDArray[np.bool_]:
    """Return the rows with y f < 1 in the fit to all rows, or all rows if there are none.

    The fit is made with the smaller system, f = G (G + alpha H^-1)^-1 y, G = F F'; `ridge` is the
    diagonal of alpha H^-1.
    """
    everyone = np.ones(len(gram), bool)
    system = gram.copy()
    system[np.diag_indices_from(system)] += ridge
    try:
        c = spd.solve(spd.factorise(system), targets)
    except np.linalg.LinAlgError:
        return everyone
    lost = (targets * (F @ (F.T @ c)))[:, 0] < 1.0
    return lost if lost.any() else everyone
