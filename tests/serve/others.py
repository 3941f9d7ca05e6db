"""How busy the machine is with programs that are not ours, so that a report can tell."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


class Others:
    """What other programs have used meanwhile."""

    cores = 0.0  # known when the context has ended

    def __str__(self) -> str:
        return f"Other programs used {self.cores:.1f} of the {os.cpu_count()} cores meanwhile."


@contextmanager
def others() -> Iterator[Others]:
    """Context at whose end it is known how many cores other programs have used."""
    found, begin, before = Others(), time.monotonic(), _of_all() - _of_ours()
    yield found
    found.cores = max(0.0, (_of_all() - _of_ours() - before) / (time.monotonic() - begin))


def _of_all() -> float:
    """Return the CPU seconds of all programs since the machine was started."""
    user, nice, system, _, _, interrupts, soft, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return _TICK * (user + nice + system + interrupts + soft)


def _of_ours() -> float:
    """Return the CPU seconds of this process and of all that it has started."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    return _TICK * sum(ticks for pid, ticks in used.items() if _is_ours(pid, parents))


def _is_ours(pid: int, parents: dict[int, int]) -> bool:
    while pid not in (0, os.getpid()):
        pid = parents.get(pid, 0)
    return pid != 0
