"""Text tables. Chunks of plain lines go through NumPy's parser, several times as fast as `csv`.

What that parser does not take, quoted fields, blank lines and faults, goes through `csv`, which
also finds the row and the column of a fault.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from operator import methodcaller
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.engine.checks import whole
from forks.streams.files import (
    Chunks,
    Columns,
    PathLike,
    StandardInput,
    StreamError,
    as_number,
    check_columns,
    open_text,
    place,
)
from forks.streams.formats._format import Format


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
    table = _Table(path, delimiter, header)
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
    table = _Table(path, delimiter)
    names = table.names if names is None else names
    check_columns(table.file.path, names, table.names)
    return table.texts([table.names.index(name) for name in names], chunk)


class _Table:
    """A text table: its columns' names, and its rows as numbers or as text.

    The file is opened for the first row, and closed; and again for all rows when they are wanted.
    """

    def __init__(self, path: PathLike, delimiter: str, header: bool = True) -> None:
        self.file = open_text(path)
        if isinstance(self.file, StandardInput) and not header:
            raise ValueError("standard input needs a header, got header=False")
        self.delimiter = delimiter
        self.header = header
        self.names: list[str] = []
        self._reader: Any = None  # of the fields that were split last, and the lines before it
        self._start = 0
        with self.file:
            self._lines = iter(self.file)
            first = self._first_row()
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

    def numbers(self, columns: list[int], chunk: int) -> Chunks:
        """Return chunks of rows whose last column is the label."""
        with self._opened():
            while len(block := self._block(columns, chunk)):
                yield np.ascontiguousarray(block[:, :-1]), block[:, -1].copy()

    def texts(self, columns: list[int], chunk: int) -> Columns:
        """Return chunks of columns as arrays of text."""
        names = self.names
        with self._opened():
            # One flat list: 10,000 lists would keep the garbage collector busy.
            while cells := list(chain.from_iterable(self._fields(chunk))):
                yield {names[i]: np.array(cells[i :: len(names)]) for i in columns}

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with self.file:
            self._lines = iter(self.file)
            if self.header and self.file.line == 0:  # standard input is beyond it
                self._first_row()
            yield

    def _first_row(self) -> list[str]:
        """Return the first row, and leave it out of the count of rows."""
        for fields in self._fields(1):
            self.file.row = 0
            return fields
        raise StreamError(f"{self.file.path} is empty")

    def _fields(self, n: int, first: Sequence[str] = ()) -> Iterator[list[str]]:
        """Split up to n rows, with the lines `first` before those of the file; count them."""
        self._start = self.file.line - len(first)
        lines = chain(first, self._lines)
        self._reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        try:
            for fields in islice(filter(None, self._reader), n):
                self.file.row += 1
                if len(fields) != len(self.names) > 0:
                    n_fields = len(self.names)
                    raise self._error(f": {len(fields)} fields, but the first row has {n_fields}")
                yield fields
        except csv.Error as error:
            self.file.row += 1
            raise self._error(f": {error}") from error

    def _error(self, fault: str) -> StreamError:
        """Make the error about the row that was split last."""
        where = place(self.file.row, self._start + self._reader.line_num)
        return StreamError(f"{self.file.path}, {where}{fault}")

    def _block(self, columns: list[int], n: int) -> Matrix:
        """Take up to n rows as numbers."""
        start, before = self.file.row, self.file.line
        try:
            lines = list(islice(self._lines, n))
        finally:  # each line counts as a row, also before a fault
            self.file.row += self.file.line - before
        block = self._parsed(lines, columns)
        if block is None:
            self.file.row = start
            cells = [self._number(row, i) for row in self._fields(n, lines) for i in columns]
            block = np.array(cells, dtype=np.float64).reshape(-1, len(columns))
        return block

    def _parsed(self, lines: list[str], columns: list[int]) -> Matrix | None:
        """Return the numbers of plain lines, one row each, all finite; or None."""
        delimiters = set(map(methodcaller("count", self.delimiter), lines))
        if delimiters != {len(self.names) - 1} or any('"' in line for line in lines):
            return None
        try:
            form: Any = {"delimiter": self.delimiter, "comments": None, "encoding": None}
            block = np.loadtxt(lines, usecols=columns, ndmin=2, **form)
        except ValueError:
            return None
        return block if len(block) == len(lines) and np.isfinite(block).all() else None

    def _number(self, fields: list[str], i: int) -> float:
        text = fields[i]
        value = as_number(text)
        if math.isfinite(value):
            return value
        fault = f"{text!r} is not a finite number" if text.strip() else "the cell is empty"
        raise self._error(f", column {self.names[i]!r}: {fault}")


def delimited(name: str, delimiter: str) -> Format:
    """Return the format of text tables with a delimiter, whose files end in the name."""
    return Format(
        name=name,
        endings=(f".{name}",),
        read=partial(read_csv, delimiter=delimiter),
        columns=partial(_columns, delimiter=delimiter),
        example=lambda: "a,b,y\n0.5,2,-1\n1e-3,0,1\n".replace(",", delimiter).encode(),
    )


CSV, TSV = delimited("csv", ","), delimited("tsv", "\t")
