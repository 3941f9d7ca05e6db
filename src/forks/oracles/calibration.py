"""Scores to probabilities by a line (a, b), learned by Newton steps on the log loss.

Platt, "Probabilistic outputs for support vector machines", 1999; here one row after the other.
"""

import numpy as np

from forks.oracles.kernels import Vector

SURE = 1e-4  # probabilities stay so far from 0 and 1
FARTHEST = 30.0  # |a f + b|


class CalibrationLine:
    """p = 1 / (1 + exp(-(a f + b))) of one score, p_o ~ exp(a f_o) of several.

    H is the sum of curvatures along a and b, of which `keep` remains a row; the begin counts for
    1,000 rows. A step changes a by a quarter at most, b by one.
    """

    def __init__(self, slope: float, keep: float = 0.999):
        self.keep = keep
        self.a, self.b = slope, 0.0
        self.H = np.diag([1000.0 / slope**2, 250.0])

    def probabilities(self, f: Vector) -> Vector:
        """Return what the scores stand for."""
        if len(f) == 1:
            z = np.clip(self.a * f + self.b, -FARTHEST, FARTHEST)
            return np.clip(1.0 / (1.0 + np.exp(-z)), SURE, 1.0 - SURE)
        p = np.exp(np.maximum(self.a * (f - f.max()), -FARTHEST))
        p = np.maximum(p, SURE)
        return p / p.sum()

    def learn(self, f: Vector, y: Vector, power: float = 1.0) -> None:
        """Take the step after a row with targets y, -1 or 1."""
        p = self.probabilities(f)
        missing = p - (y > 0.0)
        if len(f) == 1:
            u = np.array([f[0], 1.0])
            slope, H = missing[0] * u, p[0] * (1.0 - p[0]) * np.outer(u, u)
        else:  # b does not matter
            slope = np.array([missing @ f, 0.0])
            H = np.diag([p @ f**2 - (p @ f) ** 2, 0.0])
        self.H = self.keep * self.H + power * H
        self.H[0, 0], self.H[1, 1] = np.maximum(self.H.diagonal(), 1e-3)
        step = np.linalg.solve(self.H, power * slope)
        self.a = max(self.a - np.clip(step[0], -0.25 * self.a, 0.25 * self.a), 0.05)
        self.b -= np.clip(step[1], -1.0, 1.0)


def log_odds(p: Vector) -> Vector:
    """Return probabilities as scores: log-odds of one, logarithms of several."""
    return np.log(p / (1.0 - p)) if len(p) == 1 else np.log(p)
