"""Predictions as CSV: row, prediction, scores, label."""

import csv
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np


def plain(value: Any) -> str:
    """Return a label or a number as text: whole numbers without a point, missing ones empty."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def heading(classes: np.ndarray | None, labelled: bool) -> str:
    """Return the first line; `classes` are those of a classifier."""
    scores = [] if classes is None else [f"score_{plain(label)}" for label in classes]
    if len(scores) == 2:
        scores = ["score"]
    return _lines([["row", "prediction", *scores, *(["label"] if labelled else [])]])


def prediction_lines(
    before: int, answers: np.ndarray, scores: np.ndarray | None, y: np.ndarray | None
) -> str:
    """Return a line per row: its number, the answer, the scores if there are any, and the label.

    `before` is the number of rows that come before these.
    """
    columns: list[Iterable[Any]] = [range(before + 1, before + 1 + len(answers))]
    columns.append(map(plain, answers))
    if scores is not None:
        columns += np.atleast_2d(scores.T).tolist()
    if y is not None:
        columns.append(map(plain, y))
    return _lines(zip(*columns, strict=True))


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return lines that end in a line feed; cells with that or a carriage return are quoted."""
    lines: list[str] = []
    file = SimpleNamespace(write=lambda line: lines.append(line[:-2] + "\n"))
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return "".join(lines)
