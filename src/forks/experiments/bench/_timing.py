"""Contenders timed in turns, by the clock of evaluations: CPU time, BLAS on one thread."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from forks.evaluate.clock import Clock


class Timed(NamedTuple):
    """The time of an action, and its result."""

    seconds: float
    result: Any


def timed(action: Callable[[], Any]) -> Timed:
    """Time an action."""
    clock = Clock()
    with clock.running():
        result = action()
    return Timed(clock.seconds, result)


def wall_time(action: Callable[[], Any], repeats: int = 1) -> float:
    """Return the least of the wall times of an action."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


Contender = Callable[[], Timed]  # prepares, then times what it has prepared


def best_times(
    contenders: Mapping[Any, Contender], repeats: int, warm_up: bool = True
) -> dict[Any, Timed]:
    """Let each contender play once per turn, in turns; keep the shortest time of each.

    A turn before the first does not count: it compiles and warms caches.
    """
    best: dict[Any, Timed] = {}
    for turn in range(repeats + warm_up):
        for name, play in contenders.items():
            one = play()
            if turn >= warm_up and (name not in best or one.seconds < best[name].seconds):
                best[name] = one
    return best


def slope_of_upper_half(sizes: Any, times: Any) -> float:
    """Return the slope of log(time) over log(size), fitted to the larger half of the sizes."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(times, float))
    upper = slice(min(len(x) // 2, len(x) - 2), None)
    return float(np.polyfit(x[upper], y[upper], 1)[0])
