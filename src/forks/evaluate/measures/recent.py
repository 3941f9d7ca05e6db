"""What all accumulators stand on: the last values of a stream, and sums that know no chunks."""

import math
from typing import Any

import numpy as np


def divided(value: Any, by: Any) -> float:
    """Return a quotient, nan for a divisor of 0."""
    return float(value) / float(by) if by else math.nan


def added(total: float, values: np.ndarray) -> float:
    """Add values one after the other, so that no bit depends on how the stream is cut."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


class Recent:
    """The last values of a stream, at most `size` of them, oldest first."""

    def __init__(self, size: int, empty: Any) -> None:
        self.size = size
        self.values: np.ndarray = np.asarray(empty)[:0]

    def update(self, values: np.ndarray) -> None:
        """Take in the values of the next rows."""
        if len(values) >= self.size:
            self.values = np.array(values[-self.size :], dtype=self.values.dtype)
        else:
            kept = self.values[max(0, len(self.values) + len(values) - self.size) :]
            self.values = np.concatenate([kept, values]).astype(self.values.dtype, copy=False)

    def update_columns(self, *columns: np.ndarray) -> None:
        """Take in rows of several values each, of which those that would be left are not joined."""
        tail = slice(max(0, len(columns[0]) - self.size), None)
        self.update(np.column_stack([column[tail] for column in columns]))

    def mean(self) -> float:
        """Return the mean of the values, nan if there are none."""
        return float(np.mean(self.values)) if len(self.values) else math.nan
