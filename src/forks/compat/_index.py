"""Which column a named feature has: a growing, bounded index, and rows made from dicts."""

import logging
import re
import struct
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import isfinite, nan
from operator import itemgetter
from typing import Any

import numpy as np

from forks.typing import Matrix

_DIGITS = re.compile(r"([0-9]{1,18})")

logger = logging.getLogger("forks")


class FeatureIndex:
    """Columns of features by name.

    The names of the first row get a column each, in the order of the names (numbers in them by
    size: x2 is before x10), whatever their order in the dict. When others come, rows become wider
    by them and an eighth more, so that a growing vocabulary does not widen the model in every row.
    Once there are `most` names, further ones are ignored: a learner scales, compares and weighs
    each column by itself, and names that share one would spoil it for each other.

    A row is made from a dict in one step if the dict has the names of the one before it, in the
    same order, and not at all if it has its values too; else name by name. What a dict does not
    have is 0.

    Parameters
    ----------
    most : int
        Names at most.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.columns: dict[Hashable, int] = {}
        self.width = 0
        self._prepare()

    def _prepare(self) -> None:
        self._bytes = bytearray(8 * self.width)  # numpy takes its time to hand out its memory
        self._row = np.frombuffer(self._bytes).reshape(1, self.width)
        self._write = struct.Struct(f"{self.width}d").pack_into
        self._names: tuple[Hashable, ...] | None = None  # of the dict before
        self._given: tuple[Any, ...] | None = None  # its values
        self._arrange: Callable[[Sequence[Any]], Collection[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("most", "columns", "width")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._prepare()

    def knows_all(self, names: Iterable[Hashable]) -> bool:
        """Is there nothing to be learned from these names?"""
        return len(self.columns) == self.most or all(name in self.columns for name in names)

    def learn(self, names: Iterable[Hashable]) -> None:
        """Give columns to new names, as long as there is room."""
        columns = self.columns
        for name in _sorted(name for name in names if name not in columns):
            if len(columns) == self.most:
                logger.info("max_features=%d is reached: %r is ignored", self.most, name)
                break
            columns[name] = len(columns)
        needed = max(1, len(columns))
        if needed > self.width:
            more = needed // 8 if self.width > 0 else 0
            self.width = min(needed + more, self.most)
            self._prepare()

    def row(self, x: Mapping[Hashable, Any], learn: bool = False) -> Matrix:
        """Make the row of a dict, in an array that is written to again by the next call.

        To `learn` is to give columns to new names; otherwise they are ignored.
        """
        names, given = tuple(x), tuple(x.values())
        try:
            if given == self._given and names == self._names:
                return self._row  # it has been predicted, and is learned now
        except ValueError:  # an array among the values, which is neither equal nor not
            pass
        values: Collection[Any] = given
        if names != self._names:
            if learn and not self.knows_all(names):
                check_values(x)
                self.learn(names)
            values = self._by_name(x)
            self._names = names if self.knows_all(names) else None
            self._arrange = self._arrangement(names)
        elif self._arrange is not None:
            values = self._arrange((*given, 0.0))
        self._given = None  # until the row is written
        try:
            self._write(self._bytes, 0, *values)
            good = isfinite(sum(values))
        except (struct.error, TypeError, ValueError, OverflowError):
            good = False
        if not good:  # or a sum that overflows, or of numbers that cannot be added
            check_values(self._known(x))
            self._row[0] = [float(value) for value in values]
        self._given = given
        return self._row

    def _by_name(self, x: Mapping[Hashable, Any]) -> list[Any]:
        values: list[Any] = [0.0] * self.width
        for name, value in x.items():
            column = self.columns.get(name)
            if column is not None:
                values[column] = value
        return values

    def _known(self, x: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        return {name: value for name, value in x.items() if name in self.columns}

    def _arrangement(
        self, names: tuple[Hashable, ...]
    ) -> Callable[[Sequence[Any]], Collection[Any]] | None:
        """Make the function from the values of these names, and a 0 after them, to a row.

        None if the values are a row as they are.
        """
        places = [len(names)] * self.width
        for place, name in enumerate(names):
            column = self.columns.get(name)
            if column is not None:
                places[column] = place
        if places == list(range(len(names))):
            return None
        if len(places) < 2:  # where an itemgetter gives no tuple
            return lambda values: [values[place] for place in places]
        return itemgetter(*places)


def _sorted(names: Iterable[Hashable]) -> list[Hashable]:
    """Names of any kinds in an order that depends on nothing but them."""

    def key(name: Hashable) -> tuple[Any, ...]:
        parts = _DIGITS.split(name if isinstance(name, str) else repr(name))  # text, number, text
        natural = [(part if i % 2 == 0 else int(part)) for i, part in enumerate(parts)]
        return type(name).__name__, natural, parts

    return sorted(names, key=key)


def check_values(x: Mapping[Hashable, Any]) -> None:
    """Ask for finite numbers; booleans are numbers."""
    for name, value in x.items():
        if isinstance(value, str | bytes):
            raise ValueError(
                f"feature {name!r} must be a number, got {value!r}; "
                "one-hot encode it first, with River's OneHotEncoder, say"
            )
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = nan
        if not isfinite(number):
            raise ValueError(f"feature {name!r} must be a finite number, got {value!r}")
