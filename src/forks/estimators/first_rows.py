"""The first rows of a stream, which the scale of the features and the bandwidth are set from.

The first rows are kept. When 16, 64 and 256 of them have been learned (rows of weight 0 do not
count), scale and bandwidth are set from the rows so far, and the learner starts anew and learns
these rows again in their order: everything it stores was made with one scale and one bandwidth.
Scores that were returned already stay as they were. After the last time the rows are dropped.

Nothing depends on how the stream was cut into chunks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Engine, EngineGroup, Learner, Matrix, Vector
from forks.engine.outputs import targets_for
from forks.features.scaling import Scale, apply_scale, fit_scale

LOOKS = (16, 64, 256)  # rows


def median_distance(X: Any, metric: str) -> float:
    """Return the median distance between two different rows.

    Rows that repeat each other do not count; without two different rows the answer is 1.
    """
    from sklearn.metrics import pairwise_distances  # a tenth of a second that others need not wait

    with np.errstate(over="ignore", invalid="ignore"):
        distances = pairwise_distances(X, metric=metric)[np.triu_indices(X.shape[0], 1)]
    distances = distances[np.isfinite(distances) & (distances > 0.0)]
    return float(np.median(distances)) if distances.size else 1.0


def rows_until(n: int, weights: Vector) -> int:
    """Return after how many rows n of them had a weight above 0; all rows if fewer have."""
    counted = np.flatnonzero(weights)
    return int(counted[n - 1]) + 1 if len(counted) >= n else len(weights)


def scale_rows(scale: Scale, X: Any) -> Any:
    """Scale rows; sparse ones stay sparse if no feature is centred."""
    if not sparse.issparse(X):
        return apply_scale(scale, X)
    if scale.centre.any():
        return apply_scale(scale, X.toarray())
    centre, width, tail = (part[X.indices] for part in scale[:3])
    values = apply_scale(Scale(centre, width, tail, scale.bound), X.data)
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


class FirstRows(NamedTuple):
    """What is known of the first rows, and what has been set from them.

    It is never changed, but replaced by another one. Rows are added before they are learned, so
    there may be more than have been learned when an interrupt has cut the call: all methods are
    given the number of rows that have been learned, or the engine that has learned them.
    """

    seed: int  # of the learner, each time that it starts
    metric: str | None  # of the distance whose median is the bandwidth; None if that is given
    scaling: bool
    rows: Any = None  # array or CSR; None if there are none
    targets: Any = None  # (n, n_outputs)
    weights: Any = None  # (n,)
    rounds: Any = None  # (n,)  the round of each row, counted from 1
    done: int = 0  # rows that scale and bandwidth were last set from
    scale: Scale | None = None

    @property
    def complete(self) -> bool:
        """Whether scale and bandwidth stay as they are from now on."""
        return self.done >= LOOKS[-1]

    def count(self, learned: int) -> int:
        """Return how many of the rows that were kept have been learned."""
        return 0 if self.rows is None else int(np.searchsorted(self.rounds, learned, "right"))

    def is_due(self, learned: int) -> bool:
        """Return whether scale and bandwidth are to be set now."""
        return not self.complete and self.done < self.count(learned) in LOOKS

    def rows_to_look(self, weights: Vector, learned: int) -> int:
        """Return how many of the next rows can be learned before scale and bandwidth are set."""
        count = self.count(learned)
        return rows_until(min(look for look in LOOKS if look > count) - count, weights)

    def with_next(self, X: Any, targets: Matrix, weights: Vector, learned: int) -> "FirstRows":
        """Add the next rows, which are about to be learned."""
        counted = np.flatnonzero(weights)
        parts = X[counted], targets[counted], weights[counted], learned + 1 + counted
        n = self.count(learned)
        return self._with([_joined(*pair, n) for pair in zip(self._parts(), parts, strict=True)])

    def up_to(self, learned: int) -> "FirstRows":
        """Leave out the rows that have not been learned."""
        n = self.count(learned)
        return self._with([part[:n] if n > 0 else None for part in self._parts()])

    def _parts(self) -> tuple[Any, ...]:
        return self.rows, self.targets, self.weights, self.rounds

    def _with(self, parts: Sequence[Any]) -> "FirstRows":
        rows, targets, weights, rounds = parts
        return self._replace(rows=rows, targets=targets, weights=weights, rounds=rounds)

    def after(self, engine: Engine | EngineGroup) -> "FirstRows | None":
        """Return what to go on with after a call that learned, or was to learn, the rows."""
        if self.is_due(engine.rounds):
            return self.look(engine)
        cut = self.rows is not None and self.count(engine.rounds) < len(self.rounds)
        return self.up_to(engine.rounds) if cut else self

    def look(self, engine: Engine | EngineGroup) -> "FirstRows | None":
        """Set scale and bandwidth, and let the learner start anew with them.

        Return what to go on with; None if nothing is left to be done.
        """
        kept = self.up_to(engine.rounds)
        learner: Any = engine.learner
        X, scale = kept.rows, None
        if self.scaling:
            dense = X.toarray() if sparse.issparse(X) else X
            scale = fit_scale(dense, kept.weights, centred=dense is X)
            X = scale_rows(scale, X)
        if self.metric is not None:
            kernel = learner.kernel._replace(bandwidth=median_distance(X, self.metric))
            learner = replace(learner, kernel=kernel)
        engine.replay(learner, np.random.default_rng(self.seed), X, kept.targets, kept.weights)
        kept = kept._replace(scale=scale, done=len(kept.weights))
        if not kept.complete:
            return kept
        return None if scale is None else kept._with([None] * 4)

    def scaled(self, X: Any) -> Any:
        """Scale rows by the scale of now."""
        return X if self.scale is None else scale_rows(self.scale, X)

    def for_classes(self, sources: tuple[int, ...]) -> "FirstRows":
        """Return them with the targets of other classes: see `forks.engine.outputs`."""
        if self.targets is None:
            return self
        return self._replace(targets=targets_for(self.targets, sources))

    def widened(self, n_features: int, n_outputs: int) -> "FirstRows":
        """Return them with more features, which were 0, and more outputs, whose target was -1."""
        if self.rows is None:
            return self
        columns, outputs = n_features - self.rows.shape[1], n_outputs - self.targets.shape[1]
        if not columns and not outputs:
            return self
        rows = np.pad(self.rows, ((0, 0), (0, columns)))
        targets = np.pad(self.targets, ((0, 0), (0, outputs)), constant_values=-1.0)
        return self._replace(rows=rows, targets=targets)


class Configured(NamedTuple):
    """A learner, and what of it is to be set from the first rows."""

    learner: Learner
    metric: str | None = None  # of the distance whose median is the bandwidth; None if it is given
    scaling: bool = False

    def first_rows(self, seed: int) -> FirstRows | None:
        """Return what begins to keep the first rows; None if nothing is to be set from them."""
        if self.metric is None and not self.scaling:
            return None
        return FirstRows(seed, self.metric, self.scaling)


class Beginner:
    """Mixin of what learns with an engine and may keep the first rows."""

    engine_: Engine | EngineGroup
    _first_rows: FirstRows | None

    @property
    def _is_beginning(self) -> bool:
        """Whether scale and bandwidth may still be set anew."""
        return self._first_rows is not None and not self._first_rows.complete

    def _scaled(self, X: Any) -> Any:
        return X if self._first_rows is None else self._first_rows.scaled(X)

    def _look_is_due(self) -> bool:
        return self._first_rows is not None and self._first_rows.is_due(self.engine_.rounds)

    def _look(self) -> None:
        """Set scale and bandwidth if it is time; an interrupt may make it do so twice."""
        if self._first_rows is not None:
            self._first_rows = self._first_rows.after(self.engine_)

    def _learn_rows(self, X: Any, targets: Matrix, weights: Vector | None) -> Matrix:
        """Learn rows, and keep them if they are among the first; return their scores."""
        parts, start, n = [], 0, X.shape[0]
        while self._is_beginning and start < n:
            weights = np.ones(n) if weights is None else weights
            parts.append(self._learn_first(X[start:], targets[start:], weights[start:]))
            start += len(parts[-1])
        if start < n:
            rest = self._scaled(X[start:] if start else X)  # a slice of CSR is a copy
            left = None if weights is None else weights[start:]
            parts.append(self.engine_.learn(rest, targets[start:], left))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _learn_first(self, X: Any, targets: Matrix, weights: Vector) -> Matrix:
        """Learn as many of the rows as come before scale and bandwidth are set anew."""
        first, learned = self._first_rows, self.engine_.rounds
        assert first is not None
        rows = slice(first.rows_to_look(weights, learned))
        X, targets, weights = X[rows], targets[rows], weights[rows]
        self._first_rows = first.with_next(X, targets, weights, learned)
        scores = self.engine_.learn(self._scaled(X), targets, weights)
        self._look()
        return scores


def _joined(before: Any, after: Any, n: int) -> Any:
    """Join the first n rows or numbers with others; rows are sparse if any of them are."""
    if n == 0:
        return after
    before = before[:n]
    if sparse.issparse(before) or sparse.issparse(after):
        return sparse.vstack([sparse.csr_array(before), sparse.csr_array(after)], format="csr")
    return np.concatenate([before, after])
