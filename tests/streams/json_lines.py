"""JSON lines, a format that the package does not have: one object a line, as CONTRIBUTING tells."""

import json
import math
from itertools import islice

import numpy as np

from forks.streams import StreamError
from forks.streams.files import check_columns, open_text, place
from forks.streams.formats import Format


def read_json_lines(path, *, target, features=None, chunk=10_000):
    """Yield chunks (X, y) of numbers."""
    wanted = None if features is None else [*features, target]
    row = 0
    for table in _columns(path, wanted, chunk):
        check_columns(path, [target], list(table))
        cells = {name: [_number(cell) for cell in column] for name, column in table.items()}
        for name, values in cells.items():
            if not np.isfinite(values).all():
                first = int(np.argmin(np.isfinite(values)))
                fault = f"{table[name][first]!r} is not a finite number"
                raise StreamError(f"{path}, row {row + first + 1}, column {name!r}: {fault}")
        y = np.array(cells.pop(target))
        yield np.column_stack(list(cells.values())), y
        row += len(y)


def _columns(path, names, chunk):
    """Yield chunks {name: array of cells}."""
    with open_text(path) as file:
        rows = _rows(file)
        while part := list(islice(rows, chunk)):
            names = list(part[0]) if names is None else names
            check_columns(file.path, names, list(part[0]))
            yield {name: np.array([row[name] for row in part], dtype=object) for name in names}


def _rows(file):
    keys = None
    for text in file:
        if not text.strip():
            continue
        file.row += 1
        try:
            row = json.loads(text)
            keys = list(row) if keys is None else keys
            if list(row) != keys or any(isinstance(cell, list | dict) for cell in row.values()):
                raise ValueError("not an object with the keys of the first row, and plain values")
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise StreamError(f"{file.path}, {place(file.row, file.line)}: {error}") from error
        yield row


def _number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


JSON_LINES = Format(
    name="jsonl",
    endings=(".jsonl",),
    read=read_json_lines,
    columns=_columns,
    example=lambda: b'{"a": 1, "b": 2.5, "y": -1}\n\n{"a": 0, "b": 1e-3, "y": 1}\n',
)
