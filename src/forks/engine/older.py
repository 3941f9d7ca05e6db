"""Memories in files of other versions, whose learners kept other arrays.

A file says which arrays a memory has, in their order, a line each: ``newton.theta float 2``, say.
From these lines and the table of the memory its arrays are found again by name, whatever the state
class is by now. Neither is trusted.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from forks.engine.axes import arrays_of
from forks.engine.memory import Memory, arrays_in, layout_of, viewer

Lines = list[str]
_KINDS = {kind.__name__: kind for kind in (float, int)}
_MOST_DIMENSIONS = 3


class _Stored(NamedTuple):
    name: str
    kind: type
    ndim: int


def describe(state_class: type) -> Lines:
    """Return the arrays of a state class, a line each."""
    return [f"{array.name} {array.kind.__name__} {array.ndim}" for array in arrays_of(state_class)]


def stored_arrays(memory: Memory, candidates: Iterable[Lines]) -> dict[str, np.ndarray] | None:
    """Return the arrays of a memory by name, as the first lines that fit say; None if none do."""
    for lines in candidates:
        arrays = [_parsed(line) for line in lines]
        shapes = _claimed_shapes(memory, arrays)
        if shapes is not None:
            table, n_floats, n_ints = layout_of(arrays, shapes)
            sizes = memory.floats.shape, memory.ints.shape
            if sizes == ((n_floats,), (n_ints,)) and memory.ints[: len(table)].tolist() == table:
                return {
                    array.name: _array(memory, array, start, shapes[array.name])
                    for array, start in zip(arrays, table[::4], strict=True)
                }
    return None


def _parsed(line: str) -> _Stored:
    name, kind, ndim = line.split(" ")
    if kind not in _KINDS or ndim not in "0123" or len(ndim) != 1:
        raise ValueError(f"a memory cannot have the array {line!r}")
    return _Stored(name, _KINDS[kind], int(ndim))


def _claimed_shapes(memory: Memory, arrays: list[_Stored]) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes that the table of a memory claims; None if there can be none."""
    floats, ints = memory
    fits = floats.dtype == np.float64 and ints.dtype == np.int64 and floats.ndim == ints.ndim == 1
    if not fits or ints.size < 4 * len(arrays) or len({a.name for a in arrays}) < len(arrays):
        return None
    lengths = ints[: 4 * len(arrays)].reshape(-1, 1 + _MOST_DIMENSIONS)[:, 1:]
    if lengths.size and lengths.min() < 0:
        return None
    return {a.name: tuple(row[: a.ndim]) for a, row in zip(arrays, lengths.tolist(), strict=True)}


def _array(memory: Memory, array: _Stored, start: int, shape: tuple[int, ...]) -> np.ndarray:
    flat = memory.floats if array.kind is float else memory.ints
    return flat[start : start + math.prod(shape)].reshape(shape)


def is_much_too_small(memory: Memory, needed: Iterable[int]) -> bool:
    """Return whether a memory has less than half of the floats, or integers, that are needed.

    Then it is not that of a learner which has changed a little, and as much is not to be reserved.
    """
    return any(2 * array.size < least for array, least in zip(memory, needed, strict=True))


def take_over(memory: Memory, state_class: type, stored: Mapping[str, np.ndarray]) -> set[str]:
    """Copy arrays into a memory that has just begun; return the names of those that were not there.

    Of an array of another shape what both have is copied.
    """
    missing = set()
    view: Any = viewer(state_class)(memory)
    for array, new in zip(arrays_of(state_class), arrays_in(view), strict=True):
        old = stored.get(array.name)
        if old is None or old.ndim != new.ndim or old.dtype != new.dtype:
            missing.add(array.name)
        else:
            common = tuple(map(slice, map(min, old.shape, new.shape)))
            new[common] = old[common]
    return missing
