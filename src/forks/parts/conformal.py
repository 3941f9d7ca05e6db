"""Intervals and prediction sets that hold their coverage, whatever the stream does.

Every answer has a score of how far off it was: the residual y - f of a regression in units of its
recent mean size s, or 1 - p(y) of a class. For each of `LEVELS` the quantiles of these scores are
tracked: a quantile q that is to be exceeded with the rate a moves after each row by

    q <- q + step (1 - a)   if it was exceeded,   q <- q - step a   if not,

so that over n rows the rate is a up to (change of q) / (step n), for any sequence of rows: the
quantile tracker of adaptive conformal inference. An interval has a lower and an upper quantile,
each with half of the rate. Other levels are interpolated, along the quantiles of a normal
distribution.

References: Gibbs, Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021;
Angelopoulos, Candes, Tibshirani, "Conformal PID control for time series prediction", NeurIPS 2023.
"""

from typing import Annotated, NamedTuple

import numpy as np
from scipy.stats import norm

from forks.engine import Cube, Limit, Matrix, Vector, finite, njit

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
RATES = tuple(1.0 - level for level in LEVELS)
LOWER, UPPER = 0, 1  # rows of the quantiles; sets have the upper one alone


class ConformalRule(NamedTuple):
    """Constants of the tracker."""

    classifies: bool
    rates: tuple[float, ...] = RATES
    step: float = 0.1  # in units of the mean size of residuals
    step_of_sets: float = 0.02
    memory: float = 100.0  # rounds, of the mean size


class Conformal(NamedTuple):
    """Quantiles for each kind of answers and each level."""

    quantiles: Annotated[Cube, "kinds", 2, len(LEVELS)]
    sizes: Annotated[Matrix, "kinds", 2]  # mean size of residuals, rows counted


def conformal_limits(conformal: Conformal) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [Limit("sizes of residuals", conformal.sizes, 0.0, np.inf)]


def begin_quantiles(rule: ConformalRule, conformal: Conformal) -> None:
    """Begin with those of normal residuals, or with sets of all classes."""
    if rule.classifies:
        conformal.quantiles[:, UPPER] = LEVELS
    else:
        upper = norm.ppf(0.5 + 0.5 * np.array(LEVELS)) / np.sqrt(2.0 / np.pi)
        conformal.quantiles[:, LOWER], conformal.quantiles[:, UPPER] = -upper, upper


def interval(conformal: Conformal, kind: int, level: float) -> tuple[float, float]:
    """Return what is to be added to an answer to get both ends of its interval."""
    size = float(conformal.sizes[kind, 0])
    lower, upper = (_at_level(row, level) for row in conformal.quantiles[kind])
    return size * min(lower, upper), size * max(lower, upper)


def threshold(conformal: Conformal, kind: int, level: float) -> float:
    """Return the least probability of a class in the prediction set."""
    z = norm.ppf(0.5 + 0.5 * np.array(LEVELS))
    q = np.maximum.accumulate(conformal.quantiles[kind, UPPER])
    return 1.0 - float(np.interp(norm.ppf(0.5 + 0.5 * level), z, q))


def _at_level(quantiles: Vector, level: float) -> float:
    """Return the quantile for a level, linear in that of a normal distribution."""
    z, at = norm.ppf(0.5 + 0.5 * np.array(LEVELS)), norm.ppf(0.5 + 0.5 * level)
    if at <= z[0]:
        return float(quantiles[0] * at / z[0])
    if at >= z[-1]:
        return float(quantiles[-1] * at / z[-1])
    return float(np.interp(at, z, quantiles))


@njit
def observe_residual(rule, conformal, kind, residual):
    """Track the quantiles of the residuals, of a single output."""
    sizes = conformal.sizes[kind]
    low, high = conformal.quantiles[kind, LOWER], conformal.quantiles[kind, UPPER]
    size, counted = sizes[0], sizes[1]
    if not finite(residual):
        return
    if size > 0.0:
        r = residual / size
        for i in range(len(rule.rates)):
            a = 0.5 * rule.rates[i]
            low[i] += -rule.step * (1.0 - a) if r < low[i] else rule.step * a
            high[i] += rule.step * (1.0 - a) if r > high[i] else -rule.step * a
    counted = min(counted + 1.0, rule.memory)
    sizes[1] = counted
    sizes[0] = size + (abs(residual) - size) / counted


@njit
def observe_class(rule, conformal, kind, p):
    """Track the quantiles of 1 - p, p the probability that the right class was given."""
    q = conformal.quantiles[kind, UPPER]
    for i in range(len(rule.rates)):
        a = rule.rates[i]
        q[i] += rule.step_of_sets * (1.0 - a) if 1.0 - p > q[i] else -rule.step_of_sets * a
