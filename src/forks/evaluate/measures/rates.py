"""Figures of a classification that follow from three counts of each class.

`right` has the rows that were answered rightly, by class; `labels` the rows whose label is that
class; `answers` the rows that were answered with it. Rows without an answer are in `labels` only.
"""

import numpy as np

from forks.evaluate.measures.recent import divided


def accuracy(right: np.ndarray, labels: np.ndarray, answers: np.ndarray) -> float:
    """Return the share of right answers."""
    del answers
    return divided(right.sum(), labels.sum())


def balanced_accuracy(right: np.ndarray, labels: np.ndarray, answers: np.ndarray) -> float:
    """Return the mean over the classes that occurred of the share of right answers in each."""
    del answers
    there = labels > 0
    return divided((right[there] / labels[there]).sum(), np.count_nonzero(there))


def f1(right: np.ndarray, labels: np.ndarray, answers: np.ndarray) -> float:
    """Return F1 of the second of two classes, or the mean over classes if there are more.

    Classes that were neither a label nor an answer do not count.
    """
    there = labels + answers > 0
    if len(labels) == 2:
        return divided(2 * right[1], labels[1] + answers[1]) if there[1] else 0.0
    each = 2.0 * right[there] / (labels + answers)[there]
    return divided(each.sum(), len(each))


def kappa(right: np.ndarray, labels: np.ndarray, answers: np.ndarray) -> float:
    """Return Cohen's kappa: 0 for answers by chance with the same shares, 1 for right ones."""
    n = float(labels.sum())
    chance = divided(float(labels.astype(float) @ answers.astype(float)), n * n)
    return divided(accuracy(right, labels, answers) - chance, 1.0 - chance)


def majority_mistake_rate(right: np.ndarray, labels: np.ndarray, answers: np.ndarray) -> float:
    """Return the mistakes of always answering the class that turned out most frequent."""
    del right, answers
    n = labels.sum()
    return divided(n - labels.max(initial=0), n)


RATES = (accuracy, balanced_accuracy, f1, kappa, majority_mistake_rate)
