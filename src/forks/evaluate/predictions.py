"""Predictions as CSV: row, prediction, scores, probabilities, label, what moved the answer."""

import csv
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from forks.estimators.labels import class_probabilities


def plain(value: Any) -> str:
    """Return a label or a number as text: whole numbers without a point, missing ones empty."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def column(kind: str, label: Any) -> str:
    """Return the name of a class's column, such as score_yes: without blanks."""
    return "_".join([kind, *plain(label).split()])


def probabilities_of(learner: Any, scores: np.ndarray) -> np.ndarray | None:
    """Return the probability of each class that scores stand for, None if they stand for none."""
    positive = learner.probability(scores.reshape(len(scores), -1))
    return None if positive is None else class_probabilities(positive)


class Predictions(NamedTuple):
    """Answers to some rows, as a table."""

    answers: np.ndarray
    scores: np.ndarray | None = None  # (n_rows,) or (n_rows, n_classes); None in regression
    probabilities: np.ndarray | None = None  # (n_rows, n_classes)
    y: np.ndarray | None = None  # labels
    effects: tuple[np.ndarray, np.ndarray] | None = None  # names of features, and effects

    def heading(self, classes: np.ndarray | None) -> str:
        """Return the first line; `classes` are those of a classifier."""
        labels: Any = [] if classes is None else classes
        names = ["score"] if len(labels) == 2 else [column("score", label) for label in labels]
        if self.probabilities is not None:
            names += [column("probability", label) for label in labels]
        if self.y is not None:
            names.append("label")
        most = 0 if self.effects is None else self.effects[0].shape[1]
        names += [f"{kind}_{i + 1}" for i in range(most) for kind in ("feature", "effect")]
        return _lines([["row", "prediction", *names]])

    def with_columns(self, classes: np.ndarray, wanted: Sequence[str]) -> "Predictions":
        """Return them with the columns of a heading that was written for some of the classes.

        `wanted` are those, as text. Classes that came later have no columns of their own.
        """
        places = [[plain(label) for label in classes].index(label) for label in wanted]
        if len(places) == len(classes):
            return self
        scores, probabilities = self.scores, self.probabilities
        if scores is not None:
            by_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            scores = by_class[:, places[1] if len(places) == 2 else places]
        if probabilities is not None:
            probabilities = probabilities[:, places]
        return self._replace(scores=scores, probabilities=probabilities)

    def lines(self, before: int) -> str:
        """Return a line per row; `before` is the number of rows that come before these."""
        columns: list[Iterable[Any]] = [range(before + 1, before + 1 + len(self.answers))]
        columns.append(map(plain, self.answers))
        for numbers in (self.scores, self.probabilities):
            if numbers is not None:
                columns += np.atleast_2d(numbers.T).tolist()
        if self.y is not None:
            columns.append(map(plain, self.y))
        if self.effects is not None:
            for names, values in zip(*(part.T.tolist() for part in self.effects), strict=True):
                columns += [names, values]
        return _lines(zip(*columns, strict=True))

    def records(self, before: int, classes: np.ndarray | None) -> list[dict[str, Any]]:
        """Return a JSON object per row; `before` is the number of rows that come before these."""
        columns: dict[str, list[Any]] = {
            "row": list(range(before + 1, before + 1 + len(self.answers))),
            "prediction": self.answers.tolist(),
        }
        names = [] if classes is None else [plain(label) for label in classes]
        if self.scores is not None:
            by_class = self.scores.ndim == 2
            columns["scores" if by_class else "score"] = (
                _by_class(names, self.scores) if by_class else self.scores.tolist()
            )
        if self.probabilities is not None:
            columns["probabilities"] = _by_class(names, self.probabilities)
        if self.y is not None:
            columns["label"] = [None if y != y else y for y in self.y.tolist()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _by_class(names: list[str], numbers: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(names, row, strict=True)) for row in numbers.tolist()]


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return lines that end in a line feed; cells with that or a carriage return are quoted."""
    lines: list[str] = []
    file = SimpleNamespace(write=lambda line: lines.append(line[:-2] + "\n"))
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return "".join(lines)
