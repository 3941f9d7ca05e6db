"""The River face of the learners: dicts in, one event at a time or in mini-batches.

River is an extra: ``pip install 'forks-learn[river]'``.

**Features** are named, and may come in any order, appear late and be left out; what is left out is
0. Rows get a column per name (`forks.compat._index`), at most `max_features`; further names are
ignored. A feature that appears late was 0 in all rows so far, and the model is made wider without
a change to what it has learned (`forks.learners` say how in `widened`). A name that no row had
when it was learned from says nothing when a row is predicted. Values are finite numbers, text,
dates, or missing (None or NaN); what is no number is encoded by what was known of the feature
before (`forks.compat._mixed`), and so costs more time.

**Learners** are named, "adaptive" by default, or configurations of `forks.learners`, as for
`forks.OnlineKernelClassifier`.

**Two classes.** Labels may be anything. Booleans are known from the start; of others the first one
stands for -1 (for +1 if it is a positive number), the second for the other sign, and a third is an
error.

**Many classes** have one score each, on the state that they share; learners that cannot share one
play a game per class. There is always one score more, that of a class that has not been seen, and
learns "no" from every row. A new class begins as a copy of it: as if it had been known from the
start (but for choices that a learner made by the scores that there were, as the default one does of
its alpha). So classes cost what their scores cost and no more, the map, its curvature and its drift
are those of all rows, and a class that comes late is not behind. At most `max_classes` may come.

**The next row.** Predictions answer what comes next in the stream, and may lean on the last labels.
If rows are predicted before the labels of earlier ones have come, the model sees how many, and
judges by that how far the last labels can be trusted.

**Threads** may share a model: they take turns, since rows are made in one array. **Interrupts**
(Ctrl-C) leave a model as after the last whole row; names and labels of the row at which it was cut
may be known already.

**Mini-batches** are learned row by row, in compiled code: `learn_many` does what `learn_one` on
each row would do, bit for bit. Frames are those that River takes: pandas, and with River 0.26 or
later also polars and pyarrow.

**Keys.** `KeyedRegressor` and `KeyedClassifier` are one model per key, as those of `forks.keyed`:
the key is a field of each dict. They learn one dict at a time.
"""

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError("forks.compat.river needs River: pip install 'forks-learn[river]'") from error

from forks.compat._frames import series_like
from forks.compat._keyed import KeyedModel
from forks.compat._labels import TwoLabels, check_label, number_of, plain_label
from forks.compat._model import KernelModel, LabelModel
from forks.engine import Engine, EngineGroup, Matrix
from forks.engine.checks import whole
from forks.estimators.insight import answers_of, check_level
from forks.estimators.labels import class_probabilities
from forks.features.table.targets import MOST_CLASSES

__all__ = [
    "KernelClassifier",
    "KernelMulticlassClassifier",
    "KernelRegressor",
    "KeyedClassifier",
    "KeyedRegressor",
]


