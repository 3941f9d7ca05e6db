"""A group of engines, one per output, for learners that learn a single one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.engine.driver import Engine
from forks.engine.learner import Learner
from forks.engine.outputs import NEW, count_outputs
from forks.engine.shared import Shared
from forks.engine.types import Matrix, Vector

_BLOCK = 1024  # rows that an engine plays before the next one does: what is left after an interrupt


class GroupCall(NamedTuple):
    """Arguments of a call that learns."""

    first: int  # rows learned before
    X: Any
    y: Matrix
    weights: Vector | None


class EngineGroup(Shared):
    """One engine per output, for learners that learn a single one; the face of an `Engine`.

    The engines play a block of rows one after the other. If an interrupt comes in between, those
    that are behind play the rows that the furthest has played: all are always at the same row.
    """

    def __init__(
        self, learner: Learner, n_features: int, n_outputs: int, rng: np.random.Generator
    ) -> None:
        super().__init__()
        self.engines = tuple(Engine(learner, n_features, 1, rng) for _ in range(n_outputs))

    @classmethod
    def restored(cls, engines: Sequence[Engine]) -> EngineGroup:
        """Make a group of engines that are there already."""
        group = cls.__new__(cls)
        group.__setstate__({"engines": engines})
        return group

    def __getstate__(self) -> dict[str, Any]:
        return self.reading(lambda: {"engines": tuple(map(copy.copy, self.engines))})

    def __setstate__(self, kept: dict[str, Any]) -> None:
        Shared.__init__(self)
        self.engines = tuple(kept["engines"])

    @property
    def n_outputs(self) -> int:
        """Width of the targets."""
        return len(self.engines)

    def learn(self, X: Any, y: Matrix, weights: Vector | None = None) -> Matrix:
        """Play one round per row; return each row's scores, made before its target was used."""

        def play(engine: Engine, rows: slice, X: Any, y: Matrix, weights: Vector | None) -> Matrix:
            return engine.learn(X, y, weights)

        return self._in_blocks(play, X, y, weights)

    def score_then_learn(
        self, ahead: Any, X: Any, y: Matrix, weights: Vector | None = None
    ) -> Matrix:
        """Score each row of `ahead`, then play the round of the row of X beside it, in turns."""

        def play(engine: Engine, rows: slice, X: Any, y: Matrix, weights: Vector | None) -> Matrix:
            return engine.score_then_learn(ahead[rows], X, y, weights)

        return self._in_blocks(play, X, y, weights)

    def _in_blocks(
        self, play: Callable[..., Matrix], X: Any, y: Matrix, weights: Vector | None
    ) -> Matrix:
        scores = np.empty(y.shape)
        with self.lock.alone:
            self.enter()
            for rows in _blocks(y.shape[0]):
                call = self._new_call(X[rows], y[rows], _of(weights, rows))
                try:
                    self._call = call
                    for o, engine in enumerate(self.engines):
                        target = _column(call.y, o)
                        scores[rows, o : o + 1] = play(engine, rows, call.X, target, call.weights)
                    self._call = None
                except BaseException:
                    self._settle()  # now, since the rows are the caller's
                    raise
        return scores

    def one_row(self, row: Matrix, y: Vector | None = None, weight: float = 1.0) -> Matrix:
        """Score a chunk of one dense row, and with targets play its round: a matrix of one row."""
        with self.lock.alone:
            self.enter()
            if y is None:
                return np.array([[engine.one_row(row) for engine in self.engines]])
            targets = np.reshape(y, (1, -1))
            call = self._new_call(row, targets, np.array([weight]))
            try:
                self._call = call
                pairs = zip(self.engines, targets[0], strict=True)
                scores = [engine.one_row(row, target, weight) for engine, target in pairs]
                self._call = None
            except BaseException:
                self._settle()
                raise
            return np.array([scores])

    def _new_call(self, X: Any, y: Matrix, weights: Vector | None) -> GroupCall:
        return GroupCall(self.rounds, X, y, weights)

    def _settle(self) -> None:
        """Let engines that are behind play what the furthest has played."""
        call = self._call
        if call is not None:
            played = max(engine.settle() for engine in self.engines) - call.first
            for o, engine in enumerate(self.engines):
                rows = slice(engine.rounds - call.first, played)
                if rows.start < rows.stop:
                    target = _column(call.y[rows], o)
                    engine.learn(call.X[rows], target, _of(call.weights, rows))
        self._call = None

    def settle(self) -> int:
        """Bring a call that was cut to the end of a row; return the rows learned so far."""
        with self.lock.alone:
            self.enter()
            return self.rounds

    def predict(self, X: Any, ahead: bool = False) -> Matrix:
        """Score every row, learning nothing; see `Engine.predict`."""
        return self.reading(
            lambda: np.hstack([engine.predict(X, ahead) for engine in self.engines])
        )

    def expect_delay(self, n: int) -> None:
        """Say that labels come n rows late from now on."""
        self._change(lambda engine, o: engine.expect_delay(n))

    def features(self, X: Any) -> None:
        """None: the outputs have no features in common."""

    def widen(self, n_features: int) -> None:
        """Go on with rows of more features, which were 0 in all rows so far."""
        self._change(lambda engine, o: engine.widen(n_features))

    def add_outputs(self, n_outputs: int) -> None:
        """Go on with more outputs, the new ones as copies of the last, draws to come included."""
        with self.lock.alone:
            self.enter()
            more = range(n_outputs - self.n_outputs)
            self.engines += tuple(copy.copy(self.engines[-1]) for _ in more)

    def replay(
        self, learner: Learner, rng: np.random.Generator, X: Any, y: Matrix, weights: Vector
    ) -> None:
        """Start anew with another configuration, and learn rows of the past again."""
        self._change(lambda engine, o: engine.replay(learner, rng, X, _column(y, o), weights))

    def _change(self, change: Callable[[Engine, int], None]) -> None:
        """Change copies of all engines, which then take over at once."""
        with self.lock.alone:
            self.enter()
            engines = tuple(map(copy.copy, self.engines))
            for o, engine in enumerate(engines):
                change(engine, o)
            self.engines = engines

    @property
    def learner(self) -> Learner:
        """The configuration."""
        return self.engines[0].learner

    @property
    def rule(self) -> Any:
        """The constants that compiled code gets."""
        return self.engines[0].rule

    @property
    def n_features(self) -> int:
        """Width of the rows."""
        return self.engines[0].n_features

    @property
    def rounds(self) -> int:
        """Rows learned so far."""
        return self.engines[0].rounds

    @property
    def mends(self) -> int:
        """Steps that were left out or mended, of all outputs."""
        return sum(engine.mends for engine in self.engines)

    @property
    def last_mend(self) -> int | None:
        """The round of the last of them, counted from 1."""
        return max((engine.last_mend or 0 for engine in self.engines), default=0) or None

    @property
    def stored_points(self) -> int:
        """Points that all outputs keep now."""
        return sum(engine.stored_points for engine in self.engines)

    @property
    def rounds_since_switch(self) -> int | None:
        """Rounds since the last of the outputs switched, or None for a learner of one stage."""
        rounds = [engine.rounds_since_switch for engine in self.engines]
        return None if None in rounds else min(rounds)  # type: ignore[type-var]

    @property
    def state_bytes(self) -> int:
        """Size of all that the learner keeps."""
        return sum(engine.state_bytes for engine in self.engines)

    @property
    def compiled(self) -> bool:
        """Whether machine code for this kind of learner is loaded in this process."""
        return self.engines[0].compiled


