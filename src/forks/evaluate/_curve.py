"""The course of a run, at a number of rows that is bounded however long the stream is."""

import numpy as np

from forks.evaluate.measures.recent import Recent

_MOST = 256  # points
_FIRST_STEP = 4  # rows


class Curve:
    """Means of one number a row, over all rows so far and over the last ones.

    Points are the multiples of a step, which doubles when there would be more than 256 of them;
    so there are 128 at least once there are a thousand rows, and no chunk matters.
    """

    def __init__(self, window: int) -> None:
        self.rows = 0
        self.total = 0.0
        self.step = _FIRST_STEP
        self.recent = Recent(window, np.zeros(0))
        self.points = np.zeros((0, 3))  # rows, mean over all so far, mean over the last

    def update(self, values: np.ndarray) -> None:
        """Take in the numbers of the next rows."""
        before, end, kept = self.rows, self.rows + len(values), self.recent.values
        totals = np.cumsum(np.concatenate([[self.total], values]))
        joined = np.concatenate([kept, values])
        while end // self.step > _MOST:
            self.step *= 2
        rows = np.arange(before // self.step + 1, end // self.step + 1) * self.step
        stops = rows - before + len(kept)
        starts = np.maximum(stops - self.recent.size, 0)
        sums = [np.add.reduce(joined[a:b]) for a, b in zip(starts, stops, strict=True)]
        recent = np.array(sums, float) / (stops - starts)
        new = np.column_stack([rows, totals[rows - before] / rows, recent])
        old = self.points[self.points[:, 0] % self.step == 0]
        self.points = np.concatenate([old, new])
        self.rows, self.total = end, float(totals[-1])
        self.recent.update(values)

    def table(self) -> np.ndarray:
        """Return the points, that of the last row included, (n_points, 3)."""
        if self.rows == 0 or self.rows % self.step == 0:
            return self.points
        recent = float(np.add.reduce(self.recent.values)) / len(self.recent.values)
        last = [float(self.rows), self.total / self.rows, recent]
        return np.concatenate([self.points, [last]])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything that it knows, for `restore`."""
        sizes = np.array([self.rows, self.total, self.step])
        return {"curve": self.points, "curve_sizes": sizes, "curve_recent": self.recent.values}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned."""
        rows, self.total, step = arrays["curve_sizes"].tolist()
        self.rows, self.step = int(rows), int(step)
        self.points, self.recent.values = arrays["curve"], arrays["curve_recent"]
