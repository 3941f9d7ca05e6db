"""How answers and labels fall together: counts of classes, and the confusion matrix."""

import math

import numpy as np

from forks.evaluate.measures.rates import RATES
from forks.evaluate.measures.recent import Recent

MOST_IN_MATRIX = 100  # classes: beyond, there is no confusion matrix


class Answers:
    """Counts of labels, answers and right answers; all rates follow from them.

    Classes are codes from 0 on; an answer that is no class has the code -1.
    """

    def __init__(self, n_classes: int, window: int) -> None:
        self.counts = np.zeros((3, n_classes), np.int64)  # right, labels, answers
        self.matrix = np.zeros((n_classes, n_classes), np.int64)
        self.recent = Recent(window, np.zeros((0, 2), np.int32))  # codes of label and answer
        self._fit_matrix()

    def _fit_matrix(self) -> None:
        if self.counts.shape[1] > MOST_IN_MATRIX:
            self.matrix = np.zeros((0, 0), np.int64)

    def update(self, labels: np.ndarray, answers: np.ndarray) -> None:
        """Count the next rows."""
        n_classes = self.counts.shape[1]
        if len(self.matrix):
            pairs = labels * (n_classes + 1) + answers + 1
            table = np.bincount(pairs, minlength=n_classes * (n_classes + 1))
            table = table.reshape(n_classes, n_classes + 1)
            self.matrix += table[:, 1:]
            self.counts += [np.diagonal(table, 1), table.sum(axis=1), table[:, 1:].sum(axis=0)]
        else:
            self.counts += _counts(labels, answers, n_classes)
        self.recent.update_columns(labels, answers)

    def grow(self, places: np.ndarray, n_classes: int) -> None:
        """Make room for classes; `places` are the new codes of the old ones."""
        counts, matrix = self.counts, self.matrix
        self.counts = np.zeros((3, n_classes), np.int64)
        self.counts[:, places] = counts
        if len(matrix):
            self.matrix = np.zeros((n_classes, n_classes), np.int64)
            self.matrix[np.ix_(places, places)] = matrix
        self._fit_matrix()
        codes = self.recent.values
        self.recent.values = np.append(places, -1)[codes].astype(codes.dtype)  # -1 stays

    def figures(self) -> dict[str, float]:
        """Return the rates over all rows, and over the last ones."""
        labels, answers = self.recent.values.T
        recent = _counts(labels, answers, self.counts.shape[1])
        figures = {rate.__name__: rate(*self.counts) for rate in RATES}
        return figures | {f"recent_{rate.__name__}": rate(*recent) for rate in RATES}

    def mistakes(self) -> tuple[int, float]:
        """Return the number of mistakes, and their share in the last rows, nan without any."""
        labels, answers = self.recent.values.T
        recent = float(np.mean(labels != answers)) if len(labels) else math.nan
        return int(self.counts[1].sum() - self.counts[0].sum()), recent

    def recent_matrix(self) -> np.ndarray:
        """Return the confusion matrix of the last rows, of the same shape as that of all."""
        matrix = np.zeros_like(self.matrix)
        if len(matrix):
            labels, answers = self.recent.values[self.recent.values[:, 1] >= 0].T
            np.add.at(matrix, (labels, answers), 1)
        return matrix

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`."""
        return {"counts": self.counts, "matrix": self.matrix, "codes": self.recent.values}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on counting from what `arrays` returned."""
        self.counts, self.matrix = arrays["counts"], arrays["matrix"]
        self.recent.values = arrays["codes"]


def _counts(labels: np.ndarray, answers: np.ndarray, n_classes: int) -> np.ndarray:
    columns = (labels[labels == answers], labels, answers[answers >= 0])
    return np.array([np.bincount(codes, minlength=n_classes) for codes in columns])
