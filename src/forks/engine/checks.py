"""Checks of learners' arguments: one clear error that names the argument and what was got."""

import math
import numbers
from typing import Any

import numpy as np

_LARGEST = 2**53  # of whole numbers: compiled code can count to it, and beyond


def positive(name: str, value: Any, infinite: bool = False) -> None:
    """Check that a number is above zero, and finite unless `infinite` is allowed."""
    _real(name, value)
    if not (value > 0 and (infinite or math.isfinite(value))):
        raise ValueError(f"{name} must be a positive number, got {value!r}")


def not_negative(name: str, value: Any) -> None:
    """Check that a number is finite and at least zero."""
    _real(name, value)
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")


def whole(name: str, value: Any, low: int, high: int | None = None, high_name: str = "") -> int:
    """Return a whole number between two bounds, both allowed, as an int; 2^53 for no `high`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    number = int(value)
    if number < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}")
    if high is not None and number > high:
        raise ValueError(f"{name} must be at most {high_name or 'its bound'} ({high}), got {value}")
    if high is None and number > _LARGEST:
        raise ValueError(f"{name} must be at most 2^53, got {value!r}")
    return number


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check that a value is one of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def is_doubled(size: int, first: int, most: int | None = None) -> bool:
    """Return whether `first`, doubled some times but at most `most`, can be this size."""
    reached = first
    while reached < size and reached != most:
        reached = 2 * reached if most is None else min(2 * reached, most)
    return reached == size


def _real(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}")
