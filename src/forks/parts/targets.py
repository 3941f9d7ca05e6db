"""Targets of regression in a unit of their own: mean 0 and standard deviation 1 over some rows."""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Limit, Matrix, Vector, njit

MEAN, SPREAD = 0, 1  # what `levels` holds
_FAR = 1e100  # largest standardised target: its square is finite
_LARGEST = 1.7e308


class Targets(NamedTuple):
    """The unit; one for all outputs."""

    levels: Annotated[Vector, 2]  # mean and standard deviation


def target_limits(targets: Targets) -> list[Limit]:
    """Return the bounds of what a stored unit may hold."""
    return [Limit("spread of the targets", targets.levels[SPREAD], 5e-324, _LARGEST)]


def set_unit(targets: Targets, y: Matrix, weights: Vector) -> None:
    """Set mean and spread by the targets whose weight is not 0."""
    counted = y[weights > 0.0]
    largest = float(np.abs(counted).max()) or 1.0
    counted = counted / largest  # whose squares are finite
    targets.levels[MEAN] = largest * counted.mean()
    targets.levels[SPREAD] = largest * counted.std() or 1.0


def standardise(targets: Targets, y: Matrix) -> Matrix:
    """Return targets in their unit, outside compiled code."""
    with np.errstate(over="ignore"):  # rows of weight zero have no part in the spread
        return np.clip((y - targets.levels[MEAN]) / targets.levels[SPREAD], -_FAR, _FAR)


@njit
def standardised(targets, y):
    """Return a target in its unit, at most `_FAR` in size."""
    return min(max((y - targets.levels[MEAN]) / targets.levels[SPREAD], -_FAR), _FAR)


@njit
def restored(targets, f):
    """Return a score in the unit of the stream."""
    return targets.levels[MEAN] + targets.levels[SPREAD] * f
