"""Classifiers: two classes, or more with one score per class on one shared state."""

import numbers
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from forks.engine import Matrix, Vector
from forks.engine.group import engine_with_classes
from forks.estimators.base import OnlineEstimator
from forks.estimators.insight import check_level
from forks.estimators.labels import ClassCounts, Labels, check_labels, class_probabilities
from forks.estimators.order import LabelRunsWarning, describe_runs
from forks.estimators.parameters import AnyLearner, ForksParameters
from forks.estimators.warning import warn_caller

_LARGEST = sys.float_info.max


def _gives_probabilities(classifier: Any) -> bool:
    """Return whether scores of the learner at work, or to be, stand for probabilities."""
    fitted = hasattr(classifier, "engine_")  # parameters may have been set since
    learner = classifier.engine_.learner if fitted else classifier._learner()
    if learner.probability(np.zeros((1, 1))) is None:
        raise AttributeError(
            f"scores of {type(learner).__name__} stand for no probability; those of the adaptive "
            'learner do, and those of others with loss="logistic"'
        )
    return True


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """What classifiers share: labels, weights of classes, probabilities."""

    _task = "classification"
    _fitted: ClassVar[tuple[str, ...]] = ("_labels", *OnlineEstimator._fitted, "_class_counts")

    class_weight: Any
    _labels: Labels
    _class_counts: ClassCounts

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._labels.classes

    def _start(self, y: Any, classes: Any, counted: Any, batch: bool) -> int:
        check_labels(y)
        labels = Labels.known_from(y, classes)
        seen = labels.classes if counted is None or classes is not None else np.unique(y[counted])
        if seen.shape[0] < 2 and (batch or labels.given):
            got = f"got one class: {seen.tolist()}"
            if labels.given:
                raise ValueError(f"classes must be at least two, {got}")
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, {got}; give `classes` if "
                "others will come"
            )
        self._labels = labels
        self._class_counts = ClassCounts(0, np.zeros((1, len(labels.classes))))
        self._check_class_weight()
        return labels.n_outputs

    def _check_classes(self, classes: Any) -> None:
        self._labels.check_same(classes)

    def _check_targets(self, y: Any) -> None:
        parts = self._labels.arrivals(y)
        parts[-1][1].codes_of(y)

    def _look_at_order(self, y: Any) -> None:
        if not self.engine_.order_known:
            fault = describe_runs(y)
            self.engine_.order_known = fault is not None
            if fault:
                warn_caller(fault, LabelRunsWarning)

    def _by_classes(self, y: Any, work: Callable[[slice], Any]) -> Any:
        parts = self._labels.arrivals(y)
        scores = []
        for rows, labels in parts:
            self._go_on_with(labels)
            scores.append(work(rows))
        if len(parts) == 1:
            return scores[0]
        both = zip(scores, parts, strict=True)
        return np.concatenate([self._labels.expanded(part, known) for part, (_, known) in both])

    def expect_others(self) -> None:
        """Let further classes come, also if the first call was given some."""
        check_is_fitted(self, "engine_")
        self._labels = self._labels._replace(given=False)

    def _go_on_with(self, labels: Labels) -> None:
        """Make room for classes that have come; nothing is forgotten of the others."""
        if len(labels.classes) == len(self.classes_):
            return
        sources = labels.sources_in(self._labels)
        engine = engine_with_classes(self.engine_, sources)
        first, counts = self._first_rows, self._class_counts
        self.__dict__.update(  # in one step
            engine_=engine,
            _labels=labels,
            _first_rows=None if first is None else first.for_classes(sources),
            _class_counts=counts.for_classes(sources),
        )

    def targets_of(self, y: Any) -> Matrix:
        """Return the targets of labels, -1 or +1: one column, or one per class for more than two.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Labels, all of them in `classes_`.
        """
        return self._labels.targets_of(y)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        """
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of rows: by the sign of the only score, or by the largest one.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        """
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that scores stand for.

        Parameters
        ----------
        scores : array
            As `decision_function` and `prequential` return them.
        """
        check_is_fitted(self, "engine_")
        scores = np.asarray(scores)
        n = self._labels.n_outputs
        if scores.ndim != (1 if n == 1 else 2) or (n > 1 and scores.shape[1] != n):
            wanted = "(n_rows,)" if n == 1 else f"(n_rows, {n})"
            raise ValueError(f"scores must be of the shape {wanted}, got {scores.shape}")
        return self._labels.labels_of(scores)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; for learners whose scores stand for some.

        Those are the adaptive learner, and others with the logistic loss. With more than two
        classes each has its own yes-or-no probability; they are scaled to sum to one.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        """
        positive = self.learner_.probability(self._scores(X))
        assert positive is not None  # or this method would not be there
        return self._of_classes(class_probabilities(positive))

    def _of_classes(self, probabilities: Matrix) -> Matrix:
        """Return probabilities of the classes: 1 for the only one of a stream with no others."""
        return probabilities if len(self.classes_) > 1 else np.ones((len(probabilities), 1))

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return the classes that may be right: sets that hold the right one at a given rate.

        The rate is kept on the stream so far, by adaptive conformal inference: see
        `forks.parts.conformal`. Each set holds at least the most probable class.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        coverage : float
            Share of rows whose class is to be in its set, between 0 and 1.

        Returns
        -------
        sets : array of bool, of shape (n_rows, n_classes)
            Columns are those of `classes_`.

        Raises
        ------
        ValueError
            If the learner has no prediction sets.
        """
        level = check_level("coverage", coverage)
        X = self._checked_rows(X)
        scores, least = self._scores_with(X, "predict_set", "least_probability", level)
        positive = self.learner_.probability(scores)
        assert positive is not None  # a learner with sets has probabilities
        sets = self._of_classes(class_probabilities(positive)) >= least
        answers = np.minimum(self._labels.answers(self._shaped(scores)), sets.shape[1] - 1)
        sets[np.arange(len(sets)), answers] = True
        return sets

    # ---- weights of classes ------------------------------------------------------------------

    def _check_class_weight(self) -> None:
        """Raise an error if the weights are not those of known classes."""
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
        is_of = is_of[:, : len(self.classes_)]
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


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineKernelClassifier(AnyLearner, OnlineClassifier):
    """Online kernel classifier: one pass, bounded memory, nonlinear, and nothing to tune.

    Parameters
    ----------
    learner : str, dict or learner
        "adaptive", or the name of another method of `forks.learners.catalogue`: "forks", "nogd",
        "projectron++", and so on. A dict has a "name" and settings of that learner, such as
        ``{"name": "nogd", "budget": 50, "loss": "logistic"}``. Except for the adaptive learner, a
        name stands for a Gaussian kernel on features as they are, whose bandwidth is the median
        distance between the first 16, 64 and 256 rows. One of `forks.learners`, with a
        classification loss, is used as it is.
    effort : {"fast", "balanced", "best"}
        How much time and memory the adaptive learner may take. "fast" is a single machine,
        `forks.learners.Adaptive`; the others are experts over time, `forks.learners.OverTime`: 7
        of at most 400 landmarks, or 10 of at most 1,000. If the first rows are sparse and have
        more than 512 features, "adaptive" is `forks.learners.Wide`, with 0, 512 or 1,024 landmarks;
        ``{"name": "adaptive"}`` is always as above.
    class_weight : None, "balanced" or dict
        Factors of the rows of each class: none; the number of rows so far over that of the row's
        class so far, times the number of classes; or given by the labels.
    random_state : int, RandomState or None
        Seeds the learner's draws, and the order of rows in `fit`: one seed, one result, bit for
        bit. The adaptive learner draws nothing, and None stands for one fixed order.
    verbose : bool
        Whether it is told on stderr that something is compiled, and how far a long call is.

    Attributes
    ----------
    classes_ : array
        The labels that have come, sorted. With two of them, a score of at least 0 answers the
        second.
    learner_ : learner
        The configuration at work.
    n_rounds_ : int
        Rows learned so far.
    n_points_ : int
        Points stored now.
    n_mends_ : int
        Steps that were left out, or mended, because numbers would not have been finite; the first
        one brings a `MendWarning`.
    last_mend_ : int or None
        The round of the last of them.
    feature_relevance_, feature_importances_ : array of shape (n_features,)
        How much each scaled feature moves the score now: mean squared slopes, summing to 1. Only
        for efforts "balanced" and "best", and after the first 16 rows; not for wide sparse rows.
    events_ : list of dict
        The last 64 events, oldest first. Each has the "round", the "event" ("start", "challenge"
        and "alarm": an expert was started, in turn, against the champion or after a rise of
        mistakes; "lead": another expert leads) and the place of the "expert". Starts tell on how
        many "rows", and what is new beside the leader: the feature whose "relevance" differs most,
        and the one whose centre has moved most ("shift"). Only for "balanced" and "best", and not
        for wide sparse rows.
    expert_weights_ : array of shape (n_experts + 3,)
        How much each expert counts for the next row, then the mean of the first two, the last label
        and the base rates; they sum to 1. Only for "balanced" and "best".
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Numbers in rows may be missing (NaN): a gap is the mean of the feature over the rows learned so
    far. Classes that were neither given nor in the first call may come later; what was learned of
    the others stays.

    There are two questions. "What comes next in the stream?" is answered by `prequential` and
    `score_then_learn`, and may lean on the last labels. "What of these rows?" is answered by
    `predict`, `decision_function`, `predict_proba` and `predict_set`, which do not.

    Examples
    --------
    >>> from forks import OnlineKernelClassifier
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> model = OnlineKernelClassifier()
    >>> scores = model.prequential(X, y)  # each score made before its label was used
    >>> print(f"{(model.labels_of(scores) != y).mean():.0%} mistakes")
    3% mistakes
    """

    class_weight: Any = None
    random_state: Any = None
    verbose: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class FORKSClassifier(ForksParameters, OnlineClassifier):
    """FORKS, the learner of the paper: second-order learning on a sketched feature map.

    See `forks.learners.FORKS` for what it does. Rows are kept in a buffer first; then a map of
    low rank is sketched from them, in which it takes online Newton steps.

    Parameters
    ----------
    budget : int
        Sets the sizes that are None: a buffer of twice as many points, as many landmarks.
    buffer, sketch_size, n_landmarks, rank, update_cycle : int, optional
        See `forks.learners.FORKS`.
    kernel : {"rbf", "laplacian", "poly", "linear"} or kernel
        A name, or one of `forks.kernels`, which is then used as it is.
    bandwidth : "median" or float
        Of the kernels named "rbf" and "laplacian": the median distance between the first 16, 64
        and 256 rows, or a number, in units of the scaled features. With any other kernel a number
        is an error.
    loss : {"squared_hinge", "hinge", "logistic"} or loss
        A name, or one of `forks.losses`.
    scaling : "standard" or None
        Whether features are scaled by the first 16, 64 and 256 rows, and their long tails drawn
        in; see `forks.features.scaling`. Sparse rows are not centred.
    eta, alpha, curvature, on_update, landmarks, max_points
        See `forks.learners.FORKS`.
    class_weight : None, "balanced" or dict
        See `OnlineKernelClassifier`.
    random_state : int, RandomState or None
        Seeds the sketch, the choice of landmarks and the order of rows in `fit`: one seed, one
        result, bit for bit.
    verbose : bool
        See `OnlineKernelClassifier`.

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
    >>> model = FORKSClassifier(rank=50, random_state=0).fit(X[:1000], y[:1000])
    >>> print(f"{model.score(X[1000:], y[1000:]):.0%} right")
    99% right
    """

    loss: Any = "squared_hinge"
    class_weight: Any = None
    random_state: Any = None
    verbose: bool = False
