"""A layout as JSON and arrays, and back; what is read is checked before it is used.

Arrays are called "means" (counts, then sums, of the numbers), "ranges" (their least and largest, 0
where there was none) and "<column>/<part of its table>", where <column> is the number of a
category's column.
"""

import math
from typing import Any

import numpy as np

from forks.features.means import Means
from forks.features.table.categories import Category
from forks.features.table.dates import ORDERS
from forks.features.table.kinds import KINDS, Column
from forks.features.table.layout import Layout
from forks.features.table.ranges import Ranges
from forks.features.table.statistics import LARGEST, WAYS, ValueTable
from forks.features.table.targets import MOST_CLASSES, Targets
from forks.features.table.text import Text
from forks.features.table.times import Time

Arrays = dict[str, np.ndarray]
_MANY = 2**53


def layout_to_state(layout: Layout) -> tuple[dict[str, Any], Arrays]:
    """Return JSON and arrays that stand for a layout."""
    arrays: Arrays = {"means": np.stack([layout.means.counts, layout.means.sums])}
    if layout.ranges is not None:
        arrays["ranges"] = np.where(layout.means.counts > 0.0, np.stack(layout.ranges), 0.0)
    columns = []
    for number, column in enumerate(layout.columns):
        name, part = column.name, {}
        if name in layout.categories:
            part["category"] = category_to_state(layout.categories[name], number, arrays)
        elif name in layout.times:
            part["time"] = time_to_state(layout.times[name])
        elif name in layout.texts:
            part["text"] = {"width": layout.texts[name].width}
        elif name in layout.numbers:
            part["number"] = {}
        columns.append({**column._asdict(), **part, "gaps": name in layout.own_gaps})
    targets = targets_to_state(layout.targets)
    told = {"names": list(layout.names), "thin": layout.thin}
    return {"columns": columns, "targets": targets, **told}, arrays


def category_to_state(category: Category, number: int, arrays: Arrays) -> dict[str, Any]:
    """Return JSON that stands for a category, and put its table among the arrays."""
    if category.table is not None:
        for field, array in category.table._asdict().items():
            arrays[f"{number}/{field}"] = array.copy()
    return {
        "values": list(category.values),
        "first_shared": category.first_shared,
        "n_indicators": category.n_indicators,
        "table": category.table is not None,
    }


def time_to_state(time: Time) -> dict[str, Any]:
    """Return JSON that stands for a time."""
    told = {"origin": time.origin, "hours": time.hours, "last": time.last}
    order = {"order": time.order} if time.order else {}
    return {**told, **order, **({"steps": True} if time.steps else {})}


def targets_to_state(targets: Targets) -> dict[str, Any]:
    """Return JSON that stands for targets."""
    return {"task": targets.task, "n": targets.n, "classes": list(targets.classes)}


def layout_from_state(known: Any, arrays: Arrays) -> Layout:
    """Return the layout that JSON and arrays stand for, or raise `ValueError`."""
    try:
        layout = _layout(known, arrays)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the description of the columns is wrong: {error}") from None
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    return layout


def _layout(known: Any, arrays: Arrays) -> Layout:
    targets = targets_from_state(**known["targets"])
    columns: list[Column] = []
    numbers: list[str] = []
    gaps: list[str] = []
    parts: dict[str, dict[str, Any]] = {"time": {}, "category": {}, "text": {}}
    for number, given in enumerate(known["columns"]):
        column = Column(*(given[field] for field in Column._fields))
        name = column.name
        _check(all(type(text) is str for text in column) and column.kind in KINDS, "columns")
        columns.append(column)
        gaps += [name] if given["gaps"] else []
        if "category" in given:
            made: Any = category_from_state(name, number, targets.n, arrays, **given["category"])
            parts["category"][name] = made
        elif "time" in given:
            parts["time"][name] = time_from_state(name, **given["time"])
        elif "text" in given:
            width = given["text"]["width"]
            _check(_is_count(width, 1, 2**24), "text")
            parts["text"][name] = Text(name, width)
        elif "number" in given:
            numbers.append(name)
    _check(len({column.name for column in columns}) == len(columns), "columns")
    means = _array(arrays, "means", (2, len(numbers)), np.float64)
    _check(bool(np.all(means[0] >= 0.0)), "means")
    names = known["names"]
    _check(isinstance(names, list) and all(type(name) is str for name in names), "names")
    thin = known.get("thin", False)  # earlier versions did not ask
    _check(type(thin) is bool, "thin")
    ranges = None
    if "ranges" in arrays:  # earlier versions had none
        ends = _array(arrays, "ranges", (2, len(numbers)), np.float64)
        kept = Ranges.of_none(len(numbers))
        ranges = Ranges(*(np.where(means[0] > 0.0, *both) for both in zip(ends, kept, strict=True)))
    averages = Means(means[0].copy(), means[1].copy())
    encoders = parts["time"], parts["category"], parts["text"]
    return Layout(columns, numbers, gaps, averages, *encoders, targets, names, thin, ranges)


def targets_from_state(task: Any, n: Any, classes: Any) -> Targets:
    """Return the targets that JSON stands for."""
    right = task in ("classification", "regression") and _is_count(n, 1, MOST_CLASSES)
    _check(right and all(type(label) is str for label in classes) and len(classes) <= n, "targets")
    return Targets(task, n, list(classes))


def time_from_state(
    name: str, origin: Any, hours: Any, last: Any, order: Any = "", steps: Any = False
) -> Time:
    """Return the time that JSON stands for; in earlier versions nothing stepped."""
    finite = all(isinstance(x, int | float) and math.isfinite(x) for x in (origin, last))
    _check(finite and type(hours) is type(steps) is bool and order in ("", *ORDERS), "time")
    return Time(name, float(origin), hours, float(last), order, steps)


def category_from_state(
    name: str,
    number: int,
    n_targets: int,
    arrays: Arrays,
    values: Any,
    first_shared: Any,
    n_indicators: Any,
    table: Any,
) -> Category:
    """Return the category that JSON and arrays stand for."""
    right = (
        isinstance(values, list)
        and all(type(value) is str for value in values)
        and _is_count(n_indicators, len(values), 2**24)
        and _is_count(first_shared, 0, max(0, n_indicators - 1))
        and type(table) is bool
        and (table or n_indicators > 0)
    )
    _check(right, "category")
    held = _table(f"{number}/", n_targets, arrays) if table else None
    return Category(name, list(values), first_shared, n_indicators, held)


def _table(prefix: str, n_targets: int, arrays: Arrays) -> ValueTable:
    slots = len(arrays[prefix + "keys"])
    _check(slots % WAYS == 0 and 0 < slots <= LARGEST, "table")
    shapes = {"sums": (slots, n_targets), "total": (1 + n_targets,), "clock": (1,)}
    kinds = {"keys": np.int64, "last": np.int64, "clock": np.int64}
    made = [
        _array(arrays, prefix + field, shapes.get(field, (slots,)), kinds.get(field, np.float64))
        for field in ValueTable._fields
    ]
    found = ValueTable(*made)
    _check(0 <= found.clock[0] <= _MANY and bool(np.all(found.times >= 0.0)), "table")
    return found


def _array(arrays: Arrays, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
    array = arrays.pop(name)
    right = array.shape == shape and array.dtype == kind
    _check(right and (array.dtype.kind != "f" or bool(np.isfinite(array).all())), name)
    return np.array(array, order="C")


def _is_count(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _check(right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"the description of the encoder is wrong: {what}")
