"""The River face of the learners: dicts in, one event at a time or in mini-batches.

River is an extra: ``pip install 'forks-learn[river]'``.

**Features** are named, and may come in any order, appear late and be left out; what is left out is
0. Rows get a column per name (`forks.compat._index`), at most `max_features`; further names are
ignored. A feature that appears late was 0 in all rows so far, and the model is made wider without
a change to what it has learned (`forks.learners` say how in `widened`). A name that no row had
when it was learned from says nothing when a row is predicted. Values are finite numbers; text is
for River's ``OneHotEncoder``, gaps for its ``StatImputer``.

**Two classes.** Labels may be anything. Booleans are known from the start; of others the first one
stands for -1 (for +1 if it is a positive number), the second for the other sign, and a third is an
error.

**Many classes** have one score each, on the state that they share; learners that cannot share one
play a game per class. There is always one score more, that of a class that has not been seen, and
learns "no" from every row. A new class begins as a copy of it: as if it had been known from the
start (but for choices that a learner made by the scores that there were, as the default one does of
its alpha). So classes cost what their scores cost and no more, the map, its curvature and its drift
are those of all rows, and a class that comes late is not behind. At most `max_classes` may come.

**Threads** may share a model: they take turns, since rows are made in one array. **Interrupts**
(Ctrl-C) leave a model as after the last whole row; names and labels of the row at which it was cut
may be known already.

**Mini-batches** are learned row by row, in compiled code: `learn_many` does what `learn_one` on
each row would do, bit for bit. Frames are those that River takes: pandas, and with River 0.26 or
later also polars and pyarrow.
"""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

try:
    from river import base
except ImportError as error:
    raise ImportError("forks.compat.river needs River: pip install 'forks-learn[river]'") from error

from forks.compat._frames import frame_like, series_like, values_of
from forks.compat._model import (
    KernelModel,
    check_label,
    label_targets,
    number_of,
    plain_label,
    probability_of,
    weight_of,
)
from forks.engine import Engine, EngineGroup, Matrix
from forks.engine.checks import whole
from forks.learners import FORKS, Adaptive
from forks.losses import SquaredError

__all__ = ["KernelClassifier", "KernelMulticlassClassifier", "KernelRegressor"]


