"""What a column holds, found from its first rows.

====================  ===========================================================================
number                numbers, or text that is numbers; booleans are 0 and 1
time                  dates and times, or text such as 2013-03-01, 2013/03/01, 2013-03-01T05:00Z,
                      31.12.2013 or 12/31/2013 5:00; where a part above 12 does not tell whether
                      the day or the month is first, the day is
category              other text
text                  text of more than 32 values, of three words or more on average
constant              one value, or none, in 100 rows or more
identifier            whole numbers that go up by 1 from row to row, in 100 rows or more, or that
                      are all different and have the name that pandas gives a nameless index; or
                      text that is another in 99 of 100 rows, of 200 or more
====================  ===========================================================================

A column can be told to be of one of these kinds, or of the kind "dropped"; "day-first" and
"month-first" tell a time, and how it is written. Identifiers are left out, like dropped columns.
"""

import datetime
import re
from typing import Any, NamedTuple

import numpy as np

from forks.features.table.cells import CellError, floats_of, is_missing, key_of
from forks.features.table.dates import ORDERS, is_like_a_date, order_of, time_of_text
from forks.features.table.times import order_of_cells

KINDS = ("number", "category", "time", "text", "constant", "identifier", "dropped")
TOLD = (*KINDS, *ORDERS)  # what a column can be told to be
LEFT_OUT = ("identifier", "dropped")
SURE = 100  # rows from which on it can be said that a column is constant, or numbers its rows
_MANY, _UNIQUE = 200, 0.99  # texts, and the share of different ones, of an identifier
_WORDS, _TEXTS = 3.0, 32  # mean number of words of text, and values of a category of words
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")  # names in pandas' files


class Column(NamedTuple):
    """A column of a table, and what it was taken for.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        One of `KINDS`.
    why : str
        What of the first rows speaks for the kind; "told" if it was given. Of dates whose year
        comes last, what does.
    """

    name: str
    kind: str
    why: str


def find_kind(name: str, cells: np.ndarray) -> Column:
    """Return what a column is taken for, by its first cells."""
    if cells.dtype.kind == "M":
        return Column(name, "time", "dates and times")
    if cells.dtype.kind in "biuf":
        return _of_numbers(name, cells.astype(np.float64))
    present = [cell for cell in cells.tolist() if not is_missing(cell)]
    if not present:
        return Column(name, "constant", "no value") if len(cells) >= SURE else _number(name)
    if all(isinstance(cell, datetime.date | np.datetime64) for cell in present):
        return Column(name, "time", "dates and times")
    try:
        return _of_numbers(name, floats_of(name, cells))
    except CellError:
        return _of_texts(name, [key_of(cell) for cell in present], len(cells))


def told_kind(name: str, kind: str, cells: np.ndarray) -> Column:
    """Return the column of a kind that was told, one of `TOLD`."""
    if kind in ORDERS:
        return Column(name, "time", f"told, {_in_words(kind, True)}")
    order, shown = order_of_cells(cells) if kind == "time" else ("", True)
    return Column(name, kind, f"told, {_in_words(order, shown)}" if order else "told")


def _in_words(order: str, shown: bool) -> str:
    words = order.replace("-", " ")
    return words if shown else f"assumed {words}"


def _number(name: str) -> Column:
    return Column(name, "number", "numbers")


def _of_numbers(name: str, values: Any) -> Column:
    present = values[~np.isnan(values)]
    if len(values) < SURE:
        return _number(name)
    if len(present) == 0:
        return Column(name, "constant", "no value")
    if len(present) == len(values) and np.all(np.diff(values) == 1.0):
        return Column(name, "identifier", "row numbers")
    if _INDEX.fullmatch(name) and len(np.unique(present)) == len(values):
        return Column(name, "identifier", "an index of pandas")
    if len(present) == len(values) and present.min() == present.max():
        return Column(name, "constant", f"always {key_of(present[0])}")
    return _number(name)


def _of_texts(name: str, texts: list[str], n: int) -> Column:
    distinct = len(set(texts))
    if all(map(is_like_a_date, texts)):
        order, shown = order_of(texts)
        if not order:
            return Column(name, "time", "dates and times")
        if _are_dates(set(texts), order):
            return Column(name, "time", _in_words(order, shown))
    if n >= SURE and distinct == 1 and len(texts) == n:
        return Column(name, "constant", f"always {texts[0][:40]!r}")
    if distinct > _TEXTS and sum(len(text.split()) for text in texts) >= _WORDS * len(texts):
        return Column(name, "text", "many words")
    if len(texts) >= _MANY and distinct >= _UNIQUE * len(texts):
        return Column(name, "identifier", "nearly each text is another")
    return Column(name, "category", f"{distinct:,} value{'' if distinct == 1 else 's'}")


def _are_dates(texts: set[str], order: str) -> bool:
    try:
        for text in texts:
            time_of_text(text, order)
    except ValueError:
        return False
    return True
