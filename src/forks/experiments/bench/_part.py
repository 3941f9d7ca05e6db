"""What a part of the benchmark is, and the numbers that it measures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from forks.experiments.record import FAILED, Record
from forks.experiments.report import Table, title_and_text

_COLUMNS = 8  # of a table of curves


@dataclass(frozen=True)
class Number:
    """A measured number with its name, or the reason why there is none.

    `against` and `at` place it on a curve, `column` in a table with one row per name; `at_least`
    and `at_most` are goals.
    """

    name: str
    value: float | None = None
    unit: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    against: str = ""
    at: float | None = None
    column: str = ""
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal or a value."""
        if self.value is None or (self.at_least is None and self.at_most is None):
            return None
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)


class Part(NamedTuple):
    """One question."""

    doc: str | None  # title and text
    measure: Callable[..., Iterable[Number]]  # its defaults are those of a full benchmark
    quick: Mapping[str, Any] = {}  # parameters of a quick one
    draw: Callable[[Sequence[Number]], Any] | None = None

    @property
    def title(self) -> str:
        return title_and_text(self.doc)[0]


def part(name: str) -> Part:
    """Return a part by its name."""
    return import_module(f"forks.experiments.bench.{name}").PART


def numbers_of(record: Record, title: str) -> list[Number]:
    """Return the numbers of a record; the reason of a failure is one without a value."""
    known = {each.name for each in fields(Number)}
    numbers = [
        Number(**{name: number[name] for name in number.keys() & known})
        for number in record["numbers"]
    ]
    if record["status"] == FAILED:
        numbers.append(Number(title, reason=record["reason"]))
    return numbers


def curves(numbers: Iterable[Number], axis: str) -> list[tuple[str, Any, Any]]:
    """Return [(name, positions, values), ...] of the curves against an axis."""
    found: dict[str, list[tuple[float, float]]] = {}
    for number in numbers:
        if number.against == axis and number.at is not None and number.value is not None:
            found.setdefault(number.name, []).append((number.at, number.value))
    return [(name, *np.array(points, float).T) for name, points in found.items()]


def tables(numbers: Sequence[Number]) -> Iterator[Table]:
    """Make a table of the columns, one for each axis that numbers lie on, and one for the rest."""
    if any(number.column for number in numbers):
        yield _column_table([number for number in numbers if number.column])
    for axis in dict.fromkeys(number.against for number in numbers if number.against):
        yield _curve_table(axis, [number for number in numbers if number.against == axis])
    single = [number for number in numbers if not number.against and not number.column]
    if single:
        rows = [[number.name, _measured(number), _goal(number)] for number in single]
        yield Table(["", "measured", "goal"], rows, blank=" ")


def _column_table(numbers: Sequence[Number]) -> Table:
    columns = list(dict.fromkeys(number.column for number in numbers))
    cells = {(number.name, number.column): _measured(number) for number in numbers}
    names = dict.fromkeys(number.name for number in numbers)
    rows = [[name, *(cells.get((name, column), "") for column in columns)] for name in names]
    return Table(["", *columns], rows, blank=" ")


def _curve_table(axis: str, numbers: Sequence[Number]) -> Table:
    places = sorted({number.at for number in numbers if number.at is not None})
    if len(places) > _COLUMNS:
        step = (len(places) - 1) / (_COLUMNS - 1)
        places = [places[round(step * i)] for i in range(_COLUMNS)]
    rows = []
    for name in dict.fromkeys(number.name for number in numbers):
        curve = {number.at: number for number in numbers if number.name == name}
        unit = next(iter(curve.values())).unit
        values = [_digits(curve[at].value) if at in curve else "" for at in places]
        rows.append([f"{name}, {unit}" if unit else name, *values])
    return Table([f"{axis} =", *map(_digits, places)], rows, blank=" ")


def _digits(value: float | None) -> str:
    """Write a number with three significant digits, or all of them above 100."""
    if value is None:
        return ""
    return f"{value:,.0f}" if 99.95 <= abs(value) < 1e9 else f"{value:.3g}"


def _measured(number: Number) -> str:
    if number.value is None:
        return f"none: {number.reason}"
    return f"{_digits(number.value)} {number.unit}".strip()


def _goal(number: Number) -> str:
    low, high = number.at_least, number.at_most
    if low is not None and high is not None:
        goal = f"{low:g} to {high:g}"
    else:
        goal = f"≥ {low:g}" if low is not None else "" if high is None else f"≤ {high:g}"
    return goal if number.met is None else f"{goal}, met" if number.met else f"{goal}, NOT met"
