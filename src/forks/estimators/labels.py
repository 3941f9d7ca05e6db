"""Labels of any kind, and what learners see of them: codes, targets -1 and +1, and scores."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from forks.engine import Matrix, Vector
from forks.engine.outputs import count_outputs


class UnknownLabelError(ValueError):
    """A label that is not among the classes: `label`, in the row `row` of y, counted from 0."""

    def __init__(self, row: int, label: Any, classes: np.ndarray) -> None:
        super().__init__(row, label, classes)
        self.row, self.label, self.classes = row, label, classes

    def __str__(self) -> str:
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        classes = self.classes.tolist()
        return f"y[{self.row}] is {label!r}, which is not among the classes {classes}"


class Labels(NamedTuple):
    """The labels of a classifier.

    The code of a label is its place in `classes`. Two classes have one output, whose target is +1
    for the second one, and a score of at least 0 answers the second one. So has the only class of
    a stream that has shown no other yet; its target is -1. More classes have an output each, and
    the largest score answers.
    """

    classes: np.ndarray  # sorted
    given: bool = False  # are there no others? If not, further ones may come with later rows

    @classmethod
    def known_from(cls, y: Any, classes: Any = None) -> "Labels":
        """Return the labels that were given as `classes`, or those in y."""
        if classes is not None:
            return cls(np.unique(np.asarray(classes)), True)
        check_labels(y)
        return cls(np.unique(y))

    @property
    def n_outputs(self) -> int:
        """How many scores a row has."""
        return count_outputs(len(self.classes))

    # ---- classes that come late --------------------------------------------------------------

    def arrivals(self, y: Any) -> "list[tuple[slice, Labels]]":
        """Return parts of a chunk, and the labels that are known in each: all that it has.

        A part begins with the first row of each new class, so that it does not matter how a stream
        is cut into chunks. If the classes were given there are no new ones.
        """
        new = [] if self.given else self._first_rows_of_others(y)
        parts, labels = [], self
        for start, stop in pairwise([0, *new, len(y)]):
            if start in new:
                labels = labels._with(y[start])
            if start < stop:
                parts.append((slice(start, stop), labels))
        return parts

    def _first_rows_of_others(self, y: Any) -> list[int]:
        check_labels(y)
        if self._codes_of_two(y) is not None:
            return []
        values, rows = np.unique(y, return_index=True)
        others = sorted(rows[~np.isin(values, self.classes)].tolist())
        for row in others:
            if np.asarray(y[row]).dtype.kind not in _ALIKE[self.classes.dtype.kind]:
                raise UnknownLabelError(row, y[row], self.classes)
        return others

    def _with(self, label: Any) -> "Labels":
        more = np.array([label], dtype=object if self.classes.dtype.kind == "O" else None)
        return Labels(np.unique(np.concatenate([self.classes, more])))

    def sources_in(self, old: "Labels") -> tuple[int, ...]:
        """Return the place of each class among old ones, -1 for those that are new."""
        places = {label: place for place, label in enumerate(old.classes.tolist())}
        return tuple(places.get(label, -1) for label in self.classes.tolist())

    def expanded(self, scores: np.ndarray, old: "Labels") -> np.ndarray:
        """Return scores of old classes with columns for those that came later.

        These are -1, or as small as the smallest of the row: they do not answer.
        """
        if len(self.classes) == len(old.classes):
            return scores
        if old.n_outputs == 1:
            scores = np.stack([-scores, scores], axis=1)[:, : len(old.classes)]
        sources = self.sources_in(old)
        if len(sources) == 2:
            return scores[:, 0] if sources[0] < 0 else -scores[:, 0]
        least = np.minimum(scores.min(axis=1), -1.0)
        return np.stack([least if s < 0 else scores[:, s] for s in sources], axis=1)

    # ---- labels, codes, targets, scores --------------------------------------------------------

    def codes_of(self, y: Any) -> np.ndarray:
        """Check labels and return their codes."""
        check_labels(y)
        of_two = self._codes_of_two(y)
        if of_two is not None:
            return of_two
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        known = self.classes[codes] == y
        if not np.all(known):
            row = int(np.flatnonzero(~known)[0])
            raise UnknownLabelError(row, y[row], self.classes)
        return codes

    def _codes_of_two(self, y: Any) -> np.ndarray | None:
        """Return the codes of labels that are of two classes; None if there are others.

        To sort labels or to search for them takes several times as long as to compare them.
        """
        kind = self.classes.dtype.kind
        if len(self.classes) != 2 or kind == "O" or y.dtype.kind != kind:
            return None
        second = y == self.classes[1]
        return second.astype(np.intp) if np.all(second | (y == self.classes[0])) else None

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
        return self.classes[np.minimum(self.answers(scores), len(self.classes) - 1)]

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


# Kinds of arrays that further labels may have, by the kind of the classes.
_ALIKE = {"b": "b", "i": "iuf", "u": "iuf", "f": "iuf", "U": "U", "S": "S", "O": "OU"}


def check_labels(y: Any) -> None:
    """Raise an error if labels are no classes, or one is missing."""
    if y.ndim == 1 and y.dtype.kind in "biuUS":  # scikit-learn would take longer than learning
        return
    if y.dtype.kind == "O":
        check_present(y.tolist())
    check_classification_targets(y)


def check_present(labels: Iterable[Any]) -> None:
    """Raise an error if a label is missing: None, NaN, NaT or pandas' NA."""
    for row, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(f"y[{row}] is {label!r}: rows without a label cannot be learned")


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # of pandas' NA, which has no truth
        return type(label).__name__ == "NAType"


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

    def for_classes(self, sources: tuple[int, ...]) -> "ClassCounts":
        """Return the counts of other classes, of which new ones had no rows."""
        columns = [self.table[:, s] if s >= 0 else np.zeros(len(self.table)) for s in sources]
        return ClassCounts(self.learned, np.stack(columns, axis=1))
