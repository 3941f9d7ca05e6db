"""Columns of categories.

A category of few values has an indicator for each, and room for values to come: the next ones get
an indicator of their own from their second row on, and when there are none left, further values
share those of the room by their hash. Of a category of many values there is what is known of the
value in each row (see `statistics`): how often it came, and with which targets. A category of which
too few rows have been seen to tell which of the two it is has both.

Few are at most 32 values, and up to 128 while all indicators of the table are at most 256.

A missing value is a value like others.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.features.table.cells import Memo, key_of
from forks.features.table.statistics import ValueTable, new_table, tell

ENOUGH = 256  # rows that tell a category of few values from one of many
_ALWAYS_FEW, _FEW, _INDICATORS = 32, 128, 256  # values, and indicators of a whole table
_LARGE_ROOM = 16


def hash_of(key: str) -> int:
    """Return 62 bits that stand for a text, the same on every machine."""
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


@dataclass
class Category:
    """One column of a category."""

    name: str
    values: list[str]  # that have an indicator, in its order
    first_shared: int  # the first indicator of the room
    n_indicators: int
    table: ValueTable | None  # of categories of many values
    _keys: Memo[str] = field(default_factory=lambda: Memo(key_of), repr=False, compare=False)
    _hashes: Memo[int] = field(default_factory=lambda: Memo(hash_of), repr=False, compare=False)

    @classmethod
    def of_first(cls, name: str, values: list[str], n_rows: int, few: bool, n: int) -> "Category":
        """Return the layout that the values of the first rows call for, for n targets."""
        if not few:
            return cls(name, [], 0, 0, new_table(len(values), n))
        room = 2 + len(values) // 8 if n_rows >= ENOUGH else _LARGE_ROOM
        table = None if n_rows >= ENOUGH else new_table(len(values), n)
        return cls(name, values, len(values), len(values) + room, table)

    @property
    def width(self) -> int:
        """How many features it becomes."""
        return self.n_indicators + (0 if self.table is None else 1 + self.table.sums.shape[1])

    def names(self, targets: list[str]) -> list[str]:
        known = [f"{self.name}={value or 'missing'}" for value in self.values]
        other = [f"{self.name}=other {i + 1}" for i in range(self.n_indicators - len(known))]
        told = [f"{self.name} count", *(f"{self.name} {target}" for target in targets)]
        return [*known, *other, *(told if self.table is not None else [])]

    def read(self, cells: np.ndarray) -> list[str]:
        return self._keys.each(self.name, cells)

    def write(self, keys: list[str], targets: Matrix, learn: bool, out: Matrix) -> None:
        """Write the features of rows to `out`, and learn each row after that if asked to."""
        if self.n_indicators:
            places = self._places(keys, learn)
            shown = np.flatnonzero(places >= 0)
            out[shown, places[shown]] = 1.0
        if self.table is not None:
            hashes = np.array(self._hashes.each(self.name, keys), dtype=np.int64)
            told = np.empty((len(keys), self.width - self.n_indicators))
            tell(self.table, hashes, targets, learn, told)
            out[:, self.n_indicators :] = told

    def _places(self, keys: list[str], learn: bool) -> Any:
        """Return the indicator of each row, -1 for none: of values before they are known."""
        places = {value: place for place, value in enumerate(self.values)}
        found: list[Any] = list(map(places.get, keys))
        if None not in found:
            return np.array(found)
        for i, place in enumerate(found):
            if place is None:
                found[i] = self._place_of_other(places, keys[i], learn)
        return np.array(found)

    def _place_of_other(self, places: dict[str, int], key: str, learn: bool) -> int:
        if key in places:  # since an earlier row of the chunk
            return places[key]
        if len(self.values) == self.n_indicators:
            shared = self.n_indicators - self.first_shared
            return self.first_shared + hash_of(key) % shared
        if learn:
            places[key] = len(self.values)
            self.values.append(key)
        return -1


def first_categories(columns: dict[str, np.ndarray], n_targets: int) -> dict[str, Category]:
    """Return the layouts that the first cells of all columns of categories call for."""
    values = {name: sorted({*map(key_of, cells.tolist())}) for name, cells in columns.items()}
    few, indicators = set(), 0
    for name in sorted(columns, key=lambda name: len(values[name])):
        n = len(values[name])
        if n <= _ALWAYS_FEW or (n <= _FEW and indicators + n <= _INDICATORS):
            few.add(name)
            indicators += n
    return {
        name: Category.of_first(name, values[name], len(cells), name in few, n_targets)
        for name, cells in columns.items()
    }
