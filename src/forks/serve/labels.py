"""Labels as JSON has them: text, booleans or numbers, and never a mixture."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any

import numpy as np

_MOST_CLASSES = 20  # numbers that are taken for classes
_LONGEST = 200  # characters of a label: an array of labels has room for the longest in each row
_OFTEN = 3  # times that each of them comes, on average


class LabelError(ValueError):
    """A label that cannot be learned; `row` is counted from 0, `fault` says what is wrong."""

    def __init__(self, row: int, fault: str) -> None:
        super().__init__(f"label {row + 1} {fault}")
        self.row, self.fault = row, f"the label {fault}"


class LabelKind(StrEnum):
    """What the labels of a model are."""

    TEXT = "text"
    BOOL = "bool"
    NUMBER = "number"

    @classmethod
    def of_classes(cls, classes: np.ndarray | None) -> "LabelKind":
        """Return the kind of the classes of an estimator; None stands for a regression."""
        kinds = {"b": cls.BOOL, "U": cls.TEXT, "O": cls.TEXT}
        return cls.NUMBER if classes is None else kinds.get(classes.dtype.kind, cls.NUMBER)

    def task(self, labels: list[Any]) -> str:
        """Return the task that the first labels speak for, as `forks run` does."""
        if self is not LabelKind.NUMBER:
            return "classification"
        values = set(labels)
        few = len(values) <= _MOST_CLASSES and (
            len(values) <= 2 or len(values) * _OFTEN <= len(labels)
        )
        return "classification" if few and all(v == round(v) for v in values) else "regression"

    def array(self, labels: list[Any]) -> np.ndarray:
        """Return labels for an estimator."""
        if self is LabelKind.NUMBER:
            return np.array(labels, dtype=np.float64)
        return np.array(labels, dtype=bool if self is LabelKind.BOOL else str)


def kind_of_labels(labels: list[Any], known: LabelKind | None = None) -> LabelKind:
    """Return the kind of all labels, that of the first one unless one is known; else an error."""
    kind = known
    if {*map(type, labels)} == {str} and kind in (None, LabelKind.TEXT):
        return LabelKind.TEXT
    for i, label in enumerate(labels):
        this = _kind_of(label)
        if this is None:
            raise LabelError(i, f"must be text, a boolean or a number, got {label!r}")
        if kind is not None and this is not kind:
            fault = f"is {label!r}, a {this}, but the labels of this model are {kind}s"
            raise LabelError(i, fault)
        kind = this
    return kind or LabelKind.NUMBER


def check_lengths(labels: list[str]) -> None:
    """Raise `LabelError` if one of the labels, which are text, is too long."""
    if labels and max(map(len, labels)) > _LONGEST:
        row = next(i for i, label in enumerate(labels) if len(label) > _LONGEST)
        n = len(labels[row])
        raise LabelError(row, f"has {n:,} characters, but may have {_LONGEST}")


def check_number(labels: list[Any], known: Collection[Any], most: int) -> None:
    """Raise `LabelError` if the labels are more different ones, with those known, than `most`."""
    if len(known) + len(labels) <= most:
        return
    new = set(labels).difference(known)
    if not new or len(known) + len(new) <= most:
        return
    seen = set(known)
    for i, label in enumerate(labels):
        if label not in seen and len(seen) >= most:
            raise LabelError(i, f"is {label!r}, one more than the {most} that the model may have")
        seen.add(label)


def _kind_of(label: Any) -> LabelKind | None:
    if isinstance(label, bool):
        return LabelKind.BOOL
    if isinstance(label, str):
        return LabelKind.TEXT
    if isinstance(label, int | float) and np.isfinite(label):
        return LabelKind.NUMBER
    return None
