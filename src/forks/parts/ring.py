"""The last rows of a stream, with their targets and weights, in a ring buffer.

Row t of the stream is stored in slot t mod n, n the number of slots.
"""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Vector, by_form, njit


class Ring(NamedTuple):
    """The last rows."""

    rows: Annotated[Matrix, "size", "features"]
    targets: Annotated[Matrix, "size", "outputs"]
    weights: Annotated[Vector, "size"]


def last_slots(rounds: int, n: int, size: int) -> Counter:
    """Return the slots of the last n of so many rounds, oldest first."""
    return np.arange(rounds - n, rounds) % size


def keep(ring: Ring, slots: Counter) -> None:
    """Keep the rows in these slots only, in this order, as the first of the ring."""
    for array in ring:
        array[: len(slots)] = array[slots]


def mean_row(ring: Ring, rounds: int) -> Vector | None:
    """Return the mean of the rows that are there after so many rounds, None if there are none."""
    n = min(rounds, len(ring.rows))
    if n == 0:
        return None
    with np.errstate(over="ignore"):
        return np.asarray(np.nan_to_num(np.mean(ring.rows[:n], axis=0)))


def _write_dense(x, rows, slot):
    for j in range(x.shape[0]):
        rows[slot, j] = x[j]


def _write_sparse(x, rows, slot):
    for j in range(rows.shape[1]):
        rows[slot, j] = 0.0
    for e in range(x.values.shape[0]):
        rows[slot, x.features[e]] = x.values[e]


def _equals_dense(x, row):
    for j in range(x.shape[0]):
        if x[j] != row[j]:
            return False
    return True


def _equals_sparse(x, row):
    there = 0
    for e in range(x.values.shape[0]):
        if x.values[e] != row[x.features[e]]:
            return False
        there += x.values[e] != 0.0
    for j in range(row.shape[0]):
        there -= row[j] != 0.0
    return there == 0


_write = by_form(_write_dense, _write_sparse)
_equals = by_form(_equals_dense, _equals_sparse)


@njit
def remember(ring, t, x, y, weight):
    """Store row t of the stream."""
    slot = t % ring.rows.shape[0]
    _write(x, ring.rows, slot)
    for o in range(ring.targets.shape[1]):
        ring.targets[slot, o] = y[o]
    ring.weights[slot] = weight


@njit
def holds(ring, t, x):
    """Return whether row t of the stream, which is still there, equals x."""
    return _equals(x, ring.rows[t % ring.rows.shape[0]])
