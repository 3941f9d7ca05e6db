"""Labels as targets: the numbers whose means are taken for each value of a category.

The target of a regression is the number itself. Of two classes it is whether the label is the
second one; of more there is one target for each, or for the sixteen that come most among the first
rows.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.features.table.cells import floats_of, key_of

MOST_CLASSES = 16
_ROOM = 8  # targets, if the first rows do not tell how many classes there are


@dataclass
class Targets:
    """How labels become targets."""

    task: str  # "classification" or "regression"
    n: int
    classes: list[str]  # of each target, or of those to which one has been given so far

    @classmethod
    def of_first(cls, task: str, y: Any) -> "Targets":
        """Return the targets that the first labels call for; there may be none."""
        if task == "regression":
            return cls(task, 1, [])
        times = Counter([] if y is None else map(key_of, y.tolist()))
        del times[""]
        classes = sorted(times)
        if len(classes) == 2:
            return cls(task, 1, classes[1:])
        if len(classes) < 2:
            return cls(task, _ROOM, classes)
        most = sorted(classes, key=lambda label: -times[label])[:MOST_CLASSES]
        return cls(task, len(most), sorted(most))

    def __post_init__(self) -> None:
        self.classes = self.classes[: self.n]

    def names(self) -> list[str]:
        """Return what the targets are called."""
        if self.task == "regression":
            return ["mean"]
        unknown = [f"class {k + 1}" for k in range(len(self.classes), self.n)]
        return [f"share of {name}" for name in [*self.classes, *unknown]]

    def read(self, y: Any) -> Any:
        """Return labels, checked: numbers or texts."""
        if y is None:
            return None
        if self.task == "regression":
            return floats_of("y", y)
        labels = y.tolist()
        if y.dtype.kind not in "biufU":  # 1 and True are two labels, but one key of a dict
            return [key_of(label) for label in labels]
        keys = {label: key_of(label) for label in {*labels}}
        return [keys[label] for label in labels]

    def of(self, labels: Any, n_rows: int) -> Matrix:
        """Return the targets of labels that were read, NaN for rows without one.

        New classes get a target each as long as there are some.
        """
        targets = np.full((n_rows, self.n), np.nan)
        if labels is None:
            return targets
        if self.task == "regression":
            targets[:, 0] = labels
            return targets
        for label in dict.fromkeys(labels):
            if label and label not in self.classes and len(self.classes) < self.n:
                self.classes.append(label)
        place = {label: k for k, label in enumerate(self.classes)}
        place[""] = -2
        codes = np.array([place.get(label, -1) for label in labels])
        targets[codes != -2] = 0.0
        shown = np.flatnonzero(codes >= 0)
        targets[shown, codes[shown]] = 1.0
        return targets
