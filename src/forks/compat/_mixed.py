"""Dicts of features that are not all numbers: text, dates, and values that are missing.

They become dicts of numbers by the parts of `forks.features.TableEncoder`, one feature at a time,
since features of River may come late and be left out:

- text is a category: an indicator for each of the first 16 values, shared by others, how often
  the value came, and the mean of its targets, made before the row's own label is used;
- dates and times are points on circles, and years since the first;
- a number that is missing (None or NaN) is the mean of those before it, and has an indicator.

What a feature is, its first value says.
"""

import datetime
import math
import numbers
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from forks.features.table.categories import Category
from forks.features.table.cells import is_missing, key_of
from forks.features.table.state import (
    Arrays,
    category_from_state,
    category_to_state,
    targets_from_state,
    targets_to_state,
    time_from_state,
    time_to_state,
)
from forks.features.table.targets import Targets
from forks.features.table.times import Time, seconds_of
from forks.files import decode, encode


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime.date | np.datetime64) and not is_missing(value)


class Mixed:
    """What is known of features that are not all numbers."""

    def __init__(self, task: str, n_targets: int, last: Mapping[Hashable, float]) -> None:
        self.targets = Targets(task, n_targets, [])
        self.categories: dict[Hashable, Category] = {}
        self.times: dict[Hashable, Time] = {}
        # How many numbers of a feature there were, and their sum; begins with the last row.
        self.means: dict[Hashable, tuple[int, float]] = {k: (1, v) for k, v in last.items()}

    def encode(self, x: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Return a row as numbers, by what is known; others are left for whoever checks them."""
        return self._encoded(x, None)

    def learn(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn a row and its label, after it has been encoded."""
        labels = self.targets.read(np.array([y], dtype=object))
        self._encoded(x, self.targets.of(labels, 1))

    def _encoded(self, x: Mapping[Hashable, Any], targets: Any) -> dict[Hashable, Any]:
        made: dict[Hashable, Any] = {}
        learn = targets is not None
        for name, value in x.items():
            if name in self.categories or (isinstance(value, str) and not self._is_other(name)):
                if learn or name in self.categories:
                    self._category(name, value, targets, made)
            elif name in self.times or _is_time(value):
                if learn or name in self.times:
                    self._time(name, value, learn, made)
            elif is_missing(value):
                n, total = self.means.get(name, (0, 0.0))
                made[name] = total / n if n else 0.0
                made[f"{name} missing"] = 1.0
            else:
                made[name] = value
                if learn and isinstance(value, numbers.Real | np.bool_):
                    n, total = self.means.get(name, (0, 0.0))
                    self.means[name] = n + 1, total + float(value)
        return made

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Return JSON that stands for it, and put its tables among the arrays."""
        both = enumerate(self.categories.items())
        return {
            "targets": targets_to_state(self.targets),
            "categories": [
                [encode("name", k), category_to_state(c, i, arrays)] for i, (k, c) in both
            ],
            "times": [[encode("name", k), time_to_state(t)] for k, t in self.times.items()],
            "means": [[encode("name", k), n, total] for k, (n, total) in self.means.items()],
        }

    @classmethod
    def from_state(cls, given: Any, arrays: Arrays) -> "Mixed":
        """Return what `to_state` was called of, or raise an error."""
        made = cls("regression", 1, {})
        made.targets = targets_from_state(**given["targets"])
        for i, (name, part) in enumerate(given["categories"]):
            key = decode(name)
            made.categories[key] = category_from_state(str(key), i, made.targets.n, arrays, **part)
        for name, part in given["times"]:
            made.times[decode(name)] = time_from_state(str(decode(name)), **part)
        for name, n, total in given["means"]:
            if type(n) is not int or n < 1 or not math.isfinite(total):
                raise ValueError("the means of the features are no numbers")
            made.means[decode(name)] = n, float(total)
        return made

    def _is_other(self, name: Hashable) -> bool:
        return name in self.times or name in self.means

    def _category(
        self, name: Hashable, value: Any, targets: Any, made: dict[Hashable, Any]
    ) -> None:
        learn = targets is not None
        category = self.categories.get(name)
        if category is None:
            category = Category.of_first(str(name), [], 1, True, self.targets.n)
            self.categories[name] = category
        row = np.zeros((1, category.width))
        if not learn:
            targets = np.zeros((1, self.targets.n))
        category.write([key_of(value)], targets, learn, row)
        n = category.n_indicators
        for place in np.flatnonzero(row[0, :n]).tolist():
            made[f"{name}={place + 1}"] = 1.0
        for place, number in enumerate(row[0, n:].tolist()):
            made[f"{name} mean {place}" if place else f"{name} count"] = number

    def _time(self, name: Hashable, value: Any, learn: bool, made: dict[Hashable, Any]) -> None:
        time = self.times.get(name)
        if time is None:
            origin = seconds_of(value)
            time = self.times[name] = Time(str(name), origin, True, origin, steps=True)
        row = np.zeros((1, time.width))
        try:
            seconds = np.array([seconds_of(value)])
        except (ValueError, TypeError):
            raise ValueError(f"feature {name!r} must be a date or a time, got {value!r}") from None
        time.write(seconds, learn, row)
        made.update(zip(time.names(), row[0].tolist(), strict=True))
        if math.isnan(seconds[0]):
            made[f"{name} missing"] = 1.0
