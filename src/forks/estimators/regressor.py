"""Regressors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from forks.engine import Matrix, Vector
from forks.estimators.base import OnlineEstimator
from forks.estimators.inputs import is_empty
from forks.estimators.insight import answers_of, check_level
from forks.estimators.parameters import AnyLearner, ForksParameters


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """What regressors share: targets are numbers, and scores are predictions."""

    _task = "regression"

    def _check_classes(self, classes: Any) -> None:
        if classes is not None:
            raise ValueError(f"classes is for classifiers, got {classes!r}")

    def _start(self, y: Any, classes: Any, counted: Any, batch: bool) -> int:
        self._check_classes(classes)
        return int(self.targets_of(y).shape[1])

    def _check_targets(self, y: Any) -> None:
        given, known = self.targets_of(y).shape[1], self.engine_.n_outputs
        if given != known:
            raise ValueError(f"y has {given} targets, but the first rows had {known}")

    def targets_of(self, y: Any) -> Matrix:
        """Return the same numbers, one column per target.

        Parameters
        ----------
        y : array of shape (n_rows,) or (n_rows, n_targets)
            Numbers.
        """
        return np.array(y, dtype=np.float64, order="C").reshape(len(y), -1)  # a writable copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, interval: float | None = None) -> Any:
        """Return the predicted targets of rows, and intervals if asked for.

        Intervals keep their coverage on the stream so far, by adaptive conformal inference: see
        `forks.parts.conformal`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        interval : float, optional
            Coverage of prediction intervals, between 0 and 1.

        Returns
        -------
        predictions : array of shape (n_rows,), or (n_rows, n_targets) for several
        ends : array of shape (n_rows, 2)
            Lower and upper ends of the intervals; only with `interval`.

        Raises
        ------
        ValueError
            If `interval` is given and the learner has no prediction intervals.
        """
        if interval is None:
            return self._shaped(self._scores(X))
        level = check_level("interval", interval)
        X = self._checked_rows(X)
        scores, ends = self._scores_with(X, "interval", "interval", level)
        return self._shaped(scores), scores + ends

    def prequential(
        self,
        X: Any,
        y: Any,
        classes: None = None,
        sample_weight: Any = None,
        delay: int | None = None,
        interval: float | None = None,
    ) -> Any:
        """Predict each row before its target is used, learning as it goes; may be called again.

        For interrupts see `partial_fit`; the predictions of such a call are lost.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.
        classes : None
            For classifiers.
        delay : int, optional
            As for classifiers: targets come so many rows late.
        interval : float, optional
            Coverage of prediction intervals, between 0 and 1. Rows are then learned one by one,
            which takes longer. Not with `delay`.

        Returns
        -------
        predictions : array of shape (n_rows,)
            Answers to "what comes next?", which may lean on the last targets of the stream.
        ends : array of shape (n_rows, 2)
            Lower and upper ends of the intervals; only with `interval`.
        """
        if interval is None:
            return super().prequential(X, y, classes, sample_weight, delay)
        if delay is not None:
            raise ValueError("interval and delay cannot be given together")
        level = check_level("interval", interval)
        if is_empty(X):
            return super().prequential(X, y), np.empty((0, 2))

        def learn(X: Any, targets: Matrix, weights: Vector | None) -> tuple[np.ndarray, Matrix]:
            self._check_has("interval", "interval")
            scores, ends = np.empty((len(targets), 1)), np.empty((len(targets), 2))
            for t in range(len(targets)):
                row = slice(t, t + 1)
                ends[t] = answers_of(self.engine_, "interval", level, True)[0]
                own = None if weights is None else weights[row]
                scores[t] = self._learn(X[row], targets[row], own)
            return self._shaped(scores), scores + ends

        return self._play(X, y, classes, sample_weight, learn)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineKernelRegressor(AnyLearner, OnlineRegressor):
    """Online kernel regressor: one pass, bounded memory, nonlinear, and nothing to tune.

    Several targets, y of shape (n_rows, n_targets), are learned by a model each; intervals are for
    one. Numbers in rows may be missing (NaN), see `OnlineKernelClassifier`.

    Parameters
    ----------
    learner : str, dict or learner
        As for `OnlineKernelClassifier`; a learner needs a regression loss.
    effort : {"fast", "balanced", "best"}
        As for `OnlineKernelClassifier`.
    random_state : int, RandomState or None
        As for `OnlineKernelClassifier`.
    verbose : bool
        As for `OnlineKernelClassifier`.

    Attributes
    ----------
    learner_, n_rounds_, n_points_, n_mends_, last_mend_, feature_relevance_,
    feature_importances_, events_, expert_weights_, n_features_in_, feature_names_in_
        See `OnlineKernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from forks import OnlineKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=1000)
    >>> model = OnlineKernelRegressor().fit(X[:800], y[:800])
    >>> predictions, ends = model.predict(X[800:], interval=0.9)
    >>> ends.shape, int(model.feature_relevance_.argmax())
    ((200, 2), 0)
    """

    random_state: Any = None
    verbose: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class FORKSRegressor(ForksParameters, OnlineRegressor):
    """FORKS, the learner of the paper, for numbers.

    Targets are taken as they are, and should be of about unit size or larger: far below it the
    first steps are too long. `OnlineKernelRegressor` standardises them.

    Parameters
    ----------
    budget, buffer, sketch_size, n_landmarks, rank, update_cycle, kernel, bandwidth, scaling
        See `FORKSClassifier`.
    loss : {"squared_error", "epsilon_insensitive", "huber"} or loss
        A name, or one of `forks.losses`.
    eta, alpha, curvature, on_update, landmarks, max_points
        See `forks.learners.FORKS`.
    random_state : int, RandomState or None
        Seeds the sketch, the choice of landmarks and the order of rows in `fit`: one seed, one
        result, bit for bit.
    verbose : bool
        See `OnlineKernelClassifier`.

    Attributes
    ----------
    learner_, n_rounds_, n_points_, n_mends_, last_mend_, n_features_in_, feature_names_in_
        See `OnlineKernelRegressor`.
    """

    loss: Any = "squared_error"
    random_state: Any = None
    verbose: bool = False
