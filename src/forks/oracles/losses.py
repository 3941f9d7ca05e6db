"""Losses of a score f and a target y, which are numbers or arrays.

`slope` is the derivative of `value` in f, and `curvature` the derivative of the slope. At a kink
both are those of the side without loss.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = float | NDArray[Any]


class Loss(Protocol):
    """What every loss has."""

    def value(self, f: Numbers, y: Numbers) -> Numbers: ...

    def slope(self, f: Numbers, y: Numbers) -> Numbers: ...

    def curvature(self, f: Numbers, y: Numbers) -> Numbers: ...


class Hinge:
    """max(0, 1 - y f); slope -y where y f < 1, else 0."""

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        return np.maximum(0.0, 1.0 - y * f)

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        return np.where(y * f < 1.0, -1.0 * y, 0.0)

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return 0.0 * (y * f)


class SquaredHinge:
    """max(0, 1 - y f)^2; slope -2 y max(0, 1 - y f)."""

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return np.where(y * f < 1.0, 2.0, 0.0)


class Logistic:
    """log(1 + exp(-y f)); slope -y / (1 + exp(y f))."""

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        return np.logaddexp(0.0, -y * f)

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        # 1 / (1 + exp(z)) = exp(-log(1 + exp(z))), which cannot overflow.
        return -y * np.exp(-np.logaddexp(0.0, y * f))

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return np.exp(-np.logaddexp(0.0, f) - np.logaddexp(0.0, -f))


class SquaredError:
    """(f - y)^2 / 2; slope f - y."""

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        return 0.5 * (f - y) ** 2

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        return 1.0 * (f - y)

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return 1.0 + 0.0 * (f - y)


class EpsilonInsensitive:
    """max(0, |f - y| - epsilon); slope sign(f - y) where |f - y| > epsilon, else 0."""

    def __init__(self, epsilon: float):
        self.epsilon = epsilon

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return 0.0 * (f - y)


class Huber:
    """(f - y)^2 / 2 where |f - y| <= delta, else delta (|f - y| - delta / 2)."""

    def __init__(self, delta: float):
        self.delta = delta

    def value(self, f: Numbers, y: Numbers) -> Numbers:
        r = np.abs(f - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def slope(self, f: Numbers, y: Numbers) -> Numbers:
        return np.where(np.abs(f - y) <= self.delta, f - y, self.delta * np.sign(f - y))

    def curvature(self, f: Numbers, y: Numbers) -> Numbers:
        return np.where(np.abs(f - y) < self.delta, 1.0, 0.0)
