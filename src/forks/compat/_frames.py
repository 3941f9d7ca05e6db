"""Data frames of the kinds that River takes, and answers in the same kind.

River 0.26 and later take what narwhals takes; before that, its mini-batches are pandas frames.
"""

import math
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from forks.engine import Vector

Columns = list[tuple[Any, Any]]  # names and cells


def _is_pandas(part: Any) -> bool:
    return type(part).__module__.split(".")[0] == "pandas"


def columns_of(X: Any) -> Columns:
    """Return the columns in their order; names may come twice."""
    if _is_pandas(X):
        return [(name, X.iloc[:, place]) for place, name in enumerate(X.columns)]
    if hasattr(X, "column_names"):  # pyarrow, whose `columns` are the columns themselves
        return [(name, X[name]) for name in X.column_names]
    if not hasattr(X, "columns"):
        raise ValueError(f"X must be a data frame, got {type(X).__name__}")
    return [(name, X[name]) for name in X.columns]


def numbers_of(name: Any, column: Any) -> Vector:
    """Return a column as numbers: all finite, or an error that names the column and a row."""
    numbers = np.asarray(column)
    if numbers.dtype.kind not in "fiub":  # not numbers throughout, or numbers and gaps
        numbers = np.array([as_number(value) for value in values_of(column)])
    numbers = numbers.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        value = values_of(column)[row]
        raise ValueError(f"feature {name!r} must be a finite number, got {value!r} in row {row}")
    return numbers


def all_numbers(columns: Columns) -> bool:
    """Return whether all columns are numbers, and none has a gap."""
    for _, column in columns:
        try:
            numbers = np.asarray(column)
        except (TypeError, ValueError):
            return False
        if numbers.dtype.kind == "f" and np.isnan(numbers).any():
            return False
        if numbers.dtype.kind not in "fiub":
            for value in values_of(column):
                if isinstance(value, str | bytes) or math.isnan(as_number(value)):
                    return False
    return True


def dicts_of(columns: Columns) -> list[dict[Any, Any]]:
    """Return rows as dicts."""
    names = [name for name, _ in columns]
    cells = [values_of(column) for _, column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def as_number(value: Any) -> float:
    """Return the number that a value is, or NaN; text is no number."""
    try:
        return np.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def values_of(y: Any) -> list[Any]:
    """Return the values of a series, or of any sequence, as a list."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(y, method):
            return list(getattr(y, method)())
    return list(y)


def series_like(values: Any, X: Any, name: Any) -> Any:
    """Return a series of the kind of frame X, with its index if it has one."""
    if _is_pandas(X):
        import pandas as pd

        return pd.Series(values, index=X.index, name=name)
    backend = nw.get_native_namespace(nw.from_native(X))
    return nw.new_series(name, values, backend=backend).to_native()


def frame_like(columns: Mapping[Any, Any], X: Any) -> Any:
    """Return a frame of the kind of frame X, with its index if it has one."""
    if _is_pandas(X):
        import pandas as pd

        return pd.DataFrame(dict(columns), index=X.index)
    named = {str(name): column for name, column in columns.items()}
    backend = nw.get_native_namespace(nw.from_native(X))
    return nw.from_dict(named, backend=backend).to_native()
