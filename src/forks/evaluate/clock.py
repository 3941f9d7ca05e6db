"""The clock of an evaluation: CPU time with BLAS on one thread, compilation left out.

The CPU time of the process is the time on the wall of an idle machine; on a busy one it leaves out
what others take.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from forks.engine import Engine, Learner, one_thread

Item = TypeVar("Item")

# Sizes at which every event comes within a few rows. They are values: the code is the same.
_SMALL = {
    "budget": 2,
    "buffer": 2,
    "sketch_size": 2,
    "n_blocks": 1,
    "n_landmarks": 1,
    "rank": 1,
    "update_cycle": 3,
    "max_points": 4,
    "n_frequencies": 2,
}
_ROWS = 32


class Clock:
    """Adds up CPU time in `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Context whose time counts; BLAS has one thread in it."""
        with one_thread():
            start = time.process_time()
            try:
                yield
            finally:
                self.seconds += time.process_time() - start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context, within a running one, whose time does not count."""
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds -= time.process_time() - start

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """Return the items; the time that it takes to make them counts."""
        iterator = iter(items)
        while True:
            start = time.process_time()
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.seconds += time.process_time() - start
            yield item


_ready: set[Any] = set()


def warm_up(learner: Learner, sparse: bool, late: bool) -> float:
    """Compile, or load, what a learner needs for rows of this form, once in a process.

    A small learner of the same kind plays made-up rows until it has met all its events. With
    `sparse` rows are CSR; with `late` labels come late (`Engine.score_then_learn`). Return the CPU
    seconds that it took.
    """
    kind = _kind(learner.rule()), sparse, late
    if kind in _ready:
        return 0.0
    clock = Clock()
    with clock.running():
        play_small(learner, sparse, late)
    _ready.add(kind)
    return clock.seconds


def _kind(part: Any) -> Any:
    """Return the types that machine code depends on."""
    return (type(part), *map(_kind, part)) if isinstance(part, tuple) else type(part)


def play_small(learner: Learner, sparse: bool, late: bool) -> Engine:
    """Play some made-up rows with a small learner of this kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 2))
    rows = csr_array(X) if sparse else X
    y = np.where(rng.random((_ROWS, 1)) < 0.5, -1.0, 1.0)
    engine = Engine(small(learner), X.shape[1], 1, rng)
    engine.learn(rows, y)
    engine.predict(rows)
    if late:
        engine.score_then_learn(rows, rows, y)
    return engine


def small(learner: Learner) -> Learner:
    """Return a learner with the same rule but for its sizes."""
    names = {field.name for field in fields(learner) if field.init}  # type: ignore[arg-type]
    try:
        return replace(learner, **{name: _SMALL[name] for name in names & _SMALL.keys()})  # type: ignore[type-var]
    except ValueError:  # a learner from elsewhere, to which these sizes mean something else
        return learner
