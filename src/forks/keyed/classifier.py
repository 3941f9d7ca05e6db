"""The keyed classifier."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from forks.engine import Matrix, Vector
from forks.estimators import OnlineKernelClassifier
from forks.estimators.labels import Labels, class_probabilities
from forks.keyed.base import KeyedEstimator, unless_ones


@dataclass(eq=False, repr=False, kw_only=True)
class KeyedClassifier(KeyedEstimator):
    """One classifier for each key: a common model, and what the key's own rows add to it.

    The log-odds of the common model are calibrated, and corrected by a logistic regression of the
    key's own rows; see `KeyedRegressor`.

    Parameters
    ----------
    effort, rank, forgetting, max_keys, folder, random_state
        See `KeyedRegressor`; with more than two classes a key has rank + 2 more numbers for each.

    Attributes
    ----------
    classes_ : array
        The labels that have come, sorted. If they were given in the first call, others are refused.
    common_ : OnlineKernelClassifier
        The common model.
    n_keys_, n_keys_in_memory_, n_rounds_, bytes_per_key_, n_features_in_, feature_names_in_
        See `KeyedRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from forks.keyed import KeyedClassifier
    >>> rng = np.random.default_rng(0)
    >>> keys, X = rng.integers(0, 10, 3000), rng.normal(size=(3000, 2))
    >>> y = np.where(X[:, 0] + np.linspace(-2.0, 2.0, 10)[keys] > 0.0, "yes", "no")
    >>> model = KeyedClassifier().partial_fit(keys, X, y)
    >>> model.predict([0, 9], [[0.5, 0.0], [0.5, 0.0]]).tolist()
    ['no', 'yes']
    """

    _task: ClassVar[str] = "classification"
    _common_class: ClassVar[Any] = OnlineKernelClassifier
    _labels: Labels = field(init=False)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._labels.classes

    def _checked_labels(self, y: Any, n_rows: int, first: bool, classes: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.shape != (n_rows,):
            raise ValueError(f"y must be of the shape ({n_rows},), got {y.shape}")
        if first:
            self._labels = Labels.known_from(y, classes)
            if self._labels.given and len(self._labels.classes) < 2:
                raise ValueError(f"classes must be at least two, got {self.classes_.tolist()}")
        else:
            self._labels.check_same(classes)
        self._labels.arrivals(y)[-1][1].codes_of(y)
        return y

    def expect_others(self) -> None:
        """Let further classes come, also if the first call was given some."""
        check_is_fitted(self, "corrections_")
        self.common_.expect_others()
        self._labels = self._labels._replace(given=False)

    def _arrivals(self, y: Any) -> list[tuple[slice, Any]]:
        return self._labels.arrivals(y)

    def _go_on_with(self, labels: Labels) -> None:
        if len(labels.classes) > len(self.classes_):
            old = self._labels
            self.corrections_.widen_outputs(
                _factors(labels, old), lambda part: _expanded(part, labels, old)
            )
            self._labels = labels

    def _together(self, answers: list[np.ndarray], parts: list[tuple[slice, Any]]) -> np.ndarray:
        both = zip(answers, parts, strict=True)
        return np.concatenate([self._labels.expanded(part, known) for part, (_, known) in both])

    def _targets_of(self, y: Any) -> Matrix:
        return self._labels.targets_of(y)

    def _n_outputs(self) -> int:
        return self._labels.n_outputs

    def _learn_common(self, X: Matrix, y: Any, weights: Vector) -> Matrix:
        common, classes = self.common_, None
        if not hasattr(common, "engine_"):
            if not weights.any():
                return np.zeros((len(X), self._n_outputs()))
            classes = self.classes_ if len(self.classes_) > 1 else None
        scores = common.prequential(X, y, classes=classes, sample_weight=unless_ones(weights))
        if classes is not None and not self._labels.given:
            common.expect_others()
        return np.ascontiguousarray(scores.reshape(len(X), -1))

    def _common_answers(self, X: Any, ahead: bool) -> Matrix:
        common = self.common_
        return np.asarray(common.score_ahead(X) if ahead else common.decision_function(X))

    def decision_function(self, keys: Any, X: Any) -> np.ndarray:
        """Return the scores of rows, 2 p - 1 with probabilities p.

        Parameters
        ----------
        keys : sequence of str or int, of length n_rows
            The key of each row; one that has not come is answered by the common model.
        X : array or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        """
        return self._answers(keys, X, False)

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Return the labels of rows.

        Parameters
        ----------
        keys, X
            As for `decision_function`.
        """
        return self._answers(keys, X, False, self.labels_of)

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that scores stand for.

        Parameters
        ----------
        scores : array
            As `decision_function` and `prequential` return them.
        """
        return self._labels.labels_of(np.asarray(scores))

    def predict_proba(self, keys: Any, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        keys, X
            As for `decision_function`.
        """
        return self._answers(keys, X, False, self.probabilities_of)

    def probabilities_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each class that scores stand for.

        Parameters
        ----------
        scores : array
            As `decision_function` and `prequential` return them.
        """
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return class_probabilities(0.5 + 0.5 * scores.reshape(len(scores), -1))


def _factors(labels: Labels, old: Labels) -> Matrix:
    """Return what corrections of the new outputs (rows) are of the old ones (columns).

    One output stands for the difference of two; a new class has no corrections.
    """
    sources = labels.sources_in(old)
    if old.n_outputs > 1:
        return np.array([[float(s == o) for o in range(old.n_outputs)] for s in sources])
    if len(sources) == 2:
        return np.array([[1.0 if sources[0] == 0 else -1.0]])
    half = {-1: 0.0, 0: -0.5, 1: 0.5}
    return np.array([[half[source]] for source in sources])


def _expanded(part: Matrix, labels: Labels, old: Labels) -> Matrix:
    """Return scores or targets of old classes, with those of new ones."""
    shaped = part[:, 0] if old.n_outputs == 1 else part
    return np.ascontiguousarray(labels.expanded(shaped, old).reshape(len(part), -1))
