"""The engine: a learner at work on a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from forks.engine.learner import Learner
from forks.engine.live import Live, live_from, place, ways_in
from forks.engine.memory import Memory
from forks.engine.protocol import (
    EVENT,
    MENDED,
    MENDS,
    PENDING,
    ROUNDS,
    new_clock,
    run,
    score_rows,
)
from forks.engine.rows import dense_row, rows_from
from forks.engine.shared import Shared
from forks.engine.threads import one_thread
from forks.engine.types import Counter, Matrix, Vector

_BLOCK = 1024  # rows: wide sparse ones are made dense so many at a time


# Arguments of a call that learns: an array or `SparseRows`, targets, weights, room for scores.
Call = tuple[Any, Matrix, Vector, Matrix]


class Engine(Shared):
    """A learner, its memory, and the driver of the compiled loop.

    Rows are C-ordered, writable float64 arrays or CSR; targets have one column per output: -1 and
    +1 for the classification losses, real numbers for the regression losses. What comes from a
    user is checked before it gets here.

    Threads may share an engine: learning takes turns, and a prediction sees the memory as it is
    between two calls that learn, never in the middle of one.

    An exception may be raised between any two bytecodes of the main thread (see
    `forks.engine.locks`), but never inside compiled code. So compiled code keeps count of the
    rows that it has played, events are done on a copy of the memory, and what belongs together is
    replaced by one assignment. The only thing that an interrupt can leave undone is the event of
    the row at which the loop has stopped; `_settle` does it and ends that row. After an interrupt
    the engine is always as after the last whole row.

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
        memory = learner.init(n_features, n_outputs, rng)
        self._begin(live_from(learner, memory, new_clock(), n_features, n_outputs))

    def _begin(self, live: Live) -> None:
        super().__init__()
        self._live = live
        self._call: Call | None = None
        self._play_one = self._score_one = 0  # places of compiled code for one row, in `ways_in`
        self._known_row: Matrix | None = None  # the last one that was found to be good

    @classmethod
    def restored(
        cls,
        learner: Learner,
        n_features: int,
        n_outputs: int,
        memory: Memory,
        rounds: int,
        last_mend: int | None,
    ) -> Engine:
        """Make an engine that goes on with a memory; `Learner.check_memory` has checked it."""
        engine = cls.__new__(cls)
        sizes = {"n_features": n_features, "n_outputs": n_outputs}
        past = {"rounds": rounds, "last_mend": last_mend}
        engine.__setstate__({"learner": learner, **sizes, **past, "memory": memory})
        return engine

    def __getstate__(self) -> dict[str, Any]:
        return self.reading(self._state)

    def _state(self) -> dict[str, Any]:
        names = ("learner", "n_features", "n_outputs", "rounds", "last_mend")
        state = {name: getattr(self, name) for name in names}
        return {**state, "memory": self.memory.copy()}  # other threads may go on learning

    def __setstate__(self, kept: dict[str, Any]) -> None:
        mends = int(kept["memory"].event[MENDS])
        clock = new_clock(kept["rounds"], kept["last_mend"] or 0, mends)
        sizes = kept["n_features"], kept["n_outputs"]
        self._begin(live_from(kept["learner"], kept["memory"].copy(), clock, *sizes))

    @property
    def learner(self) -> Learner:
        """The configuration."""
        return self._live.learner

    @property
    def rule(self) -> Any:
        """The constants that compiled code gets."""
        return self._live.rule

    @property
    def n_features(self) -> int:
        """Width of the rows."""
        return self._live.n_features

    @property
    def n_outputs(self) -> int:
        """Width of the targets."""
        return self._live.n_outputs

    @property
    def rounds(self) -> int:
        """Rows learned so far."""
        return int(self._live.clock[ROUNDS])

    @property
    def mends(self) -> int:
        """Steps that were left out, and fits that were mended: see `MENDS`."""
        return int(self._live.memory.event[MENDS])

    @property
    def last_mend(self) -> int | None:
        """The round of the last of them, counted from 1."""
        return int(self._live.clock[MENDED]) or None

    def expect_delay(self, n: int) -> None:
        """Say that labels come n rows late from now on."""
        with self.lock.alone:
            self.enter()
            memory = self._live.memory.copy()
            self._live.learner.expect_delay(self._live.learner.view(memory), n)
            self._live = self._with_memory(memory, self._live.clock)

    def settle(self) -> int:
        """Bring a call that was cut to the end of a row; return the rows learned so far."""
        with self.lock.alone:
            self.enter()
            return self.rounds

    @property
    def memory(self) -> Memory:
        """All that the learner knows. Events replace it."""
        return self._live.memory

    @memory.setter
    def memory(self, memory: Memory) -> None:
        """Go on with another memory."""
        with self.lock.alone:
            self.enter()
            self._live = self._with_memory(memory, self._live.clock)

    def _with_memory(self, memory: Memory, clock: Counter) -> Live:
        live = self._live
        scratch = np.zeros(live.learner.scratch_size(memory))
        one = live.one[0], *memory, scratch, clock, *live.one[5:]
        return live._replace(memory=memory, scratch=scratch, clock=clock, one=one)

    def replay(
        self, learner: Learner, rng: np.random.Generator, X: Any, y: Matrix, weights: Vector
    ) -> None:
        """Start anew with another configuration, and learn rows of the past again.

        They are no new rounds: `rounds` stays. Nothing changes before all of them are learned.
        """
        with self.lock.alone:
            self.enter()
            sizes = self.n_features, self.n_outputs
            again = Engine(learner, *sizes, rng)
            again.learn(X, y, weights)
            clock = new_clock(self.rounds, self.rounds if again.mends else 0, again.mends)
            self._play_one = self._score_one = 0
            self._live = live_from(learner, again.memory, clock, *sizes)

    def widen(self, n_features: int) -> None:
        """Go on with rows of more features, which were 0 in all rows so far."""
        with self.lock.alone:
            self.enter()
            live = self._live
            memory = live.learner.widened(live.memory, n_features)
            self._known_row = None
            self._live = live_from(live.learner, memory, live.clock, n_features, live.n_outputs)

    def add_outputs(self, n_outputs: int) -> None:
        """Go on with more outputs, the new ones as copies of the last."""
        with self.lock.alone:
            self.enter()
            live = self._live
            memory = live.learner.with_outputs(live.memory, n_outputs)
            self._live = live_from(live.learner, memory, live.clock, live.n_features, n_outputs)

    # ---- learning ----------------------------------------------------------------------------

    def learn(self, X: Any, y: Matrix, weights: Vector | None = None) -> Matrix:
        """Play one round per row; return each row's score, made before its target was used."""
        y, weights = _targets_and_weights(y, weights)
        with self.lock.alone:
            self.enter()
            scores = np.empty((len(y), self.n_outputs))
            self._drive(self._live.run, (rows_from(X), y, weights, scores))
        return scores

    def score_then_learn(
        self, ahead: Any, X: Any, y: Matrix, weights: Vector | None = None
    ) -> Matrix:
        """Score each row of `ahead`, then play the round of the row of X beside it, in turns."""
        y, weights = _targets_and_weights(y, weights)
        n = len(y)
        with self.lock.alone:
            self.enter()
            ahead_scores = np.empty((n, self.n_outputs))
            if n > 0:
                ahead_scores[:1] = self.predict(ahead[:1], ahead=True)
                scores = np.empty((n - 1, self.n_outputs))
                between = rows_from(X[:-1]), y[:-1], weights[:-1], scores
                more = rows_from(ahead[1:]), ahead_scores[1:]
                self._drive(self._live.run_ahead, between, *more)
                self.learn(X[-1:], y[-1:], weights[-1:])
        return ahead_scores

    def _drive(self, play: Callable[..., int], call: Call, *more: Any) -> None:
        """Play the rounds of a call, and do the events that come."""
        n = call[1].shape[0]
        try:
            self._call = call
            t = 0
            while t < n:
                live = self._live
                t = play(live.one[0], *live.memory, live.scratch, live.clock, *call, t, *more)
                if t < 0:
                    t = self._play_event(play, call, ~t, *more)
            self._call = None
        except BaseException:
            self._settle()  # now, since the rows are the caller's
            raise

    def _play_event(self, play: Callable[..., int], call: Call, t: int, *more: Any) -> int:
        """Handle the event of row t and play the row, on a copy that takes over; return t + 1."""
        live, (X, y, weights, scores) = self._live, call
        learner, memory, clock = live.learner, live.memory.copy(), live.clock.copy()
        x = dense_row(X, t, live.n_features) if learner.events_need_rows else np.empty(0)
        one = X, y[: t + 1], weights, scores, t, *more
        stopped = -1
        while stopped < 0:
            clock[PENDING] = 0
            with one_thread():
                moved = learner.handle(learner.view(memory), x)
            after = self._with_memory(memory if moved is None else moved, clock)
            memory = after.memory
            stopped = play(live.one[0], *memory, after.scratch, clock, *one)
        self._live = after
        return t + 1

    def _settle(self) -> None:
        """Handle the event that an interrupted call has left, and finish its row."""
        call, clock = self._call, self._live.clock
        if call is not None and clock[PENDING]:
            try:
                self._play_event(self._live.run, call, int(clock[PENDING]) - 1)
            except Exception:  # out of memory, say: a later round will ask for the event again
                self._live.memory.event[EVENT] = 0
                clock[PENDING] = 0
                self._call = None
                raise
        self._call = None

    # ---- predicting --------------------------------------------------------------------------

    def predict(self, X: Any, ahead: bool = False) -> Matrix:
        """Score every row, learning nothing.

        If they are `ahead`, the next ones of the stream, the answer may lean on the last labels.
        """
        return self.reading(lambda: self._predict(X, ahead))

    def _predict(self, X: Any, ahead: bool) -> Matrix:
        live = self._live
        rule = live.one[0] if ahead else live.rule
        scores = np.empty((X.shape[0], live.n_outputs))
        scratch = np.zeros_like(live.scratch)  # others predict meanwhile
        live.score_rows(rule, *live.memory, scratch, rows_from(X), scores)
        return scores

    def features(self, X: Any) -> Matrix | None:
        """Return the features in which the score is linear now, or None if there are none."""
        return self.reading(lambda: self._features(X))

    def _features(self, X: Any) -> Matrix | None:
        parts = []
        for start in range(0, X.shape[0], _BLOCK):
            rows = X[start : start + _BLOCK]
            dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
            parts.append(self.learner.features(self.memory, dense))
        return None if not parts or parts[0] is None else np.vstack(parts)  # type: ignore[arg-type]

    # ---- one row at a time, where a microsecond counts -----------------------------------------

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

        The score is a number, or a matrix of one row for several outputs. A chunk of one row is
        faster than a vector, which is copied.
        """
        lock = self.lock
        with lock.alone:
            if lock.used:  # else nobody can read meanwhile: a new reader needs `alone` first
                lock.claim()
            if self._call is not None:
                self._settle()
            # fmt: off
            (rule, floats, ints, scratch, clock, own, target, weights, score,
             other_weights, first_target, first_weight, answer, single) = self._live.one
            # fmt: on
            if row is not self._known_row:
                if row.ndim == 1:
                    own[0] = row
                    row = own
                else:
                    self._check_row(row)
            if y is None:
                score_one = ways_in[self._score_one] or self._compiled_score(row)
                score_one(rule, floats, ints, scratch, row, score)
            else:
                if single:
                    first_target[0] = y
                else:
                    target[0] = y
                if weight != 1.0:
                    weights = other_weights
                    first_weight[0] = weight
                play = ways_in[self._play_one] or self._compiled_play(row)
                try:
                    self._call = row, target, weights, score
                    # fmt: off
                    if play(rule, floats, ints, scratch, clock,
                            row, target, weights, score, 0) < 0:
                        self._play_event(play, self._call, 0)
                    # fmt: on
                    self._call = None
                except BaseException:
                    self._settle()
                    raise
            return answer[0] if single else score.copy()

    def _check_row(self, row: Matrix) -> None:
        own = self._live.one[5]
        if row.shape != own.shape:
            raise ValueError(f"row has the shape {row.shape}, not {own.shape}")
        self._known_row = row

    def _compiled_play(self, row: Matrix) -> Callable[..., int]:
        play = run.direct(*self._live.one[:5], row, *self._live.one[6:9], 0)
        self._play_one = place(play)
        return play

    def _compiled_score(self, row: Matrix) -> Callable[..., None]:
        score = score_rows.direct(*self._live.one[:4], row, self._live.one[8])
        self._score_one = place(score)
        return score

    # ---- about the learner ---------------------------------------------------------------------

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
        """Whether machine code for this kind of learner is loaded in this process."""
        kind = numba.typeof(self.rule)
        signatures = getattr(run.over(self.rule), "signatures", [])
        return any(arguments[0] == kind for arguments in signatures)


def _targets_and_weights(y: Matrix, weights: Vector | None) -> tuple[Matrix, Vector]:
    """Return both as compiled code takes them, which trusts their layout; weights are 1 if None."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    return y, np.ones(len(y)) if weights is None else np.ascontiguousarray(weights, np.float64)
