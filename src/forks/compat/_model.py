"""What the River models share: the border between named features and labels, and the engine."""

import copy
import logging
import math
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import numpy as np

from forks.compat._frames import column_names, numbers_of, values_of
from forks.compat._index import FeatureIndex
from forks.engine import Engine, EngineGroup, Learner, Matrix, Vector
from forks.engine.checks import whole
from forks.engine.group import engine_for

logger = logging.getLogger("forks")


class KernelModel:
    """What the three models share: the border between named features and the engine."""

    _task: ClassVar[str]
    _default: ClassVar[Learner]

    learner: Any
    max_features: int
    seed: int | None

    def _start(self, learner: Any, max_features: int, seed: int | None) -> None:
        self.learner = learner
        self.max_features = max_features
        self.seed = seed
        self._check_learner()
        whole("max_features", max_features, 1)
        self._lock = threading.RLock()
        self._index = FeatureIndex(int(max_features))
        self._engine: Any = None
        self._engine_width = -1  # of rows that it has been made or grown for
        self._y_name: Any = None

    def _check_learner(self) -> None:
        learner = self._configuration
        if not isinstance(learner, Learner):
            raise ValueError(f"learner must be one of forks.learners, got {learner!r}")
        if self._task not in learner.tasks:
            raise ValueError(f"learner must be one for {self._task}, got {learner!r}")

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__.copy()
            del state["_lock"]
            for name in ("_index", "_engine"):  # which another thread may change from now on
                state[name] = copy.copy(state[name])
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @property
    def _configuration(self) -> Any:
        return self._default if self.learner is None else self.learner

    def _fitted_engine(self, n_outputs: int) -> Any:
        """Return the engine, made or grown to the width of rows and the number of outputs.

        Names and labels are noted before this, so it may be what an interrupt has left undone.
        """
        width, engine = self._index.width, self._engine
        if engine is None:
            rng = np.random.default_rng(self.seed)
            engine = self._new_engine(width, n_outputs, rng)
            if logger.isEnabledFor(logging.INFO) and not engine.compiled:
                logger.info("compiling for %s, once per machine", engine.rule)
            self._engine = engine
        if engine.n_features != width:
            engine.widen(width)
        if engine.n_outputs != n_outputs:
            engine.add_outputs(n_outputs)
        self._engine_width = width
        return engine

    def _scoring_engine(self) -> Any:
        """Return the engine for rows of the width of now, or None before the first label."""
        if self._engine is not None and self._engine_width != self._index.width:
            return self._fitted_engine(1)
        return self._engine

    def _new_engine(self, width: int, n_outputs: int, rng: Any) -> Engine | EngineGroup:
        return engine_for(self._configuration, width, n_outputs, rng)

    def _rows(self, X: Any) -> Matrix:
        """Make the rows of a frame; names without a column are left out."""
        columns = self._index.columns
        rows = np.zeros((len(X), self._index.width))
        for place, name in enumerate(column_names(X)):
            if name in columns:
                rows[:, columns[name]] = numbers_of(X, place, name)
        return rows

    def _learn_many(
        self, X: Any, targets: Matrix, w: Any, accept: Callable[[], None] = lambda: None
    ) -> None:
        """Check everything, then learn: an error leaves the model as it was."""
        names = column_names(X)
        if len(set(names)) != len(names):
            raise ValueError(f"X has columns of the same name: {names!r}")
        if targets.shape[0] != len(X):
            raise ValueError(f"X has {len(X)} rows, but y has {targets.shape[0]}")
        weights = weights_of(w, len(X))
        numbers = [numbers_of(X, place, name) for place, name in enumerate(names)]
        if len(X) == 0:
            return
        accept()  # the labels
        self._index.learn(names)
        rows = np.zeros((len(X), self._index.width))
        for name, values in zip(names, numbers, strict=True):
            if name in self._index.columns:
                rows[:, self._index.columns[name]] = values
        self._fitted_engine(targets.shape[1]).learn(rows, targets, weights)

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


def probability_of(learner: Learner, scores: Any) -> Any:
    """Return the probabilities of +1; of scores that stand for none, their logistic function."""
    p = learner.probability(scores)
    return 0.5 * (1.0 + np.tanh(0.5 * scores)) if p is None else p


def label_targets(targets: dict[Hashable, float], y: Any) -> dict[Hashable, float]:
    """Return the targets with one for a new label."""
    check_label(y)
    if isinstance(y, bool | np.bool_) and not targets:
        return {False: -1.0, True: 1.0}
    if len(targets) == 2:
        raise ValueError(
            f"y is {y!r}, a third label beside {list(targets)}: KernelMulticlassClassifier is for "
            "more than two"
        )
    if targets:
        return {**targets, plain_label(y): -next(iter(targets.values()))}
    positive = isinstance(y, int | float | np.number) and y > 0
    return {plain_label(y): 1.0 if positive else -1.0}


def check_label(y: Any) -> None:
    """Ask for a label: not None, and not NaN."""
    if y is None or y != y:
        raise ValueError(f"y must be a label, got {y!r}")


def plain_label(y: Any) -> Any:
    """Return a label as Python has it, without NumPy."""
    return y.item() if isinstance(y, np.generic) else y


def number_of(y: Any) -> float:
    """Return a target as a number, if it is finite."""
    try:
        number = float(y)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(y, str) or not math.isfinite(number):
        raise ValueError(f"y must be a finite number, got {y!r}")
    return number


def weight_of(w: Any) -> float:
    """Return a weight as a number, if it is finite and not negative."""
    try:
        weight = float(w)
    except (TypeError, ValueError):
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"w must be a finite number and not negative, got {w!r}")
    return weight


def weights_of(w: Any, n: int) -> Vector | None:
    """Return the weights of n rows: one for all, or one for each."""
    if w is None:
        return None
    if np.ndim(w) == 0:
        return np.full(n, weight_of(w))
    weights = np.array([weight_of(value) for value in values_of(w)])
    if len(weights) != n:
        raise ValueError(f"X has {n} rows, but w has {len(weights)}")
    return weights
