"""How far predicted numbers are from the labels."""

import math

import numpy as np

from forks.evaluate.measures.recent import Recent, added, divided


class Errors:
    """Sums of squared and absolute errors, and what the mean and the last label would have made.

    The sums for R2 are those of labels less the first one, which keeps them accurate.
    """

    def __init__(self, window: int, lag: int = 1) -> None:
        self.rows = 0
        self.first = 0.0
        self.sums = [0.0] * 5  # squared and absolute errors; labels, their squares; of the last
        self.repeated = 0  # rows that have a label to repeat
        self.last = Recent(lag, np.zeros(0))
        self.recent = Recent(window, np.zeros((0, 3)))  # label, error, difference to the last

    def update(self, labels: np.ndarray, answers: np.ndarray) -> None:
        """Add the next rows."""
        if self.rows == 0 and len(labels):
            self.first = float(labels[0])
        errors, moved = answers - labels, labels - self.first
        known = np.concatenate([self.last.values, labels])
        n = max(0, len(known) - self.last.size)
        steps = known[len(known) - n :] - known[:n]
        columns = (errors**2, np.abs(errors), moved, moved**2, steps**2)
        self.sums = [added(total, values) for total, values in zip(self.sums, columns, strict=True)]
        self.rows += len(labels)
        self.repeated += n
        self.last.update(labels)
        self._keep(labels, errors, np.concatenate([np.full(len(labels) - n, np.nan), steps]))

    def _keep(self, *columns: np.ndarray) -> None:
        tail = slice(max(0, len(columns[0]) - self.recent.size), None)
        self.recent.update(np.column_stack([column[tail] for column in columns]))

    def figures(self) -> dict[str, float]:
        """Return the figures over all rows, and over the last ones."""
        squared, absolute, moved, moved_squared, stepped = self.sums
        spread = max(0.0, moved_squared - divided(moved * moved, self.rows or 1))
        labels, errors, steps = self.recent.values.T
        return {
            **_figures(self.rows, squared, absolute, spread),
            "last_value_root_mean_squared_error": _root(divided(stepped, self.repeated)),
            **{f"recent_{name}": value for name, value in _recent(labels, errors, steps).items()},
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything added up so far, for `restore`."""
        return {
            "error_sums": np.array([self.rows, self.repeated, self.first, *self.sums]),
            "last_labels": self.last.values,
            "recent_errors": self.recent.values,
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned."""
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
