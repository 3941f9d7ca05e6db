"""KORS: the leverage scores by which PROS-N-KONS and SKETCHED-KONS sample."""

import numpy as np

from forks.oracles.kernels import Matrix, Vector


def kors_leverage(K: Matrix, s: Vector, epsilon: float, ridge: float) -> float:
    """Tau of the last point, with K over the dictionary and that point, s its weights, last 1.

    tau = (1 + epsilon) / ridge (k_tt - kbar'(Kbar + ridge I)^-1 kbar), Kbar = diag(s) K diag(s)
    and kbar its last column.
    """
    Kbar = np.diag(s) @ K @ np.diag(s)
    kbar = Kbar[:, -1]
    inverse = np.linalg.inv(Kbar + ridge * np.eye(len(K)))
    return float((1.0 + epsilon) / ridge * (K[-1, -1] - kbar @ inverse @ kbar))
