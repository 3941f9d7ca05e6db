"""Chunks of raw columns as chunks of numbers, for formats whose columns may hold other things."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from forks.streams.files import Chunks, PathLike, TextFile, as_number, cell_error, check_columns


def numbers_of(
    tables: Iterator[dict[str, Any]],
    path: PathLike | TextFile,
    target: str,
    features: Sequence[str] | None,
) -> Chunks:
    """Return chunks (X, y); each cell must be a finite number."""
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of columns, got {features!r}")
    name = path.path if isinstance(path, TextFile) else path
    row, chosen = 0, features
    for table in tables:
        if chosen is None:
            chosen = [column for column in table if column != target]
        if row == 0:
            check_columns(name, [*chosen, target], list(table))  # type: ignore[arg-type]
            if len(chosen) == 0:
                raise ValueError(f"features must name at least one column of {name}")
        columns = [_checked(name, row, column, table[column]) for column in [*chosen, target]]
        yield np.column_stack(columns[:-1]), columns[-1]
        row += len(columns[-1])


def _checked(path: Any, before: int, name: str, cells: Any) -> np.ndarray:
    if cells.dtype.kind in "biuf":
        values = cells.astype(np.float64)
    else:
        values = np.array([_number(cell) for cell in cells.tolist()], np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        at = int(np.argmax(wrong))
        cell = cells[at]
        empty = cell is None or (isinstance(cell, float) and math.isnan(cell))
        fault = "the cell is empty" if empty else f"{str(cell)!r} is not a finite number"
        raise cell_error(path, before + at + 1, name, fault)
    return values


def _number(cell: Any) -> float:
    if isinstance(cell, str):
        return as_number(cell)
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan
