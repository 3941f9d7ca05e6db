"""Features that the targets of a regression follow far out, whose long tails are not drawn in.

Long tails are drawn in (`forks.features.scaling`), so that a few huge values neither hide the many
small ones nor move a score far. Where the target is as large as the feature, as the delay of an
arrival is as long as that of the departure, that loses the rows which have the largest errors. So
for each feature, as it is drawn in and as it is, a line is fitted to all rows but one, and asked
for the target of that one. With slope b, errors e_i and z of mean 0, the error of row i left out is

    e_i / (1 - 1 / n - z_i^2 / sum z^2),

and tails stay where the sum of their squares is less than `margin` of the other. The farthest value
of a feature has no part in either: by itself it proves nothing.

References: Allen, "The relationship between variable selection and data augmentation and a method
for prediction", Technometrics 16, 1974.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forks.engine import Counter, Matrix, Vector
from forks.features.scaling import Scale, apply_scale, fit_scale, with_far

_ALONE = 1e-9  # what a row leaves to the others that determines the slope by itself
_ROUNDING = 1e-20  # of squared errors, where the largest target is 1


class TailRule(NamedTuple):
    """Constants of the choice."""

    margin: float = 0.95
    least: int = 16  # rows


def with_tails(rule: TailRule, scale: Scale, X: Matrix, y: Matrix, weights: Vector) -> Scale:
    """Return the scale of rows with the tails that their targets follow."""
    counted = weights > 0.0
    if np.count_nonzero(counted) < rule.least:
        return scale
    plain = fit_scale(X, weights, drawn_in=False)
    X, y = X[counted], y[counted]
    y = y / (np.abs(y).max() or 1.0)  # whose squares are finite
    near, far = (apply_scale(each, X) for each in (scale, plain))
    others = np.abs(far) < np.abs(far).max(axis=0)
    others |= np.cumsum(~others, axis=0) > 1  # of several that are as far, the first is left out
    errors = [errors_left_out(Z, y, others).sum(axis=0) for Z in (near, far)]
    return with_far(scale, plain, errors[1] < rule.margin * errors[0] - _ROUNDING)


def errors_left_out(Z: Matrix, y: Matrix, counted: NDArray[np.bool_]) -> Matrix:
    """Return, for each feature, the squared errors of rows that a line has not seen.

    Rows that are not `counted` have no part, and 0 as their error.
    """
    n = counted.sum(axis=0)
    Z = _centred(Z, counted, n)
    squares = np.einsum("ij,ij->j", Z, Z)
    squares[squares == 0.0] = 1.0
    left = 1.0 - 1.0 / n - Z * Z / squares
    alone = left < _ALONE  # the others say nothing of the slope, and their mean is the answer
    left = np.where(alone, 1.0 - 1.0 / n, left)
    total = np.zeros(Z.shape)
    for target in y.T:
        t = _centred(np.broadcast_to(target[:, None], Z.shape), counted, n)
        errors = t - Z * (np.einsum("ij,ij->j", t, Z) / squares)
        total += (np.where(alone, t, errors) / left) ** 2
    return total


def _centred(Z: Matrix, counted: NDArray[np.bool_], n: Counter) -> Matrix:
    return np.where(counted, Z - np.where(counted, Z, 0.0).sum(axis=0) / n, 0.0)
