"""Which rounds learn, and how much: small slopes are left out, large ones are clipped.

A slope is left out if it is below a share `tolerance` of the reference, the slope at f = 0. The
tolerance is 0 for the first `free` rounds and grows by `growth` with each doubling of their number,
up to `most`: a model that has seen many rows has little to learn from those it predicts well.

A slope above 2 (1 - tolerance) references is clipped there, and its curvature lowered by the same
factor, so that a wrong label does little harm.

With several outputs, which share the curvature, a round that one slope lets in is learned by all.

In regression the reference is the root mean square of the slopes, over all rounds since the last
fit, later over some `memory` rounds; slopes above `outlier` of it are clipped, after `settle`
rounds, unless it is 0.
"""

import math
from typing import Annotated, NamedTuple

from forks.engine import Limit, Vector, either, finite, njit
from forks.losses import curvature, slope

TOLERANCE, RESIDUAL = 0, 1  # what `levels` holds


class GateRule(NamedTuple):
    """Constants of the gate."""

    classifies: bool
    robust: bool  # are large slopes clipped?
    reference: float  # size of the slope at f = 0
    free: float = 128.0
    growth: float = 0.1
    most: float = 0.5
    outlier: float = 4.0
    settle: int = 100
    memory: int = 1000


class Gate(NamedTuple):
    """What is known of the slopes."""

    levels: Annotated[Vector, 2]  # tolerance; mean square of the slopes, recently


def gate_limits(rule: GateRule, gate: Gate) -> list[Limit]:
    """Return the bounds of what a stored gate may hold."""
    return [
        Limit("tolerance", gate.levels[TOLERANCE], 0.0, rule.most),
        Limit("mean square of the slopes", gate.levels[RESIDUAL], 0.0, math.inf),
    ]


@either
def set_tolerance(rule: GateRule, gate: Gate, rounds: int) -> None:
    """Bring the tolerance up to date, after so many rounds."""
    share = rule.growth * math.log2(rounds / rule.free)
    gate.levels[TOLERANCE] = min(rule.most, max(0.0, share))


@njit
def slope_bounds(rule, gate, counted):
    """Return the slopes below which a round is left out, and above which it is clipped.

    `counted` is the number of rounds since the mean square was begun.
    """
    tolerance = gate.levels[TOLERANCE]
    reference = rule.reference if rule.classifies else math.sqrt(gate.levels[RESIDUAL])
    largest = math.inf
    if rule.robust:
        if rule.classifies:
            largest = 2.0 * (1.0 - tolerance) * reference
        elif counted > rule.settle and reference > 0.0:
            largest = rule.outlier * reference
    return tolerance * reference, largest


@njit
def gated(loss, f, y, weight, smallest, largest):
    """Return the slope, clipped, and weight times the curvature, which is 0 if it is left out.

    The curvature counts as 1 where the loss has a slope and no curvature. A slope that overflows
    comes back as NaN with a curvature of 0 where slopes are clipped.
    """
    g = slope(loss, f, y)
    if not abs(g) > smallest:
        return g, 0.0
    factor = largest / abs(g) if abs(g) > largest else 1.0
    h = curvature(loss, f, y)
    return g * factor, weight * factor * (h if h > 0.0 else 1.0)


@njit
def update_residual(rule, gate, total, counted):
    """Update the mean square of the slopes by those of a round, whose sum of squares is given."""
    if finite(total):
        levels = gate.levels
        levels[RESIDUAL] += (total - levels[RESIDUAL]) / min(counted, rule.memory)
