"""Loss functions l(f, y) of a score f. A loss is a small NamedTuple and three functions.

`value` is the loss, `slope` its derivative in f and `curvature` its second derivative; where the
loss has a kink, slope and curvature are those of the side without loss. Labels of the
classification losses are -1 and +1. A loss of one's own is added like a kernel
(see `forks.kernels`), with the three verbs registered.
"""

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

from forks.engine import checked, jit_dispatch


@jit_dispatch
def value(loss, f, y):
    """l(f, y)."""


@jit_dispatch
def slope(loss, f, y):
    """Derivative of l in f."""


@jit_dispatch
def curvature(loss, f, y):
    """Second derivative of l in f."""


def check_loss(loss: Any) -> Any:
    """Return the loss in the form that compiled code takes, or say what is wrong with it."""
    loss = checked(loss, "loss", slope.knows)
    for name in ("epsilon", "delta"):
        if getattr(loss, name, 0) < 0:
            raise ValueError(f"loss: {name} must not be negative, got {getattr(loss, name)!r}")
    return loss


# Any NamedTuple registered with the three verbs; the rules of learners have it checked.
Loss: TypeAlias = Annotated[Any, check_loss]


class Hinge(NamedTuple):
    """max(0, 1 - y f)."""

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "classification"


@value.register(Hinge)
def _hinge_value(loss, f, y):
    return max(0.0, 1.0 - y * f)


@slope.register(Hinge)
def _hinge_slope(loss, f, y):
    return -y if y * f < 1.0 else 0.0


@curvature.register(Hinge)
def _hinge_curvature(loss, f, y):
    return 0.0


class SquaredHinge(NamedTuple):
    """max(0, 1 - y f)^2."""

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "classification"


@value.register(SquaredHinge)
def _squared_hinge_value(loss, f, y):
    return max(0.0, 1.0 - y * f) ** 2


@slope.register(SquaredHinge)
def _squared_hinge_slope(loss, f, y):
    return -2.0 * y * max(0.0, 1.0 - y * f)


@curvature.register(SquaredHinge)
def _squared_hinge_curvature(loss, f, y):
    return 2.0 if y * f < 1.0 else 0.0


class Logistic(NamedTuple):
    """log(1 + exp(-y f)); its score is a log-odds."""

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "classification"

    @property
    def probabilistic(self) -> bool:
        """Whether the score is a log-odds."""
        return True


@value.register(Logistic)
def _logistic_value(loss, f, y):
    margin = y * f
    return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)


@slope.register(Logistic)
def _logistic_slope(loss, f, y):
    small = math.exp(-abs(f))  # never overflows
    return -y / (1.0 + small) * (small if y * f > 0.0 else 1.0)


@curvature.register(Logistic)
def _logistic_curvature(loss, f, y):
    small = math.exp(-abs(f))
    return small / (1.0 + small) ** 2


class SquaredError(NamedTuple):
    """(f - y)^2 / 2."""

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "regression"


@value.register(SquaredError)
def _squared_error_value(loss, f, y):
    return 0.5 * (f - y) ** 2


@slope.register(SquaredError)
def _squared_error_slope(loss, f, y):
    return f - y


@curvature.register(SquaredError)
def _squared_error_curvature(loss, f, y):
    return 1.0


class EpsilonInsensitive(NamedTuple):
    """max(0, |f - y| - epsilon)."""

    epsilon: float = 0.1

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "regression"


@value.register(EpsilonInsensitive)
def _epsilon_value(loss, f, y):
    return max(0.0, abs(f - y) - loss.epsilon)


@slope.register(EpsilonInsensitive)
def _epsilon_slope(loss, f, y):
    return math.copysign(1.0, f - y) if abs(f - y) > loss.epsilon else 0.0


@curvature.register(EpsilonInsensitive)
def _epsilon_curvature(loss, f, y):
    return 0.0


class Huber(NamedTuple):
    """(f - y)^2 / 2 up to |f - y| = delta, linear with the same slope beyond."""

    delta: float = 1.0

    @property
    def task(self) -> str:
        """Kind of problem that the loss is for."""
        return "regression"


@value.register(Huber)
def _huber_value(loss, f, y):
    error = abs(f - y)
    return 0.5 * error**2 if error <= loss.delta else loss.delta * (error - 0.5 * loss.delta)


@slope.register(Huber)
def _huber_slope(loss, f, y):
    return min(max(f - y, -loss.delta), loss.delta)


@curvature.register(Huber)
def _huber_curvature(loss, f, y):
    return 1.0 if abs(f - y) < loss.delta else 0.0


# The words that stand for losses, by the kind of problem that they are for.
LOSSES: dict[str, dict[str, Any]] = {
    "classification": {
        "hinge": Hinge,
        "squared_hinge": SquaredHinge,
        "logistic": Logistic,
    },
    "regression": {
        "squared_error": SquaredError,
        "epsilon_insensitive": EpsilonInsensitive,
        "huber": Huber,
    },
}
