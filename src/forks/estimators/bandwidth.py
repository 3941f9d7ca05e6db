"""The median rule: a kernel's bandwidth from the first rows of a stream.

The bandwidth is the median distance between the first rows. It is set anew when 2, 4, 8, ... rows
have been seen, up to `SETTLED` rows or the size of the learner's buffer, and stays from then on.
All of that lies in stage one, whose expansion over stored points takes any bandwidth; and it
depends on the rows alone, not on how they were cut into chunks.
"""

from typing import Any, NamedTuple

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


class MedianRule(NamedTuple):
    """The first rows of a stream, and when to look at them.

    It is never changed, but replaced by another one. The rows are taken before they are learned,
    so they may be more than have been learned when an interrupt has cut the call: all methods are
    told the number of rows that have been learned.
    """

    metric: str
    last: int  # rows after which the bandwidth stays
    parts: tuple[Any, ...] = ()  # chunks of rows
    done: int = 0  # rows that there were when they were last looked at

    @classmethod
    def starting(cls, metric: str, last: int) -> "MedianRule":
        """Return the rule that has seen nothing, for a buffer of `last` rows."""
        return cls(metric, min(SETTLED, last))

    def rows_to_go(self, learned: int) -> int:
        """Return the number of rows until the bandwidth is set anew."""
        return min(1 << learned.bit_length(), self.last) - learned

    def is_due(self, learned: int) -> bool:
        """Return whether the rows are to be looked at now, and have not been."""
        power_of_two = learned & (learned - 1) == 0
        return learned > self.done and (power_of_two or learned >= self.last)

    def with_next(self, X: Any, learned: int) -> "MedianRule":
        """Return the rule with the next rows, which are about to be learned."""
        return self._replace(parts=(*self.rows(learned), X.copy()))

    def rows(self, learned: int) -> tuple[Any, ...]:
        """Return the rows learned so far, as one matrix or none; sparse if any of them are."""
        if learned == 0:
            return ()
        if any(map(sparse.issparse, self.parts)):
            parts = [sparse.csr_array(part) for part in self.parts]
            return (sparse.vstack(parts, format="csr")[:learned],)
        return (np.vstack(self.parts)[:learned],)

    def bandwidth(self, learned: int) -> float | None:
        """Return the bandwidth after so many rows; None if they are too few."""
        return None if learned < 2 else median_distance(self.rows(learned)[0], self.metric)

    def after_look(self, learned: int) -> "MedianRule | None":
        """Return the rule to go on with once the bandwidth is set; None if it stays now."""
        return None if learned >= self.last else self._replace(done=learned)
