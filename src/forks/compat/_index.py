"""Which column a named feature has: a growing, bounded index, and rows made from dicts."""

import re
import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any

import numpy as np

from forks.compat._frames import as_number
from forks.engine import Matrix
from forks.estimators.warning import warn_caller

_OFTEN = 3  # times that names come again before they are expected: others may come in each row
_DIGITS = re.compile(r"([0-9]{1,18})")


class NotNumbers(ValueError):
    """Values of features that are not all finite numbers."""


class FeatureIndex:
    """Columns of features by name.

    The names of the first row get a column each, in the order of the names (numbers in them by
    size: x2 is before x10), whatever their order in the dict. When others come, rows become wider
    by them and an eighth more, so that a growing vocabulary does not widen the model in every row.
    Once there are `most` names, further ones are ignored: a learner scales, compares and weighs
    each column by itself, and names that share one would spoil it for each other.

    What belongs together is replaced in one step (an update of the attributes): an interrupt cannot
    leave half of it. Rows share one array, so threads must take turns.

    A row is made from a dict in one step if the last few had the same names, and not at all if the
    last one had the same values too; else name by name. What a dict does not have is 0.
    """

    def __init__(self, most: int) -> None:
        self.__dict__.update(most=most, **self._prepared({}, 0))

    most: int
    columns: dict[Hashable, int]
    width: int
    _warned = False  # that there is no room

    @staticmethod
    def _prepared(columns: dict[Hashable, int], width: int) -> dict[str, Any]:
        """Return the attributes for these columns."""
        room = bytearray(8 * width)  # numpy takes its time to hand out its memory
        write = struct.Struct(f"{width}d").pack_into
        return {
            "columns": columns,
            "width": width,
            "_bytes": room,
            "array": np.frombuffer(room).reshape(1, width),  # the row that was made last
            "_write_all": write,
            "_names": frozenset(),  # of the last dict made by name
            "_again": 0,  # times that they have come again
            "_length": -1,  # of a dict that takes one step: `_take` its values and `_write` them
            "_take": tuple,
            "_write": write,
            "values": None,  # that are in the row
        }

    _bytes: bytearray
    array: Matrix
    _write_all: Callable[..., None]
    _names: frozenset[Hashable]
    _again: int
    _length: int
    _take: Callable[[Mapping[Hashable, Any]], Sequence[Any]]
    _write: Callable[..., None]
    values: Sequence[Any] | None

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("most", "columns", "width")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        columns, width = kept["columns"], kept["width"]
        self.__dict__.update(most=kept["most"], **self._prepared(columns, width))

    def last_row(self) -> dict[Hashable, float]:
        """Return the numbers in the row that was made last, by name."""
        return {name: float(self.array[0, place]) for name, place in self.columns.items()}

    def knows_all(self, names: Iterable[Hashable]) -> bool:
        """Return whether none of these names would get a column."""
        return len(self.columns) == self.most or all(name in self.columns for name in names)

    def learn(self, names: Iterable[Hashable]) -> None:
        """Add columns for new names, as long as there is room."""
        columns = self.columns.copy()
        for name in _sorted(name for name in names if name not in columns):
            if len(columns) == self.most:
                self._warn_once(name)
                break
            columns[name] = len(columns)
        needed = max(1, len(columns))
        if needed > self.width:
            more = needed // 8 if self.width > 0 else 0
            width = min(needed + more, self.most)
            self.__dict__.update(self._prepared(columns, width))
        else:
            self.columns = columns

    def _warn_once(self, name: Hashable) -> None:
        """Say that a name gets no column, if none has been said to before."""
        if not self._warned:
            self._warned = True
            warn_caller(
                f"max_features={self.most} is reached: {name!r} is ignored, and so are other names "
                "that have not come before",
                UserWarning,
            )

    def row(self, x: Mapping[Hashable, Any], learn: bool = False) -> Matrix:
        """Make the row of a dict, in an array that is written to again by the next call.

        With `learn`, new names get columns; otherwise they are ignored.
        """
        values: Sequence[Any] | None = None
        try:
            if len(x) == self._length:
                values = self._take(x)
                if values == self.values:
                    return self.array  # it has been predicted, and is learned now
        except (KeyError, ValueError):  # other names; an array, which is neither equal nor not
            values = None
        write = self._write
        if values is None:
            self._look_at_names(x, learn)
            values, write = self._by_name(x), self._write_all
        self.values = None  # until the row is written
        try:
            good = isfinite(sum(values))
            if good:  # or the last row is still wanted
                write(self._bytes, 0, *values)
        except (struct.error, TypeError, ValueError, OverflowError):
            good = False
        if not good:  # or a sum that overflows, or of numbers that cannot be added
            check_values(self._known(x))
            self.array[0] = [float(value) for value in self._by_name(x)]
        self.values = values
        return self.array

    def _look_at_names(self, x: Mapping[Hashable, Any], learn: bool) -> None:
        """Learn names if asked to, and expect those that have come a few times."""
        if learn and not self.knows_all(x):
            check_values(x)
            self.learn(x)
        elif learn and not self._warned:  # there may be no room
            for name in (name for name in x if name not in self.columns):
                self._warn_once(name)
        self._again = self._again + 1 if x.keys() == self._names else 0
        self._names = frozenset(x)
        if self._again == _OFTEN and len(self._known(x)) == len(x):
            self._expect(sorted(x, key=self.columns.__getitem__))

    def _expect(self, names: list[Hashable]) -> None:
        """Make the step from a dict with these names, in the order of the columns, to a row."""
        columns = [self.columns[name] for name in names]
        gaps = np.diff([-1, *columns, self.width]) - 1  # columns without a value, before each
        write = struct.Struct("d".join(f"{8 * gap}x" for gap in gaps)).pack_into
        one = len(names) <= 1  # of which an itemgetter makes no tuple
        take = (lambda x: tuple(x[name] for name in names)) if one else itemgetter(*names)
        self.__dict__.update(_length=len(names), _write=write, _take=take)

    def _by_name(self, x: Mapping[Hashable, Any]) -> list[Any]:
        values: list[Any] = [0.0] * self.width
        for name, value in x.items():
            column = self.columns.get(name)
            if column is not None:
                values[column] = value
        return values

    def _known(self, x: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        return {name: value for name, value in x.items() if name in self.columns}


def _sorted(names: Iterable[Hashable]) -> list[Hashable]:
    """Return names of any types in an order that depends on the names only."""

    def key(name: Hashable) -> tuple[Any, ...]:
        parts = _DIGITS.split(name if isinstance(name, str) else repr(name))  # text, number, text
        natural = [(part if i % 2 == 0 else int(part)) for i, part in enumerate(parts)]
        return type(name).__name__, natural, parts

    return sorted(names, key=key)


def check_values(x: Mapping[Hashable, Any]) -> None:
    """Check that all values are finite numbers; booleans are numbers."""
    for name, value in x.items():
        if not isfinite(as_number(value)):
            raise NotNumbers(f"feature {name!r} must be a finite number, got {value!r}")