class KernelClassifier(KernelModel, base.MiniBatchClassifier):
    """Classifier for two classes, over any learner.

    Parameters
    ----------
    learner
        One of `forks.learners`, with a classification loss; without one, that of
        `forks.FORKSClassifier()`.
    max_features
        Names of features that are told apart; further ones are ignored.
    seed
        Seeds the learner's draws: one seed, one result. The default learner draws nothing.

    Attributes
    ----------
    n_features
        Names of features known so far.
    n_points
        Points stored now.
    n_mends
        Steps that were left out, or mended, because numbers would not have been finite.

    Examples
    --------
    >>> from forks.compat.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelClassifier()
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> metric.get() > 0.89
    True
    """

    _task = "classification"
    _default = Adaptive()

    def __init__(
        self, learner: Any = None, max_features: int = 1000, seed: int | None = None
    ) -> None:
        self._start(learner, max_features, seed)
        self._targets: dict[Hashable, float] = {}
        self._answers: tuple[Any, Any] = (False, True)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learner": FORKS(budget=20)}

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features and its label; `w` is a factor of its loss."""
        with self._lock:
            targets = self._targets
            if y not in targets:
                targets = label_targets(targets, y)
            if w != 1.0:
                w = weight_of(w)
            row = self._index.row(x, True)
            if targets is not self._targets:
                self._set_targets(targets)
            engine = self._engine
            if self._engine_width != self._index.width:
                engine = self._fitted_engine(1)
            engine.one_row(row, targets[y], w)

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a dict of features: before the first label, False."""
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return False
            return self._answers[engine.one_row(self._index.row(x)) >= 0.0]

    def predict_proba_one(  # type: ignore[override]
        self, x: dict[Any, Any]
    ) -> dict[Any, float]:
        """Predict the probability of each label.

        Of learners whose scores stand for no probability, the logistic function of the score.
        """
        with self._lock:
            negative, positive = self._answers
            engine = self._scoring_engine()
            if engine is None:
                return {negative: 0.5, positive: 0.5}
            score = engine.one_row(self._index.row(x))
            p = float(probability_of(self._configuration, np.array([[score]]))[0, 0])
            return {negative: 1.0} if negative is positive else {negative: 1.0 - p, positive: p}

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame and their labels, in their order, as `learn_one` would."""
        labels = values_of(y)
        with self._lock:
            known = self._targets
            for label in labels:
                if label not in known:
                    known = label_targets(known, label)

            def accept() -> None:
                self._set_targets(known)
                self._y_name = getattr(y, "name", None)

            targets = np.array([known[label] for label in labels]).reshape(-1, 1)
            self._learn_many(X, targets, w, accept)

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a frame; a series of the same kind."""
        with self._lock:
            negative, positive = self._answers
            engine = self._scoring_engine()
            if engine is None:
                labels = [False] * len(X)
            else:
                scores = engine.predict(self._rows(X))[:, 0]
                labels = [positive if score >= 0.0 else negative for score in scores]
            return series_like(labels, X, self._y_name)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probabilities of the rows of a frame; a frame with a column per label."""
        with self._lock:
            negative, positive = self._answers
            engine = self._scoring_engine()
            if engine is None:
                p = np.full(len(X), 0.5)
            else:
                p = probability_of(self._configuration, engine.predict(self._rows(X))[:, 0])
            if negative is positive:
                return frame_like({negative: np.ones(len(X))}, X)
            return frame_like({negative: 1.0 - p, positive: p}, X)

    def _set_targets(self, targets: dict[Hashable, float]) -> None:
        """Set the targets of the labels, and the labels that stand for -1 and +1.

        Those are the same one twice while there is only one.
        """
        negative, *others = sorted(targets, key=targets.__getitem__)
        answers = negative, others[0] if others else negative
        self.__dict__.update(_targets=targets, _answers=answers)  # in one step


class KernelMulticlassClassifier(KernelModel, base.MiniBatchClassifier):
    """Classifier for any number of classes, which may appear over time, over any learner.

    Parameters
    ----------
    learner
        One of `forks.learners`, with a classification loss; without one, that of
        `forks.FORKSClassifier()`.
    max_features
        Names of features that are told apart; further ones are ignored.
    max_classes
        Labels that may appear; one more is an error.
    seed
        Seeds the learner's draws: one seed, one result. The default learner draws nothing.

    Attributes
    ----------
    n_features
        Names of features known so far.
    n_points
        Points stored now.
    n_mends
        Steps that were left out, or mended, because numbers would not have been finite.

    Examples
    --------
    >>> from forks.compat.river import KernelMulticlassClassifier
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelMulticlassClassifier()
    >>> stream = datasets.ImageSegments().take(1000)
    >>> metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> metric.get() > 0.9
    True
    """

    _task = "classification"
    _default = Adaptive()

    def __init__(
        self,
        learner: Any = None,
        max_features: int = 1000,
        max_classes: int = 100,
        seed: int | None = None,
    ) -> None:
        self.max_classes = max_classes
        whole("max_classes", max_classes, 1)
        self._start(learner, max_features, seed)
        self._outputs: dict[Hashable, int] = {}  # of the labels, in the order of their coming

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learner": FORKS(budget=20)}

    def _new_engine(self, width: int, n_outputs: int, rng: Any) -> Engine | EngineGroup:
        """Begin with the score of the unseen class, of which all others are copies."""
        learner = self._configuration
        return (Engine if learner.multi_output else EngineGroup)(learner, width, 1, rng)

    def _with_label(self, known: dict[Hashable, int], y: Any) -> dict[Hashable, int]:
        check_label(y)
        if len(known) == self.max_classes:
            raise ValueError(f"y is {y!r}, one more label than max_classes={self.max_classes}")
        return {**known, plain_label(y): len(known)}

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features and its label; `w` is a factor of its loss."""
        with self._lock:
            outputs = self._outputs
            if y not in outputs:
                outputs = self._with_label(outputs, y)
            if w != 1.0:
                w = weight_of(w)
            row = self._index.row(x, True)
            self._outputs = outputs
            engine = self._fitted_engine(len(outputs) + 1)
            target = np.full(len(outputs) + 1, -1.0)
            target[outputs[y]] = 1.0
            engine.one_row(row, target, w)

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a dict of features: before the first label, None."""
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return None
            scores = engine.one_row(self._index.row(x))
            return self._labels()[int(scores[0, :-1].argmax())]

    def predict_proba_one(  # type: ignore[override]
        self, x: dict[Any, Any]
    ) -> dict[Any, float]:
        """Predict the probability of each label seen so far.

        Each has its own yes-or-no probability; they are scaled to sum to one.
        """
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return {}
            shares = self._shares(engine.one_row(self._index.row(x)))[0]
            return dict(zip(self._outputs, shares.tolist(), strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame and their labels, in their order, as `learn_one` would."""
        labels = values_of(y)
        with self._lock:
            known = self._outputs
            for label in labels:
                if label not in known:
                    known = self._with_label(known, label)

            def accept() -> None:
                self._outputs = known
                self._y_name = getattr(y, "name", None)

            targets = np.full((len(labels), len(known) + 1), -1.0)
            targets[np.arange(len(labels)), [known[label] for label in labels]] = 1.0
            self._learn_many(X, targets, w, accept)

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a frame; a series of the same kind."""
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return series_like([None] * len(X), X, self._y_name)
            scores = engine.predict(self._rows(X))[:, :-1]
            names = self._labels()
            return series_like([names[i] for i in scores.argmax(axis=1)], X, self._y_name)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probabilities of the rows of a frame; a frame with a column per label."""
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return frame_like({}, X)
            shares = self._shares(engine.predict(self._rows(X)))
            return frame_like(dict(zip(self._outputs, shares.T, strict=True)), X)

    def _scoring_engine(self) -> Any:
        if self._engine is None:
            return None
        return self._fitted_engine(len(self._outputs) + 1)

    def _labels(self) -> list[Any]:
        return list(self._outputs)

    def _shares(self, scores: Matrix) -> Matrix:
        """Scale the probabilities of the labels, each by itself, to sum to one."""
        p = probability_of(self._configuration, scores[:, :-1])
        sums = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1.0 / p.shape[1])
        return np.divide(p, sums, out=even, where=sums > 0.0)


