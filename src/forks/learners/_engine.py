"""The engine: a learner at work on a stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba
import numpy as np

from forks._bound import Bound
from forks._memory import Memory
from forks._rows import dense_row, rows_from
from forks.learners._protocol import Learner, run, run_ahead, score_rows
from forks.learners._turns import Turns
from forks.linalg import one_thread
from forks.typing import Matrix, Vector

_BLOCK = 1024  # rows: wide sparse ones are made dense so many at a time


class Engine:
    """A learner, its memory, and the driver of the compiled loop.

    Rows are C-ordered, writable float64 arrays or CSR; targets have one column per output: -1 and
    +1 for the classification losses, real numbers for the regression losses. What comes from a
    user is checked before it gets here.

    Threads may share an engine: learning takes turns, and a prediction sees the memory as it is
    between two calls that learn, never in the middle of one.

    Parameters
    ----------
    learner : Learner
        The configuration.
    n_features, n_outputs : int
        Widths of rows and of targets.
    rng : numpy.random.Generator
        Seeds the learner's own generator, which lives in its memory.
    """

    def __init__(
        self, learner: Learner, n_features: int, n_outputs: int, rng: np.random.Generator
    ) -> None:
        self.learner = learner
        self.n_features = n_features
        self.n_outputs = n_outputs
        self.rounds = 0  # rows learned so far
        self._take_turns()
        self._prepare()
        self.memory = learner.init(n_features, n_outputs, rng)

    @classmethod
    def restored(
        cls, learner: Learner, n_features: int, n_outputs: int, memory: Memory, rounds: int
    ) -> Engine:
        """Make an engine that goes on with a memory; `Learner.check_memory` has checked it."""
        engine = cls.__new__(cls)
        sizes = {"n_features": n_features, "n_outputs": n_outputs}
        engine.__setstate__({"learner": learner, **sizes, "memory": memory, "rounds": rounds})
        return engine

    def _prepare(self) -> None:
        self.rule = self.learner.rule()
        self._run = _plain(run.over(self.rule))
        self._run_ahead = _plain(run_ahead.over(self.rule))
        self._score_rows = _plain(score_rows.over(self.rule))
        self._play, self._score = Bound(run), Bound(score_rows)  # for one row
        self._make_room()

    @property
    def memory(self) -> Memory:
        """All that the learner knows."""
        return self._memory

    @memory.setter
    def memory(self, memory: Memory) -> None:
        """Go on with another memory: what leads into the old one is made anew."""
        self._memory = memory
        self._view = self.learner.view(memory)
        self._scratch = np.zeros(self.learner.scratch_size(memory))
        self._row: Matrix | None = None  # the one that arguments are laid out for

    def _make_room(self) -> None:
        """Make what calls for one row use, for the sizes of now."""
        self._one_row = np.zeros((1, self.n_features))
        self._one_score = np.zeros((1, self.n_outputs))
        self._one_weight, self._weight = np.ones(1), 1.0
        self._one_target = np.zeros((1, self.n_outputs))
        # single numbers go faster through a memoryview than through numpy
        self._target, self._answer = map(_numbers, (self._one_target, self._one_score))

    def __getstate__(self) -> dict[str, Any]:
        kept = ("learner", "n_features", "n_outputs", "rounds")
        with self._turns.reading():
            state = {name: getattr(self, name) for name in kept}
            return {**state, "memory": self.memory.copy()}  # other threads may go on learning

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.learner, self.rounds = kept["learner"], kept["rounds"]
        self.n_features, self.n_outputs = kept["n_features"], kept["n_outputs"]
        self._take_turns()
        self._prepare()
        self.memory = kept["memory"].copy()

    def _take_turns(self) -> None:
        self._turns = Turns()
        # what `one_row` needs of it, at hand
        self._take, self._give = self._turns.take, self._turns.give

    def alone(self) -> AbstractContextManager[None]:
        """Turn in which only this thread learns and predicts."""
        return self._turns.alone()

    def replace_learner(self, learner: Learner) -> None:
        """Go on with another configuration of the same kind and sizes."""
        with self.alone():
            self.learner = learner
            self._prepare()
            self.memory = self._memory

    def widen(self, n_features: int) -> None:
        """Go on with rows of more features, which were 0 in all rows so far."""
        with self.alone():
            self.memory = self.learner.widened(self.memory, n_features)
            self.n_features = n_features
            self._make_room()

    def add_outputs(self, n_outputs: int) -> None:
        """Go on with more outputs, the new ones as copies of the last."""
        with self.alone():
            self.memory = self.learner.with_outputs(self.memory, n_outputs)
            self.n_outputs = n_outputs
            self._make_room()

    def learn(self, X: Any, y: Matrix, weights: Vector | None = None) -> Matrix:
        """Play one round per row; give each row's score, made before its target was used."""
        scores = np.empty((y.shape[0], self.n_outputs))
        if weights is None:
            weights = np.ones(y.shape[0])
        with self.alone():
            self._drive(self._run, rows_from(X), y, weights, scores)
        return scores

    def score_then_learn(
        self, ahead: Any, X: Any, y: Matrix, weights: Vector | None = None
    ) -> Matrix:
        """Score each row of `ahead`, then play the round of the row of X beside it, in turns."""
        n = y.shape[0]
        ahead_scores = np.empty((n, self.n_outputs))
        if weights is None:
            weights = np.ones(n)
        if n > 0:
            with self.alone():
                ahead_scores[:1] = self.predict(ahead[:1])
                between = ahead[1:], X[:-1], y[:-1], weights[:-1]
                self._learn_then_score(*between, ahead_scores[1:])
                self.learn(X[-1:], y[-1:], weights[-1:])
        return ahead_scores

    def _learn_then_score(
        self, ahead: Any, X: Any, y: Matrix, weights: Vector, ahead_scores: Matrix
    ) -> None:
        scores = np.empty_like(ahead_scores)
        more = rows_from(ahead), ahead_scores
        self._drive(self._run_ahead, rows_from(X), y, weights, scores, *more)

    def _drive(
        self, run: Any, X: Any, y: Matrix, weights: Vector, scores: Matrix, *more: Any
    ) -> None:
        floats, ints = self.memory
        t = run(self.rule, floats, ints, self._scratch, X, y, weights, scores, 0, *more)
        if t < y.shape[0]:
            self._drive_on(t, run, X, y, weights, scores, *more)
        self.rounds += y.shape[0]

    def _drive_on(
        self, t: int, run: Any, X: Any, y: Matrix, weights: Vector, scores: Matrix, *more: Any
    ) -> None:
        """Do the event of row t, go on, and do those that come."""
        while t < y.shape[0]:
            with one_thread():
                moved = self.learner.handle(self._view, dense_row(X, t, self.n_features))
            if moved is not None:
                self.memory = moved
            floats, ints = self.memory
            t = run(self.rule, floats, ints, self._scratch, X, y, weights, scores, t, *more)

    def predict(self, X: Any) -> Matrix:
        """Score every row, learning nothing."""
        scores = np.empty((X.shape[0], self.n_outputs))
        with self._turns.reading():
            floats, ints = self.memory
            scratch = np.zeros(self.learner.scratch_size(self.memory))  # others predict meanwhile
            self._score_rows(self.rule, floats, ints, scratch, rows_from(X), scores)
        return scores

    # One row at a time, where a microsecond counts.

    def learn_one(self, x: Vector, y: float, weight: float = 1.0) -> float:
        """Play one round on a dense row; for a single output."""
        return float(self.one_row(x, y, weight))

    def predict_one(self, x: Vector) -> float:
        """Score one dense row; for a single output."""
        return float(self.one_row(x))

    def one_row(
        self, row: Matrix | Vector, y: float | Vector | None = None, weight: float = 1.0
    ) -> Any:
        """Score a dense row, and with a target play its round.

        The score is a number, or a matrix of one row for several outputs. Fastest is one array,
        a chunk of one row, that comes again and again with other values.
        """
        turns = self._turns
        try:  # a turn alone, written out: a `with` would take half a microsecond
            self._take()
        except IndexError:
            with turns.alone():
                return self._in_turn(row, y, weight)
        except BaseException:  # as in `Turns`
            self._give(None)
            raise
        try:
            if turns.readers:
                turns.wait_for_readers()
            return self._in_turn(row, y, weight)
        finally:
            self._give(None)
            if turns.sleepers:
                turns.wake()

    def _in_turn(self, row: Matrix | Vector, y: float | Vector | None, weight: float) -> Any:
        if row is not self._row:
            self._lay_out(row)
        if y is None:
            self._score.call()
        else:
            if self.n_outputs == 1:
                self._target[0] = y
            else:
                self._one_target[0] = y
            if weight != self._weight:
                self._one_weight[0] = self._weight = weight
            if self._play.call() == 0:
                one = self._row, self._one_target, self._one_weight, self._one_score
                self._drive_on(0, self._run, *one)
            self.rounds += 1
        return self._answer[0] if self.n_outputs == 1 else self._one_score.copy()

    def _lay_out(self, row: Matrix | Vector) -> None:
        """Put the arguments of calls for this row in their places."""
        if row.ndim == 1:
            self._one_row[0] = row
            row = self._one_row
            if row is self._row:
                return
        elif row.shape != self._one_row.shape:
            raise ValueError(f"row has the shape {row.shape}, not {self._one_row.shape}")
        here = self.rule, *self._memory, self._scratch, row
        self._play.put(*here, self._one_target, self._one_weight, self._one_score, 0)
        self._score.put(*here, self._one_score)
        self._row = row

    def features(self, X: Any) -> Matrix | None:
        """Give the features in which the score is linear now, or None if there are none."""
        parts = []
        with self._turns.reading():
            for start in range(0, X.shape[0], _BLOCK):
                rows = X[start : start + _BLOCK]
                dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
                parts.append(self.learner.features(self.memory, dense))
        return None if not parts or parts[0] is None else np.vstack(parts)  # type: ignore[arg-type]

    @property
    def stored_points(self) -> int:
        """Points that the learner keeps now."""
        return self.learner.stored_points(self.memory)

    @property
    def rounds_since_switch(self) -> int | None:
        """Rounds of stage two, or None for a learner of one stage."""
        return self.learner.rounds_since_switch(self.memory)

    @property
    def state_bytes(self) -> int:
        """Size of all that the learner keeps."""
        return self.memory.nbytes

    @property
    def compiled(self) -> bool:
        """Is machine code for this kind of learner loaded in this process?"""
        kind = numba.typeof(self.rule)
        signatures = getattr(run.over(self.rule), "signatures", [])
        return any(arguments[0] == kind for arguments in signatures)


