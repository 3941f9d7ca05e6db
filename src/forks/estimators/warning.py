"""Warnings about a model, at the line of the caller."""

import sys
import warnings
from typing import Any


class MendWarning(UserWarning):
    """A learner has skipped steps, or started anew, because numbers would have overflowed."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that the call came from."""
    frame: Any = sys._getframe()
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("forks."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