def _blocks(n: int) -> Iterator[slice]:
    if n <= _BLOCK:
        yield slice(None)  # also for a sparse matrix no copy
    else:
        yield from (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _of(weights: Vector | None, rows: slice) -> Vector | None:
    return None if weights is None else weights[rows]


def _column(y: Matrix, o: int) -> Matrix:
    return np.ascontiguousarray(y[:, o : o + 1])


def engine_for(
    learner: Learner,
    n_features: int,
    n_outputs: int,
    rng: np.random.Generator,
    apart: bool = False,
) -> Engine | EngineGroup:
    """Make an engine, or a group where outputs are to be kept apart or cannot share a state."""
    together = learner.multi_output and not apart
    kind = Engine if n_outputs == 1 or together else EngineGroup
    return kind(learner, n_features, n_outputs, rng)


def engine_with_classes(
    engine: Engine | EngineGroup, sources: tuple[int, ...]
) -> Engine | EngineGroup:
    """Return an engine that goes on with other classes (`forks.engine.outputs`), and the same lock.

    Learners that share a state between outputs keep all that they know of the old classes. Of
    others, which have an engine for each, those of the old classes go on, but that of the first of
    two classes, whose engine was that of the second one; it begins with nothing, like a new class.
    """
    learner, n_outputs = engine.learner, count_outputs(len(sources))
    made: Engine | EngineGroup
    if isinstance(engine, Engine) and learner.multi_output:
        memory = learner.with_classes(engine.memory, sources)
        made = _going_on(engine, memory, n_outputs)
    else:
        old = engine.engines if isinstance(engine, EngineGroup) else (None, engine)
        kept = [None if source == NEW else old[source] for source in sources]
        fresh = Engine(learner, engine.n_features, 1, np.random.default_rng(engine.rounds))
        if n_outputs == 1:  # one class so far
            goes_on = engine if isinstance(engine, Engine) and sources[0] != NEW else fresh
            made = _going_on(engine, goes_on.memory)
        else:
            made = EngineGroup.restored(
                [_going_on(engine, fresh.memory) if e is None else copy.copy(e) for e in kept]
            )
    made.lock, made.warned, made.order_known = engine.lock, engine.warned, engine.order_known
    return made


def _going_on(engine: Engine | EngineGroup, memory: Any, n_outputs: int = 1) -> Engine:
    """Return an engine with another memory that has learned as many rows."""
    sizes = engine.n_features, n_outputs
    return Engine.restored(engine.learner, *sizes, memory, engine.rounds, engine.last_mend)
