"""Regressors."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from forks.engine import Matrix
from forks.estimators.base import AnyLearner, OnlineEstimator
from forks.estimators.parameters import REGRESSION, ForksParameters
from forks.learners import Adaptive
from forks.losses import SquaredError


class OnlineKernelRegressor(AnyLearner, RegressorMixin, OnlineEstimator):
    """Regressor over any learner.

    Parameters
    ----------
    learner : learner, optional
        One of `forks.learners`, with a regression loss; without one, that of `FORKSRegressor()`.
    random_state : int, RandomState or None
        Seeds the learner's draws: one seed, one result, bit for bit.

    Attributes
    ----------
    learner_ : learner
        The configuration at work.
    n_rounds_, n_points_ : int
        Rows learned so far, and points stored now.
    n_mends_ : int
        Steps that were left out, or mended, because numbers would not have been finite; a
        `MendWarning` tells of the first.
    last_mend_ : int or None
        The round of the last of them.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    _task = "regression"
    _default = Adaptive(loss=SquaredError())

    def __init__(self, learner: Any = None, random_state: Any = None) -> None:
        self.learner = learner
        self.random_state = random_state

    def _check_classes(self, classes: Any) -> None:
        if classes is not None:
            raise ValueError(f"classes is for classifiers, got {classes!r}")

    def _start(self, y: Any, classes: Any, counted: Any) -> int:
        self._check_classes(classes)
        return 1

    def targets_of(self, y: Any) -> Matrix:
        """The same numbers, as one column."""
        return np.array(y, dtype=np.float64).reshape(-1, 1)  # a writable copy

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        return self._shaped(self._scores(X))


class FORKSRegressor(ForksParameters, OnlineKernelRegressor):
    """One pass, bounded memory, second order, nonlinear, and nothing to tune.

    Which learner it is depends on the parameters as in `FORKSClassifier`. The default one
    standardises targets; with the sketched one targets should be of about unit size or larger.

    Parameters
    ----------
    budget, buffer, sketch_size, n_landmarks, rank, update_cycle, kernel, bandwidth, scaling
        See `FORKSClassifier`.
    loss : {"squared_error", "epsilon_insensitive", "huber"} or loss
        A name, or one of `forks.losses`.
    eta, alpha, curvature, on_update, landmarks, max_points
        See `forks.learners.FORKS`.
    random_state : int, RandomState or None
        Seeds the sketch and the choice of landmarks; the default learner draws nothing.

    Attributes
    ----------
    learner_, n_rounds_, n_points_, n_mends_, last_mend_, n_features_in_, feature_names_in_
        See `OnlineKernelRegressor`.
    """

    _losses = REGRESSION

    def __init__(
        self,
        budget: int = 100,
        *,
        buffer: int | None = None,
        sketch_size: int | None = None,
        n_landmarks: int | None = None,
        rank: int | None = None,
        update_cycle: int | None = None,
        kernel: Any = "rbf",
        bandwidth: Any = "median",
        loss: Any = "squared_error",
        scaling: str | None = "standard",
        eta: float | None = None,
        alpha: float | None = None,
        curvature: float | None = None,
        on_update: str | None = None,
        landmarks: str | None = None,
        max_points: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.buffer = buffer
        self.sketch_size = sketch_size
        self.n_landmarks = n_landmarks
        self.rank = rank
        self.update_cycle = update_cycle
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.loss = loss
        self.scaling = scaling
        self.eta = eta
        self.alpha = alpha
        self.curvature = curvature
        self.on_update = on_update
        self.landmarks = landmarks
        self.max_points = max_points
        self.random_state = random_state
