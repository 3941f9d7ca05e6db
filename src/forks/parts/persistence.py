"""What the last labels say by themselves: the label repeats, the residual lasts; and base rates.

For classes, the label of the last row whose label is known is repeated, with the probability that
this has been right recently,

    q = (r + 1/2) / (n + 1),    r <- k r + [repeated],    n <- k n + 1,    k = 1 - 1 / memory,

and for rows that equal the row whose label it is (r' + q) / (n' + 1), with counts of their own:
where a source sends the same row again and again, what follows a change of it is another matter. In
regression the last target is repeated. `delay` is the number of rows between: with labels that come
n rows late, row t is compared with row t - 1 - n.

In regression the residual e of the last known row corrects the answer: f + r e, with
r = sum e_t e_{t-1-delay} / sum e_{t-1-delay}^2, between 0 and 1, both sums forgotten at `keep` a
round.

The base rates are the means of the targets over all rounds: what is known of rows of which nothing
else is. In regression a target counts as at most `farthest` mean deviations from the mean, so that
absurd ones do little harm.
"""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Limit, Matrix, Vector, finite, njit
from forks.parts.expansion import finite_or_zero
from forks.parts.ring import holds

REPEATED, COMPARED = 0, 1  # what a row of `counts` holds


class PersistenceRule(NamedTuple):
    """Constants."""

    classifies: bool
    memory: float = 500.0  # rounds, of the counts of repeats
    keep: float = 0.999
    sure: float = 0.005
    farthest: float = 50.0  # large, since targets may be mostly 0
    unbounded: int = 100  # rounds before the mean deviation is known


class Persistence(NamedTuple):
    """What is known of the last labels; a ring of `size` rows."""

    residuals: Annotated[Matrix, "size", "outputs"]
    sums: Annotated[Matrix, "outputs", 2]  # of e_t e_{t-1-delay}, and of e_{t-1-delay}^2
    base: Annotated[Vector, "outputs"]
    spread: Annotated[Vector, "outputs"]  # mean |y - base|, for regression
    counts: Annotated[Matrix, 2, 2]  # of repeated labels; of other rows, and of equal ones


def persistence_limits(persistence: Persistence) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("counts of labels", persistence.counts, 0.0, np.inf),
        Limit("deviations of targets", persistence.spread, 0.0, np.inf),
    ]


@njit
def write_last(rule, persistence, ring, known, x, out):
    """Write the answer for row x that repeats the label of round `known`, counted from 0.

    It says nothing about classes if no label is known.
    """
    n = out.shape[0]
    slot = known % ring.targets.shape[0]
    if not rule.classifies:
        for o in range(n):
            out[o] = ring.targets[slot, o] if known >= 0 else persistence.base[o]
        return
    q = 0.5
    for equal in range(2):
        counts = persistence.counts[equal]
        if equal == 0 or (known >= 0 and holds(ring, known, x)):
            q = (counts[REPEATED] + q) / (counts[COMPARED] + 1.0)
    q = min(max(q, rule.sure), 1.0 - rule.sure)
    if known < 0:
        q = 0.5 if n == 1 else 1.0 / n
    other = 1.0 - q if n == 1 else (1.0 - q) / (n - 1)
    for o in range(n):
        out[o] = 2.0 * (q if ring.targets[slot, o] > 0.0 else other) - 1.0


@njit
def write_base(rule, persistence, out):
    """Write the base rates as an answer."""
    for o in range(out.shape[0]):
        out[o] = persistence.base[o]


@njit
def correction(persistence, known, o):
    """Return what the last known residual adds to the answer of output o; for regression."""
    if known < 0 or not persistence.sums[o, 1] > 0.0:
        return 0.0
    r = min(max(persistence.sums[o, 0] / persistence.sums[o, 1], 0.0), 1.0)
    return r * persistence.residuals[known % persistence.residuals.shape[0], o]


@njit
def _count_base(rule, persistence, t, o, y):
    """Count a target in the base rates."""
    base, spread = persistence.base[o], persistence.spread[o]
    if not rule.classifies:
        if t >= rule.unbounded and spread > 0.0:
            y = min(max(y, base - rule.farthest * spread), base + rule.farthest * spread)
        persistence.spread[o] += abs(y / (t + 1) - base / (t + 1)) - spread / (t + 1)
    persistence.base[o] += y / (t + 1) - base / (t + 1)


@njit
def observe(rule, persistence, ring, t, known, x, y, answers):
    """Learn from row x and the targets y of round t; `answers` are the mixture's, uncorrected."""
    n, size = y.shape[0], persistence.residuals.shape[0]
    same = known >= 0
    for o in range(n):
        _count_base(rule, persistence, t, o, y[o])
        if known >= 0:
            same = same and (ring.targets[known % size, o] > 0.0) == (y[o] > 0.0)
        residual = finite_or_zero(y[o] - answers[o])
        if known >= 0 and not rule.classifies:
            before = persistence.residuals[known % size, o]
            sums = persistence.sums[o]
            products = rule.keep * sums[0] + residual * before
            squares = rule.keep * sums[1] + before * before
            if finite(products) and finite(squares):
                sums[0], sums[1] = products, squares
        persistence.residuals[t % size, o] = residual
    if known >= 0:
        counts = persistence.counts[1 if holds(ring, known, x) else 0]
        keep = 1.0 - 1.0 / rule.memory
        counts[REPEATED] = keep * counts[REPEATED] + (1.0 if same else 0.0)
        counts[COMPARED] = keep * counts[COMPARED] + 1.0
