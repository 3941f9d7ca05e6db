"""Labels of any kind and what learners see of them: targets -1 and +1, and scores."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from forks.typing import Matrix


def targets_for(classes: np.ndarray, y: Any) -> Matrix:
    """Targets that labels stand for, -1 or +1: one column, or one per class for more than two.

    `classes` are sorted.
    """
    check_classification_targets(y)
    index = np.searchsorted(classes, y)
    known = classes[np.minimum(index, classes.shape[0] - 1)] == y
    if not np.all(known):
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(
            f"y[{row}] is {y[row]!r}, which is not among the classes {classes.tolist()}"
        )
    if classes.shape[0] == 2:
        return np.where(index == 1, 1.0, -1.0).reshape(-1, 1)
    targets = np.full((y.shape[0], classes.shape[0]), -1.0)
    targets[np.arange(y.shape[0]), index] = 1.0
    return targets


def labels_for(classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Labels that scores stand for: by the sign of the only one, or the largest of several."""
    index = (scores >= 0.0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
    labels: np.ndarray = classes[index]
    return labels
