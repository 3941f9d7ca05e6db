"""Columns of categories.

A category of few values has an indicator for each, and room for values to come: the next ones get
an indicator of their own from their second row on, and when there are none left, further values
share those of the room by their hash. A category of many values has a small block that all share
by their hash, and what is known of each value (see `statistics`): how often it came, and with
which targets. A category of which too few rows have been seen to tell which of the two it is has
both.

A missing value is a value like others.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.features.table.cells import Memo, key_of
from forks.features.table.kinds import FEW
from forks.features.table.statistics import Table, new_table, tell

ENOUGH = 256  # rows that tell a category of few values from one of many
_LARGE_ROOM = 16
_SHARED = 16  # columns of the block of a category of many values


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
    own: bool  # whether new values get indicators of their own while there are some
    table: Table | None  # of categories of many values
    _keys: Memo[str] = field(default_factory=lambda: Memo(key_of), repr=False, compare=False)
    _hashes: Memo[int] = field(default_factory=lambda: Memo(hash_of), repr=False, compare=False)

    @classmethod
    def of_first(cls, name: str, cells: np.ndarray, n_targets: int, bits: int) -> "Category":
        """Return the layout that the first cells call for."""
        counts: dict[str, int] = {}
        for cell in cells.tolist():
            key = key_of(cell)
            counts[key] = counts.get(key, 0) + 1
        if len(counts) > FEW:
            width = min(_SHARED, 2**bits)
            return cls(name, [], 0, width, False, new_table(len(counts), n_targets))
        values, enough = sorted(counts), len(cells) >= ENOUGH
        room = 2 + len(values) // 8 if enough else _LARGE_ROOM
        table = None if enough else new_table(len(counts), n_targets)
        return cls(name, values, len(values), len(values) + room, True, table)

    @property
    def width(self) -> int:
        """How many features it becomes."""
        return self.n_indicators + (0 if self.table is None else 1 + self.table.sums.shape[1])

    def names(self, targets: list[str]) -> list[str]:
        """Return the names of the features."""
        known = [f"{self.name}={value or 'missing'}" for value in self.values]
        other = [f"{self.name}=other {i + 1}" for i in range(self.n_indicators - len(known))]
        told = [f"{self.name} count", *(f"{self.name} {target}" for target in targets)]
        return [*known, *other, *(told if self.table is not None else [])]

    def read(self, cells: np.ndarray) -> list[str]:
        """Return the values of cells."""
        return self._keys.each(self.name, cells)

    def write(self, keys: list[str], targets: Matrix, learn: bool, out: Matrix) -> None:
        """Write the features of rows to `out`, and learn each row after that if asked to."""
        places = self._places(keys, learn)
        shown = np.flatnonzero(places >= 0)
        out[shown, places[shown]] = 1.0
        if self.table is not None:
            told = np.empty((len(keys), self.width - self.n_indicators))
            tell(self.table, self._hashed(keys), targets, learn, told)
            out[:, self.n_indicators :] = told

    def _hashed(self, keys: list[str]) -> Any:
        return np.array(self._hashes.each(self.name, keys), dtype=np.int64)

    def _places(self, keys: list[str], learn: bool) -> Any:
        """Return the indicator of each row, -1 for none: of values before they are known."""
        shared = self.n_indicators - self.first_shared
        if not self.own:
            return self.first_shared + self._hashed(keys) % shared
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
