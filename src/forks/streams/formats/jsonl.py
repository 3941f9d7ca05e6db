"""JSON lines: an object a line. Objects inside are columns called a.b, lists are text."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from forks.engine.checks import whole
from forks.streams.files import Chunks, Columns, PathLike, StreamError, check_columns, open_text
from forks.streams.formats._format import Format
from forks.streams.formats._numbers import numbers_of


def read_json_lines(
    path: PathLike, *, target: str, features: Sequence[str] | None = None, chunk: int = 10_000
) -> Chunks:
    """Return chunks (X, y) of JSON lines, float64. Every value that is read must be a number.

    Parameters
    ----------
    path, target, features, chunk
        See `read_csv`; columns are keys, by default all of the first chunk.
    """
    whole("chunk", chunk, 1)
    return numbers_of(_columns(path, None, chunk), path, target, features)


def _columns(path: PathLike, names: Sequence[str] | None, chunk: int) -> Columns:
    """Return chunks of columns as arrays of Python's values, None where a key is not there.

    Without names the columns are the keys of the first chunk.
    """
    with open_text(path) as file:
        while rows := file.parsed(chunk, str.strip, read_object):
            there = list(dict.fromkeys(key for row in rows for key in row))
            if names is None:
                names = there
            elif file.row == len(rows):
                check_columns(file.path, names, there)
            if not names:
                raise StreamError(f"{file.path}, row 1: an object without keys")
            yield columns_of(rows, names)


def read_object(text: str | bytes) -> dict[str, Any]:
    """Return the object that a text is, without objects inside, or raise `ValueError`."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:  # whose lines are those of this one text
        raise ValueError(f"not JSON from character {error.pos + 1} on: {error.msg}") from None
    if not isinstance(value, dict):
        raise ValueError("not an object {...}")
    return _flat(value)


def columns_of(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return objects as columns, None or NaN where one does not have a key."""
    return {name: _array([row.get(name) for row in rows]) for name in names}


def _flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return an object without objects inside."""
    if not any(isinstance(inside, dict) for inside in value.values()):
        return {before + key: inside for key, inside in value.items()} if before else value
    found: dict[str, Any] = {}
    for key, inside in value.items():
        found |= (
            _flat(inside, f"{before}{key}.") if isinstance(inside, dict) else {before + key: inside}
        )
    return found


def _array(cells: list[Any]) -> np.ndarray:
    kinds = {type(cell) for cell in cells}
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        try:
            return np.array([math.nan if cell is None else cell for cell in cells], np.float64)
        except OverflowError:
            pass
    array = np.empty(len(cells), object)
    array[:] = [str(cell) if isinstance(cell, bool) else cell for cell in cells]
    return array


JSON_LINES = Format(
    name="jsonl",
    endings=(".jsonl", ".ndjson"),
    read=read_json_lines,
    columns=_columns,
    example=lambda: b'{"a": 1, "b": 2.5, "y": -1}\n\n{"a": 0, "b": 1e-3, "y": 1}\n',
)
