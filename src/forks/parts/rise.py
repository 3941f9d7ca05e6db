"""Have mistakes become more frequent, however slowly?

Page's test (`parts.watch`) compares the rate of mistakes with a mean that rises with it, and so
does not see a change that takes thousands of rounds. Here the rate is compared with the lowest that
it has been. At each look, n rounds after the one before,

    low <- min(rate, low + (1 - exp(-n / memory)) (rate - low)),

so that what was long ago is forgotten. The rate has risen if it is above `factor` low + `chance`: a
rate over some thousand rounds varies by a hundredth or two without a reason.
"""

import math
from typing import Annotated, NamedTuple

from forks.engine import MANY, Limit, Vector

LOW, LOOKED = 0, 1  # what `levels` holds


class RiseRule(NamedTuple):
    """Constants."""

    factor: float = 1.25
    chance: float = 0.03
    memory: float = 20_000.0  # rounds


class Rise(NamedTuple):
    """What is known of the rate of mistakes."""

    levels: Annotated[Vector, 2]  # the lowest rate, and the round of the last look


def rise_limits(rise: Rise) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("lowest rate of mistakes", rise.levels[LOW], 0.0, 1.0),
        Limit("round of the last look", rise.levels[LOOKED], 0.0, MANY),
    ]


def begin_rise(rise: Rise) -> None:
    """Begin with a rate that can only fall."""
    rise.levels[:] = 1.0, 0.0


def has_risen(rule: RiseRule, rise: Rise, rate: float, rounds: int) -> bool:
    """Look at the rate of mistakes after so many rounds; return whether it has risen.

    Whatever a file of a model has claimed, what is stored stays within its limits.
    """
    low, looked = rise.levels.tolist()
    rate = min(1.0, max(0.0, rate))
    forgotten = -math.expm1(min(0.0, looked - rounds) / rule.memory)
    low = min(rate, low + forgotten * (rate - low))
    rise.levels[:] = low, rounds
    return rate > rule.factor * low + rule.chance
