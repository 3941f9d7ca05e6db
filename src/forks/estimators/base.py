"""What all estimators share: they check rows, and learn and predict with one engine."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from forks.engine import Learner, Matrix, Vector
from forks.engine.checks import whole
from forks.engine.group import engine_for
from forks.estimators.first_rows import Beginner, Configured
from forks.estimators.forking import Forking
from forks.estimators.gaps import GapFiller, Gaps
from forks.estimators.inputs import (
    checked_examples,
    checked_rows,
    checked_weights,
    is_empty,
    part_of,
)
from forks.estimators.insight import Insight
from forks.estimators.late import LateLabels
from forks.estimators.order import random_order
from forks.estimators.telling import learn_and_tell, tell_of_compiling
from forks.estimators.warning import MendWarning, warn_caller
from forks.features.means import Means

Answer = TypeVar("Answer")
Learn = Callable[..., Any]  # of rows, targets and weights


class OnlineEstimator(LateLabels, Insight, GapFiller, Beginner, Forking, BaseEstimator):
    """Learns a stream chunk by chunk with one engine.

    A subclass returns the learner (`_configured`), turns labels into targets (`targets_of`) and
    scores into answers.
    """

    _task: ClassVar[str]  # "classification" or "regression"
    # What learning sets: all of it, and nothing else, is in a model file (see `saving`).
    _fitted: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "engine_",
        "_first_rows",
        "_gaps",
        "_origin",
    )
    random_state: Any
    verbose: bool

    def _configured(self, X: Any = None) -> Configured:
        """Return the learner for rows like X, and what of it is set from the first rows."""
        raise NotImplementedError

    def _learner(self, X: Any = None) -> Learner:
        return self._configured(X).learner

    def _warn_of_old_use(self) -> None:
        """Warn of parameters that mean something else than they did."""

    def targets_of(self, y: Any) -> Matrix:
        """Return the targets of the engine that labels stand for, one column per output."""
        raise NotImplementedError

    def _start(self, y: Any, classes: Any, counted: Any, batch: bool) -> int:
        """Look at the first labels (`counted`: those with a weight); return how many outputs."""
        raise NotImplementedError

    def _check_classes(self, classes: Any) -> None:
        """Check that `classes` of a later call are those of the first."""

    # ---- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, shuffle: bool = True) -> Any:
        """Forget everything, then learn the rows in one pass, in a random order.

        An error or an interrupt (Ctrl-C) leaves the model as it was before the call.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array of shape (n_rows,)
            Labels, or numbers for a regressor.
        sample_weight : array of shape (n_rows,), optional
            Factors of the loss of each row; a row of weight 0 is scored and not learned.
        shuffle : bool
            Whether the rows are a batch, whose order means nothing. They are then permuted, by
            `random_state`, or always in the same way if that is None. With False they are learned
            in their order, like those of `partial_fit`.

        Returns
        -------
        self
        """
        if not isinstance(shuffle, bool | np.bool_):
            raise ValueError(f"shuffle must be True or False, got {shuffle!r}")
        self._whole_call(lambda: self._fit(X, y, sample_weight, bool(shuffle)), first=True)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, shuffle: bool) -> None:
        X, y, weights = self._check(X, y, sample_weight, True)
        targets, seed = self._begin(X, y, weights, None, batch=True)
        if shuffle:
            fixed = self.random_state is None
            order = random_order(len(targets), weights, 0 if fixed else seed)
            X, targets = X[order], targets[order]
            weights = None if weights is None else weights[order]
        (X,) = self._fill_as_learned(weights, X)
        self._learn(X, targets, self._weighed(targets, weights))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn the next rows of the stream in their order; an empty chunk does nothing.

        An interrupt (Ctrl-C) in the first call leaves the model as it was before. In a later call
        it leaves the model as after the last whole row: `n_rounds_` is how many it has learned.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array, optional
            All labels that can occur; used in the first call only. Without it others may come in
            later calls.

        Returns
        -------
        self
        """
        self.prequential(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def prequential(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        delay: int | None = None,
    ) -> np.ndarray:
        """Score each row before its label is used, learning as it goes; may be called again.

        For interrupts see `partial_fit`; the scores of such a call are lost.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`.
        delay : int, optional
            Labels come late: each row is scored by a model that has learned all rows but the last
            `delay` before it. The last labels come when all rows are scored. The model is told,
            see `expect_delay`. By default each label comes before the next row is scored.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
            Answers to "what comes next?", which may lean on the last labels of the stream. Those
            of `decision_function` and `predict`, just before that round, do not.
        """
        first = not hasattr(self, "engine_")
        if is_empty(X):
            if not is_empty(y):
                raise ValueError(f"X has no rows, but y has {np.size(y)}")
            return np.empty(0) if first else self._shaped(np.empty((0, self.engine_.n_outputs)))
        if delay is not None:
            return self._play_late(X, y, classes, sample_weight, whole("delay", delay, 0))
        return self._play(
            X, y, classes, sample_weight, lambda *rows: self._shaped(self._learn(*rows))
        )

    def _play(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, learn: Learn, *ahead: Any
    ) -> Any:
        """Do a call that learns the next rows of the stream.

        `learn` is given rows, those of `ahead` beside them if there are any, targets and weights,
        and returns the answer to them.
        """
        first = not hasattr(self, "engine_")

        def work() -> Any:
            rows, labels, weights = self._check(X, y, sample_weight, first)
            beside = [checked_rows(self, each) for each in ahead]
            for each in beside:
                if each.shape[0] != rows.shape[0]:
                    raise ValueError(f"ahead has {each.shape[0]} rows, but X has {rows.shape[0]}")
            self._prepare(rows, labels, weights, classes, first)
            filled = self._fill_as_learned(weights, rows, *beside)

            def learn_part(part: slice) -> Any:
                targets = self.targets_of(labels[part])
                own = self._weighed(targets, None if weights is None else weights[part])
                return learn(*(part_of(each, part) for each in filled), targets, own)

            with self.engine_.lock.alone:  # no prediction in between
                self.engine_.enter()
                return self._by_classes(labels, learn_part)

        return self._whole_call(work, first)

    def _check(
        self, X: Any, y: Any, sample_weight: Any, first: bool
    ) -> tuple[Any, Any, Vector | None]:
        numeric = self._task == "regression"  # of one target, or of several
        X, y = checked_examples(self, X, y, numeric, first)
        weights = None if sample_weight is None else checked_weights(sample_weight, X.shape[0])
        if first and weights is not None and not weights.any():
            raise ValueError("sample_weight: all weights are zero")
        return X, y, weights

    def _prepare(self, X: Any, y: Any, weights: Vector | None, classes: Any, first: bool) -> None:
        """Check labels, and begin if these are the first."""
        if first:
            self._begin(X, y, weights, classes)
        else:
            self._check_classes(classes)
            self._check_targets(y)
        self._look_at_order(y)

    def _check_targets(self, y: Any) -> None:
        """Raise an error if labels cannot be learned."""
        self.targets_of(y)

    def _by_classes(self, y: Any, work: Callable[[slice], Any]) -> Any:
        """Do a call that learns, in parts where a classifier has to be told of new classes."""
        return work(slice(0, len(y)))

    def _begin(
        self, X: Any, y: Any, weights: Vector | None, classes: Any, batch: bool = False
    ) -> tuple[Matrix, int]:
        """Make a new engine; return the targets of the first rows, and the seed.

        A `batch` is all that there is: no other classes will come.
        """
        configured = self._configured(X)
        n_outputs = self._start(y, classes, None if weights is None else weights > 0, batch)
        targets = self.targets_of(y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        apart = self._task == "regression"  # targets have scales of their own
        engine = engine_for(configured.learner, X.shape[1], n_outputs, rng, apart)
        first_rows = configured.first_rows(seed)
        gaps = Gaps(Means.of_none(X.shape[1]))
        begun = {"engine_": engine, "_first_rows": first_rows, "_gaps": gaps, "_origin": None}
        self.__dict__.update(begun)  # in one step
        self._warn_of_old_use()
        return targets, seed

    def _look_at_order(self, y: Any) -> None:
        """Warn once if the labels of a classifier come in long runs."""

    def _weighed(self, targets: Matrix, weights: Vector | None) -> Vector | None:
        """Return the weights that the next rows are learned with."""
        return weights

    def _learn(self, X: Any, targets: Matrix, weights: Vector | None) -> Matrix:
        tell_of_compiling(self.engine_, self.verbose)
        weights = self._held(X, weights, targets)
        with self.engine_.lock.alone:  # no prediction between new rows and what is set from them
            self.engine_.enter()
            if self.verbose:
                return learn_and_tell(self._learn_rows, X, targets, weights)
            return self._learn_rows(X, targets, weights)

    # ---- calls that threads share and interrupts cut -----------------------------------------

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
                self._settle_gaps()
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

    def _settle(self) -> None:
        """Bring what depends on the rows learned up to date; for a thread that holds the lock."""
        self.engine_.settle()
        self._look()
        self._settle_gaps()

    def _reading(self, work: Callable[[], Answer]) -> Answer:
        """Return the answer of a function that reads, between two calls that learn."""
        # A call was cut by an interrupt, or is going on in another thread.
        if self._gaps.rows is not None or self._look_is_due():
            with self.engine_.lock.alone:
                self.engine_.enter()
                self._settle()
        return self.engine_.reading(work)

    def _warn_of_mends(self) -> None:
        """Warn once that steps were mended."""
        engine = self.engine_
        if engine.mends and not engine.warned:
            engine.warned = True
            warn_caller(
                "numbers would have overflowed: the learner has skipped or mended "
                f"{engine.mends} of its steps, the last in round {engine.last_mend}; see n_mends_ "
                "and last_mend_ for later ones",
                MendWarning,
            )

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

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for `forks.load`.

        The file has the format of safetensors, with a JSON header; it holds data and no code. It
        is written under another name, brought to the disk and renamed: whatever fails, a file
        that was there before is still whole.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        ValueError
            If the model has a kernel, loss or learner that is not of this package.
        OSError
            If the file cannot be written.
        """
        from forks.estimators.saving import save

        save(path, self)

    # ---- predicting --------------------------------------------------------------------------

    def _scores(self, X: Any, ahead: bool = False) -> Matrix:
        """Return the scores of rows; if they are `ahead`, the next ones of the stream."""
        X = self._checked_rows(X)
        return self._reading(lambda: self.engine_.predict(self._ready(X), ahead))

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "engine_")
        return checked_rows(self, X)

    def _ready(self, X: Any) -> Any:
        """Return checked rows as the engine scores them now."""
        return self._scaled(self._without_gaps(X))

    def features_of(self, X: Any) -> Matrix | None:
        """Return the features in which the score is linear now; None if there are none."""
        X = self._checked_rows(X)
        return self._reading(lambda: self.engine_.features(self._ready(X)))

    def _shaped(self, scores: Matrix) -> np.ndarray:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
