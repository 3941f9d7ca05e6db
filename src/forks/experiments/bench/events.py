"""Rounds that change the map.

As released (buffer 200, s_p 150, s_m 100, k 15) on cod-rna, median over the update rounds of a
stream with one every 20 rounds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from forks.engine import Engine, Memory, Vector
from forks.evaluate.clock import Clock
from forks.experiments.bench._data import (
    Stream,
    new_engine,
    oracle_run,
    released,
    settings_of,
    shuffled,
)
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import timed
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_CYCLE = 20
_KINDS = {"update": ("update round", 0.1), "switch": ("switch", None)}  # names and goals


class _Moment(NamedTuple):
    """An engine's memory just before a row that raises an event."""

    memory: Memory
    x: Vector
    y: float


def measure(rows: int = 2_000, repeats: int = 7) -> Iterator[Number]:
    """Time whole rounds with an event, each from the same state again and again.

    A round is everything between two calls: the compiled loop stops, the event is handled, the
    loop learns the row. Its time is the best of the repeats; of all update rounds, the median.
    """
    learner = released(update_cycle=_CYCLE, cycle_counts="rounds")
    stream = shuffled("cod-rna").first(rows)
    engine = new_engine(learner, stream.X.shape[1])
    moments = _moments(engine, learner, stream)
    turns = []
    for _ in range(repeats):
        ours = {kind: [_replayed(engine, moment) for moment in moments[kind]] for kind in moments}
        turns.append((ours, _oracle_times(learner, stream)))
    settings = settings_of(learner, n_updates=len(moments["update"]))
    for kind, (name, goal) in _KINDS.items():
        if not moments[kind]:
            yield Number(name, reason="the stream is too short for one")
            continue
        best = (np.min([turn[who][kind] for turn in turns], axis=0) for who in (0, 1))
        mine, its = (float(np.median(times)) for times in best)
        yield Number(f"{name}, FORKS", 1e6 * mine, "µs", settings)
        yield Number(f"{name}, oracle", 1e6 * its, "µs", settings)
        ratio = f"{name}, FORKS against the oracle"
        yield Number(ratio, mine / its, "times the time", settings, at_most=goal)
    conditions = [np.linalg.cond(memory_of(m.memory).sketch.cross) for m in moments["update"]]
    if conditions:
        middle = float(np.median(conditions))
        yield Number("condition number of Phi_pm, median", middle, settings=settings)


def _moments(engine: Engine, learner: FORKS, stream: Stream) -> dict[str, list[_Moment]]:
    moments: dict[str, list[_Moment]] = {"switch": [], "update": []}
    buffer = learner.sizes().buffer
    for x, y in zip(stream.X, stream.y.tolist(), strict=True):
        counts = memory_of(engine.memory).hot.counts
        early = counts[COUNT.stage] == 0
        near = counts[COUNT.stored] == buffer if early else (counts[COUNT.rounds] + 1) % _CYCLE == 0
        before = engine.memory.copy() if near else None
        updates = int(counts[COUNT.updates])
        engine.learn_one(x, y)
        if before is None:
            continue
        counts = memory_of(engine.memory).hot.counts  # an event replaces the memory
        if early and counts[COUNT.stage] != 0:
            moments["switch"].append(_Moment(before, x, y))
        elif counts[COUNT.updates] > updates:
            moments["update"].append(_Moment(before, x, y))
    return moments


def _replayed(engine: Engine, moment: _Moment) -> float:
    engine.memory = moment.memory.copy()
    engine.predict_one(moment.x)  # memory that is put in place is looked at once; a stream's is not
    return timed(lambda: engine.learn_one(moment.x, moment.y)).seconds


def _oracle_times(learner: FORKS, stream: Stream) -> dict[str, list[float]]:
    """Time the events of the oracle in one pass over the stream."""
    times: dict[str, list[float]] = {"switch": [], "update": []}

    @contextmanager
    def watch(event: str) -> Iterator[None]:
        clock = Clock()
        with clock.running():
            yield
        times[event].append(clock.seconds)

    oracle_run(learner, stream, around_event=watch)
    return times


PART = Part(__doc__, measure, {"rows": 1_200, "repeats": 3})
