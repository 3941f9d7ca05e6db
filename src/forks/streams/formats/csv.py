"""Text tables. Chunks of plain lines go through NumPy's parser, several times as fast as `csv`.

What that parser does not take, quoted fields, blank lines and faults, goes through `csv`, which
also finds the row and the column of a fault.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.streams.formats.files import (
    Chunk,
    PathLike,
    StreamError,
    TextFile,
    check_columns,
    check_count,
    existing,
    place,
)


def read_csv(
    path: PathLike,
    *,
    target: str | int,
    features: Sequence[str] | Sequence[int] | None = None,
    delimiter: str = ",",
    header: bool = True,
    chunk: int = 10_000,
) -> Iterator[Chunk]:
    """Return chunks (X, y) of a text table, float64. Every cell that is read must be a number.

    Parameters
    ----------
    path : str or path
        Compressed if its name ends in .gz, .bz2 or .xz.
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
        Rows given at a time; the last chunk may be shorter.
    """
    check_count("chunk", chunk)
    if not (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n'):
        raise ValueError(f"delimiter must be one character, not a quote, got {delimiter!r}")
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of columns, got {features!r}")
    path = existing(path)
    names = csv_names(path, delimiter)
    if not header:
        names = [str(i) for i in range(len(names))]
    label = _number_of("target", target, path, names, header)
    if features is None:
        chosen = [i for i in range(len(names)) if i != label]
    else:
        chosen = [_number_of("features", column, path, names, header) for column in features]
    if not chosen:
        raise ValueError(f"features must name at least one column of {path}")
    return _numbers(path, delimiter, names, header, [*chosen, label], chunk)


def csv_columns(
    path: Path, names: Sequence[str], delimiter: str, chunk: int
) -> Iterator[dict[str, Any]]:
    """Return chunks of raw columns as arrays of text."""
    there = csv_names(path, delimiter)
    check_columns(path, names, there)
    return _texts(path, delimiter, there, [there.index(name) for name in names], chunk)


def csv_names(path: Path, delimiter: str) -> list[str]:
    """Return the fields of the first row."""
    with TextFile(path) as file:
        return _Table(file, delimiter, []).skip_header()


def _number_of(argument: str, column: Any, path: Path, names: list[str], header: bool) -> int:
    if header:
        if not isinstance(column, str):
            raise ValueError(f"{argument} must be a name in the header of {path}, got {column!r}")
        check_columns(path, [column], names)
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise ValueError(f"{argument} must be a number, as there is no header, got {column!r}")
    if not -len(names) <= column < len(names):
        raise StreamError(f"{path} has no column {column}; it has {len(names)} columns, from 0")
    return int(column) % len(names)


class _Table:
    """An open text table: its lines as they are, or the fields that `csv` finds in them."""

    def __init__(self, file: TextFile, delimiter: str, names: list[str]) -> None:
        self.file = file
        self.delimiter = delimiter
        self.names = names
        self._lines = iter(file)
        self._reader: Any = None  # of the fields that were given last, and the lines before it
        self._start = 0

    def skip_header(self) -> list[str]:
        """Return the first row, and leave it out of the count of rows."""
        for fields in self.fields(1):
            self.file.row = 0
            return fields
        raise StreamError(f"{self.file.path} is empty")

    def lines(self, n: int) -> list[str]:
        """Take up to n lines, and count each as a row."""
        start = self.file.line
        try:
            return list(islice(self._lines, n))
        finally:
            self.file.row += self.file.line - start

    def fields(self, n: int, first: Sequence[str] = ()) -> Iterator[list[str]]:
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

    def block(self, columns: list[int], n: int) -> Matrix:
        """Take up to n rows as numbers."""
        start = self.file.row
        lines = self.lines(n)
        block = self._parsed(lines, columns)
        if block is None:
            self.file.row = start
            cells = [self._number(row, i) for row in self.fields(n, lines) for i in columns]
            block = np.array(cells, dtype=np.float64).reshape(-1, len(columns))
        return block

    def _parsed(self, lines: list[str], columns: list[int]) -> Matrix | None:
        """Parse plain lines, one row each, all finite; or give None."""
        delimiters = set(map(methodcaller("count", self.delimiter), lines))
        if delimiters != {len(self.names) - 1} or any('"' in line for line in lines):
            return None
        try:
            block = np.loadtxt(
                lines,
                delimiter=self.delimiter,
                comments=None,
                usecols=columns,
                ndmin=2,
                encoding=None,
            )
        except ValueError:
            return None
        return block if len(block) == len(lines) and np.isfinite(block).all() else None

    def _number(self, fields: list[str], i: int) -> float:
        text = fields[i]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and "_" not in text:  # which Python takes within a number
            return value
        fault = f"{text!r} is not a finite number" if text.strip() else "the cell is empty"
        raise self._error(f", column {self.names[i]!r}: {fault}")


def _numbers(
    path: Path, delimiter: str, names: list[str], header: bool, columns: list[int], chunk: int
) -> Iterator[Chunk]:
    with TextFile(path) as file:
        table = _Table(file, delimiter, names)
        if header:
            table.skip_header()
        while len(block := table.block(columns, chunk)):
            yield np.ascontiguousarray(block[:, :-1]), block[:, -1].copy()


def _texts(
    path: Path, delimiter: str, names: list[str], columns: list[int], chunk: int
) -> Iterator[dict[str, Any]]:
    with TextFile(path) as file:
        table = _Table(file, delimiter, names)
        table.skip_header()
        yield from _text_chunks(table, columns, chunk)


def _text_chunks(table: _Table, columns: list[int], chunk: int) -> Iterator[dict[str, Any]]:
    names = table.names
    # One flat list: 10,000 lists would keep the garbage collector busy.
    while cells := list(chain.from_iterable(table.fields(chunk))):
        yield {names[i]: np.array(cells[i :: len(names)]) for i in columns}


def open_text_table(
    file: TextFile, delimiter: str, chunk: int
) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the header of a file that is open, and chunks of its columns as arrays of text."""
    table = _Table(file, delimiter, [])
    table.names = table.skip_header()
    check_columns(file.path, table.names, table.names)
    return table.names, _text_chunks(table, [*range(len(table.names))], chunk)