class KernelRegressor(KernelModel, base.MiniBatchRegressor):
    """Regressor over any learner.

    Parameters
    ----------
    learner
        One of `forks.learners`, with a regression loss; without one, that of
        `forks.FORKSRegressor()`.
    max_features
        Names of features that are told apart; further ones are ignored.
    seed
        Seeds the learner's draws: one seed, one result. The default learner draws nothing.

    Attributes
    ----------
    n_features
        Names of features known so far.
    n_points
        Points stored now.
    n_mends
        Steps that were left out, or mended, because numbers would not have been finite.

    Examples
    --------
    >>> from forks.compat.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> model = KernelRegressor()
    >>> metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> metric.get() < 0.5
    True
    """

    _task = "regression"
    _default = Adaptive(loss=SquaredError())

    def __init__(
        self, learner: Any = None, max_features: int = 1000, seed: int | None = None
    ) -> None:
        self._start(learner, max_features, seed)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learner": FORKS(budget=20, loss=SquaredError())}

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features and its target; `w` is a factor of its loss."""
        with self._lock:
            target = number_of(y)
            if w != 1.0:
                w = weight_of(w)
            row = self._index.row(x, True)
            engine = self._engine
            if self._engine_width != self._index.width:
                engine = self._fitted_engine(1)
            engine.one_row(row, target, w)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a dict of features: before the first target, 0."""
        with self._lock:
            engine = self._scoring_engine()
            if engine is None:
                return 0.0
            score: float = engine.one_row(self._index.row(x))
            return score

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame and their targets, in their order, as `learn_one` would."""

        def accept() -> None:
            self._y_name = getattr(y, "name", None)

        targets = np.array([number_of(value) for value in values_of(y)]).reshape(-1, 1)
        with self._lock:
            self._learn_many(X, targets, w, accept)

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of the rows of a frame; a series of the same kind."""
        with self._lock:
            scores = np.zeros(len(X))
            engine = self._scoring_engine()
            if engine is not None:
                scores = engine.predict(self._rows(X))[:, 0]
            return series_like(scores, X, self._y_name)
