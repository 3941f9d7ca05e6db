"""All figures of a classifier, over a stream and over its last rows."""

from itertools import groupby
from typing import Any

import numpy as np

from forks.evaluate.measures.answers import Answers
from forks.evaluate.measures.probabilities import Probabilities
from forks.evaluate.measures.ranks import Ranks
from forks.evaluate.measures.repeats import Repeats

_FEW = 512  # rows: fewer are put off, since every update costs the same


class ClassificationMeasures:
    """Accuracy, balanced accuracy, F1, kappa, AUC, log loss, Brier score, and lines to beat.

    One pass, bounded memory, and no bit depends on how the stream is cut into chunks. Labels that
    are not among the classes become classes.

    Parameters
    ----------
    classes : array
        The labels that are known beforehand.
    window : int
        Rows of the figures whose names begin with "recent_".
    delay : int
        The label of a row comes when so many further rows have been predicted: the last label
        that can be repeated is older by as many.

    Examples
    --------
    >>> from forks.evaluate import ClassificationMeasures
    >>> measures = ClassificationMeasures(["no", "yes"])
    >>> measures.update(["no", "yes", "yes", "no"], ["no", "yes", "no", "no"])
    >>> figures = measures.figures()
    >>> figures["accuracy"], figures["balanced_accuracy"], figures["last_label_mistake_rate"]
    (0.75, 0.75, 0.75)
    >>> measures.confusion.tolist()
    [[2, 0], [1, 1]]
    """

    def __init__(self, classes: Any, window: int = 1000, delay: int = 0) -> None:
        self.classes = np.unique(classes)
        n = len(self.classes)
        self.answers = Answers(n, window)
        self.repeats = Repeats(window, delay + 1)
        self.probabilities = Probabilities(window)
        self.ranks = Ranks(n, window)
        self._waiting: list[tuple[Any, ...]] = []
        self._n_waiting = 0

    def update(
        self,
        y: Any,
        answers: Any,
        scores: Any = None,
        probabilities: Any = None,
        columns: Any = None,
    ) -> None:
        """Count the next rows.

        Parameters
        ----------
        y, answers : array of shape (n_rows,)
            Labels, and what was answered.
        scores : array of shape (n_rows,) or (n_rows, n_classes), optional
            As `decision_function` returns them; AUC is made from them if there are no
            probabilities.
        probabilities : array of shape (n_rows, n_classes), optional
            As `predict_proba` returns them.
        columns : array of shape (n_classes,), optional
            The sorted labels that the columns stand for; by default all that are known.
        """
        y, answers = np.array(y), np.array(answers)
        columns = self.classes if columns is None else np.asarray(columns)
        self._waiting.append((y, answers, scores, probabilities, columns))
        self._n_waiting += len(y)
        if self._n_waiting >= _FEW:
            self._settle()

    def _settle(self) -> None:
        """Count the rows that were put off."""
        waiting, self._waiting, self._n_waiting = self._waiting, [], 0
        for _, alike in groupby(waiting, key=_form):
            *parts, columns = zip(*alike, strict=True)
            y, answers, scores, probabilities = map(_joined, parts)
            self._count(y, answers, scores, probabilities, columns[0])

    def _count(
        self, y: np.ndarray, answers: np.ndarray, scores: Any, probabilities: Any, columns: Any
    ) -> None:
        labels, places = self._codes(y), self._codes(np.asarray(columns))
        if (labels < 0).any() or (places < 0).any():
            self.grow(np.concatenate([np.unique(y[labels < 0]), columns[places < 0]]))
            labels, places = self._codes(y), self._codes(columns)
        self.answers.update(labels, self._codes(answers))
        self.repeats.update(labels)
        if probabilities is not None:
            alone = len(columns) == 1  # the only class of a stream so far is certain
            known = np.ones((len(y), 1)) if alone else np.asarray(probabilities)
            known = self._spread(known, places, 0.0)
            self.probabilities.update(labels, known)
            self._rank(labels, known, True)
        elif scores is not None:
            known = self._spread(_scores_of_columns(scores, len(columns)), places, -np.inf)
            self._rank(labels, known, False)

    def _rank(self, labels: np.ndarray, values: np.ndarray, of_probabilities: bool) -> None:
        ranked = values[:, 1:] if len(self.classes) == 2 else values
        self.ranks.update(labels, ranked, of_probabilities)

    def _spread(self, values: np.ndarray, places: np.ndarray, blank: float) -> np.ndarray:
        """Return columns for all classes, `blank` for those that have none."""
        if len(places) == len(self.classes):
            return values
        spread = np.full((len(values), len(self.classes)), blank)
        spread[:, places] = values
        return spread

    def _codes(self, labels: np.ndarray) -> np.ndarray:
        """Return the places of labels among the classes, -1 for those that are not there."""
        if labels.dtype.kind == "O":
            known = {label: code for code, label in enumerate(self.classes.tolist())}
            return np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
        if len(self.classes) == 2:
            second = labels == self.classes[1]
            known = second | (labels == self.classes[0])
            return second.astype(np.int64) if known.all() else np.where(known, second, -1)
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        return np.where(self.classes[codes] == labels, codes, -1)

    def grow(self, classes: Any) -> None:
        """Make room for labels that were not known before.

        Parameters
        ----------
        classes : array
            The labels; those that are known already are left out.
        """
        before = self.classes
        self.classes = np.unique(np.concatenate([before, np.asarray(classes)]))
        places = np.searchsorted(self.classes, before)
        n = len(self.classes)
        if n > len(before):
            self.answers.grow(places, n)
            self.repeats.grow(places)
            self.ranks.grow(places, n)

    @property
    def confusion(self) -> np.ndarray:
        """Rows of each label (first axis) that were answered with each class; up to 100 classes."""
        self._settle()
        return self.answers.matrix

    @property
    def recent_confusion(self) -> np.ndarray:
        """The same for the last rows."""
        self._settle()
        return self.answers.recent_matrix()

    def figures(self) -> dict[str, float]:
        """Return all figures by name, nan where there is none; see the guide for what each is."""
        self._settle()
        rates = self.answers.figures()
        repeats = self.repeats.figures(rates["accuracy"], rates["recent_accuracy"])
        probabilities = self.probabilities.figures(len(self.classes))
        return rates | repeats | probabilities | self.ranks.figures()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`."""
        self._settle()
        parts = (self.answers, self.repeats, self.probabilities, self.ranks)
        return {name: array for part in parts for name, array in part.arrays().items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned, for the same classes.

        Parameters
        ----------
        arrays : dict of arrays
        """
        for part in (self.answers, self.repeats, self.probabilities, self.ranks):
            part.restore(arrays)


def _scores_of_columns(scores: Any, n_columns: int) -> np.ndarray:
    """Return scores, a column each: two classes, and the only one so far, share one."""
    scores = np.asarray(scores, np.float64)
    return np.column_stack([-scores, scores])[:, :n_columns] if scores.ndim == 1 else scores


def _form(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what rows that are counted together have in common."""
    y, answers, scores, probabilities, columns = rows
    kinds = (y.dtype.kind, answers.dtype.kind, np.ndim(scores), probabilities is None)
    return (*kinds, scores is None, len(columns))


def _joined(parts: Any) -> Any:
    if parts[0] is None:
        return None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