class KernelClassifier(LabelModel, base.MiniBatchClassifier):  # type: ignore[misc]
    """Classifier for two classes, over any learner.

    Parameters
    ----------
    learner
        "adaptive", another name, a dict with a name and settings, or one of `forks.learners` with
        a loss for the task: see `forks.OnlineKernelClassifier`.
    effort
        Of the adaptive learner: "fast", "balanced" or "best".
    max_features
        Names of features that get a column each; further ones are ignored, with one warning.
    seed
        Seeds the learner's draws: one seed, one result. The adaptive learner draws nothing.

    Attributes
    ----------
    n_features
        Names of features known so far.
    n_points
        Points stored now.
    n_mends
        Steps that were left out, or mended, because numbers would not have been finite.
    feature_relevance_
        How much each feature moves the score, by name. Not for the effort "fast" and other
        learners.
    events_
        What happened to the experts: see `forks.OnlineKernelClassifier`. Not for the effort "fast"
        and other learners.

    Examples
    --------
    >>> from forks.compat.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelClassifier()
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> round(metric.get(), 1)
    0.9
    """

    _task = "classification"
    _known = TwoLabels({})

    def _with(self, known: TwoLabels, y: Any) -> TwoLabels:
        return known if y in known.targets else known.with_label(y)

    def _target(self, known: TwoLabels, y: Any) -> float:
        return known.targets[y]

    def _names(self) -> list[Any]:
        return list(dict.fromkeys(self._known.answers))

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a dict of features: before the first label, False."""
        with self._lock:
            score = self._score_one(x)
            return False if score is None else self._known.answers[score >= 0.0]


class KernelMulticlassClassifier(LabelModel, base.MiniBatchClassifier):  # type: ignore[misc]
    """Classifier for any number of classes, which may appear over time, over any learner.

    Parameters
    ----------
    learner, effort, max_features, seed
        See `KernelClassifier`.
    max_classes
        Labels that may appear; one more is an error.

    Attributes
    ----------
    n_features, n_points, n_mends, feature_relevance_, events_
        See `KernelClassifier`.

    Examples
    --------
    >>> from forks.compat.river import KernelMulticlassClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelMulticlassClassifier()
    >>> stream = datasets.ImageSegments().take(1000)
    >>> metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> round(metric.get(), 1)
    0.9
    """

    _task = "classification"
    _known: dict[Hashable, int]  # outputs of the labels, in the order of their coming

    def __init__(
        self,
        learner: Any = "adaptive",
        max_features: int = 1000,
        max_classes: int = 100,
        seed: int | None = None,
        effort: str = "balanced",
    ) -> None:
        self.max_classes = max_classes
        whole("max_classes", max_classes, 1)
        super().__init__(learner, max_features, seed, effort)
        self._known = {}

    _n_targets = MOST_CLASSES
    _multiclass = True

    def _first_engine(self, width: int, n_outputs: int, rng: Any) -> Engine | EngineGroup:
        """Begin with the score of the unseen class, of which all others are copies."""
        learner = self._configured.learner
        return (Engine if learner.multi_output else EngineGroup)(learner, width, 1, rng)

    def _n_outputs(self) -> int:
        return len(self._known) + 1

    def _with(self, known: dict[Hashable, int], y: Any) -> dict[Hashable, int]:
        if y in known:
            return known
        check_label(y)
        if len(known) == self.max_classes:
            raise ValueError(f"y is {y!r}, one more label than max_classes={self.max_classes}")
        return {**known, plain_label(y): len(known)}

    def _target(self, known: dict[Hashable, int], y: Any) -> Any:
        target = np.full(len(known) + 1, -1.0)
        target[known[y]] = 1.0
        return target

    def _names(self) -> list[Any]:
        return list(self._known)

    def _own_scores(self, scores: Matrix) -> Matrix:
        return scores[:, :-1]

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a dict of features: before the first label, None."""
        with self._lock:
            scores = self._score_one(x)
            return None if scores is None else self._names()[int(scores[0, :-1].argmax())]


class KernelRegressor(KernelModel, base.MiniBatchRegressor):
    """Regressor over any learner.

    Parameters
    ----------
    learner, effort, max_features, seed
        See `KernelClassifier`.

    Attributes
    ----------
    n_features, n_points, n_mends, feature_relevance_, events_
        See `KernelClassifier`.

    Examples
    --------
    >>> from forks.compat.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelRegressor()
    >>> metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> round(metric.get(), 1)
    0.2
    """

    _task = "regression"

    def _target(self, known: None, y: Any) -> float:
        return number_of(y)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a dict of features: before the first target, 0."""
        with self._lock:
            score = self._score_one(x)
            return 0.0 if score is None else score

    def predict_interval_one(self, x: dict[Any, Any], coverage: float = 0.9) -> tuple[float, float]:
        """Predict an interval that holds the target of a dict of features at a given rate.

        The rate is kept whatever the stream does, by adaptive conformal inference: see
        `forks.parts.conformal`. Before the first target the interval has no bounds.

        Raises
        ------
        ValueError
            If the learner has no prediction intervals.
        """
        level, learner = check_level("coverage", coverage), self._configured.learner
        if not hasattr(learner, "interval"):
            raise ValueError(f"{type(learner).__name__} has no prediction intervals")
        with self._lock:
            score = self._score_one(x)
            if score is None:
                return -math.inf, math.inf
            low, high = answers_of(self._engine, "interval", level, True)[0]
            return score + low, score + high

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of the rows of a frame; a series of the same kind."""
        with self._lock:
            scores = self._score_many(X)
            values = np.zeros(len(X)) if scores is None else scores[:, 0]
            return series_like(values, X, self._y_name)


