"""Columns of Spark as rows of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from forks.engine import Matrix


def check_columns(frame: Any, **columns: str | Sequence[str] | None) -> None:
    """Raise an error that names the argument if a frame has no such column, or has it twice."""
    for argument, names in columns.items():
        for name in [names] if isinstance(names, str) else names or []:
            if frame.columns.count(name) != 1:
                raise ValueError(
                    f"{argument}: the frame has {frame.columns.count(name)} columns {name!r}; "
                    f"it has {', '.join(frame.columns)}"
                )


def feature_names(frame: Any, features: str | Sequence[str] | None, *others: Any) -> list[str]:
    """Return the columns of features: those given, or all but the others."""
    if features is not None:
        names = [features] if isinstance(features, str) else list(features)
    else:
        names = [name for name in frame.columns if name not in others]
    if not names:
        raise ValueError("features: there is no column")
    return names


def rows_from(rows: Sequence[Any], names: Sequence[str]) -> Matrix:
    """Return rows of Spark as numbers, NaN for gaps: columns, or one column of arrays."""
    if len(names) == 1 and isinstance(rows[0][names[0]], list):
        cells = [row[names[0]] for row in rows]
    else:
        cells = [[row[name] for name in names] for row in rows]
    return np.array(cells, dtype=np.float64)


def rows_of(table: Any, names: Sequence[str]) -> Matrix:
    """Return the rows of a table of pandas: columns of numbers, or one column of arrays."""
    if len(names) == 1 and table[names[0]].dtype == object:
        cells = table[names[0]].tolist()
        return np.array(cells, dtype=np.float64).reshape(len(cells), -1)
    return np.column_stack([table[name].to_numpy(np.float64, na_value=np.nan) for name in names])
