"""Labels, targets and weights as River's users give them."""

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from forks.compat._frames import values_of
from forks.engine import Vector


class TwoLabels(NamedTuple):
    """Two labels that come one after the other, and the targets that they stand for."""

    targets: dict[Hashable, float]
    answers: tuple[Any, Any] = (False, True)  # to a score below 0, and others; one twice if alone

    def with_label(self, y: Any) -> "TwoLabels":
        check_label(y)
        if len(self.targets) == 2:
            raise ValueError(
                f"y is {y!r}, a third label beside {list(self.targets)}: "
                "KernelMulticlassClassifier is for more than two"
            )
        positive = isinstance(y, int | float | np.number) and y > 0
        targets = {plain_label(y): 1.0 if positive else -1.0}
        if isinstance(y, bool | np.bool_) and not self.targets:
            targets = {False: -1.0, True: 1.0}
        elif self.targets:
            targets = {**self.targets, plain_label(y): -next(iter(self.targets.values()))}
        negative, *others = sorted(targets, key=targets.__getitem__)
        return TwoLabels(targets, (negative, others[0] if others else negative))


def check_label(y: Any) -> None:
    """Check that y is a label: not None, and not NaN."""
    if y is None or y != y:
        raise ValueError(f"y must be a label, got {y!r}")


def plain_label(y: Any) -> Any:
    """Return a label as Python has it, without NumPy."""
    return y.item() if isinstance(y, np.generic) else y


def number_of(y: Any) -> float:
    """Return a target as a number, if it is finite."""
    try:
        number = float(y)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(y, str) or not math.isfinite(number):
        raise ValueError(f"y must be a finite number, got {y!r}")
    return number


def weight_of(w: Any) -> float:
    """Return a weight as a number, if it is finite and not negative."""
    try:
        weight = float(w)
    except (TypeError, ValueError):
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"w must be a finite number and not negative, got {w!r}")
    return weight


def weights_of(w: Any, n: int) -> Vector | None:
    """Return the weights of n rows: one for all, or one for each."""
    if w is None:
        return None
    if np.ndim(w) == 0:
        return np.full(n, weight_of(w))
    weights = np.array([weight_of(value) for value in values_of(w)])
    if len(weights) != n:
        raise ValueError(f"X has {n} rows, but w has {len(weights)}")
    return weights
