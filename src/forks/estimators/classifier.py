"""Classifiers: two classes, or more with one score per class on one shared state."""

import numbers
import sys
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from forks.engine import Matrix, Vector
from forks.estimators.base import AnyLearner, OnlineEstimator
from forks.estimators.labels import ClassCounts, labels_for, targets_for
from forks.estimators.parameters import CLASSIFICATION, ForksParameters
from forks.learners import Adaptive

_LARGEST = sys.float_info.max


def _gives_probabilities(classifier: Any) -> bool:
    """Do the scores of the learner at work, or to be, stand for probabilities?"""
    fitted = hasattr(classifier, "engine_")  # parameters may have been set since
    learner = classifier.engine_.learner if fitted else classifier._learner()
    return learner.probability(np.zeros((1, 1))) is not None


class OnlineKernelClassifier(AnyLearner, ClassifierMixin, OnlineEstimator):
    """Classifier over any learner.

    Parameters
    ----------
    learner : learner, optional
        One of `forks.learners`, with a classification loss; without one, that of
        `FORKSClassifier()`.
    random_state : int, RandomState or None
        Seeds the learner's draws: one seed, one result, bit for bit.

    Attributes
    ----------
    classes_ : array
        The labels. With two of them, a score of at least 0 answers the second.
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

    _task = "classification"
    _default = Adaptive()

    def __init__(self, learner: Any = None, random_state: Any = None) -> None:
        self.learner = learner
        self.random_state = random_state

    def _start(self, y: Any, classes: Any, counted: Any) -> int:
        check_classification_targets(y)
        labels = np.unique(y if classes is None else np.asarray(classes))
        seen = labels if counted is None or classes is not None else np.unique(y[counted])
        if seen.shape[0] < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: "
                f"{seen.tolist()}; give `classes` if others will come"
            )
        self.classes_ = labels
        return 1 if labels.shape[0] == 2 else labels.shape[0]

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, "
                f"got {np.unique(classes).tolist()}"
            )

    def targets_of(self, y: Any) -> Matrix:
        """Targets that labels stand for, -1 or +1: one column, or one per class for more."""
        return targets_for(self.classes_, y)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: one per row for two classes, one per row and class for more."""
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels: the class of the largest score, or by the sign of the only one."""
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Labels that scores (of `decision_function` or `prequential`) stand for."""
        return labels_for(self.classes_, scores)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: of the default learner, and with the logistic loss.

        With more than two classes each has its own yes-or-no probability; they are scaled to sum
        to one.
        """
        positive = self.learner_.probability(self._scores(X))
        assert positive is not None  # or this method would not be there
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        sums = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1.0 / positive.shape[1])
        return np.divide(positive, sums, out=even, where=sums > 0.0)


class FORKSClassifier(ForksParameters, OnlineKernelClassifier):
    """One pass, bounded memory, second order, nonlinear, and nothing to tune.

    With none of the sizes given it is `forks.learners.Adaptive`. Any of `sketch_size`,
    `n_landmarks`, `rank`, `update_cycle`, `eta`, `alpha`, `curvature`, `on_update`, `landmarks` and
    `max_points` makes it `forks.learners.FORKS`, the learner of the paper, on features as they are.

    Parameters
    ----------
    budget : int
        Sets the sizes that are None: a buffer of two and a half times as many rows, each of them a
        landmark; with the sketched learner a buffer of twice as many points, as many landmarks.
    buffer : int, optional
        Rows, or points, kept.
    sketch_size, n_landmarks, rank, update_cycle : int, optional
        See `forks.learners.FORKS`.
    kernel : {"rbf", "laplacian", "poly", "linear"} or kernel
        A name, or one of `forks.kernels`, which is then used as it is.
    bandwidth : "median" or float
        Of the kernels named "rbf" and "laplacian": the median distance between the first rows, or
        a number.
    loss : {"squared_hinge", "hinge", "logistic"} or loss
    scaling : "standard" or None
        Are features scaled, and their long tails drawn in? See `forks.features.scaling`.
    class_weight : None, "balanced" or dict
        Factors of the rows of each class: none; the number of rows so far over that of the row's
        class so far, times the number of classes; or given by the labels.
    eta, alpha, curvature, on_update, landmarks, max_points
        See `forks.learners.FORKS`.
    random_state : int, RandomState or None
        Seeds the sketch and the choice of landmarks; the default learner draws nothing.

    Attributes
    ----------
    classes_, learner_, n_rounds_, n_points_, n_mends_, last_mend_, n_features_in_,
    feature_names_in_
        See `OnlineKernelClassifier`.

    Examples
    --------
    >>> from forks import FORKSClassifier
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = FORKSClassifier(random_state=0)
    >>> scores = model.prequential(X, y)  # each score made before its label was used
    >>> bool((model.labels_of(scores) != y).mean() < 0.05)
    True
    """

    _losses = CLASSIFICATION

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
        loss: Any = "squared_hinge",
        scaling: str | None = "standard",
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.eta = eta
        self.alpha = alpha
        self.curvature = curvature
        self.on_update = on_update
        self.landmarks = landmarks
        self.max_points = max_points
        self.random_state = random_state

    def _start(self, y: Any, classes: Any, counted: Any) -> int:
        n_outputs = super()._start(y, classes, counted)
        self._class_counts = ClassCounts(0, np.zeros((1, len(self.classes_))))
        self._check_class_weight()
        return n_outputs

    def _check_class_weight(self) -> None:
        """Ask for weights of the classes that there are."""
        given = self.class_weight
        if given is None or (isinstance(given, str) and given == "balanced"):
            return
        if not isinstance(given, dict):
            raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {given!r}")
        for label, weight in given.items():
            if label not in self.classes_.tolist():
                raise ValueError(f"class_weight has {label!r}, which is none of the classes")
            real = isinstance(weight, numbers.Real)
            if not (real and 0.0 <= weight <= _LARGEST):
                raise ValueError(
                    f"class_weight of {label!r} must be finite and not negative, got {weight!r}"
                )

    def _settle(self) -> None:
        super()._settle()
        if len(self._class_counts.table) > 1:
            learned = self.engine_.rounds
            self._class_counts = ClassCounts(learned, self._class_counts.after(learned)[None])

    def _weighed(self, targets: Matrix, weights: Vector | None) -> Vector | None:
        if self.class_weight is None:
            return weights
        self._check_class_weight()  # it may have been set since the first call
        two = targets.shape[1] == 1
        is_of = np.hstack([-targets, targets]) > 0.0 if two else targets > 0.0  # (rows, classes)
        if isinstance(self.class_weight, dict):
            each = np.array([float(self.class_weight.get(label, 1.0)) for label in self.classes_])
            factors = is_of @ each
        else:
            learned = self.engine_.rounds
            before = self._class_counts.after(learned)
            so_far = before + np.cumsum(is_of, axis=0)  # with the row itself
            factors = so_far.sum(axis=1) / (is_of.shape[1] * so_far[is_of])
            self._class_counts = ClassCounts(learned, np.vstack([before, so_far]))
        if weights is None:
            return factors
        with np.errstate(over="ignore"):
            return np.minimum(weights * factors, _LARGEST)
