"""Weights of experts, for two questions: what comes next, and what of rows without labels.

For classes an expert's scores stand for a probability q_e of each class (`parts.calibration`, a
line for each expert); the mixture is sum_e w_e q_e, and the weights follow Bayes' rule with a fixed
share:

    w_e <- w_e q_e(y)^r / sum_i w_i q_i(y)^r,   w_e <- (1 - s) w_e + s / E,

with the rate r = 1/2: experts that are about as good keep their say, and their mean is better than
each. The log loss is mixable, so on any interval of rounds the mixture loses at most
(log(E / s) + n log(1 / (1 - s))) / r more than any expert that is there all along, n the length of
the interval: whatever changes, the right expert leads soon after. In regression the likelihood is
exp(-(f_e - y)^2 / (2 v)), v the recent mean squared error of the mixture, at least
exp(-`farthest` / 2), and the mixture is the mean of the answers.

Beside the learners three more voices are weighed: the mean of the first two learners, where both
have a say, since two that are about as good and differ are better together; the last label; and the
base rates.

The weights for the next row have the share s = `share`. Those for rows to come without labels have
the share `settled_share`, so that they forget slowly, and leave out the experts that only track the
last rows. A row of less than the largest weight so far counts less: q^(weight / largest).

References: Herbster, Warmuth, "Tracking the best expert", Machine Learning 32, 1998; Vovk, "A game
of prediction with expert advice", JCSS 56, 1998.
"""

import math
from typing import Annotated, NamedTuple

from forks.engine import Limit, Matrix, Vector, finite, njit
from forks.parts.calibration import (
    Calibration,
    CalibrationRule,
    calibrate,
    calibration_limits,
    even_chance,
    write_calibrated,
)

NEXT, SETTLED = 0, 1  # the two questions: rows of `weights`
OTHERS = 3  # voices that are not those of learners, the last ones:
PAIR, LAST, BASE = -3, -2, -1
VARIANCE, COUNTED, HEAVIEST = 0, 1, 2  # what `levels` holds


class ExpertsRule(NamedTuple):
    """Constants of the weights."""

    classifies: bool
    calibration: CalibrationRule = CalibrationRule()
    share: float = 0.0005
    settled_share: float = 2e-5
    sure: float = 0.005  # probabilities of the last label stay so far from 0 and 1
    rate: float = 0.5
    doubt: float = 0.02  # least likelihood that counts: labels may be wrong
    farthest: float = 16.0  # largest squared error in a likelihood, in units of the mean one
    largest: float = 150.0  # largest one in the mean; far larger, since targets may be mostly 0
    memory: float = 1000.0  # rounds, of the mean squared error


class Experts(NamedTuple):
    """Weights and last answers of experts."""

    weights: Annotated[Matrix, 2, "experts"]  # for each question; 0 for an expert without a say
    answers: Annotated[Matrix, "experts", "outputs"]  # the last ones, before their row was learned
    calibration: Annotated[Calibration, "scorers = experts"]
    levels: Annotated[Vector, 3]  # mean squared error, its count; largest weight of a row


def experts_limits(experts: Experts) -> list[Limit]:
    """Return the bounds of what stored weights may hold."""
    return [
        Limit("weights of experts", experts.weights, 0.0, 1.0),
        Limit("largest weight of experts", experts.weights.max(axis=1), 1e-6, 1.0),
        Limit("levels of the experts", experts.levels, 0.0, math.inf),
        *calibration_limits(experts.calibration),
    ]


@njit
def leave(experts, e):
    """Take the weight of expert e away."""
    for question in range(2):
        weights = experts.weights[question]
        weights[e] = 0.0
        total = 0.0
        for i in range(weights.shape[0]):
            total += weights[i]
        for i in range(weights.shape[0]):
            weights[i] = weights[i] / total if total > 0.0 else 0.0


@njit
def enter(experts, e, factor, settled):
    """Give expert e `factor` times the largest weight; for both questions if it is `settled`."""
    for question in range(2 if settled else 1):
        weights = experts.weights[question]
        largest, total = 0.0, 0.0
        for i in range(weights.shape[0]):
            largest = max(largest, weights[i])
        weights[e] = factor * largest
        for i in range(weights.shape[0]):
            total += weights[i]
        for i in range(weights.shape[0]):
            weights[i] /= total


