"""The median rule: a kernel's bandwidth from the first rows of a stream.

The bandwidth is the median distance between the first rows. It is set anew when 2, 4, 8, ... rows
have been seen, up to `SETTLED` rows or the size of the learner's buffer, and stays from then on.
All of that lies in stage one, whose expansion over stored points takes any bandwidth; and it
depends on the rows alone, not on how they were cut into chunks.
"""

from typing import Any

import numpy as np
from scipy import sparse

SETTLED = 128
METRICS = ("euclidean", "manhattan")


def median_distance(X: Any, metric: str) -> float:
    """Median distance between two different rows, by "euclidean" or "manhattan" metric.

    Rows that repeat each other do not count; without two different rows the answer is 1.
    """
    from sklearn.metrics import pairwise_distances  # a tenth of a second that others need not wait

    with np.errstate(over="ignore", invalid="ignore"):
        distances = pairwise_distances(X, metric=metric)[np.triu_indices(X.shape[0], 1)]
    distances = distances[np.isfinite(distances) & (distances > 0.0)]
    return float(np.median(distances)) if distances.size else 1.0


class MedianRule:
    """The rows seen so far, and when to look at them next."""

    def __init__(self, metric: str, last: int) -> None:
        self.metric = metric
        self.last = min(SETTLED, last)
        self.rows: list[Any] = []
        self.seen = 0

    @property
    def rows_to_go(self) -> int:
        """Rows until the bandwidth is set anew."""
        return min(1 << self.seen.bit_length(), self.last) - self.seen

    @property
    def settled(self) -> bool:
        """Is the bandwidth final?"""
        return self.seen >= self.last

    def see(self, X: Any) -> float | None:
        """Take the next rows, `rows_to_go` at most; give the bandwidth if it is to be set now."""
        self.rows.append(X.copy())
        self.seen += X.shape[0]
        power_of_two = self.seen & (self.seen - 1) == 0
        if self.seen < 2 or not (power_of_two or self.settled):
            return None
        self.rows = [self.stacked()]
        return median_distance(self.rows[0], self.metric)

    def stacked(self) -> Any:
        """Give the rows seen so far as one matrix; sparse if any of them are."""
        if any(map(sparse.issparse, self.rows)):
            return sparse.vstack([sparse.csr_array(part) for part in self.rows], format="csr")
        return np.vstack(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "rows": [*self.rows]}
