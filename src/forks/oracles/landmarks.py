"""The rows that stand for all others, and the unit of their distances."""

import numpy as np

from forks.oracles.kernels import Matrix


def independent_rows(K: Matrix, tolerance: float) -> list[int]:
    """Greedily choose the row farthest from the span of those chosen, until none is far.

    What a row has beyond the span is its Schur complement, of the kernel matrix K of all rows.
    """
    chosen: list[int] = []
    beyond = K.copy()
    while beyond.diagonal().max() > tolerance * K.diagonal().max():
        i = int(np.argmax(beyond.diagonal()))
        chosen.append(i)
        beyond = beyond - np.outer(beyond[:, i], beyond[i]) / beyond[i, i]
        beyond[i], beyond[:, i] = 0.0, 0.0
    return chosen


def median_distance(Z: Matrix) -> float:
    """Root of the median squared distance; of the mean one if most rows are alike."""
    squares = [np.sum((a - b) ** 2) for i, a in enumerate(Z) for b in Z[:i]]
    return float(np.sqrt(np.median(squares)) or np.sqrt(np.mean(squares)) or 1.0)
