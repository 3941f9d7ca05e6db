"""What all estimators share: the border between users' data and the engine."""

import copy
import logging
import numbers
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from forks.engine import Engine, EngineGroup, Learner, Matrix, Vector
from forks.engine.group import engine_for
from forks.estimators.bandwidth import MedianRule
from forks.kernels import METRICS
from forks.learners import FORKS

Answer = TypeVar("Answer")

logger = logging.getLogger("forks")


class MendWarning(UserWarning):
    """A learner has left steps out, or started anew, because numbers were beyond all bounds."""


class OnlineEstimator(BaseEstimator):
    """Learns a stream chunk by chunk with one engine.

    A subclass gives the learner (`_learner`, and `_median_rule` if its bandwidth is to come from
    the data), turns labels into targets (`targets_of`) and scores into answers.
    """

    _task: str  # "classification" or "regression"
    _median: MedianRule | None
    engine_: Engine | EngineGroup

    def _learner(self) -> Learner:
        """Return the configuration."""
        raise NotImplementedError

    def _median_rule(self) -> MedianRule | None:
        """Return the rule that sets the bandwidth from data, if one is asked for."""
        raise NotImplementedError

    def targets_of(self, y: Any) -> Matrix:
        """Targets of the engine, one column per output, that labels stand for."""
        raise NotImplementedError

    def _start(self, y: Any, classes: Any, counted: Any) -> int:
        """Look at the first labels (`counted`: those with a weight); give the number of outputs."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Forget everything, then learn the rows in their order, in one pass.

        An error or an interrupt (Ctrl-C) leaves the model as it was before the call.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Factors of the loss of each row; a row of weight 0 is scored and not learned.
        """
        self._whole_call(lambda: self._prequential(X, y, None, sample_weight, True), first=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn the next rows of the stream; an empty chunk does nothing.

        An interrupt (Ctrl-C) in the first call leaves the model as it was before. In a later call
        it leaves the model as after the last whole row: `n_rounds_` tells how many it has learned.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array, optional
            All labels that can occur; looked at in the first call only. Without it the first
            chunk must hold them all.
        """
        self.prequential(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def prequential(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Score each row before its label is used, learning as it goes; may be called again.

        What an interrupt leaves is told by `partial_fit`; the scores of that call are lost.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
            As `decision_function` or `predict` would have given them just before that round.
        """
        first = not hasattr(self, "engine_")
        if _is_empty(X):
            if not _is_empty(y):
                raise ValueError(f"X has no rows, but y has {np.size(y)}")
            return np.empty(0) if first else self._shaped(np.empty((0, self.engine_.n_outputs)))
        return self._whole_call(
            lambda: self._prequential(X, y, classes, sample_weight, first), first
        )

    def _prequential(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> np.ndarray:
        X, y, weights = self._check(X, y, sample_weight, first)
        targets = self._targets(X, y, weights, classes, first)
        return self._shaped(self._learn(X, targets, self._weighed(targets, weights)))

    def score_then_learn(
        self, ahead: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Score each row of `ahead`, then learn the row of X beside it: labels that come late.

        Parameters
        ----------
        ahead : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows to score, each before the row of X beside it is learned.
        X, y, classes, sample_weight
            As for `partial_fit`; as many rows as `ahead`, and at least one.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        """
        first = not hasattr(self, "engine_")
        return self._whole_call(
            lambda: self._score_then_learn(ahead, X, y, classes, sample_weight, first), first
        )

    def _score_then_learn(
        self, ahead: Any, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> np.ndarray:
        X, y, weights = self._check(X, y, sample_weight, first)
        ahead = _canonical(validate_data(self, ahead, reset=False, **_FORM))
        if ahead.shape[0] != X.shape[0]:
            raise ValueError(f"ahead has {ahead.shape[0]} rows, but X has {X.shape[0]}")
        targets = self._targets(X, y, weights, classes, first)
        weights = self._weighed(targets, weights)
        if first:  # no prediction in between
            with self.engine_.lock.alone:
                self.engine_.enter()
                return self._shaped(self._score_and_learn(ahead, X, targets, weights))
        return self._shaped(self._score_and_learn(ahead, X, targets, weights))

    def _targets(self, X: Any, y: Any, weights: Vector | None, classes: Any, first: bool) -> Matrix:
        if first:
            return self._begin(X, y, weights, classes)
        self._check_classes(classes)
        return self.targets_of(y)

    def _score_and_learn(
        self, ahead: Any, X: Any, targets: Matrix, weights: Vector | None
    ) -> Matrix:
        if weights is None:
            weights = np.ones(X.shape[0])
        parts, start = [], 0
        while self._median is not None and start < X.shape[0]:  # the bandwidth is not settled yet
            row = slice(start, start + 1)
            parts.append(self.engine_.predict(ahead[row]))
            self._learn(X[row], targets[row], weights[row])
            start += 1
        rest = slice(start, None)
        parts.append(
            self.engine_.score_then_learn(ahead[rest], X[rest], targets[rest], weights[rest])
        )
        return np.concatenate(parts)

    def _weighed(self, targets: Matrix, weights: Vector | None) -> Vector | None:
        """Return the weights that the next rows are learned with."""
        del targets
        return weights

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for `forks.load`.

        The file has the format of safetensors, with a JSON header; it holds data and no code. It
        is written under another name, brought to the disk and renamed: whatever fails, a file
        that was there before is still whole.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            If the model has a kernel, loss or learner that is not of this package.
        OSError
            If the file cannot be written.
        """
        from forks.estimators.saving import save

        save(path, self)

    def _check_classes(self, classes: Any) -> None:
        """Check that `classes` of a later call are those of the first."""

    def _whole_call(self, work: Callable[[], Answer], first: bool) -> Answer:
        """Do a call that learns: other threads see the model before it, or after it.

        An error or interrupt in the first call (or in `fit`) puts everything back; there is no
        engine yet to hold the lock of, and predictions fail until it is there. In a later call
        nothing need be put back: rows are learned once everything has been checked, and what else
        depends on them goes by the number of rows that the engine has learned.
        """
        if first:
            before = self.__dict__.copy()
            try:
                answer = work()
                self._warn_of_mends()
                return answer
            except BaseException:
                self.__dict__.update(before)
                for name in self.__dict__.keys() - before.keys():
                    del self.__dict__[name]
                raise
        with self.engine_.lock.alone:
            self.engine_.enter()
            self._settle()
            try:
                answer = work()
            finally:
                self._settle()
        self._warn_of_mends()
        return answer

    def _warn_of_mends(self) -> None:
        """Say once that steps were mended."""
        engine = self.engine_
        if engine.mends and not engine.warned:
            engine.warned = True
            warnings.warn(
                "numbers beyond all bounds: the learner has left out or mended "
                f"{engine.mends} of its steps, the last in round {engine.last_mend}; n_mends_ and "
                "last_mend_ will tell of more",
                MendWarning,
                stacklevel=5,  # the caller of `partial_fit`
            )

    def _settle(self) -> None:
        """Bring what depends on the rows learned up to date; for a thread that holds the lock."""
        self.engine_.settle()
        self._look_at_median()

    def _look_at_median(self) -> None:
        """Set the bandwidth if it is due; nothing is lost if an interrupt makes it do so twice."""
        rule, learned = self._median, self.engine_.rounds
        if rule is None or not rule.is_due(learned):
            return
        bandwidth = rule.bandwidth(learned)
        if bandwidth is not None:
            self._set_bandwidth(bandwidth)
        self._median = rule.after_look(learned)

    def _settled(self) -> None:
        """Do what a call has left undone that was cut by an interrupt."""
        if self._median is not None and self._median.is_due(self.engine_.rounds):
            with self.engine_.lock.alone:  # of a call of another thread, that is going on, nothing
                self.engine_.enter()
                self._settle()

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters and what learning has set."""
        if not hasattr(self, "engine_"):
            return dict(super().__getstate__())
        with self.engine_.lock.alone:
            self.engine_.enter()
            self._settle()
            state = dict(super().__getstate__())
            state["engine_"] = copy.copy(self.engine_)  # another thread may change it from now on
            return state

    def _check(
        self, X: Any, y: Any, sample_weight: Any, first: bool
    ) -> tuple[Any, Any, Vector | None]:
        numeric = self._task == "regression"
        X, y = validate_data(self, X, y, reset=first, y_numeric=numeric, **_FORM)
        weights = None if sample_weight is None else _weights(sample_weight, X.shape[0])
        if first and weights is not None and not weights.any():
            raise ValueError("sample_weight: all weights are zero")
        return _canonical(X), y, weights

    def _check_task(self, learner: Learner) -> None:
        if self._task in learner.tasks:
            return
        if hasattr(learner, "loss"):
            raise ValueError(f"loss must be a {self._task} loss, got {learner.loss!r}")
        raise ValueError(f"learner must be one for {self._task}, got {learner!r}")

    def _begin(self, X: Any, y: Any, weights: Vector | None, classes: Any) -> Matrix:
        """Make a new engine; give the targets of the first rows."""
        learner = self._learner()
        self._check_task(learner)
        n_outputs = self._start(y, classes, None if weights is None else weights > 0)
        targets = self.targets_of(y)
        self._median = self._median_rule()
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.engine_ = engine_for(learner, X.shape[1], n_outputs, np.random.default_rng(seed))
        return targets

    def _learn(self, X: Any, targets: Matrix, weights: Vector | None) -> Matrix:
        if logger.isEnabledFor(logging.INFO) and not self.engine_.compiled:
            logger.info("compiling for %s, once per machine", self.engine_.rule)
        with self.engine_.lock.alone:  # no prediction between new rows and their bandwidth
            self.engine_.enter()
            return self._learn_alone(X, targets, weights)

    def _learn_alone(self, X: Any, targets: Matrix, weights: Vector | None) -> Matrix:
        parts, start, n = [], 0, X.shape[0]
        while self._median is not None and start < n:
            learned = self.engine_.rounds
            stop = min(start + self._median.rows_to_go(learned), n)
            rows = slice(start, stop)
            self._median = self._median.with_next(X[rows], learned)
            parts.append(self._learn_rows(X[rows], targets[rows], weights, rows))
            self._look_at_median()
            start = stop
        if start < n:
            rows = slice(start, n)
            rest = X[rows] if start else X  # a slice of a sparse matrix is a copy
            parts.append(self._learn_rows(rest, targets[rows], weights, rows))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _learn_rows(self, X: Any, targets: Matrix, weights: Vector | None, rows: slice) -> Matrix:
        return self.engine_.learn(X, targets, None if weights is None else weights[rows])

    def _set_bandwidth(self, bandwidth: float) -> None:
        learner: Any = self.engine_.learner
        kernel = learner.kernel._replace(bandwidth=bandwidth)
        self.engine_.replace_learner(replace(learner, kernel=kernel))

    def _scores(self, X: Any) -> Matrix:
        X = self._checked_rows(X)
        self._settled()
        return self.engine_.predict(X)

    def features_of(self, X: Any) -> Matrix | None:
        """Features in which the score is linear now; None where the learner has no such map."""
        X = self._checked_rows(X)
        self._settled()
        return self.engine_.features(X)

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "engine_")
        return _canonical(validate_data(self, X, reset=False, **_FORM))

    def _shaped(self, scores: Matrix) -> np.ndarray:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def learner_(self) -> Learner:
        """The learner at work, with everything that was set from data."""
        check_is_fitted(self, "engine_")
        return self.engine_.learner

    @property
    def n_rounds_(self) -> int:
        """Rows that the model has learned."""
        check_is_fitted(self, "engine_")
        return self.engine_.rounds

    @property
    def n_mends_(self) -> int:
        """Steps that were left out, or mended, because numbers would not have been finite."""
        check_is_fitted(self, "engine_")
        return self.engine_.mends

    @property
    def last_mend_(self) -> int | None:
        """The round of the last of them, counted from 1."""
        check_is_fitted(self, "engine_")
        return self.engine_.last_mend

    @property
    def n_points_(self) -> int:
        """Points that the model stores now."""
        check_is_fitted(self, "engine_")
        return self.engine_.stored_points

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# writable float64 in C order, or CSR: compiled code takes nothing else
_FORM = {
    "dtype": np.float64,
    "order": "C",
    "force_writeable": True,
    "accept_sparse": "csr",
    "accept_large_sparse": True,
}


def _is_empty(part: Any) -> bool:
    shape = getattr(part, "shape", None)
    return shape[0] == 0 if shape else isinstance(part, list | tuple) and len(part) == 0


def _weights(sample_weight: Any, n_rows: int) -> Vector:
    """Check weights, one per row or one for all: finite and not negative."""
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        allow_nd=True,
        dtype=np.float64,
        input_name="sample_weight",
        copy=True,
    )
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.shape}")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape is {weights.shape}, expected {(n_rows,)}")
    if np.any(weights < 0):
        raise ValueError(f"Negative values in sample_weight: {weights.min()}")
    return np.ascontiguousarray(weights)


def _canonical(X: Any) -> Any:
    """CSR with sorted column numbers, each once; the caller's matrix is left alone."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError("X has entries given twice whose sum is infinity or NaN")
    return X


class AnyLearner:
    """Mixin of the two estimators whose only parameter is the learner."""

    learner: Any
    _default: Learner

    def _learner(self) -> Learner:
        learner = self._default if self.learner is None else self.learner
        if not isinstance(learner, Learner):
            raise ValueError(f"learner must be one of forks.learners, got {learner!r}")
        return learner

    def _median_rule(self) -> MedianRule | None:
        return None


def median_rule_for(learner: FORKS) -> MedianRule:
    """Make the rule for a learner whose kernel has a bandwidth."""
    metric = METRICS.get(type(learner.kernel), "euclidean")
    return MedianRule.starting(metric, last=learner.sizes().buffer)
