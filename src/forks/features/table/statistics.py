"""What is known of each value of a category: how often it came, and with which targets.

The table holds a bounded number of values. A value has its place in one of eight slots, which its
hash chooses; if all are taken by others, it gets that of the value which has not come for longest.

A value that came with targets t_1, ..., t_n is told by the smoothed mean

    (t_1 + ... + t_n + m p) / (n + m),   m = 10,

where p is the mean of all targets so far, and by log(1 + times that it came). Of a row these are
made before its own target is used.
"""

import math
from typing import NamedTuple

import numpy as np

from forks.engine import Matrix, Vector, entry
from forks.engine.types import Counter

WAYS = 8  # slots for each remainder of a hash
SMOOTHING = 10.0  # targets of mean p that each value begins with
SMALLEST, LARGEST = 1 << 10, 1 << 16  # slots of a table
_EMPTY = -1


class ValueTable(NamedTuple):
    """What is known of the values; changed in place."""

    keys: Counter  # (slots,)  the hash of the value in each slot, or -1
    last: Counter  # (slots,)  when it came last
    times: Vector  # (slots,)  how often it came
    labelled: Vector  # (slots,)  and how often with a target
    sums: Matrix  # (slots, targets)
    total: Vector  # (1 + targets,)  targets so far, and their sums
    clock: Counter  # (1,)  rows so far


def new_table(n_values: int, n_targets: int) -> ValueTable:
    """Return an empty table with room for four times as many values as are expected."""
    slots = SMALLEST
    while slots < min(4 * n_values, LARGEST):
        slots *= 2
    return ValueTable(
        np.full(slots, _EMPTY, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros((slots, n_targets)),
        np.zeros(1 + n_targets),
        np.zeros(1, dtype=np.int64),
    )


def tell(table: ValueTable, keys: Counter, targets: Matrix, learn: bool, out: Matrix) -> None:
    """Write what is known of the value of each row to `out`; learn the row then, if asked to.

    `keys` are hashes of the values, not negative; `targets`, of shape (n_rows, n_targets), are NaN
    where they are not known, and only looked at to learn. `out`, of shape (n_rows, 1 + n_targets),
    gets logarithms of counts, and means.
    """
    _tell.over(*table)(*table, keys, targets, learn, out)


@entry
def _tell(keys, last, times, labelled, sums, total, clock, rows, targets, learn, out):
    n_targets = sums.shape[1]
    n_sets = keys.shape[0] // WAYS
    for i in range(rows.shape[0]):
        first = (rows[i] % n_sets) * WAYS
        slot = -1
        oldest = first
        for k in range(first, first + WAYS):
            if keys[k] == rows[i]:
                slot = k
            if last[k] < last[oldest]:
                oldest = k
        out[i, 0] = math.log1p(times[slot]) if slot >= 0 else 0.0
        known = labelled[slot] if slot >= 0 else 0.0
        for t in range(n_targets):
            prior = total[1 + t] / total[0] if total[0] > 0.0 else 0.0
            own = sums[slot, t] if slot >= 0 else 0.0
            out[i, 1 + t] = (own + SMOOTHING * prior) / (known + SMOOTHING)
        if not learn:
            continue
        if slot < 0:
            slot = oldest
            keys[slot] = rows[i]
            times[slot] = 0.0
            labelled[slot] = 0.0
            sums[slot] = 0.0
        clock[0] += 1
        last[slot] = clock[0]
        times[slot] += 1.0
        if n_targets > 0 and targets[i, 0] == targets[i, 0]:
            labelled[slot] += 1.0
            total[0] += 1.0
            for t in range(n_targets):
                sums[slot, t] += targets[i, t]
                total[1 + t] += targets[i, t]
