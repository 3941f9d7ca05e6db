"""The outputs of a classifier when it meets another class.

Two classes have one output f, whose targets are +1 for the second class and -1 for the first (and
-1 for the only class of a stream that has shown no other): f is the score of the second class, and
-f that of the first. More classes have an output each. So what was learned of the old classes
stays as it is, in outputs that are f, -f, or the same as before.

Of a new class it is known that none of the rows so far was of it: its targets were -1. Its output
is 0 beside two others, the larger of which is at least that; beside k > 2 others it is their sum
divided by k - 2, which is -1 where they say +1 of one class and -1 of the rest. Learners with a
bias set it to -1.

`sources` has, for each class in its new place, the old place, or -1 for a new class.
"""

from typing import Any

import numpy as np

from forks.engine.axes import arrays_of
from forks.engine.memory import arrays_in
from forks.engine.types import Matrix

NEW = -1
_UNITS_OF_SCORES = ("targets", "base", "answers")  # which of a new class are -1


def count_outputs(n_classes: int) -> int:
    """Return how many outputs so many classes have."""
    return 1 if n_classes <= 2 else n_classes


def combinations(n_old: int, sources: tuple[int, ...]) -> Matrix:
    """Return the factors of the old outputs (columns) in the new ones (rows)."""
    rows = np.array([_of_class(n_old, source) for source in sources])
    if len(sources) > 2:
        return rows
    return rows[1:] if sources[1] != NEW else -rows[:1]


def _of_class(n_old: int, source: int) -> Matrix:
    if n_old == 1:
        return np.array([(-1.0, 1.0, 0.0)[source]])
    row = np.zeros(n_old)
    row[slice(None) if source == NEW else source] = 1.0 / (n_old - 2) if source == NEW else 1.0
    return row


def targets_for(targets: Matrix, sources: tuple[int, ...]) -> Matrix:
    """Return targets of rows that were seen before the new classes."""
    made = targets @ combinations(targets.shape[1], sources).T
    _set_new(made, 1, sources, -1.0)
    return made


def fill_outputs(old: Any, new: Any, sources: tuple[int, ...], alike: tuple[str, ...]) -> None:
    """Fill all arrays of a state along the axis of outputs from one with the old outputs.

    Those that are `alike` for an output and its negative, and integers, are copies; of a new class
    they are those of the last old one.
    """
    state_class: Any = type(old)
    both = zip(arrays_in(old), arrays_in(new), strict=True)
    for array, (before, after) in zip(arrays_of(state_class), both, strict=True):
        if "outputs" not in array.axes:
            continue
        axis, name = array.axes.index("outputs"), array.name.split(".")[-1]
        n_old = before.shape[axis]
        if array.kind is int or name in alike:
            places = [source % n_old for source in sources][: after.shape[axis]]
            after[...] = np.take(before, places, axis=axis)
            continue
        mixed = np.tensordot(combinations(n_old, sources), before, axes=(1, axis))
        after[...] = np.moveaxis(mixed, 0, axis)
        if name in _UNITS_OF_SCORES:
            _set_new(after, axis, sources, -1.0)


def _set_new(array: Any, axis: int, sources: tuple[int, ...], value: float) -> None:
    if len(sources) > 2:
        places = [o for o, source in enumerate(sources) if source == NEW]
        np.moveaxis(array, axis, 0)[places] = value
