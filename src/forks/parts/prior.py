"""How large the prior is: chosen by leave-one-out errors, then falling with the number of rounds.

With up to `choose_up_to` rows, alpha is the one of `grid` with the smallest leave-one-out error of
ridge regression (squared hinge of the scores for classes, squared error for numbers), drawn to a
usual value: with n rows it is chosen^s usual^(1 - s), s = n / (n + `convincing`).

A prior that helps on few rows would keep a large stream from its details, so alpha is at most
`rounds` / n after n rounds. Lowering it costs a decomposition, and is done if it makes alpha at
least `step` times smaller.

Alpha is in multiples of a unit, the curvature of the loss at f = 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from forks.engine import Matrix, either


class PriorRule(NamedTuple):
    """Constants of the prior."""

    grid: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
    usual: float = 0.5
    convincing: int = 64
    choose_up_to: int = 256
    rounds: int = 128
    step: float = 4.0


def chosen_alpha(rule: PriorRule, gram: Matrix, targets: Matrix, classifies: bool) -> float:
    """Return the alpha with the smallest leave-one-out error, drawn to the usual one.

    Ridge regression with H = G (G + alpha I)^-1, G the Gram matrix, has the leave-one-out
    residuals (f_i - y_i) / (1 - H_ii).
    """
    n = len(gram)
    grid = np.array(rule.grid)
    values, vectors = eigh(gram, driver="evd" if len(gram) > 1 else None, check_finite=False)
    values = np.maximum(values, 0.0)
    shrink = values / (values + grid[:, None])  # (alphas, n)
    H = (shrink @ (vectors**2).T)[:, :, None]  # (alphas, n, 1)
    f = vectors @ (shrink[:, :, None] * (vectors.T @ targets))  # (alphas, n, outputs)
    sound = H.max(axis=(1, 2)) < 1.0  # rounding: beside huge rows an alpha may be lost
    H[~sound] = 0.0
    f = (f - H * targets) / (1.0 - H)
    missing = np.maximum(1.0 - targets * f, 0.0) if classifies else targets - f
    errors = np.where(sound, np.mean(missing**2, axis=(1, 2)), np.inf)
    share = n / (n + rule.convincing)
    best = grid[int(np.argmin(errors))]
    return float(best**share * rule.usual ** (1.0 - share))


@either
def most_alpha(rule: PriorRule, unit: float, rounds: int) -> float:
    """Return the largest alpha after so many rounds."""
    return unit * rule.rounds / rounds


@either
def is_to_be_lowered(rule: PriorRule, alpha: float, target: float) -> bool:
    """Return whether `target` is so much smaller that lowering alpha is worth its cost."""
    return rule.step * target <= alpha
