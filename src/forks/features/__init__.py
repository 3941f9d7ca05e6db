"""Explicit feature maps, and tables as features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forks.features.table import TableEncoder

__all__ = ["TableEncoder"]


def __getattr__(name: str) -> Any:
    # Compiled code needs the feature maps, and not what tables need.
    if name == "TableEncoder":
        return import_module("forks.features.table").TableEncoder
    raise AttributeError(f"module 'forks.features' has no attribute {name!r}")
