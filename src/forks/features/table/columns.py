"""Tables of any type as named columns: arrays of one length.

A table is a data frame (pandas, polars, Arrow, ... whatever narwhals knows), a mapping of names to
columns, a list of mappings from names to cells, or a matrix, whose columns are called x0, x1, ...
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

Columns = dict[str, np.ndarray]


def columns_of(table: Any, names: tuple[str, ...] | None = None) -> Columns:
    """Return the columns of a table: all, or those of some names, in their order.

    In a list of mappings, a cell that a row does not have is missing; a whole column that the
    table does not have is an error.
    """
    if sparse.issparse(table):  # some are mappings, too
        raise TypeError("Sparse data was passed for X, but a table is dense: X.toarray() is one")
    if isinstance(table, Mapping):
        return _chosen({str(name): _array(cells) for name, cells in table.items()}, names)
    if isinstance(table, list | tuple) and any(isinstance(row, Mapping) for row in table):
        return _of_rows(table, names)
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        known = {str(name): name for name in frame.columns}
        _check_names(known, names)
        return {name: _array(frame[known[name]].to_numpy()) for name in names or known}
    return _chosen(_of_matrix(table), names)


def _of_rows(rows: Any, names: tuple[str, ...] | None) -> Columns:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"row {i + 1} must be a mapping, got {row!r}")
    if names is None:
        names = tuple(dict.fromkeys(str(name) for row in rows for name in row))
    by_text = [{str(name): cell for name, cell in row.items()} for row in rows]
    return {name: _array([row.get(name) for row in by_text]) for name in names}


def _of_matrix(table: Any) -> Columns:
    cells = np.asarray(table)
    if cells.dtype.kind in "US" and not isinstance(table, np.ndarray):
        cells = np.array(table, dtype=object)  # numbers beside text stay numbers
    if cells.ndim != 2:
        raise ValueError(
            "X must be a data frame, a mapping of columns, a list of mappings or a matrix, got "
            f"an array of shape {cells.shape}. Reshape your data: X.reshape(1, -1) is one row"
        )
    if cells.shape[1] == 0:
        shape = cells.shape
        raise ValueError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    return {f"x{j}": _array(cells[:, j]) for j in range(cells.shape[1])}


def _array(cells: Any) -> np.ndarray:
    if not isinstance(cells, np.ndarray):
        if hasattr(cells, "to_numpy"):
            cells = cells.to_numpy()
        else:
            given = list(cells)
            cells = np.empty(len(given), dtype=object)
            cells[:] = given
    if cells.ndim != 1:
        raise ValueError(f"each column must be an array of one axis, got {cells.ndim}")
    if cells.dtype.kind == "c":
        raise ValueError("Complex data not supported: columns are of real numbers or text")
    if cells.dtype.kind == "m":  # durations
        return cells / np.timedelta64(1, "s")
    if cells.dtype.kind != "O" or len(cells) == 0 or type(cells[0]) is str:
        return cells
    if set(map(type, cells.tolist())) <= {int, float, bool}:
        with suppress(OverflowError):
            return cells.astype(np.float64)
    return cells


def _chosen(columns: Columns, names: tuple[str, ...] | None) -> Columns:
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"all columns must have one length, got {lengths}")
    _check_names(columns, names)
    return columns if names is None else {name: columns[name] for name in names}


def _check_names(known: Mapping[str, Any], names: tuple[str, ...] | None) -> None:
    if absent := [name for name in names or () if name not in known]:
        there = ", ".join(known)
        raise ValueError(f"X has no column {absent[0]!r}; it has {there}")
