"""What the River models share: named features and labels on one side, the engine on the other."""

import copy
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from forks.compat._frames import (
    all_numbers,
    columns_of,
    dicts_of,
    frame_like,
    numbers_of,
    series_like,
    values_of,
)
from forks.compat._index import FeatureIndex, NotNumbers, check_values
from forks.compat._labels import weight_of, weights_of
from forks.compat._late import LateLabels
from forks.compat._mixed import Mixed
from forks.engine import Engine, EngineGroup, Matrix, Vector
from forks.engine.checks import whole
from forks.engine.group import engine_for
from forks.estimators.first_rows import Beginner
from forks.estimators.insight import events_of, relevance_of
from forks.estimators.labels import Labels, class_probabilities
from forks.estimators.named import configured
from forks.estimators.telling import tell_of_compiling
from forks.estimators.warning import warn_caller
from forks.learners import FORKS
from forks.losses import Hinge, SquaredError


class KernelModel(Beginner):
    """What the three models share.

    A subclass says what is known of the labels (`_known`), what a new label adds to it (`_with`)
    and which target a label stands for (`_target`). Names and labels are kept before their row is
    learned; so it may be the engine's growth that an interrupt has left undone.
    """

    _task: ClassVar[str]

    _known: Any = None
    _n_targets = 1  # whose means are taken for the values of a category

    def __init__(
        self,
        learner: Any = "adaptive",
        max_features: int = 1000,
        seed: int | None = None,
        effort: str = "balanced",
    ) -> None:
        self.learner = learner
        self.effort = effort
        self.max_features = max_features
        self.seed = seed
        whole("max_features", max_features, 1)
        if learner is None:
            warn_caller('learner=None is deprecated: write learner="adaptive"', FutureWarning)
        named = "adaptive" if learner is None else learner
        self._configured = configured(named, self._task, effort)
        self._lock = threading.RLock()
        self._index = FeatureIndex(int(max_features))
        self._engine: Any = None
        self._first_rows = None
        self._engine_width = -1  # of rows that it has been made or grown for
        self._y_name: Any = None
        self._late = LateLabels()
        self._mixed: Mixed | None = None  # of streams of more than numbers

    def _with(self, known: Any, y: Any) -> Any:
        """Return what is known of the labels with one more."""
        return known

    def _target(self, known: Any, y: Any) -> Any:
        """Return the target of a label, one number per output."""
        raise NotImplementedError

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield the parameters that River's own checks try."""
        loss = Hinge() if cls._task == "classification" else SquaredError()
        yield {}
        yield {"learner": FORKS(budget=20, loss=loss)}

    def _n_outputs(self) -> int:
        return 1

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            self._settle()
            state = self.__dict__.copy()
            del state["_lock"]
            for name in ("_index", "_engine", "_late"):  # which others may change from now on
                state[name] = copy.copy(state[name])
            state["_mixed"] = copy.deepcopy(state["_mixed"])
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_mixed": None, **state}, _lock=threading.RLock())

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for `load`: data and no code, written whole or not at all."""
        from forks.compat._saving import save

        save(path, self)

    # ---- the engine --------------------------------------------------------------------------

    @property
    def engine_(self) -> Any:  # type: ignore[override]
        """The engine, or None before the first label."""
        return self._engine

    def _fitted_engine(self) -> Any:
        """Return the engine, made or grown to the width of rows and the number of outputs."""
        width, n_outputs, engine = self._index.width, self._n_outputs(), self._engine
        if engine is None:
            engine = self._new_engine(width, n_outputs)
        if engine.n_features != width:
            engine.widen(width)
        if engine.n_outputs != n_outputs:
            engine.add_outputs(n_outputs)
        if self._first_rows is not None:
            self._first_rows = self._first_rows.widened(width, n_outputs)
            self._look()
        self._engine_width = width
        return engine

    def _new_engine(self, width: int, n_outputs: int) -> Any:
        seed = self.seed
        if seed is None:  # the learner may start with it more than once
            seed = int(np.random.default_rng().integers(2**31))
        engine = self._first_engine(width, n_outputs, np.random.default_rng(seed))
        tell_of_compiling(engine, verbose=False)
        first_rows = self._configured.first_rows(seed)
        self.__dict__.update(_engine=engine, _first_rows=first_rows)  # in one step
        return engine

    def _first_engine(self, width: int, n_outputs: int, rng: Any) -> Engine | EngineGroup:
        return engine_for(self._configured.learner, width, n_outputs, rng)

    def _settle(self) -> None:
        """Do what an interrupt has left undone."""
        if self._engine is not None:
            self._fitted_engine()

    # ---- learning ----------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features and its label or target; `w` is a factor of its loss."""
        self._learn_one(x, y, w)

    def _learn_one(self, x: dict[Any, Any], y: Any, w: float) -> Any:
        """Return the score of a dict (a matrix for several outputs), before it is learned."""
        with self._lock:
            known = self._with(self._known, y)
            target = self._target(known, y)
            if w != 1.0:
                w = weight_of(w)
            row = self._row(x, True)
            if known is not self._known:
                self.__dict__.update(_known=known, _engine_width=-1)  # in one step
            engine = self._engine
            if self._engine_width != self._index.width or self._first_rows is not None:
                engine = self._fitted_engine()
            if self._late.predicted:
                self._late.learn_one(self._index.values, engine)
            if self._first_rows is None:
                score = engine.one_row(row, target, w)
            else:
                score = self._learn_rows(row, np.reshape(target, (1, -1)), np.array([w]))
            if self._mixed is not None and w > 0.0:
                self._mixed.learn(x, y)
            return score

    def _row(self, x: dict[Any, Any], learn: bool) -> Matrix:
        """Return the row of a dict, in an array that is written to again by the next call."""
        if self._mixed is None:
            try:
                return self._index.row(x, learn)
            except NotNumbers:
                mixed = self._new_mixed()
                row = self._index.row(mixed.encode(x), learn)
                if learn:
                    self._mixed = mixed
                return row
        return self._index.row(self._mixed.encode(x), learn)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame in their order, as `learn_one` would.

        Everything is checked first: an error leaves the model as it was.
        """
        labels, columns = values_of(y), columns_of(X)
        names = [name for name, _ in columns]
        with self._lock:
            known, begins = self._known, {0: self._known}  # what is known from a row on
            for i, label in enumerate(labels):
                if (after := self._with(known, label)) is not known:
                    known = begins[i] = after
            for label in labels:
                self._target(known, label)
            if len(set(names)) != len(names):
                raise ValueError(f"X has columns of the same name: {names!r}")
            if len(labels) != len(X):
                raise ValueError(f"X has {len(X)} rows, but y has {len(labels)}")
            weights = weights_of(w, len(X))
            if len(X) == 0:
                return
            if self._mixed is not None or not all_numbers(columns):
                self._learn_mixed(dicts_of(columns), labels, weights)
                self._y_name = getattr(y, "name", None)
                return
            numbers = {name: numbers_of(name, column) for name, column in columns}
            self._index.learn(names)
            rows = self._matrix(numbers, len(X))
            self._y_name = getattr(y, "name", None)
            for start, stop in pairwise([*begins, len(X)]):
                self.__dict__.update(_known=begins[start], _engine_width=-1)  # in one step
                engine = self._fitted_engine()
                if start == 0 and self._late.predicted:
                    self._late.learn_many(len(X), engine)
                targets = [self._target(begins[start], label) for label in labels[start:stop]]
                self._learn_rows(
                    rows[start:stop],
                    np.array(targets, np.float64).reshape(stop - start, -1),
                    None if weights is None else weights[start:stop],
                )

    def _learn_mixed(self, rows: list[Any], labels: list[Any], weights: Vector | None) -> None:
        """Learn rows one by one, after all have been checked."""
        trial = copy.deepcopy(self._mixed) or self._new_mixed()
        for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
            try:
                check_values(trial.encode(x))
                trial.learn(x, label)
            except ValueError as error:
                raise ValueError(f"{error} in row {i}") from None
        each = np.ones(len(rows)) if weights is None else weights
        for x, label, weight in zip(rows, labels, each.tolist(), strict=True):
            self.learn_one(x, label, weight)

    def _new_mixed(self) -> Mixed:
        return Mixed(self._task, self._n_targets, self._index.last_row())

    def _matrix(self, columns: dict[Any, Vector], n: int) -> Matrix:
        """Return rows of the columns whose names are known."""
        rows = np.zeros((n, self._index.width))
        for name, values in columns.items():
            place = self._index.columns.get(name)
            if place is not None:
                rows[:, place] = values
        return rows

    # ---- predicting --------------------------------------------------------------------------

    def _score_one(self, x: dict[Any, Any]) -> Any:
        """Return the score of a dict (a matrix for several outputs), or None before any label."""
        engine = self._engine
        if engine is None:
            self._late.predict_one(x)
            return None
        if self._engine_width != self._index.width or self._first_rows is not None:
            engine = self._fitted_engine()
        row = self._row(x, False)
        self._late.predict_one(self._index.values)
        return engine.one_row(row)

    def _score_many(self, X: Any) -> Matrix | None:
        self._late.predict_many(len(X))
        if self._engine is None:
            return None
        engine, columns = self._fitted_engine(), columns_of(X)
        if self._mixed is not None or not all_numbers(columns):
            rows = [self._row(x, False).copy() for x in dicts_of(columns)]
            stacked = np.concatenate(rows) if rows else np.zeros((0, self._index.width))
            return np.asarray(engine.predict(stacked, ahead=True))
        known = {k: numbers_of(k, column) for k, column in columns if k in self._index.columns}
        return np.asarray(engine.predict(self._matrix(known, len(X)), ahead=True))

    # ---- about the model ---------------------------------------------------------------------

    @property
    def feature_relevance_(self) -> dict[Any, float]:
        """How much each feature moves the score, summing to 1, by name.

        Empty before the first 16 rows; an AttributeError for learners that do not know it.
        """
        return dict(self._about("feature_relevance_", "feature_relevance", self._relevance) or {})

    def _relevance(self, engine: Any) -> dict[Any, float]:
        relevance = relevance_of(engine)
        if relevance is None:
            return {}
        return {name: float(relevance[place]) for name, place in self._index.columns.items()}

    @property
    def events_(self) -> list[dict[str, Any]]:
        """The last 64 events, oldest first: see `forks.OnlineKernelClassifier`.

        An AttributeError for learners that do not know them.
        """
        names = list(self._index.columns)
        return list(self._about("events_", "events", lambda e: events_of(e, names)) or [])

    def _about(self, attribute: str, needed: str, work: Callable[[Any], Any]) -> Any:
        """Return an answer about the engine; None before the first label."""
        learner = self._configured.learner
        if not hasattr(learner, needed):
            raise AttributeError(f"{type(learner).__name__} has no {attribute}")
        with self._lock:
            return None if self._engine is None else work(self._fitted_engine())

    @property
    def n_mends(self) -> int:
        """Steps that were left out, or mended, because numbers would not have been finite."""
        return 0 if self._engine is None else int(self._engine.mends)

    @property
    def n_points(self) -> int:
        """Points that the model stores now."""
        return 0 if self._engine is None else int(self._engine.stored_points)

    @property
    def n_features(self) -> int:
        """Names of features that have a column."""
        return len(self._index.columns)

    @property
    def _raw_memory_usage(self) -> int:
        names = self._index.columns
        parts: list[Any] = [self, self.__dict__, names, *names]
        size = sum(sys.getsizeof(part) for part in parts)
        return size + (0 if self._engine is None else int(self._engine.state_bytes))


class LabelModel(KernelModel):
    """What the two classifiers share: probabilities, and answers to frames."""

    def _names(self) -> list[Any]:
        """Return the labels that can be answered, in the order of their scores."""
        raise NotImplementedError

    def _own_scores(self, scores: Any) -> Matrix:
        """Return the scores of the labels, one row per row."""
        return np.reshape(scores, (-1, 1))

    def _shares(self, scores: Any, n: int) -> dict[Any, Vector]:
        """Return the probability of each label, of n rows; scores are None before any label."""
        names = self._names()
        if len(names) < 2:
            return dict.fromkeys(names, np.ones(n))
        if scores is None:
            return dict.fromkeys(names, np.full(n, 1.0 / len(names)))
        scores = self._own_scores(scores)
        p = self._configured.learner.probability(scores)
        if p is None:  # scores stand for no probability: their logistic function
            p = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return dict(zip(names, class_probabilities(p).T, strict=True))

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Predict the probability of each label that has come.

        Of learners whose scores stand for no probability, the logistic function of the score. Of
        more than two labels each has its own yes-or-no probability; they are scaled to sum to one.
        """
        with self._lock:
            shares = self._shares(self._score_one(x), 1)
            return {name: float(share[0]) for name, share in shares.items()}

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probabilities of the rows of a frame; a frame with a column per label."""
        with self._lock:
            return frame_like(self._shares(self._score_many(X), len(X)), X)

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a frame; a series of the same kind."""
        with self._lock:
            scores = self._score_many(X)
            if scores is None:
                return series_like([self.predict_one({})] * len(X), X, self._y_name)
            names = self._names()
            scores = self._own_scores(scores)
            single = scores[:, 0] if scores.shape[1] == 1 and len(names) > 1 else scores
            return series_like([names[i] for i in Labels.answers(single)], X, self._y_name)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """Predict the label of a dict of features."""
        raise NotImplementedError
