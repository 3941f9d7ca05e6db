"""Keys as users give them: strings or whole numbers, one for each row."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from forks.features.table.cells import is_missing

LONGEST = 1000  # characters of a key
_LARGEST = 2**63
_SHOWN = 40  # characters of a key in an error

Key = Hashable  # a str or an int


def checked_keys(keys: Any) -> list[Any]:
    """Return keys as Python's strings and integers, or raise an error that names the row."""
    given = _listed(keys)
    kinds = set(map(type, given))
    if _all_are_fine(given, kinds):  # the usual case, in C: about 20 ns a key
        return given
    if kinds - {str, int}:
        given = [_plain(row, key) for row, key in enumerate(given)]
    for row, key in enumerate(given):
        fault = key_fault(key)
        if fault is not None:
            raise ValueError(f"keys[{row}] {fault}")
    return given


def _all_are_fine(keys: list[Any], kinds: set[type]) -> bool:
    if kinds == {str}:
        sizes = set(map(len, keys))
        return 0 not in sizes and max(sizes) <= LONGEST
    return kinds == {int} and min(keys) >= -_LARGEST and max(keys) < _LARGEST


def _listed(keys: Any) -> list[Any]:
    if isinstance(keys, str | bytes) or not hasattr(keys, "__len__"):
        raise ValueError(f"keys must be a sequence with one key for each row, got {keys!r:.80}")
    if getattr(keys, "ndim", 1) != 1:
        raise ValueError(f"keys must have one dimension, got the shape {keys.shape}")
    for way in ("to_list", "tolist"):
        if hasattr(keys, way):
            return list(getattr(keys, way)())
    return list(keys)


def _plain(row: int, key: Any) -> Any:
    """Return a key of NumPy as Python's; raise an error for one that is missing."""
    if isinstance(key, np.str_):
        return str(key)
    if isinstance(key, np.integer):
        return int(key)
    if is_missing(key):
        raise ValueError(f"keys[{row}] is missing ({key!r}): every row needs a key")
    return key


def checked_key(cell: Any) -> tuple[Any, str | None]:
    """Return the key that the cell of a table stands for, and what is wrong with it, or None.

    Whole numbers may come as floats, as they do in columns with gaps.
    """
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return cell, "is missing" if is_missing(cell) else key_fault(cell)


def key_fault(key: Any) -> str | None:
    """Return what is wrong with a key, after "the key"; None if nothing is."""
    if type(key) is str:
        if not key:
            return "is an empty string: every row needs a key"
        if len(key) > LONGEST:
            return (
                f"has {len(key):,} characters ({key[:_SHOWN]!r}...), and at most {LONGEST:,} are "
                "allowed"
            )
        return None
    if type(key) is not int:
        return f"is {key!r:.80}, of type {type(key).__name__}: keys are strings or integers"
    return None if -_LARGEST <= key < _LARGEST else "is an integer of more than 64 bits"
