"""Columns that copy the label: most often the answer itself, which later rows will not have.

A column copies classes if each of its values stands for one class, and each class for one value;
it copies the numbers of a regression if it is a multiple of them. Cells and labels that agree only
because a value comes once, or because nearly all labels are the same, do not speak for a copy.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from forks.features.table.cells import CellError, floats_of, is_missing, key_of

_LOOK = 10_000  # rows that are looked at
_SAMPLE = 500  # rows that most columns are told apart by
_SPEAK = 30  # labels that must speak for a copy
_OTHERWISE = 0.01  # of those that do: how many may speak against it
_EXACT = 1e-9  # relative difference of numbers that are the same


def copies_of_label(table: Mapping[str, np.ndarray], y: Any, task: str) -> list[str]:
    """Return the columns that copy the label.

    Parameters
    ----------
    table : mapping of names to arrays
        The columns of the first rows.
    y : array of shape (n_rows,)
        Their labels; None or NaN for rows without one.
    task : {"classification", "regression"}
        What the labels are.
    """
    y = np.asarray(y)[:_LOOK]
    head = {name: cells[:_LOOK] for name, cells in table.items()}
    if task == "regression":
        labels = floats_of("label", y)
        return [name for name, cells in head.items() if _is_multiple(_numbers(name, cells), labels)]
    known = [i for i, label in enumerate(y.tolist()) if not is_missing(label)]
    classes = [key_of(y[i]) for i in known]
    speaking = _speaking(classes)
    if speaking < _SPEAK:
        return []
    most = int(_OTHERWISE * speaking)
    return [name for name, cells in head.items() if _renames(cells, known, classes, most)]


def _speaking(labels: Sequence[Hashable]) -> int:
    """Return how many labels repeat an earlier one, but for those that come most."""
    times = sorted(Counter(labels).values())
    return sum(n - 1 for n in times[:-1])


def _renames(cells: np.ndarray, known: list[int], classes: list[str], most: int) -> bool:
    """Return whether the cells of rows that have a class name the classes, but for `most` rows."""
    step = max(1, len(known) // _SAMPLE)
    return all(
        _against(cells[known[::every]], classes[::every]) <= most
        for every in ((step, 1) if step > 1 else (1,))
    )


def _against(cells: np.ndarray, classes: list[str]) -> int:
    """Return how many rows speak against a copy.

    Their class is not the most frequent of their value, or their value not that of their class.
    """
    values: list[Hashable] = cells.tolist()
    if cells.dtype.kind not in "biu" and (cells.dtype.kind != "f" or np.isnan(cells).any()):
        values = list(map(key_of, values))
    pairs = Counter(zip(classes, values, strict=True))
    of_class: dict[str, Hashable] = {}
    of_value: dict[Hashable, str] = {}
    for (label, value), _ in pairs.most_common():
        of_class.setdefault(label, value)
        of_value.setdefault(value, label)
    return sum(
        n
        for (label, value), n in pairs.items()
        if of_class[label] != value or of_value[value] != label
    )


def _numbers(name: str, cells: np.ndarray) -> Any:
    try:
        return floats_of(name, cells)
    except CellError:
        return None


def _is_multiple(values: Any, labels: Any) -> bool:
    """Return whether numbers are labels times a factor, where both are known."""
    if values is None:
        return False
    known = ~np.isnan(values) & ~np.isnan(labels)
    values, labels = values[known], labels[known]
    speaking = labels != 0.0
    if not speaking.any():
        return False
    common = Counter(labels.tolist()).most_common(1)[0][0]
    factor = float(np.median(values[speaking] / labels[speaking]))
    speaking &= labels != common
    if factor == 0.0 or speaking.sum() < _SPEAK or len(np.unique(labels[speaking])) < 3:
        return False
    apart = np.abs(values - factor * labels) > _EXACT * np.abs(factor * labels)
    return bool(apart.sum() <= _OTHERWISE * speaking.sum())