class KeyedClassifier(KeyedModel, base.Classifier):
    """One classifier for each key, of any number of classes, which may appear over time.

    Parameters
    ----------
    key, effort, rank, forgetting, max_keys, max_features, seed
        See `KeyedRegressor`.
    max_classes
        Labels that may appear; one more is an error.

    Attributes
    ----------
    n_keys
        Keys that have come.

    Examples
    --------
    >>> from forks.compat.river import KeyedClassifier
    >>> model = KeyedClassifier(key="user")
    >>> for i in range(200):
    ...     x = {"user": "ann" if i % 3 else "bob", "clicks": i % 5}
    ...     model.learn_one(x, "buys" if (x["clicks"] > 2) == (x["user"] == "ann") else "leaves")
    >>> [model.predict_one({"user": user, "clicks": 4}) for user in ("ann", "bob")]
    ['buys', 'leaves']
    """

    _classifies = True
    _multiclass = True

    def __init__(
        self,
        key: Hashable = "key",
        effort: str = "fast",
        rank: int = 15,
        forgetting: float = 0.002,
        max_keys: int | None = None,
        max_features: int = 1000,
        max_classes: int = 100,
        seed: int | None = None,
    ) -> None:
        self.max_classes = max_classes
        common = KernelMulticlassClassifier(
            effort=effort, max_features=max_features, max_classes=max_classes, seed=seed
        )
        self._start(common, key, rank, forgetting, max_keys)

    def predict_proba_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the probability of each label that has come."""
        with self._lock:
            names, scores = self._common._names(), self._answer_one(x)
            if scores is None:
                return dict.fromkeys(names, 1.0 / max(1, len(names)))
            shares = class_probabilities(0.5 + 0.5 * scores[:, :-1])[0] if names[1:] else [1.0]
            return dict(zip(names, map(float, shares), strict=True))

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a dict of features: before the first label, None."""
        with self._lock:
            scores = self._answer_one(x)
            return None if scores is None else self._common._names()[int(scores[0, :-1].argmax())]


class KeyedRegressor(KeyedModel, base.Regressor):
    """One regressor for each key: a common model, and what the key's own rows add to it.

    Parameters
    ----------
    key
        The field of each dict that has the key, a string or a whole number; it is no feature.
    effort
        Of the common model: "fast", "balanced" or "best".
    rank, forgetting, max_keys
        See `forks.keyed.KeyedRegressor`.
    max_features
        Names of features that get a column each; further ones are ignored.
    seed
        Of the common model.

    Attributes
    ----------
    n_keys
        Keys that have come.

    Examples
    --------
    >>> from forks.compat.river import KeyedRegressor
    >>> model = KeyedRegressor(key="station")
    >>> for i in range(200):
    ...     x = {"station": "north" if i % 3 else "south", "wind": i % 7}
    ...     model.learn_one(x, x["wind"] * (1.0 if x["station"] == "north" else -1.0))
    >>> [round(model.predict_one({"station": s, "wind": 5})) for s in ("north", "south")]
    [5, -5]
    """

    _classifies = False

    def __init__(
        self,
        key: Hashable = "key",
        effort: str = "fast",
        rank: int = 15,
        forgetting: float = 0.002,
        max_keys: int | None = None,
        max_features: int = 1000,
        seed: int | None = None,
    ) -> None:
        common = KernelRegressor(effort=effort, max_features=max_features, seed=seed)
        self._start(common, key, rank, forgetting, max_keys)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a dict of features: before the first target, 0."""
        with self._lock:
            answer = self._answer_one(x)
            return 0.0 if answer is None else float(answer[0, 0])


def load(path: str | Path) -> Any:
    """Load a River model that `save` has written; it goes on as if it had never stopped.

    Rows that were predicted and whose labels have not come are forgotten.

    Raises
    ------
    ModelFileError
        If the file is damaged, or has no model of this module.
    """
    from forks.compat import _keyed_saving, _saving

    if _keyed_saving.is_keyed(path):
        keyed = (KeyedClassifier, KeyedRegressor)
        return _keyed_saving.load(path, {kind.__name__: kind for kind in keyed})
    kinds = (KernelClassifier, KernelMulticlassClassifier, KernelRegressor)
    return _saving.load(path, {kind.__name__: kind for kind in kinds})
