"""How a text table is written: its delimiter, its header, its decimal point.

All are found in its first rows, and can be told.
"""

import csv
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from forks.streams.files import THOUSANDS, written_number
from forks.streams.words import Words

DELIMITERS = {"tab": "\t", "semicolon": ";", "bar": "|", "comma": ",", "space": " "}
_ROWS = 200  # that are looked at
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text table is written; None for what is to be found."""

    delimiter: str | None = None
    header: bool | None = None
    point: str | None = None  # "." or ","

    def __post_init__(self) -> None:
        named = DELIMITERS.get(str(self.delimiter), self.delimiter)
        object.__setattr__(self, "delimiter", named)
        if self.delimiter is not None and (
            not isinstance(self.delimiter, str)
            or len(self.delimiter) != 1
            or not self.delimiter.isascii()
            or self.delimiter in '"\r\n'
        ):
            raise ValueError(
                f"delimiter must be one character, not a quote, or one of "
                f"{', '.join(DELIMITERS)}, got {self.delimiter!r}"
            )
        if self.point not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.point!r}")

    def describe(self) -> str:
        """Return it in a few words."""
        names = {delimiter: name for name, delimiter in DELIMITERS.items()}
        words = [names.get(str(self.delimiter), repr(self.delimiter)) + "s"]
        words += ["header" if self.header else "no header"]
        return ", ".join(words + (["decimal commas"] if self.point == "," else []))


def find_dialect(head: bytes, told: Dialect, words: Words, usual: str = ",") -> Dialect:
    """Return the dialect of a table that begins with `head`; `usual` is a delimiter to expect."""
    text = head.decode(errors="replace")
    lines = text.splitlines()
    if len(lines) > 1 and not text.endswith(("\n", "\r")):
        lines.pop()  # may be cut
    lines = [line for line in lines[:_ROWS] if line.strip()]
    delimiter = told.delimiter or _delimiter(lines, usual)
    rows = split(lines, delimiter)
    point = told.point or _point(rows, delimiter)
    header = _has_header(rows, point, words) if told.header is None else told.header
    return replace(told, delimiter=delimiter, header=header, point=point)


def split(lines: list[str], delimiter: str) -> list[list[str]]:
    """Return the cells of lines, without blanks around them; no rows if quotes are wrong."""
    spaces: Any = {"skipinitialspace": True} if delimiter == " " else {}
    try:
        rows = list(csv.reader([line.strip() if spaces else line for line in lines],
                               delimiter=delimiter, **spaces))  # fmt: skip
    except csv.Error:
        return []
    return [[cell.strip() for cell in row] for row in rows if row]


def _delimiter(lines: list[str], usual: str) -> str:
    """Return what cuts all rows into the same number of cells, more than one."""
    candidates = [usual, *(d for d in DELIMITERS.values() if d != usual)]
    if usual == ",":  # which is in many cells of other tables: it comes last, but for the space
        candidates = list(DELIMITERS.values())
    for delimiter in candidates:
        widths = Counter(map(len, split(lines, delimiter)))
        if len(widths) == 1 and max(widths) > 1:
            return delimiter
    first = lines[0] if lines else ""  # ragged: the row at fault is to be named
    best = max(candidates[:-1], key=lambda d: (first.count(d), d == usual))
    return best if first.count(best) else usual


def _point(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        cells = [cell for row in rows for cell in row if "," in cell]  # in quotes
        if not cells or not all(map(_DECIMAL_COMMA.fullmatch, cells)):
            return "."
        if all(map(THOUSANDS["."].fullmatch, cells)):  # not one has other than three decimals
            return "."
    cells = [cell for row in rows[1:] for cell in row]
    commas = sum(map(bool, map(_DECIMAL_COMMA.fullmatch, cells)))
    return "," if commas > sum(map(bool, map(_DECIMAL_POINT.fullmatch, cells))) else "."


def _has_header(rows: list[list[str]], point: str, words: Words) -> bool:
    """Return whether the first row has names.

    It has if a cell of it is a word above numbers. It has not if any cell of it is a number, or if
    half of its cells or more come again as values of their columns.
    """
    if len(rows) < 2:
        return not (rows and any(_is_number(cell, point) for cell in rows[0]))
    first = rows[0]
    columns = [
        [row[j] for row in rows[1:] if j < len(row) and row[j] not in words]
        for j in range(len(first))
    ]
    above = [
        cell not in words
        and not _is_number(cell, point)
        and len(column) > 0
        and all(_is_number(value, point) for value in column)
        for cell, column in zip(first, columns, strict=True)
    ]
    if any(above):
        return True
    if any(_is_number(cell, point) for cell in first):
        return False
    again = sum(cell in column for cell, column in zip(first, columns, strict=True))
    return 2 * again < len(first)


def _is_number(cell: str, point: str) -> bool:
    value = written_number(cell, point)
    return value == value
