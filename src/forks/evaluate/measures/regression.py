"""All figures of a regressor, over a stream and over its last rows."""

import math
from typing import Any

import numpy as np

from forks.evaluate.measures.recent import Recent, added, divided


class RegressionMeasures:
    """Root mean squared and mean absolute error, R2, the median error, and lines to beat.

    One pass, bounded memory, and no bit depends on how the stream is cut into chunks.

    Parameters
    ----------
    window : int
        Rows of the figures whose names begin with "recent_".
    delay : int
        The label of a row comes when so many further rows have been predicted: the last label
        that can be repeated is older by as many.

    Examples
    --------
    >>> from forks.evaluate import RegressionMeasures
    >>> measures = RegressionMeasures()
    >>> measures.update([1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    >>> round(measures.figures()["r2"], 3)
    0.786
    """

    def __init__(self, window: int = 1000, delay: int = 0) -> None:
        self.rows = 0
        self.first = 0.0  # label: sums of differences to it stay accurate
        # squared and absolute errors; labels and their squares, less the first; steps, squared
        self.sums = [0.0] * 5
        self.repeated = 0  # rows that have a label to repeat
        self.last = Recent(delay + 1, np.zeros(0))
        self.recent = Recent(window, np.zeros((0, 3)))  # label, error, step from the last label

    def update(self, y: Any, answers: Any) -> None:
        """Add the next rows.

        Parameters
        ----------
        y, answers : array of shape (n_rows,)
            Labels, and what was predicted.
        """
        labels = np.asarray(y, np.float64)
        if self.rows == 0 and len(labels):
            self.first = float(labels[0])
        errors, moved = np.asarray(answers, np.float64) - labels, labels - self.first
        known = np.concatenate([self.last.values, labels])
        n = max(0, len(known) - self.last.size)
        steps = known[len(known) - n :] - known[:n]
        columns = (errors**2, np.abs(errors), moved, moved**2, steps**2)
        self.sums = [added(total, values) for total, values in zip(self.sums, columns, strict=True)]
        self.rows += len(labels)
        self.repeated += n
        self.last.update(labels)
        no_steps = np.full(len(labels) - n, np.nan)
        self.recent.update_columns(labels, errors, np.concatenate([no_steps, steps]))

    def figures(self) -> dict[str, float]:
        """Return all figures by name, nan where there is none; see the guide for what each is."""
        squared, absolute, moved, moved_squared, stepped = self.sums
        spread = max(0.0, moved_squared - divided(moved * moved, self.rows or 1))
        recent = _recent(*self.recent.values.T)
        return {
            **_figures(self.rows, squared, absolute, spread),
            "last_value_root_mean_squared_error": _root(divided(stepped, self.repeated)),
            **{f"recent_{name}": value for name, value in recent.items()},
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything added up so far, for `restore`."""
        return {
            "error_sums": np.array([self.rows, self.repeated, self.first, *self.sums]),
            "last_labels": self.last.values,
            "recent_errors": self.recent.values,
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned.

        Parameters
        ----------
        arrays : dict of arrays
        """
        rows, repeated, self.first, *self.sums = arrays["error_sums"].tolist()
        self.rows, self.repeated = int(rows), int(repeated)
        self.last.values, self.recent.values = arrays["last_labels"], arrays["recent_errors"]


def _figures(n: int, squared: float, absolute: float, spread: float) -> dict[str, float]:
    """Return the figures of n rows; `spread` is the sum of squared distances to the mean label."""
    return {
        "root_mean_squared_error": _root(divided(squared, n)),
        "mean_absolute_error": divided(absolute, n),
        "r2": 1.0 - divided(squared, spread) if spread else math.nan,
        "mean_value_root_mean_squared_error": _root(divided(spread, n)),
    }


def _recent(labels: np.ndarray, errors: np.ndarray, steps: np.ndarray) -> dict[str, float]:
    n = len(labels)
    spread = float(np.sum((labels - labels.mean()) ** 2)) if n else 0.0
    steps = steps[~np.isnan(steps)]
    return {
        **_figures(n, float(np.sum(errors**2)), float(np.sum(np.abs(errors))), spread),
        "median_absolute_error": float(np.median(np.abs(errors))) if n else math.nan,
        "last_value_root_mean_squared_error": _root(divided(np.sum(steps**2), len(steps))),
    }


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0.0 else math.nan
