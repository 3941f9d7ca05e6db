"""Weights of experts by Bayes' rule and a fixed share.

Herbster, Warmuth, "Tracking the best expert", 1998; Vovk, "A game of prediction with expert
advice", 1998. An expert of weight 0 has no say.
"""

import numpy as np

from forks.oracles.kernels import Vector

DOUBT = 0.02  # least likelihood that counts
FARTHEST = 16.0  # squared error, in units of the mean one, up to which it is judged
LARGEST = 150.0  # and up to which it counts in the mean


def bayes_share(weights: Vector, likelihoods: Vector, share: float, power: float = 1.0) -> Vector:
    """Return w_e q_e^power / sum_i w_i q_i^power, of which a share is dealt out evenly."""
    posterior = weights * np.maximum(likelihoods, DOUBT) ** power
    posterior /= posterior.sum()
    there = weights > 0.0
    return np.where(there, (1.0 - share) * posterior + share / there.sum(), 0.0)


def entered(weights: Vector, e: int, factor: float) -> Vector:
    """Return the weights with expert e at `factor` times the largest."""
    weights = weights.copy()
    weights[e] = factor * weights.max()
    return weights / weights.sum()


def without(weights: Vector, e: int) -> Vector:
    """Return the weights without expert e."""
    weights = weights.copy()
    weights[e] = 0.0
    return weights / weights.sum()


def class_likelihood(p: Vector, y: Vector) -> float:
    """Return the probability that was given to the right class."""
    if len(y) == 1:
        return float(p[0] if y[0] > 0.0 else 1.0 - p[0])
    return float(p[y > 0.0].sum())


def number_likelihood(f: Vector, y: Vector, variance: float) -> float:
    """Return exp(-(f - y)^2 / (2 v)), at least exp(-8)."""
    distance = np.sum((f - y) ** 2) / variance if variance > 0.0 else 0.0
    return float(np.exp(-0.5 * min(distance, FARTHEST)))


class MeanSquare:
    """The mean of the last 1,000 squared errors; after 100 of them outliers are clipped."""

    def __init__(self) -> None:
        self.value, self.counted = 0.0, 0

    def observe(self, error: float) -> None:
        self.counted = min(self.counted + 1, 1000)
        if self.counted > 100:
            error = min(error, LARGEST * self.value)
        self.value += (error - self.value) / self.counted
