"""Which rows become landmarks: see `forks.parts.picks`.

An expert that has picked rows learns these first and then all others, both in the order of the
stream.
"""

import numpy as np

from forks.oracles.kernels import Vector


def doubt(q: Vector) -> float:
    """Return how far the largest probability of a class is from 1, q being those of +1."""
    return float(1.0 - (max(q[0], 1.0 - q[0]) if len(q) == 1 else q.max()))


class RowsInTurn:
    """Numbers of the rows that an expert learns, from `begin` on."""

    def __init__(self, begin: int):
        self.begin = self.next = begin
        self.picked: list[int] = []
        self.waiting: list[int] = []  # those of them that it has not learned yet

    def pick(self, doubts: list[float], n: int) -> None:
        """Pick the n rows that were most in doubt; none if there are no more than that."""
        rows = np.array(doubts[self.begin :])
        if len(rows) > n:
            self.picked = sorted(self.begin + np.argsort(-rows, kind="stable")[:n])
            self.waiting = self.picked

    def first(self, oldest: int) -> int:
        """Return the row that is next, of those from `oldest` on."""
        waiting = [t for t in self.waiting if t >= oldest]
        if waiting:
            return waiting[0]
        t = max(self.next, oldest)
        while t in self.picked:
            t += 1
        return t

    def learned(self, t: int) -> None:
        """Go on after row t."""
        self.waiting = [other for other in self.waiting if other > t]
        if t not in self.picked:
            self.next = t + 1
