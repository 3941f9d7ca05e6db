"""Kernels and losses are small NamedTuples of numbers; this is how they are checked."""

import math
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np


def checked(part: Any, what: str, knows: Callable[[type], bool]) -> Any:
    """Give a kernel or loss with its numbers in their declared types, or say what is wrong."""
    if not knows(type(part)):
        raise ValueError(f"{what} must be one of the registered types, got {part!r}")
    hints = get_type_hints(type(part))
    numbers = {}
    for name, value in zip(part._fields, part, strict=True):
        kind = hints.get(name, float)
        number = isinstance(value, int | float | np.integer | np.floating)
        if not number or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{what}: {name} must be a finite number, got {value!r}")
        if kind is int and value != int(value):
            raise ValueError(f"{what}: {name} must be a whole number, got {value!r}")
        numbers[name] = kind(value)
    return type(part)(**numbers)
