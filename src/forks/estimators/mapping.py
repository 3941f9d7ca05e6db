"""The feature map of a learner as a transformer."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, check_is_fitted

from forks.engine import Learner, Matrix
from forks.estimators.classifier import OnlineKernelClassifier
from forks.estimators.regressor import OnlineKernelRegressor

_TASKS = ("classification", "regression")


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows as the features in which the score of a kernel learner is linear.

    A linear model on them is a kernel machine. They can be learned from a stream, and go before any
    estimator in a pipeline.

    Parameters
    ----------
    learner : str, dict or learner
        As of `OnlineKernelClassifier`, one that has explicit features: "fogd", whose features are
        random frequencies of the kernel; "nogd", "skegd", "forks" or "pros-n-kons", which make them
        of rows that they have learned. Rows are taken as they are: scale them before.
    random_state : int, RandomState instance or None
        Seed of all draws.

    Attributes
    ----------
    model_ : OnlineKernelClassifier or OnlineKernelRegressor
        What has learned the rows.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The bandwidth is found from the first 256 rows, unless a configuration of `forks.learners` has
    one, and so the features change until then; those of learners that update their map, later, too.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from forks import KernelFeatures
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> pipeline = make_pipeline(KernelFeatures(random_state=0), RidgeClassifier()).fit(X, y)
    >>> pipeline[:-1].transform(X).shape
    (1000, 800)
    >>> print(f"{pipeline.score(X, y):.2f}")
    0.99
    """

    def __init__(self, learner: Any = "fogd", random_state: Any = None) -> None:
        self.learner = learner
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "KernelFeatures":
        """Forget everything, then learn the rows in their order.

        Parameters
        ----------
        X : array or CSR array of shape (n_rows, n_features)
            The rows.
        y : array of shape (n_rows,), optional
            Their labels, or numbers. They decide which rows a learner keeps; without them it makes
            its features of rows as they come.

        Returns
        -------
        self
        """
        if _num_samples(X) == 0:
            raise ValueError("X has 0 rows, needs at least one")
        self.__dict__.pop("model_", None)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any = None) -> "KernelFeatures":
        """Learn further rows.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        self
        """
        model = getattr(self, "model_", None) or self._new(y)
        if y is None:  # any labels: rows that are learned are kept
            y = np.arange(_num_samples(X)) % 2
        model.partial_fit(X, y)
        self.model_ = model
        return self

    def _new(self, y: Any) -> Any:
        tasks = self.learner.tasks if isinstance(self.learner, Learner) else _TASKS
        numbers = y is not None and type_of_target(y).startswith("continuous")
        kind = OnlineKernelRegressor if numbers or tasks == _TASKS[1:] else OnlineKernelClassifier
        return kind(self.learner, random_state=self.random_state)

    def transform(self, X: Any) -> Matrix:
        """Return the features of rows.

        Parameters
        ----------
        X : array or CSR array of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        features : array of shape (n_rows, n_features_out)

        Raises
        ------
        ValueError
            If the learner has no explicit features, or none yet.
        """
        check_is_fitted(self, "model_")
        features = self.model_.features_of(X)
        if features is None:
            raise ValueError(
                f"learner {self.learner!r} has no explicit features, or none before it has learned "
                "more rows"
            )
        return np.asarray(features)

    @property
    def n_features_in_(self) -> int:
        """The number of features of rows."""
        check_is_fitted(self, "model_")
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if the rows had them."""
        return self.model_.feature_names_in_

    @property
    def _n_features_out(self) -> int:
        # Not by `transform`, which asks this after `set_output`, and of a row without names.
        row, model = np.zeros((1, self.n_features_in_)), self.model_
        features: Any = model._reading(lambda: model.engine_.features(model._ready(row)))
        return int(features.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
