"""How long many workers take for one model: a simulation of `forks.distributed.learn`.

The coordinator is one process: it learns the first rows, and in each round it forks the model,
packs a fork for each task, unpacks what comes back, merges, and learns the spared rows. Workers
take the tasks in their order, as soon as one is free and the task has been packed.
"""

import heapq
from typing import NamedTuple

from forks.distributed.learning import shares


class Costs(NamedTuple):
    """Seconds that single steps take."""

    first: float  # to learn one of the first rows, when a model makes its map and its experts
    row: float  # to learn a row, by a fork
    fork: float  # to fork the model, once in a round
    pack: float  # to pack a fork for its task
    task: float  # to bring a task to a worker and back, without its fork
    unpack: float  # to unpack a fork that comes back
    merge: float  # to merge a fork with the others
    close: float  # to end a merge, once in a round
    after: float  # to learn a spared row, when a model may start new experts


class Simulated(NamedTuple):
    """What a simulation tells."""

    seconds: float
    coordinator: float  # seconds in which the coordinator was busy
    rounds: int


def simulate(
    costs: Costs, rows: int, workers: int, partitions: int, start: int = 2000, spare: int = 100
) -> Simulated:
    """Return how long `learn` takes for so many rows."""
    first = min(start, rows)
    clock = busy = first * costs.first
    rounds = 0
    for low, high in shares(first, rows - first, partitions, None):
        rounds += 1
        each = max(0.0, (high - low) * (rows - first) - spare) / partitions
        packed = [clock + costs.fork + (k + 1) * costs.pack for k in range(partitions)]
        clock = packed[-1]
        ends = _worked(costs, packed, workers, each)
        for end in sorted(ends):
            clock = max(clock, end) + costs.unpack
        after = partitions * costs.merge + costs.close + spare * costs.after
        clock += after
        busy += costs.fork + partitions * (costs.pack + costs.unpack) + after
    return Simulated(clock, busy, rounds)


def _worked(costs: Costs, packed: list[float], workers: int, rows: float) -> list[float]:
    """Return when each task is done."""
    free = [0.0] * workers
    ends = []
    for ready in packed:
        end = max(ready, heapq.heappop(free)) + costs.task + rows * costs.row
        heapq.heappush(free, end)
        ends.append(end)
    return ends
