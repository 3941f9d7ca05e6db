"""What a record tells of where it was made."""

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def environment() -> dict[str, Any]:
    """Versions, and the machine: CPU model and cores only."""
    return dict(_environment())


@cache
def _environment() -> tuple[tuple[str, Any], ...]:
    versions = [(name, version(name)) for name in _PACKAGES]
    machine = {"python": platform.python_version(), "cpu": _cpu_model(), "cores": os.cpu_count()}
    return (*versions, *machine.items())


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
