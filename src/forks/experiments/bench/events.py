"""The rounds that change the map: the update round and the switch, against the oracle's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from forks.engine import Engine, Memory, Vector
from forks.experiments.bench._clock import clock
from forks.experiments.bench._data import (
    Stream,
    new_engine,
    oracle_run,
    released,
    settings_of,
)
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_CYCLE = 20


class _Moment(NamedTuple):
    """An engine's memory just before a row that raises an event."""

    memory: Memory
    x: Vector
    y: float


def measure(effort: Effort) -> Iterator[Record]:
    """Time whole rounds with an event, each from the same state again and again.

    A round is everything between two calls: the compiled loop stops, the event is handled, the
    loop learns the row. Its time is the best of the repeats; of all update rounds, the median.
    """
    learner = released(update_cycle=_CYCLE, cycle_counts="rounds")
    stream = effort.data().first(effort.event_rows)
    engine = new_engine(learner, stream.X.shape[1])
    moments = _moments(engine, learner, stream)
    ours: dict[str, list[list[float]]] = {kind: [] for kind in moments}
    theirs: dict[str, list[list[float]]] = {kind: [] for kind in moments}
    for _ in range(effort.repeats):
        for kind, of_kind in moments.items():
            ours[kind].append([_replayed(engine, moment) for moment in of_kind])
        for kind, seconds in _oracle_times(learner, stream).items():
            theirs[kind].append(seconds)
    settings = {**settings_of(learner), "n_updates": len(moments["update"])}
    for kind, name, goal in (("update", "update round", 0.1), ("switch", "switch", None)):
        if not moments[kind]:
            yield Record(name=name, reason="the stream is too short for one")
            continue
        mine = _typical(ours[kind])
        yield Record(name=f"{name}, FORKS", value=1e6 * mine, unit="µs", settings=settings)
        against = f"{name}, FORKS against the oracle"
        its = _typical(theirs[kind])
        yield Record(name=f"{name}, oracle", value=1e6 * its, unit="µs", settings=settings)
        yield Record(
            name=against, value=mine / its, unit="times the time", at_most=goal, settings=settings
        )
    conditions = [_condition(moment.memory) for moment in moments["update"]]
    if conditions:
        yield Record(
            name="condition number of Phi_pm, median",
            value=float(np.median(conditions)),
            settings=settings,
        )


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


def _condition(memory: Memory) -> float:
    return float(np.linalg.cond(memory_of(memory).sketch.cross))


def _replayed(engine: Engine, moment: _Moment) -> float:
    engine.memory = moment.memory.copy()
    engine.predict_one(moment.x)  # memory that is put in place is looked at once; a stream's is not
    start = clock()
    engine.learn_one(moment.x, moment.y)
    return clock() - start


def _oracle_times(learner: FORKS, stream: Stream) -> dict[str, list[float]]:
    """Time the events of the oracle in one pass over the stream."""
    times: dict[str, list[float]] = {"switch": [], "update": []}

    @contextmanager
    def timed(event: str) -> Iterator[None]:
        start = clock()
        yield
        times[event].append(clock() - start)

    oracle_run(learner, stream, around_event=timed)
    return times


def _typical(turns: list[list[float]]) -> float:
    return float(np.median(np.min(np.array(turns), axis=0)))
