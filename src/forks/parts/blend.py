"""Scores of several learners made one: a small regression on them, learned by a Kalman filter.

With the scores s = (f_1, ..., f_E, 1), each clipped, the answer is a's: a log-odds for classes, a
number in the unit of the targets for regression. After each row, with slope g and
curvature h of the log loss (or the squared error) at a's,

    u = P s,   a <- a - g u / (1 + h s'u),   P <- P - h u u' / (1 + h s'u) + drift,

where `drift` is added to the diagonal as long as it is below the prior's: a is a random walk, so
that the blend follows what is best now. It begins with the mean of the first learners. Unlike
weights of experts, which are positive and sum to one, a can subtract one learner from another, and
it turns scores of any size into probabilities. Each output has its own.

References: Wolpert, "Stacked generalization", 1992; Mahoney, "Adaptive weighing of context models
for lossless data compression", 2005; here with second order.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Cube, Limit, Matrix, Vector, finite, njit

_LARGEST = 1e6  # |P s| of a covariance that is one stays far below


class BlendRule(NamedTuple):
    """Constants of the blend."""

    classifies: bool
    variance: float = 1.0  # of the prior
    drift: float = 1e-4
    clip: float = 3.0  # of scores for classes
    clip_of_numbers: float = 10.0
    sum_for_classes: float = 2.0  # of the weights that it begins with; 1 for regression
    least_curvature: float = 0.01
    largest: float = 20.0  # log-odds


class Blend(NamedTuple):
    """Weights a and their covariance P for each output; `inputs` includes the constant."""

    weights: Annotated[Matrix, "outputs", "inputs"]
    covariance: Annotated[Cube, "outputs", "inputs", "inputs"]


class BlendWork(NamedTuple):
    """Scratch."""

    s: Annotated[Matrix, "outputs", "inputs"]
    u: Annotated[Vector, "inputs"]


def begin_blend(rule: BlendRule, blend: Blend, n: int) -> None:
    """Begin with the mean of the first n learners, or with 0 if there are none."""
    blend.weights[:] = 0.0
    blend.weights[:, :n] = (rule.sum_for_classes if rule.classifies else 1.0) / max(n, 1)
    blend.covariance[:] = rule.variance * np.eye(blend.weights.shape[1])


def blend_limits(rule: BlendRule, blend: Blend) -> list[Limit]:
    """Return the bounds of what may be stored."""
    variances = np.diagonal(blend.covariance, axis1=1, axis2=2)
    return [Limit("variances of the blend", variances, 0.0, rule.variance + rule.drift)]


@njit
def clipped(rule, f):
    """Return a score as the blend takes it."""
    most = rule.clip if rule.classifies else rule.clip_of_numbers
    return min(max(f, -most), most) if finite(f) else 0.0


@njit
def blended(rule, weights, s):
    """Return a's: a log-odds, or a number."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i] * s[i]
    if not finite(total):
        return 0.0
    return min(max(total, -rule.largest), rule.largest) if rule.classifies else total


@njit
def probability(f):
    """Return the probability that a log-odds stands for."""
    return 1.0 / (1.0 + math.exp(-f))


@njit
def learn_blend(rule, weights, P, s, u, f, y, weight):
    """Take the step of one output, whose answer f was; return whether it was sound.

    If not, the covariance is that of the prior again.
    """
    n = s.shape[0]
    if rule.classifies:
        p = probability(f)
        g, h = p - (1.0 if y > 0.0 else 0.0), max(p * (1.0 - p), rule.least_curvature)
    else:
        g, h = f - y, 1.0
    grown, largest = 1.0, 0.0
    for i in range(n):
        u[i] = 0.0
        for j in range(n):
            u[i] += P[i, j] * s[j]
        grown += weight * h * s[i] * u[i]
        largest = max(largest, abs(u[i]))
    sound = finite(grown) and grown >= 1.0 and largest <= _LARGEST and finite(g)
    for i in range(n):
        if sound:
            weights[i] -= weight * g * u[i] / grown
        for j in range(n):
            if sound:
                P[i, j] -= weight * h * u[i] * u[j] / grown
            else:
                P[i, j] = rule.variance if i == j else 0.0
        if P[i, i] < rule.variance:
            P[i, i] = max(P[i, i], 0.0) + rule.drift
    return sound
