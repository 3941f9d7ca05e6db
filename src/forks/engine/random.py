"""Random draws whose whole state is one integer in an array.

The generator is splitmix64: the counter `state[0]` grows by a fixed odd step and each draw is a
mix of it. The state travels with a learner's memory, so a stored learner goes on as if it had
never stopped, and compiled code needs no generator object.
"""

from typing import Any

import numpy as np

from forks.engine.compile import njit
from forks.engine.types import Counter

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


def splitmix64(state: Any) -> Any:
    """Return the draw that follows each state of an array of uint64."""
    # shifts by uint64, so that compiled code does not fall back to floats
    z = state + _STEP
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


_compiled = njit(splitmix64)


@njit
def _next(state):
    counter = np.uint64(state[0])
    state[0] = np.int64(counter + _STEP)
    return _compiled(counter)


@njit
def uniform(state):
    """Draw from [0, 1)."""
    return np.float64(_next(state) >> np.uint64(11)) * _UNIT


@njit
def integer(state, n):
    """Draw from 0, 1, ..., n - 1. The bias is below n / 2^53."""
    return np.int64(uniform(state) * n)


def choose(state: Counter, n: int, size: int) -> Counter:
    """Draw `size` distinct numbers below n, all subsets alike (partial Fisher-Yates)."""
    numbers = np.arange(n)
    for i in range(size):
        j = i + min(int(uniform_in_python(state) * (n - i)), n - i - 1)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers[:size]


def uniform_in_python(state: Counter) -> float:
    """`uniform` in plain Python integers, for events; the same draw, nothing to compile."""
    mask = (1 << 64) - 1
    z = (int(state[0]) + int(_STEP)) & mask
    state[0] = z - (1 << 64) if z >> 63 else z
    z = ((z ^ (z >> 30)) * int(_MIX_1)) & mask
    z = ((z ^ (z >> 27)) * int(_MIX_2)) & mask
    return float((z ^ (z >> 31)) >> 11) * _UNIT
