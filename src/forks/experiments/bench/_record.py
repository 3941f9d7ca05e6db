"""One measured number, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Missing(Exception):
    """Something that a measurement needs is not at hand; the message says what."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A number with its name; `at_*` are goals.

    `against` and `at` place it on a curve, `column` in a table with one row per name.
    """

    name: str
    value: float | None = None
    unit: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    against: str = ""
    at: float | None = None
    column: str = ""
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""  # why there is no value
    part: str = ""  # set by the runner

    @property
    def met(self) -> bool | None:
        """Is the goal reached? None without a goal or a value."""
        if self.value is None or (self.at_least is None and self.at_most is None):
            return None
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)


def reason_of(error: BaseException) -> str:
    """Say in one line why a measurement failed."""
    if isinstance(error, Missing):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
