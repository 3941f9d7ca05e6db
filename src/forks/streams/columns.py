"""Raw columns of any format, as numbers or as text."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.streams.files import written_number
from forks.streams.formats import Categories
from forks.streams.formats.cells import Cells, Numbers
from forks.streams.words import Words


class TextColumn(NamedTuple):
    """A column of a text table, read when asked for."""

    cells: Cells
    number: int  # of the column
    categories: bool = False

    def __len__(self) -> int:
        return self.cells.n_rows

    def numbers(self, words: Words) -> Numbers:
        return self.cells.numbers(self.number, words)

    def objects(self, words: Words) -> np.ndarray:
        """Return it as text, None where it is missing."""
        return self.cells.objects(self.number, words)

    def shown(self, row: int) -> str:
        return self.cells.text(row, self.number)


class ArrayColumn:
    """A column that is an array: of numbers, times, or Python's values."""

    def __init__(self, array: Any) -> None:
        self.categories = isinstance(array, Categories)
        array = np.asarray(array)
        self.array = array.astype(str).astype(object) if array.dtype.kind == "b" else array

    def __len__(self) -> int:
        return len(self.array)

    def numbers(self, words: Words) -> Numbers:
        """Return it as numbers; times are none."""
        array = self.array
        if array.dtype.kind in "biuf":
            values = array.astype(np.float64)
            values[words.among(values)] = math.nan
            return Numbers(values, np.isnan(values), np.flatnonzero(np.isinf(values)))
        if array.dtype.kind in "Mm":
            gaps = np.isnat(array)
            return Numbers(np.full(len(array), math.nan), gaps, np.flatnonzero(~gaps))
        texts = self.objects(words)
        missing = np.array([text is None for text in texts], bool)
        values = np.array(
            [math.nan if text is None else written_number(text) for text in texts], float
        )
        return Numbers(values, missing, np.flatnonzero(~missing & ~np.isfinite(values)))

    def objects(self, words: Words) -> np.ndarray:
        """Return it as text, None where it is missing; times stay times."""
        array = self.array
        if array.dtype.kind in "Mm":
            return array
        found = np.empty(len(array), object)
        found[:] = [_text(value, words) for value in array.tolist()]
        return found

    def shown(self, row: int) -> str:
        return str(self.array[row])


Column = TextColumn | ArrayColumn


class RawTable(Mapping[str, np.ndarray]):
    """Some rows of a table: columns of one length, to be encoded."""

    def __init__(self, columns: dict[str, Any], n_rows: int) -> None:
        self._columns = columns
        self.shape = n_rows, len(columns)

    def __getitem__(self, name: str) -> np.ndarray:
        array: np.ndarray = self._columns[name]
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def part(self, start: int, stop: int) -> "RawTable":
        """Return the rows from `start` to `stop`, that one left out."""
        stop = min(stop, self.shape[0])
        return RawTable({k: v[start:stop] for k, v in self._columns.items()}, stop - start)

    def taken(self, order: np.ndarray) -> "RawTable":
        """Return some rows in some order."""
        return RawTable({k: v[order] for k, v in self._columns.items()}, len(order))


def joined(parts: Sequence[Any]) -> Any:
    """Return rows of several chunks as one: arrays, CSR, or tables with the first one's columns."""
    if isinstance(parts[0], RawTable):
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return RawTable(columns, sum(part.shape[0] for part in parts))
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _text(value: Any, words: Words) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, list | dict):
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return None if text in words else text
