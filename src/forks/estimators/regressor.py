"""Regressors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from forks.engine import Matrix
from forks.estimators.base import OnlineEstimator
from forks.estimators.parameters import AnyLearner, ForksParameters


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """What regressors share: targets are numbers, and scores are predictions."""

    _task = "regression"

    def _check_classes(self, classes: Any) -> None:
        if classes is not None:
            raise ValueError(f"classes is for classifiers, got {classes!r}")

    def _start(self, y: Any, classes: Any, counted: Any) -> int:
        self._check_classes(classes)
        return 1

    def targets_of(self, y: Any) -> Matrix:
        """Return the same numbers as one column.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Numbers.
        """
        return np.array(y, dtype=np.float64).reshape(-1, 1)  # a writable copy

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets of rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        """
        return self._shaped(self._scores(X))


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineKernelRegressor(AnyLearner, OnlineRegressor):
    """Online kernel regressor: one pass, bounded memory, nonlinear, and nothing to tune.

    Parameters
    ----------
    learner : str, dict or learner
        As for `OnlineKernelClassifier`; a learner needs a regression loss.
    random_state : int, RandomState or None
        Seeds the learner's draws: one seed, one result, bit for bit. The adaptive learner draws
        nothing.

    Attributes
    ----------
    learner_, n_rounds_, n_points_, n_mends_, last_mend_, n_features_in_, feature_names_in_
        See `OnlineKernelClassifier`.
    """

    random_state: Any = None


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
        Seeds the sketch and the choice of landmarks: one seed, one result, bit for bit.

    Attributes
    ----------
    learner_, n_rounds_, n_points_, n_mends_, last_mend_, n_features_in_, feature_names_in_
        See `OnlineKernelRegressor`.
    """

    loss: Any = "squared_error"
    random_state: Any = None
