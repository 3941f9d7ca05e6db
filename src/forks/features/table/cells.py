"""Cells of a table: which are missing, which are numbers, and which are the same value."""

import math
import numbers
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from forks.engine import Vector

# Words that stand for a missing value, whatever their case.
MISSING_WORDS = ("", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "?", "<na>")
_MEMO = 1 << 16  # cells that a memo holds

Answer = TypeVar("Answer")


class CellError(ValueError):
    """A cell that cannot be encoded.

    Attributes
    ----------
    column : str
        The name of the column.
    row : int
        The row in the table that was given, counted from 0.
    fault : str
        What is wrong.
    """

    def __init__(self, column: str, row: int, fault: str) -> None:
        super().__init__(f"column {column!r}, row {row + 1}: {fault}")
        self.column, self.row, self.fault = column, row, fault

    def __reduce__(self) -> Any:
        return type(self), (self.column, self.row, self.fault)


def is_missing(cell: Any) -> bool:
    """Return whether a cell has no value: None, NaN, NaT, or a word that says so."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING_WORDS
    try:
        return bool(cell != cell)  # NaN and NaT
    except (TypeError, ValueError):  # pandas' NA has no truth; an array has many
        return type(cell).__name__ == "NAType"


def key_of(cell: Any) -> str:
    """Return the text that stands for the value of a cell; "" for a missing one.

    Numbers are the same value as their text, and whole numbers of any type are the same:
    a column may be of integers in one chunk and of floats in the next.
    """
    if is_missing(cell):
        return ""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    if isinstance(cell, numbers.Integral | np.bool_):
        return str(int(cell))
    if isinstance(cell, numbers.Real):
        value = float(cell)
        return str(int(value)) if value.is_integer() else repr(value)
    return str(cell)


def number_of(cell: Any) -> float:
    """Return a cell as a number, NaN for a missing one; raise `ValueError` for others."""
    if is_missing(cell):
        return math.nan
    if isinstance(cell, str | bytes | numbers.Real | np.bool_):
        return float(cell)
    raise ValueError


_PLAIN = {float, int, bool, type(None)}  # types of cells that NumPy reads as we do


class Memo(Generic[Answer]):
    """A function of single cells, whose answers are kept: most cells repeat earlier ones.

    `wanted` is what a cell must be, for the error about one that is not.
    """

    def __init__(
        self, function: Callable[[Any], Answer], wanted: str = "value of its kind"
    ) -> None:
        self._function, self._wanted = function, wanted
        self._known: dict[Hashable, Answer] = {}

    def each(self, column: str, cells: Iterable[Any]) -> list[Answer]:
        """Return the answers of all cells of a column."""
        cells = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        try:
            answers: list[Any] = list(map(self._known.get, cells))
        except TypeError:  # of a cell that cannot be looked up
            answers = [None] * len(cells)
        if None in answers:
            for i, answer in enumerate(answers):
                if answer is None:
                    answers[i] = self._ask(column, i, cells[i])
        return answers

    def _ask(self, column: str, row: int, cell: Any) -> Answer:
        try:
            known = self._known.get(cell)
            if known is not None:
                return known
            answer = self._function(cell)
        except (ValueError, TypeError, OverflowError):
            raise CellError(column, row, f"{_shown(cell)} is no {self._wanted}") from None
        if not is_missing(cell):  # NaN would be kept many times
            if len(self._known) >= _MEMO:
                self._known.clear()
            self._known[cell] = answer
        return answer


def floats_of(column: str, cells: np.ndarray) -> Vector:
    """Return the numbers in a column, NaN where one is missing; raise `CellError` for others."""
    kind = cells.dtype.kind
    values = np.empty(len(cells))
    try:  # in one step, if NumPy reads the cells as we do
        plain = kind in "biufUS" or (kind == "O" and set(map(type, cells.tolist())) <= _PLAIN)
        values[:] = cells.astype(np.float64) if plain else [number_of(c) for c in cells.tolist()]
    except (ValueError, OverflowError):
        for row, cell in enumerate(cells.tolist()):
            try:
                values[row] = number_of(cell)
            except (ValueError, OverflowError):
                raise CellError(column, row, f"{_shown(cell)} is not a number") from None
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise CellError(column, row, f"{_shown(cells[row])} is not a finite number")
    return values


def _shown(cell: Any) -> str:
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= 60 else text[:57] + "..."
