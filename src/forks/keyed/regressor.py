"""The keyed regressor."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from forks.engine import Matrix, Vector
from forks.estimators import OnlineKernelRegressor
from forks.keyed.base import KeyedEstimator, unless_ones


@dataclass(eq=False, repr=False, kw_only=True)
class KeyedRegressor(KeyedEstimator):
    """One regressor for each key: a common model, and what the key's own rows add to it.

    A new key is answered by the common model. As its rows come, its residuals are learned in a few
    features that all keys share, drawn to zero by a prior whose strength is found online
    (`forks.parts.pooling`).

    Parameters
    ----------
    effort : {"fast", "balanced", "best"}
        Of the common model, see `forks.OnlineKernelRegressor`.
    rank : int
        Features of the corrections, beside the bias. A key has about rank ** 2 / 2 numbers, and
        takes rank ** 3 / 2 operations a row.
    forgetting : float
        How much less a row of a key counts with each of the key's next rows; 0 for never.
    max_keys : int, optional
        How many keys are kept in memory. The others, used least recently, are in a temporary file,
        and come back bit for bit. None for all in memory.
    folder : str or path, optional
        Where the temporary file is; None for the system's folder of such files. It takes
        `bytes_per_key_` for each key, and is gone when the process ends.
    random_state : int, RandomState or None
        Of the common model.

    Attributes
    ----------
    common_ : OnlineKernelRegressor
        The common model.
    n_keys_, n_keys_in_memory_, n_rounds_ : int
        Keys so far, those in memory, and rows so far.
    bytes_per_key_ : int
        Size of what is kept of a key, beside its name.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from forks.keyed import KeyedRegressor
    >>> rng = np.random.default_rng(0)
    >>> keys, X = rng.integers(0, 20, 4000), rng.normal(size=(4000, 3))
    >>> own = rng.normal(size=(20, 3))
    >>> y = np.sin(2.0 * X[:, 0]) + np.sum(own[keys] * X, axis=1)
    >>> model = KeyedRegressor()
    >>> answers = model.prequential(keys, X, y)
    >>> late = slice(2000, None)
    >>> share = np.std(y[late] - answers[late]) / np.std(y[late])
    >>> print(f"errors have {share:.1f} of the spread of y")
    errors have 0.2 of the spread of y
    """

    _task: ClassVar[str] = "regression"
    _common_class: ClassVar[Any] = OnlineKernelRegressor

    def _checked_labels(self, y: Any, n_rows: int, first: bool, classes: Any) -> Matrix:
        if classes is not None:
            raise ValueError(f"classes is for classifiers, got {classes!r}")
        try:
            y = np.array(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("y must be numbers, one for each row") from None
        if y.shape != (n_rows,):
            raise ValueError(f"y must be of the shape ({n_rows},), got {y.shape}")
        wrong = np.flatnonzero(~np.isfinite(y))
        if len(wrong):
            raise ValueError(f"y[{wrong[0]}] is {y[wrong[0]]}: targets must be finite numbers")
        return y

    def _targets_of(self, y: Any) -> Matrix:
        return y.reshape(-1, 1)

    def _n_outputs(self) -> int:
        return 1

    def _learn_common(self, X: Matrix, y: Any, weights: Vector) -> Matrix:
        if not (weights.any() or hasattr(self.common_, "engine_")):
            return np.zeros((len(X), 1))
        return self.common_.prequential(X, y, sample_weight=unless_ones(weights)).reshape(-1, 1)

    def _common_answers(self, X: Any, ahead: bool) -> Matrix:
        common = self.common_
        return np.asarray(common.score_ahead(X) if ahead else common.predict(X))

    def predict(self, keys: Any, X: Any) -> np.ndarray:
        """Return the predicted targets of rows; a key that has not come is answered in common.

        Parameters
        ----------
        keys : sequence of str or int, of length n_rows
            The key of each row.
        X : array or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        predictions : array of shape (n_rows,)
        """
        return self._answers(keys, X, False)
