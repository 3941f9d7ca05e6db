"""The clock, and contenders timed in turns.

The clock is the CPU time of the process: everything runs on one thread, so on an idle machine it
is the time on the wall, and on a busy one the time that others take is left out.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

clock = time.process_time

# Called before the clock starts; gives the action to time.
Contender = Callable[[], Callable[[], Any]]


class Timed(NamedTuple):
    """The shortest time of an action, and what it gave."""

    seconds: float
    result: Any


def best_times(
    contenders: Mapping[Any, Contender], repeats: int, warm_up: bool = True
) -> dict[Any, Timed]:
    """Time each contender once per turn, in turns; keep the best time of each.

    A turn before the first is not timed: it compiles and warms caches.
    """
    best: dict[Any, Timed] = {}
    for turn in range(repeats + warm_up):
        for name, prepare in contenders.items():
            action = prepare()
            start = clock()
            result = action()
            seconds = clock() - start
            if turn >= warm_up and (name not in best or seconds < best[name].seconds):
                best[name] = Timed(seconds, result)
    return best


def slope_of_upper_half(sizes: Any, times: Any) -> float:
    """Slope of log(time) over log(size), fitted to the larger half of the sizes."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(times, float))
    upper = slice(min(len(x) // 2, len(x) - 2), None)
    return float(np.polyfit(x[upper], y[upper], 1)[0])
