"""Lines `key=value key=value`, a format that the package does not have, as CONTRIBUTING tells."""

import math

import numpy as np

from forks.streams import StreamError
from forks.streams.files import check_columns, open_text, place
from forks.streams.formats import Format


def read_logfmt(path, *, target, features=None, chunk=10_000):
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
        keys = None
        while lines := file.rows(chunk, str.strip):
            rows = []
            for row, (line, text) in enumerate(lines.items(), file.row - len(lines) + 1):
                pairs = dict(word.partition("=")[::2] for word in text.split())
                keys = list(pairs) if keys is None else keys
                if list(pairs) != keys:
                    fault = "not the keys of the first row"
                    raise StreamError(f"{file.path}, {place(row, line)}: {fault}")
                rows.append(pairs)
            names = keys if names is None else names
            check_columns(file.path, names, keys)
            yield {name: np.array([row[name] for row in rows], dtype=object) for name in names}


def _number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


LOGFMT = Format(
    name="logfmt",
    endings=(".log",),
    read=read_logfmt,
    columns=_columns,
    example=lambda: b"a=1 b=2.5 y=-1\n\na=0 b=1e-3 y=1\n",
)
