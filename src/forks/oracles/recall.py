"""Experts that sleep until their concept returns: see `forks.parts.recall`.

At most two of them, which learn while their weight is 0.1 or more, and stay for eight times as many
rounds as they have learned; usual weights are means over some 100 rounds.
"""

import numpy as np

from forks.oracles.kernels import Vector


class RecallOracle:
    """Which experts may sleep."""

    def __init__(self, experts: int):
        self.usual = np.zeros(experts)
        self.learned: list[list[int]] = [[] for _ in range(experts)]  # rounds, of each expert
        self.born = [0] * experts
        self.chosen: list[int] = []

    def begin(self, e: int, rounds: int) -> None:
        """Begin anew with another expert in place e."""
        self.usual[e], self.learned[e], self.born[e] = 0.0, [], rounds
        self.leave(e)

    def leave(self, e: int) -> None:
        """Leave place e empty."""
        self.chosen = [other for other in self.chosen if other != e]

    def last(self, e: int) -> int:
        """The last round that expert e has learned, or that it was started in."""
        return max([self.born[e], *self.learned[e][-1:]])

    def sleeps(self, e: int, weight: float) -> bool:
        return e in self.chosen and weight < 0.1

    def follow(self, weights: Vector) -> None:
        """Follow the weights of the learners."""
        self.usual = self.usual + (weights - self.usual) / 100.0

    def stays(self, e: int, t: int) -> bool:
        """Return whether expert e keeps its place at round t."""
        return e in self.chosen and t - self.last(e) <= 8 * len(self.learned[e])

    def choose(self, e: int) -> None:
        """Let expert e sleep from now on; the one that has slept longest makes room."""
        self.chosen = sorted({*self.chosen, e})
        if len(self.chosen) > 2:
            others = [other for other in self.chosen if other != e]
            self.chosen.remove(min(others, key=self.last))
