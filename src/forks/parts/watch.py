"""Page's cumulative sum over mistakes: has their rate gone up, and since when?

With the usual rate p of mistakes, and p' = `gain` p, the sum of log-likelihood ratios

    S <- max(0, S + log(p' / p))              after a mistake,
    S <- max(0, S + log((1 - p') / (1 - p)))  after a right answer

exceeds `alarm` once the last rounds are far more likely under the rate p'. The usual rate is the
mean over all rounds since the start, later an exponential mean over some `memory` rounds; during
the first `settle` rounds mistakes are counted and nothing is tested.

The change is dated by maximum likelihood: among the rounds since S was last 0, the last n whose
own rate of mistakes gains most over the usual one.

With these constants a change from 5 to 50 % is seen after some 80 rounds and dated to the row,
one from 5 to 20 % after some 280; a doubling from 5 to 10 % is not seen, because the mean rises
faster than the sum. The usual rate counts as `most` at most: a stream with more than 65 to 70 % of
mistakes, as with many classes, raises false alarms however steady its rate is.

Reference: Page, "Continuous inspection schemes", Biometrika 41, 1954.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import xlogy

from forks.engine import MANY, Counter, Limit, Vector, njit

SUM, RATE = 0, 1  # what `levels` holds


class PageRule(NamedTuple):
    """Constants of the test."""

    gain: float = 1.5
    alarm: float = 16.0
    settle: int = 100
    memory: int = 1000
    least: float = 0.005  # bounds of the usual rate
    most: float = 0.6
    highest: float = 0.95  # bound of p'


class Watch(NamedTuple):
    """What is known of the mistakes."""

    quiet: Annotated[Counter, 1]  # the round after which the sum was last 0
    levels: Annotated[Vector, 2]  # the sum S, and the usual rate p
    wrong: Annotated[Vector, "size"]  # 1 for a mistake, of the last rounds, a ring


def watch_limits(rule: PageRule, watch: Watch, rounds: int) -> list[Limit]:
    """Return the bounds of what a stored watch may hold."""
    return [
        Limit("begin of the watch", watch.quiet, 0, min(rounds, MANY)),
        Limit("watch", watch.levels[SUM], 0.0, rule.alarm),
    ]


@njit
def alarmed(rule, watch):
    """Return whether the rate of mistakes has gone up."""
    return watch.levels[SUM] > rule.alarm


@njit
def observe(rule, watch, t, counted, wrong):
    """Add the outcome of round t, the `counted`-th since the mean was begun."""
    levels = watch.levels
    rate = levels[RATE]
    watch.wrong[t % watch.wrong.shape[0]] = 1.0 if wrong else 0.0
    if counted > rule.settle:
        usual = min(max(rate, rule.least), rule.most)
        higher = min(rule.gain * usual, rule.highest)
        if wrong:
            levels[SUM] += math.log(higher / usual)
        else:
            levels[SUM] += math.log((1.0 - higher) / (1.0 - usual))
        if levels[SUM] <= 0.0:
            levels[SUM] = 0.0
            watch.quiet[0] = t + 1
    levels[RATE] = rate + ((1.0 if wrong else 0.0) - rate) / min(counted, rule.memory)


def is_alarmed(rule: PageRule, watch: Watch) -> bool:
    """Return whether the rate of mistakes has gone up; for use outside compiled code."""
    return bool(watch.levels[SUM] > rule.alarm)


def reset(watch: Watch, rounds: int) -> None:
    """Set the sum to 0, after so many rounds."""
    watch.levels[SUM] = 0.0
    watch.quiet[0] = rounds


def keep_outcomes(watch: Watch, slots: Counter) -> None:
    """Keep the outcomes in these slots only, as the first, and begin the usual rate anew."""
    watch.wrong[: len(slots)] = watch.wrong[slots]
    watch.levels[RATE] = 0.0


def rounds_since_change(rule: PageRule, watch: Watch, rounds: int, least: int) -> int:
    """Return how many last rounds, at least `least`, likeliest have a rate of their own."""
    size = len(watch.wrong)
    watched = min(max(rounds - int(watch.quiet[0]), least), size)
    wrong = watch.wrong[np.arange(rounds - watched, rounds) % size]
    usual = min(max(float(watch.levels[RATE]), rule.least), rule.most)
    n = np.arange(1, watched + 1)
    rate = np.cumsum(wrong[::-1]) / n
    gain = n * (xlogy(rate, rate / usual) + xlogy(1.0 - rate, (1.0 - rate) / (1.0 - usual)))
    gain[(rate <= usual) | (n < least)] = 0.0
    return max(int(n[np.argmax(gain)]), least)