def _plain(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Hide what numba made behind a function.

    Counters of memory follow every reference; they stop at a plain function, while a compiled one
    leads them to all of the compiler.
    """

    def call(*arguments: Any) -> Any:
        return compiled(*arguments)

    return call


def _numbers(row: Matrix) -> Any:
    return memoryview(row.reshape(-1))  # type: ignore[arg-type]


class EngineGroup:
    """One engine per output, for learners that learn a single one; the face of an `Engine`."""

    def __init__(
        self, learner: Learner, n_features: int, n_outputs: int, rng: np.random.Generator
    ) -> None:
        self.n_outputs = n_outputs
        self.engines = [Engine(learner, n_features, 1, rng) for _ in range(n_outputs)]
        self._turns = Turns()

    @classmethod
    def restored(cls, engines: list[Engine]) -> EngineGroup:
        """Make a group of engines that are there already."""
        group = cls.__new__(cls)
        group.__setstate__({"n_outputs": len(engines), "engines": engines})
        return group

    def __getstate__(self) -> dict[str, Any]:
        with self._turns.reading():
            engines = [copy.copy(engine) for engine in self.engines]
            return {"n_outputs": self.n_outputs, "engines": engines}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._turns = Turns()

    def alone(self) -> AbstractContextManager[None]:
        """Turn in which only this thread learns and predicts."""
        return self._turns.alone()

    def learn(self, X: Any, y: Matrix, weights: Vector | None = None) -> Matrix:
        """Play one round per row; give each row's scores, made before its target was used."""
        with self.alone():
            parts = [
                engine.learn(X, target, weights)
                for engine, target in zip(self.engines, _columns(y), strict=True)
            ]
        return np.hstack(parts)

    def score_then_learn(
        self, ahead: Any, X: Any, y: Matrix, weights: Vector | None = None
    ) -> Matrix:
        """Score each row of `ahead`, then play the round of the row of X beside it, in turns."""
        with self.alone():
            parts = [
                engine.score_then_learn(ahead, X, target, weights)
                for engine, target in zip(self.engines, _columns(y), strict=True)
            ]
        return np.hstack(parts)

    def predict(self, X: Any) -> Matrix:
        """Score every row, learning nothing."""
        with self._turns.reading():
            return np.hstack([engine.predict(X) for engine in self.engines])

    def features(self, X: Any) -> None:
        """None: the outputs have no features in common."""

    def widen(self, n_features: int) -> None:
        """Go on with rows of more features, which were 0 in all rows so far."""
        with self.alone():
            for engine in self.engines:
                engine.widen(n_features)

    def add_outputs(self, n_outputs: int) -> None:
        """Go on with more outputs, the new ones as copies of the last, draws to come included."""
        with self.alone():
            for _ in range(n_outputs - self.n_outputs):
                self.engines.append(copy.deepcopy(self.engines[-1]))
            self.n_outputs = n_outputs

    def one_row(self, row: Matrix, y: Vector | None = None, weight: float = 1.0) -> Matrix:
        """Score a chunk of one dense row, and with targets play its round: a matrix of one row."""
        targets = [None] * self.n_outputs if y is None else y
        with self.alone():
            pairs = zip(self.engines, targets, strict=True)
            return np.array([[engine.one_row(row, target, weight) for engine, target in pairs]])

    def replace_learner(self, learner: Learner) -> None:
        """Go on with another configuration of the same kind and sizes."""
        with self.alone():
            for engine in self.engines:
                engine.replace_learner(learner)

    @property
    def learner(self) -> Learner:
        """The configuration."""
        return self.engines[0].learner

    @property
    def rule(self) -> Any:
        """What compiled code gets."""
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
        """Is machine code for this kind of learner loaded in this process?"""
        return self.engines[0].compiled


def _columns(y: Matrix) -> list[Matrix]:
    return [np.ascontiguousarray(y[:, o : o + 1]) for o in range(y.shape[1])]


def engine_for(
    learner: Learner, n_features: int, n_outputs: int, rng: np.random.Generator
) -> Engine | EngineGroup:
    """Make an engine, or a group where the learner cannot share its state between outputs."""
    kind = Engine if n_outputs == 1 or learner.multi_output else EngineGroup
    return kind(learner, n_features, n_outputs, rng)
