"""Whom to believe about rows far ahead, judged by how each does at such a delay.

Rows whose labels will not come lie ahead of all that was learned, and what is best one row ahead
need not be best there: an expert may have followed a day that is over. So the rounds are divided
into periods, each of an eighth of the rounds before it. When a period begins, all experts keep
their weights theta, and the mixture its weights of experts; until it ends, every row is also
answered by what was kept, as it would be by a model that was saved then. Three answers are
compared:

- that of the mixture, weighed by how experts did one row ahead;
- that of the expert that has lived longest, which no choice by the last rows has made;
- the base rates.

The probabilities of the first two are calibrated by lines of their own, learned at the delay, which
follow far more slowly than those of experts do; that of the second has its scores. The
rows of the second half of a period count, but rows that lie close together depend on each other (of
a month of flights each day is one example rather than a thousand), so all of them count as
`counted` rows: with mean log-likelihoods l, the trust v in the three becomes

    v <- v exp(counted l) / sum,   v <- (1 - share) v + share / 3

when the period ends. The answer for rows without labels is the mean of the three by their trust.

A learner takes part by registering `keep` and `write_earlier`; of one that does not, the answer is
that of now.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import MANY, Counter, Limit, Matrix, Vector, either, jit_dispatch, njit
from forks.linalg.vectors import copy
from forks.parts.calibration import (
    Calibration,
    CalibrationRule,
    begin_line,
    calibrate,
    calibration_limits,
    even_chance,
    write_calibrated,
    write_log_odds,
)
from forks.parts.experts import BASE

MIXTURE, LASTING, RATES = range(3)  # what `trust` and `sums` hold
BEGIN, END, JUDGED = range(3)  # what `period` holds


class HorizonRule(NamedTuple):
    """Constants."""

    classifies: bool
    calibration: CalibrationRule = CalibrationRule(keep=0.9999)
    shortest: int = 16  # period, in rounds
    length: float = 0.125  # of a period, in units of the rounds before it
    idle: float = 0.5  # share of a period that does not count
    counted: float = 15.0  # rows that a period counts as, at most
    share: float = 0.02
    doubt: float = 0.02  # least likelihood that counts: labels may be wrong
    rates: float = 0.02  # trust in the base rates to begin with


class Horizon(NamedTuple):
    """What was kept, and how it does."""

    trust: Annotated[Vector, 3]
    sums: Annotated[Vector, 3]  # of log-likelihoods
    period: Annotated[Counter, 3]  # rounds when it began, and when it ends; rows judged so far
    weights: Annotated[Vector, "experts"]  # of experts, as they were
    calibration: Annotated[Calibration, "scorers = 2"]  # of the first two
    earlier: Annotated[Matrix, "experts", "outputs"]  # of the experts as they were


class HorizonWork(NamedTuple):
    """Scratch."""

    answers: Annotated[Matrix, 3, "outputs"]
    f: Annotated[Matrix, 2, "outputs"]  # the first two as scores to be calibrated
    likelihoods: Annotated[Vector, 3]


def horizon_limits(horizon: Horizon) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("trust in answers", horizon.trust, 0.0, 1.0),
        Limit("largest trust", horizon.trust.max(), 1e-6, 1.0),
        Limit("likelihoods at the horizon", horizon.sums, -np.inf, 0.0),
        Limit("period of the horizon", horizon.period, 0, MANY),
        Limit("weights that were kept", horizon.weights, 0.0, 1.0),
        *calibration_limits(horizon.calibration),
    ]


def begin_horizon(rule: HorizonRule, horizon: Horizon, slope: float) -> None:
    """Begin with the first expert, which is both the mixture and the oldest.

    A score of 1 of an expert stands for log-odds of `slope`.
    """
    horizon.weights[0] = 1.0
    horizon.trust[:] = 0.5 - 0.5 * rule.rates
    horizon.trust[RATES] = rule.rates
    horizon.period[END] = rule.shortest
    begin_line(rule.calibration, horizon.calibration, MIXTURE, 1.0)
    begin_line(rule.calibration, horizon.calibration, LASTING, slope)


@jit_dispatch
def keep(rule, state):
    """Keep the weights of a learner as they are."""


@jit_dispatch
def write_earlier(rule, state, work, out):
    """Write the answer of the weights that were kept, for the row that was played last.

    `out` has the answer that was given for it.
    """


@keep.register(object)
def _keep_nothing(rule, state):
    pass


@write_earlier.register(object)
def _leave_as_it_is(rule, state, work, out):
    pass


@either
def begin_period(rule, horizon, weights, rounds):
    """Begin a period with the next round, and keep the weights of experts."""
    horizon.sums[:] = 0.0
    copy(horizon.weights, weights)
    horizon.period[BEGIN] = rounds
    horizon.period[END] = rounds + max(rule.shortest, int(rule.length * rounds))
    horizon.period[JUDGED] = 0


@njit
def begins(horizon, rounds):
    """Return whether a period begins with this round: experts are to keep their weights."""
    return rounds == horizon.period[BEGIN]


@njit
def next_period(rule, horizon, weights, rounds):
    """If the period is over, learn whom to trust from it, and begin the next."""
    if rounds < horizon.period[END]:
        return
    n, trust = horizon.period[JUDGED], horizon.trust
    if n > 0:
        largest = max(horizon.sums[0], horizon.sums[1], horizon.sums[2])
        total = 0.0
        for g in range(3):
            power = min(1.0 * n, rule.counted) / n
            trust[g] *= math.exp(power * (horizon.sums[g] - largest))
            total += trust[g]
        for g in range(3):
            trust[g] = (1.0 - rule.share) * trust[g] / total + rule.share / 3.0
    begin_period(rule, horizon, weights, rounds)


@njit
def mix_far(rule, horizon, weights, said, p, oldest, work, out):
    """Write the three answers, and their mean by trust, of experts that have said p."""
    answers = work.answers
    n, E = out.shape[0], weights.shape[0]
    total = 0.0
    for e in range(E):
        total += weights[e]
    even = even_chance(n) if rule.classifies else 0.0
    for o in range(n):
        mixed = 0.0
        for e in range(E):
            if weights[e] > 0.0:
                mixed += weights[e] * (p[e, o] - even)
        mixed = even + mixed / total if total > 0.0 else p[BASE, o]
        answers[MIXTURE, o] = mixed
        answers[LASTING, o] = p[oldest, o] if weights[oldest] > 0.0 else mixed
        answers[RATES, o] = p[BASE, o]
    if rule.classifies:
        for g in range(2):
            write_log_odds(answers[g], work.f[g])
            if g == LASTING and weights[oldest] > 0.0:
                copy(work.f[g], said[oldest])
            line = horizon.calibration.lines[g]
            write_calibrated(rule.calibration, line, work.f[g], answers[g])
    for o in range(n):
        out[o] = even
        for g in range(3):
            out[o] += horizon.trust[g] * (answers[g, o] - even)


@njit
def learn_far(rule, horizon, work, t, y, power):
    """Learn from the three answers: their calibration, and how likely they found y.

    The latter counts if row t is one of the second half.
    """
    if rule.classifies:
        for g in range(2):
            line = horizon.calibration.lines[g]
            calibrate(rule.calibration, line, work.f[g], work.answers[g], y, power)
    begin, end = horizon.period[BEGIN], horizon.period[END]
    if t - begin >= rule.idle * (end - begin):
        horizon.period[JUDGED] += 1
        for g in range(3):
            horizon.sums[g] += power * math.log(max(work.likelihoods[g], rule.doubt))


@either
def leave_horizon(horizon, e, rounds):
    """Leave out the answer of expert e; if most of the weight was its, the period is over."""
    if horizon.weights[e] > 0.5:
        horizon.period[END] = rounds
    horizon.weights[e] = 0.0
