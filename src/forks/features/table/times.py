"""Columns of dates and times: where in the day, the week and the year, and years since the first.

Parts that come again are points on a circle, a sine and a cosine. Those of the week and of the year
step at midnight (of UTC, or of times that tell no zone): within a day they say nothing that the
hour does not, and moved along with it. A missing time is that of the last row which had one, in the
part that grows, and the middle of the circles.
"""

import datetime
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from forks.engine import Matrix, Vector
from forks.features.table.cells import Memo, floats_of, is_missing, key_of
from forks.features.table.dates import DAY_FIRST, MONTH_FIRST, order_of, time_of_text

DAY, YEAR = 86_400.0, 365.2425 * 86_400.0
_CIRCLES = {"hour": DAY, "weekday": 7.0 * DAY, "season": YEAR}
_THURSDAY = 3.0 * DAY  # after Monday: the day of 1970-01-01
_WANTED = {
    "": "date or time such as 2013-03-01, 2013/03/01 or 2013-03-01T05:00Z",
    DAY_FIRST: "date or time with the day first, such as 31.12.2013 or 31/12/2013 5:00",
    MONTH_FIRST: "date or time with the month first, such as 12/31/2013 or 12/31/2013 5:00",
}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def seconds_of(cell: Any, order: str = "") -> float:
    """Return the seconds of a time since 1970, NaN for a missing one; UTC unless it says more.

    `order` is that of text whose year comes last, one of `forks.features.table.dates.ORDERS`.
    """
    if is_missing(cell):
        return math.nan
    if isinstance(cell, str):
        cell = time_of_text(cell, order)
    if isinstance(cell, datetime.datetime):
        aware = cell if cell.tzinfo else cell.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH).total_seconds()
    if isinstance(cell, datetime.date):
        return (cell - _EPOCH.date()).total_seconds()
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / 1e6
    raise ValueError


def order_of_cells(cells: np.ndarray) -> tuple[str, bool]:
    """Return the order in which dates are written, and whether they show it."""
    if cells.dtype.kind not in "OUS":
        return "", True
    return order_of(map(key_of, cells.tolist()))


@dataclass
class Time:
    """One column of times."""

    name: str
    origin: float  # seconds: the first time
    hours: bool  # whether the hour counts: not if all times are at midnight
    last: float  # seconds: of the last row that had a time
    order: str = ""  # of text whose year comes last
    steps: bool = False  # whether week and year step at midnight: not in models of before

    def __post_init__(self) -> None:
        self._memo = Memo(partial(seconds_of, order=self.order), _WANTED[self.order])

    @classmethod
    def of_first(cls, name: str, cells: np.ndarray, order: str | None = None) -> "Time":
        """Return the layout that the first cells call for; they show the order if it is None."""
        order = order_of_cells(cells)[0] if order is None else order
        made = cls(name, 0.0, True, 0.0, order)
        seconds = made.read(cells)
        present = seconds[~np.isnan(seconds)]
        origin = float(present[0]) if len(present) else 0.0
        return cls(name, origin, bool(np.any(present % DAY != 0.0)), origin, order, True)

    @property
    def width(self) -> int:
        """How many features it becomes."""
        return 2 * len(self._circles()) + 1

    def _circles(self) -> list[str]:
        return [part for part in _CIRCLES if self.hours or part != "hour"]

    def names(self) -> list[str]:
        parts = self._circles()
        waves = [f"{self.name} {part} {wave}" for part in parts for wave in ("sin", "cos")]
        return [*waves, f"{self.name} years"]

    def learned(self) -> dict[str, str]:
        """Return the first and the last time that rows had."""
        ends = {"first": self.origin, "last": self.last}
        return {end: str(np.datetime64(round(seconds), "s")) for end, seconds in ends.items()}

    def read(self, cells: np.ndarray) -> Vector:
        """Return the seconds of cells since 1970, NaN for missing ones.

        Numbers are seconds.
        """
        if cells.dtype.kind == "M":
            whole = cells.astype("datetime64[us]").astype(np.int64)
            return np.where(np.isnat(cells), np.nan, whole / 1e6)
        if cells.dtype.kind in "biuf":
            return floats_of(self.name, cells)
        return np.array(self._memo.each(self.name, cells), dtype=np.float64)

    def write(self, seconds: Vector, learn: bool, out: Matrix) -> None:
        """Write the features of rows to `out`, and learn the last time if asked to."""
        gaps = np.isnan(seconds)
        if gaps.any():
            seconds = np.where(gaps, self._last_before(seconds, gaps, learn), seconds)
        days = seconds // DAY * DAY if self.steps else seconds
        for k, part in enumerate(self._circles()):
            since = {"hour": seconds, "weekday": days + _THURSDAY, "season": days}[part]
            angle = 2.0 * np.pi * (since % _CIRCLES[part]) / _CIRCLES[part]
            out[:, 2 * k] = np.where(gaps, 0.0, np.sin(angle))
            out[:, 2 * k + 1] = np.where(gaps, 0.0, np.cos(angle))
        out[:, -1] = (seconds - self.origin) / YEAR
        if learn and len(seconds):
            self.last = float(seconds[-1])

    def _last_before(self, seconds: Vector, gaps: Any, learn: bool) -> Any:
        """Return the last time before each row: of rows that are learned, or were."""
        if not learn:
            return self.last
        last = np.maximum.accumulate(np.where(gaps, -1, np.arange(len(seconds))))
        return np.where(last < 0, self.last, seconds[last])
