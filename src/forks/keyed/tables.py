"""Tables with a column of keys: the keys apart, and the other columns encoded."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from forks.features import TableEncoder
from forks.features.table import CellError
from forks.features.table.layout import WIDEST
from forks.keyed.keys import checked_key


class KeyedRows(NamedTuple):
    """Rows and their keys."""

    keys: list[Any]
    X: Any

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.X.shape
        return shape

    def part(self, start: int, stop: int) -> "KeyedRows":
        """Return the rows from `start` to `stop`, that one left out."""
        return KeyedRows(self.keys[start:stop], self.X[start:stop])


def dense_encoder(table: Mapping[str, Any], y: Any, task: str) -> TableEncoder:
    """Return an encoder of dense rows that has seen the first ones: of text there are few words."""
    for bits in range(8, 0, -1):
        encoder = TableEncoder(hash_bits=bits, task=task).look(table, y)
        if len(encoder.get_feature_names_out()) <= WIDEST:
            return encoder
    raise ValueError(f"there are more columns than the {WIDEST:,} features that keys can have")


class KeyedEncoder:
    """Encodes tables as `TableEncoder` does, but for the column of keys, which are text.

    A whole number is the same key as its digits: tables have it as either. The encoder of the
    other columns has seen the first rows.
    """

    def __init__(self, key: str, encoder: TableEncoder) -> None:
        self.key, self.encoder = key, encoder

    def learn_transform(self, table: Mapping[str, Any], y: Any = None) -> KeyedRows:
        """Return each row, encoded by what was known before it, with its key; then learn it."""
        keys = keys_of(table, self.key)
        return KeyedRows(keys, self.encoder.learn_transform(without(table, self.key), y))

    def transform(self, table: Mapping[str, Any]) -> KeyedRows:
        """Return rows, encoded by all that has been learned so far, with their keys."""
        keys = keys_of(table, self.key)
        return KeyedRows(keys, self.encoder.transform(without(table, self.key)))

    def get_feature_names_out(self) -> np.ndarray:
        return self.encoder.get_feature_names_out()

    @property
    def feature_names_in_(self) -> list[str]:
        """The columns, with that of the keys."""
        return [*map(str, self.encoder.feature_names_in_), self.key]

    @property
    def columns_(self) -> Any:
        """The other columns, and what they were taken for."""
        return self.encoder.columns_

    def learned(self, name: str) -> dict[str, Any]:
        """Return what is known of the cells of another column, as JSON."""
        return self.encoder.learned(name)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what is known, as JSON and arrays, for `from_state`."""
        known, arrays = self.encoder.to_state()
        return {"key": self.key, "table": known}, arrays

    @classmethod
    def from_state(cls, known: Any, arrays: Mapping[str, np.ndarray]) -> "KeyedEncoder":
        """Return the encoder that `to_state` was called of, or raise `ValueError`."""
        if known.keys() != {"key", "table"} or type(known["key"]) is not str:
            raise ValueError("the description of the encoder is wrong")
        return cls(known["key"], TableEncoder.from_state(known["table"], arrays))


def without(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the columns but the one of the keys."""
    return {name: column for name, column in table.items() if name != key}


def keys_of(table: Mapping[str, Any], key: str) -> list[str]:
    """Return the column of keys as text; raise `CellError` for cells that are no keys."""
    if key not in table:
        raise ValueError(f"there is no column {key!r}, which has the keys")
    cells, keys = table[key], []
    for row, cell in enumerate(cells.tolist() if hasattr(cells, "tolist") else cells):
        name, fault = checked_key(cell)
        if fault is not None:
            raise CellError(key, row, f"the key {fault}")
        keys.append(str(name))
    return keys
