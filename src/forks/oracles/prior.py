"""The choice of the prior alpha by the exact leave-one-out error of ridge regression."""

import numpy as np

from forks.oracles.kernels import Matrix

ALPHAS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
USUAL_ALPHA = 0.5
CONVINCING = 64  # rows at which the choice counts as much as the usual alpha


def leave_one_out(Psi: Matrix, Lambda: Matrix, targets: Matrix, alpha: float) -> Matrix:
    """Scores of each row by ridge regression on the others, each of them fitted by itself.

    theta minimises sum (theta'psi_j - y_j)^2 + alpha theta'Lambda theta over the rows j other
    than i; the landmarks stay, whichever row they came from.
    """
    A, b = alpha * Lambda + Psi.T @ Psi, Psi.T @ targets
    scores = np.empty(targets.shape)
    for i, psi in enumerate(Psi):
        theta = np.linalg.solve(A - np.outer(psi, psi), b - np.outer(psi, targets[i]))
        scores[i] = psi @ theta
    return scores


def chosen_alpha(Psi: Matrix, Lambda: Matrix, targets: Matrix, classifies: bool) -> float:
    """The alpha of the smallest error, drawn to the usual one: the more so the fewer rows.

    The error is the squared hinge of the scores for classes, else the squared error.
    """
    errors = []
    for alpha in ALPHAS:
        f = leave_one_out(Psi, Lambda, targets, alpha)
        if classifies:
            errors.append(np.mean(np.maximum(0.0, 1.0 - targets * f) ** 2))
        else:
            errors.append(np.mean((targets - f) ** 2))
    n = len(Psi)
    best = ALPHAS[int(np.argmin(errors))]
    share = n / (n + CONVINCING)
    return float(np.exp(share * np.log(best) + (1.0 - share) * np.log(USUAL_ALPHA)))
