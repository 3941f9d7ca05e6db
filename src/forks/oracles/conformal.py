"""Quantiles of errors, tracked online: intervals and prediction sets.

Gibbs, Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
"""

from statistics import NormalDist

import numpy as np

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


def track(q: float, value: float, rate: float, step: float) -> float:
    """Return the quantile after a value, which is to exceed it with this rate."""
    return q + step * ((value > q) - rate)


def normal_quantile(level: float) -> float:
    """Return the z for which |Z| <= z has this probability."""
    return NormalDist().inv_cdf(0.5 + 0.5 * level)


class ResidualQuantiles:
    """Both ends of intervals, in units of the mean size of the last residuals."""

    def __init__(self, step: float = 0.1, memory: int = 100) -> None:
        self.step, self.memory = step, memory
        mean_size = np.sqrt(2.0 / np.pi)  # of a normal variable
        self.upper = [normal_quantile(level) / mean_size for level in LEVELS]
        self.lower = [-q for q in self.upper]
        self.size, self.counted = 0.0, 0

    def observe(self, residual: float) -> None:
        if self.size > 0.0:
            r = residual / self.size
            for i, level in enumerate(LEVELS):
                rate = 0.5 * (1.0 - level)
                self.upper[i] = track(self.upper[i], r, rate, self.step)
                self.lower[i] = -track(-self.lower[i], -r, rate, self.step)
        self.counted = min(self.counted + 1, self.memory)
        self.size += (abs(residual) - self.size) / self.counted

    def interval(self, level: float) -> tuple[float, float]:
        """Return what is to be added to an answer, of one of the levels."""
        i = LEVELS.index(level)
        ends = self.size * self.lower[i], self.size * self.upper[i]
        return min(ends), max(ends)


class ClassQuantiles:
    """Quantiles of 1 - p, p the probability that the right class was given."""

    def __init__(self, step: float = 0.02) -> None:
        self.step = step
        self.q = list(LEVELS)

    def observe(self, p: float) -> None:
        for i, level in enumerate(LEVELS):
            self.q[i] = track(self.q[i], 1.0 - p, 1.0 - level, self.step)

    def threshold(self, level: float) -> float:
        """Return the least probability of a class in the set, of one of the levels."""
        return 1.0 - max(self.q[: LEVELS.index(level) + 1])