@njit
def write_predictions(rule, experts, answers, p):
    """Write what the answers of the experts with a weight stand for: probabilities of classes.

    Answers of learners are scores, those of the last label and of base rates have the form 2 p - 1.
    """
    n, learners = p.shape[1], p.shape[0] - OTHERS
    for e in range(p.shape[0]):
        if experts.weights[NEXT, e] > 0.0 or experts.weights[SETTLED, e] > 0.0:
            if rule.classifies and e < learners:
                write_calibrated(rule.calibration, experts.calibration.lines[e], answers[e], p[e])
                continue
            if e == learners:
                for o in range(n):
                    p[e, o] = 0.5 * (p[0, o] + p[1, o])
                continue
            total = 0.0
            for o in range(n):
                p[e, o] = answers[e, o]
                if rule.classifies:
                    p[e, o] = min(max(0.5 + 0.5 * answers[e, o], rule.sure), 1.0 - rule.sure)
                total += p[e, o]
            if rule.classifies and n > 1:
                for o in range(n):
                    p[e, o] /= total


@njit
def mix(rule, weights, p, out):
    """Write the mixture: probabilities of classes, or numbers.

    Those of classes are summed as differences from even chances, so that experts that all know
    nothing say so exactly, whatever the rounding of their weights.
    """
    even = even_chance(out.shape[0]) if rule.classifies else 0.0
    for o in range(out.shape[0]):
        total = 0.0
        for e in range(weights.shape[0]):
            if weights[e] > 0.0:
                total += weights[e] * (p[e, o] - even)
        out[o] = even + total


@njit
def likelihood_of(rule, experts, p, e, y):
    """Return how likely expert e found y."""
    n = y.shape[0]
    if not rule.classifies:
        q = 0.0
        for o in range(n):
            q += (p[e, o] - y[o]) ** 2
        variance = experts.levels[VARIANCE]
        q = q / variance if variance > 0.0 else 0.0
        return math.exp(-0.5 * (q if q <= rule.farthest else rule.farthest))
    if n == 1:
        return p[e, 0] if y[0] > 0.0 else 1.0 - p[e, 0]
    likelihood = 0.0
    for o in range(n):
        if y[o] > 0.0:
            likelihood += p[e, o]
    return likelihood


@njit
def weigh(rule, experts, p, y, weight, error):
    """Update the weights by what `write_predictions` wrote for a row.

    `error` is the squared error of the mixture, for regression.
    """
    levels = experts.levels
    levels[HEAVIEST] = max(levels[HEAVIEST], weight)
    counts = weight / levels[HEAVIEST]
    power = rule.rate * counts
    n = experts.weights.shape[1]
    for e in range(n):
        if experts.weights[NEXT, e] > 0.0 or experts.weights[SETTLED, e] > 0.0:
            factor = max(likelihood_of(rule, experts, p, e, y), rule.doubt) ** power
            for question in range(2):
                experts.weights[question, e] *= factor
    for question in range(2):
        weights = experts.weights[question]
        total, counted = 0.0, 0
        for e in range(n):
            if weights[e] > 0.0:
                total += weights[e]
                counted += 1
        share = rule.share if question == NEXT else rule.settled_share
        for e in range(n):
            if weights[e] > 0.0:
                weights[e] = (1.0 - share) * weights[e] / total + share / counted
    if rule.classifies:
        for e in range(n - OTHERS):
            if experts.weights[NEXT, e] > 0.0:
                line = experts.calibration.lines[e]
                calibrate(rule.calibration, line, experts.answers[e], p[e], y, counts)
    if finite(error):
        levels[COUNTED] = min(levels[COUNTED] + 1.0, rule.memory)
        held = error
        if levels[COUNTED] > 100.0:
            held = min(error, rule.largest * levels[VARIANCE])
        levels[VARIANCE] += (held - levels[VARIANCE]) / levels[COUNTED]
