"""Text tables: cells between delimiters, in double quotes or not, a row a line."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.engine.checks import whole
from forks.streams.files import (
    Chunks,
    Columns,
    PathLike,
    Pipe,
    StreamError,
    check_columns,
    chosen_columns,
    open_text,
    place,
)
from forks.streams.formats._format import Format
from forks.streams.formats.cells import Cells, RowReader


def read_csv(
    path: PathLike,
    *,
    target: str | int,
    features: Sequence[str] | Sequence[int] | None = None,
    delimiter: str = ",",
    header: bool = True,
    chunk: int = 10_000,
) -> Chunks:
    """Return chunks (X, y) of a text table, float64. Every cell that is read must be a number.

    Parameters
    ----------
    path : str or path
        Compressed if its name ends in .gz, .bz2 or .xz; "-" is standard input.
    target : str or int
        Column of the labels: by its name, or without a header by its number, from 0 (or from -1
        backwards).
    features : sequence of str or int, optional
        Columns of the rows, in this order; by default all but the target.
    delimiter : str
        One character.
    header : bool
        Whether the first row has the names of the columns.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    if not (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n'):
        raise ValueError(f"delimiter must be one character, not a quote, got {delimiter!r}")
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of columns, got {features!r}")
    table = Table(path, delimiter, header)
    label = table.position("target", target)
    if features is None:
        chosen = [i for i in range(len(table.names)) if i != label]
    else:
        chosen = [table.position("features", column) for column in features]
    if not chosen:
        raise ValueError(f"features must name at least one column of {table.file.path}")
    return table.numbers([*chosen, label], chunk)


def _columns(path: PathLike, names: Sequence[str] | None, chunk: int, delimiter: str) -> Columns:
    """Return chunks of columns as arrays of text."""
    table = Table(path, delimiter)
    chosen = chosen_columns(table.file.path, names, table.names)
    return table.texts([table.names.index(name) for name in chosen], chunk)


class Table:
    """A text table: its columns' names, and its rows as cells.

    The file is opened for the first row, and closed; and again for all rows when they are wanted.
    """

    def __init__(self, path: Any, delimiter: str, header: bool = True, *, point: str = ".") -> None:
        self.file = open_text(path)
        self.header = header
        self._reader = RowReader(self.file, delimiter, point)
        with self.file:
            first = self._reader.first(keep=not header)
        if first is None:
            raise StreamError(f"{self.file.path} is empty")
        self.names = first if header else [str(i) for i in range(len(first))]

    def position(self, argument: str, column: Any) -> int:
        """Return the position of a column that an argument names."""
        path, n = self.file.path, len(self.names)
        if self.header and not isinstance(column, str):
            raise ValueError(f"{argument} must be a name in the header of {path}, got {column!r}")
        if self.header:
            check_columns(path, [column], self.names)
            return self.names.index(column)
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise ValueError(f"{argument} must be a number, as there is no header, got {column!r}")
        if not -n <= column < n:
            raise StreamError(f"{path} has no column {column}; it has {n} columns, from 0")
        return int(column) % n

    def cells(self, chunk: int) -> Generator[Cells, None, None]:
        with self.file:
            if not isinstance(self.file, Pipe):  # which is where it was
                self._reader.start()
                if self.header:
                    self._reader.first()
            while (cells := self._reader.take(chunk)) is not None:
                yield cells

    def numbers(self, columns: list[int], chunk: int) -> Chunks:
        """Return chunks of rows whose last column is the label."""
        for cells in self.cells(chunk):
            block = self._block(cells, columns)
            yield np.ascontiguousarray(block[:, :-1]), block[:, -1].copy()

    def texts(self, columns: list[int], chunk: int) -> Columns:
        """Return chunks of columns as arrays of text."""
        for cells in self.cells(chunk):
            yield {self.names[i]: cells.texts(i) for i in columns}

    def _block(self, cells: Cells, columns: list[int]) -> Matrix:
        """Return columns as numbers; each cell must be one."""
        block = np.column_stack([cells.numbers(i).values for i in columns])
        wrong = ~np.isfinite(block)
        if wrong.any():
            row, at = (int(first) for first in np.argwhere(wrong)[0])
            text, column = cells.text(row, columns[at]), self.names[columns[at]]
            fault = f"{text!r} is not a finite number" if text.strip(" \t") else "the cell is empty"
            line = self._reader.line_of(cells, row)
            where = place(self.file.row - cells.n_rows + row + 1, line)
            raise StreamError(f"{self.file.path}, {where}, column {column!r}: {fault}")
        return block


def delimited(name: str, delimiter: str) -> Format:
    """Return the format of text tables with a delimiter, whose files end in the name."""
    return Format(
        name=name,
        endings=(f".{name}",),
        read=partial(read_csv, delimiter=delimiter),
        columns=partial(_columns, delimiter=delimiter),
        delimiter=delimiter,
        example=lambda: "a,b,y\n0.5,2,-1\n1e-3,0,1\n".replace(",", delimiter).encode(),
    )


CSV, TSV = delimited("csv", ","), delimited("tsv", "\t")
