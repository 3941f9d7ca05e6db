"""The engine: a learner at work on a stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba
import numpy as np

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
        self.memory: Memory = learner.init(n_features, n_outputs, rng)
        self.rounds = 0  # rows learned so far
        self._take_turns()
        self._prepare()

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
        self._make_room()

    def _make_room(self) -> None:
        """Make what calls for one row use, for the sizes of now."""
        self._one_row = np.zeros((1, self.n_features))
        self._one_score = np.zeros((1, self.n_outputs))
        self._one_weight, self._weight = np.ones(1), 1.0
        self._one_target = np.zeros((1, self.n_outputs))
        self._kept_scratch = np.zeros(0)
        self._view: Any = None
        self._looked_at: Vector | None = None  # the memory that the view and the calls are of
        self._play_one: Any = None  # made at the first call
        self._score_one: Any = None

    def __getstate__(self) -> dict[str, Any]:
        kept = ("learner", "n_features", "n_outputs", "rounds")
        with self._turns.reading():
            state = {name: getattr(self, name) for name in kept}
            return {**state, "memory": self.memory.copy()}  # other threads may go on learning

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.memory = self.memory.copy()
        self._take_turns()
        self._prepare()

    def _take_turns(self) -> None:
        self._turns = Turns()
        # what `learn_one` needs of it, at hand
        self._take, self._give = self._turns.take, self._turns.give

    def alone(self) -> AbstractContextManager[None]:
        """Turn in which only this thread learns and predicts."""
        return self._turns.alone()

    def replace_learner(self, learner: Learner) -> None:
        """Go on with another configuration of the same kind and sizes."""
        with self.alone():
            self.learner = learner
            self._prepare()

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
        t = run(self.rule, floats, ints, self._scratch(), X, y, weights, scores, 0, *more)
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
            t = run(self.rule, floats, ints, self._scratch(), X, y, weights, scores, t, *more)

    def _scratch(self) -> Vector:
        """Give scratch that is kept from call to call, anew when the memory is another."""
        if self._looked_at is not self.memory.floats:
            self._kept_scratch = np.zeros(self.learner.scratch_size(self.memory))
            self._view = self.learner.view(self.memory)
            self._looked_at = self.memory.floats
            self._play_one = self._score_one = None
        return self._kept_scratch

    def predict(self, X: Any) -> Matrix:
        """Score every row, learning nothing."""
        scores = np.empty((X.shape[0], self.n_outputs))
        with self._turns.reading():
            floats, ints = self.memory
            scratch = np.zeros(self.learner.scratch_size(self.memory))  # others predict meanwhile
            self._score_rows(self.rule, floats, ints, scratch, rows_from(X), scores)
        return scores

    # One row at a time, where a microsecond counts: `play_row` and `score_row` take a row as a
    # chunk of one, and `learn_one` and `predict_one` a vector.

    def learn_one(self, x: Vector, y: float, weight: float = 1.0) -> float:
        """Play one round on a dense row; the fast path for a single output."""
        return float(self._in_turn(self._learn_vector, x, y, weight))

    def predict_one(self, x: Vector) -> float:
        """Score one dense row; the fast path for a single output."""
        return float(self._in_turn(self._score_vector, x))

    def play_row(self, row: Matrix, y: float | Vector, weight: float = 1.0) -> None:
        """Play one round on a chunk of one dense row."""
        self._in_turn(self._play, row, y, weight)

    def score_row(self, row: Matrix) -> Any:
        """Score a chunk of one dense row: a number, or a matrix of one row for several outputs."""
        return self._in_turn(self._score, row)

    def _in_turn(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do something with one row in a turn alone: what a `with` would take half a µs for."""
        turns = self._turns
        try:
            self._take()
        except IndexError:
            with turns.alone():
                return action(*arguments)
        except BaseException:  # as in `Turns`
            self._give(None)
            raise
        try:
            if turns.readers:
                turns.wait_for_readers()
            return action(*arguments)
        finally:
            self._give(None)
            if turns.sleepers:
                turns.wake()

    def _learn_vector(self, x: Vector, y: float, weight: float) -> float:
        self._one_row[0] = x
        self._play(self._one_row, y, weight)
        return self._one_score.item()

    def _score_vector(self, x: Vector) -> Any:
        self._one_row[0] = x
        return self._score(self._one_row)

    def _play(self, row: Matrix, y: float | Vector, weight: float) -> None:
        if self._looked_at is not self.memory.floats or self._play_one is None:
            self._play_one = self._player(row)
        if self.n_outputs == 1:
            self._one_target[0, 0] = y
        else:
            self._one_target[0] = y
        if weight != self._weight:
            self._one_weight[0] = self._weight = weight
        if self._play_one(row) == 0:
            one = row, self._one_target, self._one_weight, self._one_score
            self._drive_on(0, self._run, *one)
        self.rounds += 1

    def _score(self, row: Matrix) -> Any:
        if self._looked_at is not self.memory.floats or self._score_one is None:
            self._score_one = self._scorer(row)
        self._score_one(row)
        return self._one_score.item() if self.n_outputs == 1 else self._one_score.copy()

    # Two calls for one row, with all other arguments in their places; see also `_plain`.

    def _player(self, row: Matrix) -> Callable[[Matrix], int]:
        rule, scratch, (floats, ints) = self.rule, self._scratch(), self.memory
        y, weights, scores = self._one_target, self._one_weight, self._one_score
        direct = run.direct(rule, floats, ints, scratch, row, y, weights, scores, 0)
        return lambda row: direct(rule, floats, ints, scratch, row, y, weights, scores, 0)

    def _scorer(self, row: Matrix) -> Callable[[Matrix], None]:
        rule, scratch, (floats, ints) = self.rule, self._scratch(), self.memory
        scores = self._one_score
        direct = score_rows.direct(rule, floats, ints, scratch, row, scores)
        return lambda row: direct(rule, floats, ints, scratch, row, scores)

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

    def play_row(self, row: Matrix, y: Vector, weight: float = 1.0) -> None:
        """Play one round on a chunk of one dense row."""
        with self.alone():
            for engine, target in zip(self.engines, y, strict=True):
                engine.play_row(row, target, weight)

    def score_row(self, row: Matrix) -> Matrix:
        """Score a chunk of one dense row: a matrix of one row."""
        with self._turns.reading():
            return np.array([[engine.score_row(row) for engine in self.engines]])

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
