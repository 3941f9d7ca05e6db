"""What an engine works with: all that belongs together, in one tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from forks.engine.learner import Learner
from forks.engine.memory import Memory
from forks.engine.protocol import run, run_ahead, score_rows
from forks.engine.types import Counter, Vector


class Live(NamedTuple):
    """All that belongs together; an engine goes on with another one by a single assignment."""

    learner: Learner
    rule: Any
    memory: Memory
    scratch: Vector
    clock: Counter  # see `forks.engine.protocol`
    n_features: int
    n_outputs: int
    run: Callable[..., int]
    run_ahead: Callable[..., int]
    score_rows: Callable[..., None]
    one: tuple[Any, ...]  # what calls with one row need, see `_one_row`


def live_from(
    learner: Learner, memory: Memory, clock: Counter, n_features: int, n_outputs: int
) -> Live:
    """Bring together a learner, its memory and the compiled code for them."""
    rule = learner.rule()
    scratch = np.zeros(learner.scratch_size(memory))
    return Live(
        learner,
        rule,
        memory,
        scratch,
        clock,
        n_features,
        n_outputs,
        _plain(run.over(rule)),
        _plain(run_ahead.over(rule)),
        _plain(score_rows.over(rule)),
        _one_row(learner.rule_ahead(), memory, scratch, clock, n_features, n_outputs),
    )


def _one_row(
    rule: Any, memory: Memory, scratch: Vector, clock: Counter, n_features: int, n_outputs: int
) -> tuple[Any, ...]:
    """Return the arguments of compiled code, with arrays for one row.

    Single numbers go faster through a memoryview than through NumPy.
    """
    row, target, score = (np.zeros((1, n)) for n in (n_features, n_outputs, n_outputs))
    weight, other_weight = np.ones(1), np.ones(1)
    arrays = rule, *memory, scratch, clock, row, target, weight, score, other_weight
    numbers = (array.reshape(-1).data for array in (target, other_weight, score))
    return *arrays, *numbers, n_outputs == 1


def _plain(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Hide what numba made behind a function.

    Counters of memory follow every reference; they stop at a plain function, while a compiled one
    leads them to all of the compiler.
    """

    def call(*arguments: Any) -> Any:
        return compiled(*arguments)

    return call


# What `entry.direct` has made for calls with one row; the first place is for none. Engines have
# places in this list, for the reason that `_plain` has, and without its detour.
ways_in: list[Any] = [None]


def place(way: Callable[..., Any]) -> int:
    """Return the place of compiled code in `ways_in`."""
    if way not in ways_in:
        ways_in.append(way)
    return ways_in.index(way)
