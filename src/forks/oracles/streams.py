"""The adversarial stream of the FORKS paper, section 5.2."""

from collections.abc import Sequence

import numpy as np

from forks.oracles.kernels import Matrix, Vector


def adversarial(
    X: Matrix, y: Vector, order: Sequence[int], n_blocks: int, repeats: int
) -> tuple[Matrix, Vector]:
    """Block j = 1, 2, ... repeats point order[j - 1]; labels flip in even blocks."""
    rows, labels = [], []
    for j in range(1, n_blocks + 1):
        i = order[j - 1]
        sign = -1 if j % 2 == 0 else 1
        for _ in range(repeats):
            rows.append(X[i])
            labels.append(sign * y[i])
    return np.array(rows), np.array(labels)
