"""Rows of a text table as cells: places in a block of bytes, read as numbers or text when asked."""

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Vector
from forks.streams.files import BLOCK, PATIENCE, StreamError, TextFile, place, written_number
from forks.streams.formats import _scan
from forks.streams.words import NO_WORDS, Words

_MOST_CELLS = 2**22  # at a time: each takes 17 bytes beside the text
_SCAN, _PARSE, _CODE = (function.over() for function in (_scan.scan, _scan.parse, _scan.code))


class Numbers(NamedTuple):
    """A column as numbers."""

    values: Vector  # NaN where there is none
    missing: np.ndarray  # bool: which are empty, or a word for it
    faults: np.ndarray  # rows whose cells are neither a finite number nor missing


@dataclass(frozen=True)
class Cells:
    """Some rows of a table."""

    data: bytes
    starts: np.ndarray  # (rows, columns)  of each cell
    ends: np.ndarray
    quoted: np.ndarray  # 1 if it was in quotes, 2 if quotes in it are doubled
    point: str = "."  # decimal

    @property
    def n_rows(self) -> int:
        return len(self.starts)

    def text(self, row: int, column: int) -> str:
        """Return a cell as it stands, without its quotes."""
        text = self.data[self.starts[row, column] : self.ends[row, column]].decode()
        return text.replace('""', '"') if self.quoted[row, column] == 2 else text

    def row(self, row: int) -> list[str]:
        return [self.text(row, j) for j in range(self.starts.shape[1])]

    def values(self, column: int) -> tuple[np.ndarray, list[str]]:
        """Return the numbers of the different texts of a column, row by row, and the texts."""
        if (self.quoted[:, column] == 2).any():
            texts = [self.text(row, column) for row in range(self.n_rows)]
            known = {text: i for i, text in enumerate(dict.fromkeys(texts))}
            return np.array([known[text] for text in texts], np.intp), list(known)
        starts, ends = self._places(column)
        table = np.full(2 ** (2 * self.n_rows + 1).bit_length(), -1, np.int64)
        codes, firsts = np.empty(self.n_rows, np.int64), np.empty(self.n_rows, np.int64)
        n = _CODE(self._bytes(), starts, ends, table, codes, firsts)
        return codes, [self.data[starts[i] : ends[i]].decode() for i in firsts[:n].tolist()]

    def texts(self, column: int) -> np.ndarray:
        codes, values = self.values(column)
        return np.array(values)[codes]

    def objects(self, column: int, words: Words) -> np.ndarray:
        """Return a column as text without blanks around it, None where it is missing."""
        codes, values = self.values(column)
        known = np.empty(len(values), object)
        stripped = (value.strip() for value in values)
        known[:] = [None if value in words else value for value in stripped]
        return known[codes]

    def numbers(self, column: int, words: Words = NO_WORDS) -> Numbers:
        bits = np.empty(self.n_rows, np.uint64)
        kinds = np.empty(self.n_rows, np.int8)
        starts, ends = self._places(column)
        tables = words.data, words.stops, _scan.POWERS, _scan.EXPONENTS
        others = _PARSE(self._bytes(), starts, ends, ord(self.point), *tables, bits, kinds)
        values, missing, faults = bits.view(np.float64), kinds == _scan.MISSING, []
        values[missing] = math.nan
        if others:
            for row in np.flatnonzero(kinds == _scan.OTHER).tolist():
                values[row] = value = written_number(self.text(row, column), self.point)
                if not math.isfinite(value):
                    faults.append(row)
        if len(words.numbers):
            missing |= words.among(values)
            values[missing] = math.nan
        return Numbers(values, missing, np.array(faults, np.intp))

    def _bytes(self) -> np.ndarray:
        return np.frombuffer(self.data, np.uint8)

    def _places(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        starts, ends = self.starts[:, column], self.ends[:, column]
        return np.ascontiguousarray(starts), np.ascontiguousarray(ends)


class RowReader:
    """Reads the rows of a text table from an open `TextFile`, and counts them there."""

    def __init__(self, file: TextFile, delimiter: str, point: str = ".") -> None:
        self.file = file
        self.delimiter = delimiter
        self.point = point
        self.n_fields = 0  # of each row; those of the first
        self._stops = np.zeros(256, np.uint8)
        self._stops[[ord(delimiter), 10, 13]] = 1
        self.start()

    def start(self) -> None:
        """Go to the beginning of a file that was opened anew."""
        self._data = b""
        self._at = 0  # bytes of it that were read
        self._lines = 0  # before the data
        self._ended = False

    def first(self, keep: bool = False) -> list[str] | None:
        """Return the first row, which is not counted; None if there is none.

        With `keep` it is the first that `take` returns.
        """
        width = 64
        while True:
            rows, status, fields = self._scan(1, width, any_width=True)
            if status != _scan.FIELDS:
                break
            width = fields
        if rows is None:
            if status == _scan.QUOTE:
                self.file.row += 1
                raise self.error(": a quote is not where a cell ends")
            return None
        self.n_fields = fields
        self.file.row -= 1
        if keep:
            self._at = 0
        starts, ends, quoted = (part[:, :fields] for part in rows)
        return Cells(self._data, starts, ends, quoted).row(0)

    def take(self, n: int) -> Cells | None:
        """Return the next n rows, None if there are none.

        There are fewer at the end, if a pipe does not give so many within a second, or if rows
        are wide: not more than four million cells.
        """
        n = min(n, max(1, _MOST_CELLS // self.n_fields))
        rows, status, fields = self._scan(n, self.n_fields)
        if rows is not None:  # a fault after them is met again by the next call
            starts, ends, quoted = rows
            return Cells(self._data, starts, ends, quoted, self.point)
        if status == _scan.FIELDS:
            self.file.row += 1
            found = "1 field" if fields == 1 else f"{fields} fields"
            raise self.error(f": {found}, but the first row has {self.n_fields}")
        if status == _scan.QUOTE:
            self.file.row += 1
            closed = self._data[self._at - 1 : self._at] == b'"' and self._at < len(self._data)
            fault = f"'{self.delimiter}' expected after '\"'" if closed else "a quote has no end"
            raise self.error(f": {fault}")
        return None

    def error(self, fault: str) -> StreamError:
        """Make the error about the row that was counted last, which the data up to now end in."""
        read = self._data[: self._at]
        self.file.line = self._lines + _line_ends(read) + (not read.endswith((b"\n", b"\r")))
        where = place(self.file.row, self.file.line)
        return StreamError(f"{self.file.path}, {where}{fault}")

    def line_of(self, cells: Cells, row: int) -> int:
        """Return the line that a row ends in, of cells that were read last."""
        return self._lines + _line_ends(cells.data[: cells.ends[row, -1]]) + 1

    def _scan(self, n: int, width: int, any_width: bool = False) -> tuple[Any, int, int]:
        """Return places of rows or None, and why there are no more; the data begin with them."""
        parts = np.empty((n, width), np.int64), np.empty((n, width), np.int64)
        rows = (*parts, np.empty((n, width), np.int8))
        found = np.zeros(5, np.int64)
        self._forget()
        deadline = None
        while True:
            data = np.frombuffer(self._data, np.uint8)
            before = int(found[0])
            fields = 0 if any_width else self.n_fields
            how = self._ended, ord(self.delimiter), self._stops, fields, before
            _SCAN(data, self._at, *how, *rows, found)
            n_rows, at, status, fields, begun = found.tolist()
            if status in (_scan.FULL, _scan.MORE):
                self._at = at
                self.file.row += n_rows - before
            elif n_rows == 0 and not any_width:
                self._at = at  # of the fault
            if status != _scan.MORE or self._ended:
                break
            if n_rows and deadline is None:
                deadline = time.monotonic() + PATIENCE
            wait = None if deadline is None else deadline - time.monotonic()
            if (wait is not None and wait <= 0.0 and self.file.live) or not self._read(wait):
                break
        if status not in (_scan.FULL, _scan.MORE) and n_rows > 0:
            self.file.row += n_rows - before
            self._at = begun
        return (tuple(part[:n_rows] for part in rows) if n_rows else None), status, fields

    def _forget(self) -> None:
        """Drop what was read."""
        self._lines += _line_ends(self._data[: self._at])
        self._data, self._at = self._data[self._at :], 0

    def _read(self, wait: float | None) -> bool:
        """Read more; return whether there is more, or the end is known now."""
        try:
            block = self.file.block(max(BLOCK, len(self._data)), wait)
        except Exception:
            self.file.line = self._lines + _line_ends(self._data[: self._at])
            raise
        if block is None:
            return False
        self._ended = not block
        self._data += block
        return True


def _line_ends(data: bytes) -> int:
    ends = data.count(b"\n")
    if b"\r" in data:
        ends += data.count(b"\r") - data.count(b"\r\n")
    return ends
