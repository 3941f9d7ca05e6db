"""Memory of the process, as the system counts it."""

import os
from pathlib import Path

from forks.experiments.bench._record import Missing


def resident_bytes() -> int:
    """Return the bytes of the process that are in memory now."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        raise Missing("resident memory is read from /proc, which this system lacks")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
