"""Labels of any kind and what learners see of them: targets -1 and +1, and scores."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from forks.engine import Matrix, Vector


class UnknownLabelError(ValueError):
    """A label that is not among the classes: `label`, in the row `row` of y, counted from 0."""

    def __init__(self, row: int, label: Any, classes: np.ndarray) -> None:
        super().__init__(row, label, classes)
        self.row, self.label, self.classes = row, label, classes

    def __str__(self) -> str:
        classes = self.classes.tolist()
        return f"y[{self.row}] is {self.label!r}, which is not among the classes {classes}"


def targets_for(classes: np.ndarray, y: Any) -> Matrix:
    """Targets that labels stand for, -1 or +1: one column, or one per class for more than two.

    `classes` are sorted.
    """
    check_classification_targets(y)
    index = np.searchsorted(classes, y)
    known = classes[np.minimum(index, classes.shape[0] - 1)] == y
    if not np.all(known):
        row = int(np.flatnonzero(~known)[0])
        raise UnknownLabelError(row, y[row], classes)
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


class ClassCounts(NamedTuple):
    """Rows of each class so far, of all moments of a call: an interrupt may come at any of them."""

    learned: int  # rows before the call
    table: Matrix  # (1 + rows of the call, classes)  after 0, 1, ... rows of it

    def after(self, learned: int) -> Vector:
        """Return the counts when so many rows had been learned; the last ones if that is later."""
        counts: Vector = self.table[min(learned - self.learned, len(self.table) - 1)]
        return counts
