"""Scores to probabilities: an affine function of the scores, learned online.

With scores f of the outputs, z_o = a f_o + b, and the probabilities are those of a logistic
regression: p = 1 / (1 + exp(-z)) for one output, p_o = exp(z_o) / sum_i exp(z_i) for several, where
b has no effect. (a, b) takes a Newton step on the log loss after each row,

    H <- keep H + h u u',   (a, b) <- (a, b) - H^-1 g u,

with u = (f, 1), g = p - [y > 0] and h = p (1 - p); for several outputs the slope is that along a.
So the probabilities are those that scores of this size have had lately, on labels that were not
known when the scores were made. a stays positive, so that no order is turned round.

Reference: Platt, "Probabilistic outputs for support vector machines", 1999; here online.
"""

import math
from typing import Annotated, NamedTuple

from forks.engine import Limit, Matrix, apart, finite, njit

A, B, H_AA, H_AB, H_BB = range(5)  # what a row of `lines` holds


class CalibrationRule(NamedTuple):
    """Constants of the calibration."""

    keep: float = 0.999
    prior: float = 1000.0  # rows that the begin counts for
    least: float = 0.05  # of a
    largest: float = 30.0  # of |z|
    sure: float = 1e-4  # probabilities stay so far from 0 and 1


class Calibration(NamedTuple):
    """A line for each of several scorers."""

    lines: Annotated[Matrix, "scorers", 5]


def calibration_limits(calibration: Calibration) -> list[Limit]:
    """Return the bounds of what a stored calibration may hold."""
    lines = calibration.lines
    return [
        Limit("slope of the calibration", lines[:, A], 1e-3, 1e3),
        Limit("curvature of the calibration", lines[:, [H_AA, H_BB]], 1e-6, math.inf),
    ]


def begin_line(rule: CalibrationRule, calibration: Calibration, i: int, slope: float) -> None:
    """Begin with z = slope f."""
    calibration.lines[i] = (slope, 0.0, rule.prior / slope**2, 0.0, rule.prior / 4.0)


@njit
def even_chance(n):
    """Return the probability, for each of n outputs, of which nothing is known."""
    return 0.5 if n == 1 else 1.0 / n


@njit
def write_log_odds(p, f):
    """Write probabilities as scores: the log-odds of one, the logarithms of several."""
    if p.shape[0] == 1:
        f[0] = math.log(p[0]) - math.log(1.0 - p[0])
    else:
        for o in range(p.shape[0]):
            f[o] = math.log(p[o])


@apart
def write_calibrated(rule, line, f, p):
    """Write the probabilities that the scores f stand for."""
    n = p.shape[0]
    if n == 1:
        z = line[A] * f[0] + line[B]
        z = min(max(z, -rule.largest), rule.largest)
        p[0] = min(max(1.0 / (1.0 + math.exp(-z)), rule.sure), 1.0 - rule.sure)
        return
    largest, total = f[0], 0.0
    for o in range(1, n):
        largest = max(largest, f[o])
    for o in range(n):
        p[o] = max(math.exp(max(line[A] * (f[o] - largest), -rule.largest)), rule.sure)
        total += p[o]
    for o in range(n):
        p[o] /= total


@apart
def calibrate(rule, line, f, p, y, power):
    """Take the step after a row with scores f, probabilities p and targets y, -1 or 1.

    `power` is how much the row counts, at most 1.
    """
    n = p.shape[0]
    if n == 1:
        g = p[0] - (1.0 if y[0] > 0.0 else 0.0)
        h = power * p[0] * (1.0 - p[0])
        g_a, g_b, u = power * g * f[0], power * g, f[0]
        h_aa, h_ab, h_bb = h * u * u, h * u, h
    else:
        g_a, mean, square = 0.0, 0.0, 0.0
        for o in range(n):
            g_a += power * (p[o] - (1.0 if y[o] > 0.0 else 0.0)) * f[o]
            mean += p[o] * f[o]
            square += p[o] * f[o] * f[o]
        g_b, h_aa, h_ab, h_bb = 0.0, power * max(square - mean * mean, 0.0), 0.0, 0.0
    aa = rule.keep * line[H_AA] + h_aa
    ab = rule.keep * line[H_AB] + h_ab
    bb = rule.keep * line[H_BB] + h_bb
    aa = max(aa, 1e-3)
    bb = max(bb, 1e-3)
    determinant = aa * bb - ab * ab
    if not (finite(determinant) and determinant > 1e-9 * aa * bb and finite(g_a)):
        return
    line[H_AA], line[H_AB], line[H_BB] = aa, ab, bb
    step_a = (bb * g_a - ab * g_b) / determinant
    step_b = (aa * g_b - ab * g_a) / determinant
    limit = 0.25 * line[A]  # a step changes the slope by a quarter at most
    line[A] = min(max(line[A] - min(max(step_a, -limit), limit), rule.least), 1e3)
    line[B] = min(max(line[B] - min(max(step_b, -1.0), 1.0), -rule.largest), rule.largest)
