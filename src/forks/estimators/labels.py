"""Labels of any kind, and what learners see of them: codes, targets -1 and +1, and scores."""

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


class Labels(NamedTuple):
    """The labels of a classifier.

    The code of a label is its place in `classes`. Two classes have one output, whose target is +1
    for the second one, and a score of at least 0 answers the second one. More classes have an
    output each, and the largest score answers.
    """

    classes: np.ndarray

    @classmethod
    def known_from(cls, y: Any, classes: Any = None) -> "Labels":
        """Return the labels that were given as `classes`, or those in y."""
        if classes is None:
            check_classification_targets(y)
        return cls(np.unique(y if classes is None else np.asarray(classes)))

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def codes_of(self, y: Any) -> np.ndarray:
        """Check labels and return their codes; `classes` must be sorted."""
        check_classification_targets(y)
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        known = self.classes[codes] == y
        if not np.all(known):
            row = int(np.flatnonzero(~known)[0])
            raise UnknownLabelError(row, y[row], self.classes)
        return codes

    def targets_of(self, y: Any) -> Matrix:
        """Check labels and return the targets they stand for: one column per output."""
        codes = self.codes_of(y)
        if self.n_outputs == 1:
            return np.where(codes == 1, 1.0, -1.0).reshape(-1, 1)
        targets = np.full((len(codes), len(self.classes)), -1.0)
        targets[np.arange(len(codes)), codes] = 1.0
        return targets

    @staticmethod
    def answers(scores: np.ndarray) -> np.ndarray:
        """Return the codes that scores answer."""
        return (scores >= 0.0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that scores answer."""
        return self.classes[self.answers(scores)]

    def is_mistake(self, scores: np.ndarray, y: Any) -> np.ndarray:
        """Return which scores answer another label than the right one."""
        return np.asarray(self.labels_of(scores) != y)

    def check_same(self, classes: Any) -> None:
        """Raise an error if `classes` are given and are others."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes):
            raise ValueError(
                f"classes must be those of the first call, {self.classes.tolist()}, "
                f"got {np.unique(classes).tolist()}"
            )


def class_probabilities(positive: Matrix) -> Matrix:
    """Return the probability of each class, given those of +1 for each output.

    Several outputs have a yes-or-no probability each; they are scaled to sum to one.
    """
    if positive.shape[1] == 1:
        return np.hstack([1.0 - positive, positive])
    sums = positive.sum(axis=1, keepdims=True)
    even = np.full_like(positive, 1.0 / positive.shape[1])
    return np.divide(positive, sums, out=even, where=sums > 0.0)


class ClassCounts(NamedTuple):
    """Rows of each class so far, after each row of a call: an interrupt may come at any of them."""

    learned: int  # rows before the call
    table: Matrix  # (1 + rows of the call, classes)  after 0, 1, ... rows of it

    def after(self, learned: int) -> Vector:
        """Return the counts when so many rows had been learned; the last ones if that is later."""
        return self.table[min(learned - self.learned, len(self.table) - 1)]
