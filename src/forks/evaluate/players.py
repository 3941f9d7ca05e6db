"""The players of every kind of model: estimators, bare learners, models from elsewhere."""

import inspect
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from forks.engine import Engine, Learner, Matrix
from forks.engine.group import engine_for
from forks.estimators.base import OnlineEstimator
from forks.estimators.labels import Labels
from forks.evaluate.clock import warm_up
from forks.evaluate.metrics import SIGNS
from forks.evaluate.player import Player
from forks.evaluate.predictions import probabilities_of
from forks.evaluate.rows import Queue, Rows, labels_among
from forks.keyed.base import KeyedEstimator
from forks.losses import Hinge, Loss, SquaredError


def player_for(
    name: str, model: Any, *, window: int = 1000, delay: int = 0, classes: Any = None
) -> Player:
    """Return the player of a model: see `Player` for the parameters, `prequential` for models."""
    if isinstance(model, Player):
        return model
    kind: type[Player] = PartialFitPlayer
    if isinstance(model, KeyedEstimator):
        from forks.evaluate.keyed import KeyedPlayer

        kind = KeyedPlayer
    elif isinstance(model, OnlineEstimator):
        kind = EstimatorPlayer
    elif isinstance(model, Learner | Engine):
        kind = LearnerPlayer
    elif hasattr(model, "learn_one") and hasattr(model, "predict_one"):
        kind = RiverPlayer
    return kind(name, model, window=window, delay=delay, classes=classes)


class EstimatorPlayer(Player):
    """An estimator of this package: exact, row by row, in compiled code."""

    def __init__(self, name: str, model: Any, **options: Any) -> None:
        super().__init__(name, model, **options)
        self.classifies = self._is_classifier()
        self.is_open = self.classes is None  # does the model say which classes there are?
        self.has_told = False  # has the model been given the classes of the first chunk?
        self.waiting = Queue()
        self.first: Any = None  # the first row, which the learner may depend on
        self.at_first: int | None = None  # rounds since the switch: 0, or None for one stage
        self.delay_is_known = False  # has the engine been told of the delay?

    def prepare(self, rows: Rows) -> None:
        """Find out how many stages the learner has, as well."""
        self.first = None if rows.X is None else rows.part(0, 1).X
        super().prepare(rows)
        if self.is_open and self.classifies:
            if len(self.classes) < 2:
                self.first_call = {}
            self.has_told = bool(self.first_call)
        empty = self.learner.init(1, 1, np.random.default_rng(0))
        self.at_first = self.learner.rounds_since_switch(empty)

    def warm_up(self, rows: Rows) -> None:
        self.compile_seconds = warm_up(self.learner, sparse.issparse(rows.X), self.delay > 0)

    @property
    def engine(self) -> Any:
        """The engine, or None as long as no label has come."""
        return getattr(self.model, "engine_", None)

    @property
    def learner(self) -> Learner:
        """The configuration at work, or to be."""
        return self.model._learner(self.first) if self.engine is None else self.engine.learner

    def _is_classifier(self) -> bool:
        return bool(self.model._task == "classification")

    def _loss(self) -> Loss | None:
        return getattr(self.learner, "loss", Hinge())

    def _probabilities(self, scores: Any) -> np.ndarray | None:
        if not self.classifies:
            return None
        found = probabilities_of(self.learner, scores)
        return found if found is None or len(self.classes) > 1 else np.ones((len(scores), 1))

    def _sizes(self) -> tuple[int | None, int | None]:
        engine = self.engine
        return (0, 0) if engine is None else (engine.stored_points, engine.state_bytes)

    def _filled(self, rows: Rows, known: np.ndarray) -> Rows:
        there = labels_among(rows.y, known)
        filling = np.array([self.classes[0] if self.classifies else 0.0])
        y = np.empty(rows.n_rows, np.result_type(filling, there))
        y[known], y[~known] = there, filling[0]
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        return Rows(rows.X, y, np.where(known, weights, 0.0))

    def _play(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        unlearned = rows.weights is not None and not rows.weights.any()
        if unlearned and self.engine is None:
            return None, self._no_scores(rows.n_rows), np.ones(rows.n_rows, bool)
        if self.delay > 0:
            return self._play_late(rows)
        self._tell_delay()
        before = self._rounds_since_switch()
        scores = self._score_and_learn(rows)
        self._look_at_classes()
        return None, scores, self._switched(before, rows)

    def _look_at_classes(self) -> None:
        """Count with the classes that the model has met by now, and let it meet others."""
        if self.is_open and self.classifies and self.engine is not None:
            if self.has_told:
                self.model.expect_others()
                self.has_told = False
            self.classes = self.tally.classes = self.model.classes_

    def _play_late(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        """Score each row, then learn the one that came `delay` rows before."""
        scores: list[tuple[np.ndarray, Any]] = []  # and the classes that they are of
        switched = []
        start, n = 0, rows.n_rows
        self.waiting.add(rows)
        while start < n:
            before = self._rounds_since_switch()
            missing = self.delay - (self.waiting.n_rows - (n - start))
            if missing > 0:  # no label comes after these
                stop = min(start + missing, n)
                scores.append((self._score(rows.part(start, stop)), self.classes))
                switched.append(np.full(stop - start, before is None or before > 0))
            else:
                self._tell_delay()
                most = self.waiting.to_first() if self.engine is None else n - start
                come = self.waiting.take(min(most, n - start))
                stop = start + come.n_rows
                part = self._score_then_learn(rows.part(start, stop), come)
                self._look_at_classes()
                scores.append((part, self.classes))
                switched.append(self._switched(before, come))
            start = stop
        found = [part for part, _ in scores]
        if self.is_open and self.classifies:
            found = [Labels(self.classes).expanded(part, Labels(known)) for part, known in scores]
        return None, np.concatenate(found), np.concatenate(switched)

    def _tell_delay(self) -> None:
        """Tell the engine once, as soon as there is one, that labels come late."""
        if self.engine is not None and not self.delay_is_known:
            self.engine.expect_delay(self.delay)
            self.delay_is_known = True

    def _score(self, rows: Rows) -> np.ndarray:
        """Score the next rows of the stream, whose labels are to come."""
        if self.engine is None:
            return self._no_scores(rows.n_rows)
        return np.asarray(self.model.score_ahead(rows.X))

    def _score_and_learn(self, rows: Rows) -> np.ndarray:
        return np.asarray(self.model.prequential(rows.X, rows.y, **self._learning(rows)))

    def _score_then_learn(self, ahead: Rows, rows: Rows) -> np.ndarray:
        learning = self._learning(rows)
        return np.asarray(self.model.score_then_learn(ahead.X, rows.X, rows.y, **learning))

    def _rounds_since_switch(self) -> int | None:
        engine = self.engine
        return self.at_first if engine is None else engine.rounds_since_switch

    def _switched(self, before: int | None, learned: Rows) -> np.ndarray:
        """Return which of the rounds just learned were after the switch.

        A row that is scored in turn with one of them is scored after the switch if that one is
        learned after it.
        """
        now = self._rounds_since_switch()
        switched = np.ones(learned.n_rows, bool)
        if now is None or before is None or before > 0:
            return switched
        rounds = np.arange(learned.n_rows)
        if learned.weights is not None:
            rounds = rounds[learned.weights != 0.0]  # others are no rounds
        after = min(now, len(rounds))  # FORKS estimators start anew, and may switch earlier then
        switched[: rounds[-after] if after > 0 else learned.n_rows] = False
        return switched


class LearnerPlayer(EstimatorPlayer):
    """A bare learner, for experiments: the clock runs in its engine only.

    Rows are float64 arrays or CSR; targets are -1 and +1, or real numbers for a learner with a
    regression loss. With `classes`, any labels.

    Parameters
    ----------
    name : str
    model : Learner or Engine
        An engine goes on with what it has learned.
    seed : int
        Of the engine that a learner gets.
    classes : array, optional
        All labels that can occur; without it they are -1 and +1.
    window, delay
        See `Player`.

    Examples
    --------
    >>> from forks.evaluate import LearnerPlayer, is_mistake
    >>> from forks.learners import FORKS
    >>> from forks.streams import drifting
    >>> player = LearnerPlayer("FORKS", FORKS(), seed=1)
    >>> for X, y in drifting(5000, seed=0, chunk=1000):
    ...     wrong = is_mistake(player.play(X, y).scores, y)
    >>> at = player.checkpoint()
    >>> at.rounds, at.mistakes_as_published < at.mistakes, player.engine.rounds
    (5000, True, 5000)
    """

    def __init__(
        self, name: str, model: Any, *, seed: int = 0, classes: Any = None, **options: Any
    ) -> None:
        super().__init__(name, model, classes=SIGNS if classes is None else classes, **options)
        self.is_open = False
        self.seed = seed
        self.encodes = classes is not None

    @property
    def engine(self) -> Any:
        """The engine; None until the width of the first rows is known."""
        return None if isinstance(self.model, Learner) else self.model

    @property
    def learner(self) -> Learner:
        return self.model if self.engine is None else self.engine.learner

    def prepare(self, rows: Rows) -> None:
        """Make the engine, as well."""
        super().prepare(rows)
        if self.engine is None:
            several = self.classifies and len(self.classes) > 2
            sizes = rows.X.shape[1], len(self.classes) if several else 1
            self.model = engine_for(self.learner, *sizes, np.random.default_rng(self.seed))

    def _is_classifier(self) -> bool:
        return "classification" in self.learner.tasks

    def _ready(self, rows: Rows) -> Rows:
        """Return rows and targets as the engine takes them."""
        X = rows.X if sparse.issparse(rows.X) else np.ascontiguousarray(rows.X, np.float64)
        if self.classifies and self.encodes:
            return Rows(X, Labels(self.classes).targets_of(rows.y), rows.weights)
        return Rows(X, np.ascontiguousarray(rows.y, np.float64).reshape(-1, 1), rows.weights)

    def _score(self, rows: Rows) -> np.ndarray:
        return _shaped(self.engine.predict(rows.X, ahead=True))

    def _score_and_learn(self, rows: Rows) -> np.ndarray:
        return _shaped(self.engine.learn(*rows))

    def _score_then_learn(self, ahead: Rows, rows: Rows) -> np.ndarray:
        return _shaped(self.engine.score_then_learn(ahead.X, *rows))


def _shaped(scores: Matrix) -> np.ndarray:
    return scores[:, 0] if scores.shape[1] == 1 else scores


class PartialFitPlayer(Player):
    """A model from elsewhere: predicts a piece of the stream, then learns what labels have come."""

    def __init__(self, name: str, model: Any, **options: Any) -> None:
        super().__init__(name, model, **options)
        self.classifies = _classifies(name, model)
        self.has_scores = self.classifies and hasattr(model, "decision_function")
        self.has_learned = False
        self.waiting = Queue()
        self._shares: np.ndarray | None = None  # probabilities of the rows just predicted

    def _takes_weights(self) -> bool:
        return "sample_weight" in inspect.signature(self.model.partial_fit).parameters

    def _loss(self) -> Loss | None:
        if self.classifies:
            return Hinge() if self.has_scores else None
        return SquaredError()

    def _play(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        answers, scores = self._predict(rows)
        self.waiting.add(rows)
        while self.waiting.n_rows > self.delay:
            come = self.waiting.take(self.waiting.n_rows - self.delay)
            self.model.partial_fit(come.X, come.y, **self._learning(come))
            self.has_learned = True
        return answers, scores, np.ones(rows.n_rows, bool)

    def _predict(self, rows: Rows) -> tuple[Any, Any]:
        self._shares = None
        try:
            if self.classifies and hasattr(self.model, "predict_proba"):
                with self.clock.paused():  # others need not make them
                    self._shares = np.asarray(self.model.predict_proba(rows.X))
            if not self.has_scores:
                return np.asarray(self.model.predict(rows.X)), None
            return None, np.asarray(self.model.decision_function(rows.X))
        except NotFittedError:
            if self.has_learned:
                raise
            if self.classifies and hasattr(self.model, "predict_proba"):
                self._shares = np.full((rows.n_rows, len(self.classes)), 1.0 / len(self.classes))
            return None, self._no_scores(rows.n_rows)

    def _probabilities(self, scores: Any) -> np.ndarray | None:
        return self._shares


def _classifies(name: str, model: Any) -> bool:
    """Return whether the model is a classifier; without scikit-learn's tags, one with scores is."""
    if not hasattr(model, "partial_fit") or not hasattr(model, "predict"):
        hint = "; give several models as a dict, by name" if isinstance(model, list | tuple) else ""
        raise ValueError(
            f"models: {name} must have partial_fit and predict, got {type(model).__name__}{hint}"
        )
    with suppress(AttributeError):
        return bool(get_tags(model).estimator_type == "classifier")
    return hasattr(model, "decision_function")


class RiverPlayer(Player):
    """A model with River's `learn_one` and `predict_one`: one dict at a time.

    Features are named as the columns of a frame, or x0, x1, ...; entries that a sparse row does
    not have are left out.
    """

    def __init__(self, name: str, model: Any, **options: Any) -> None:
        super().__init__(name, model, **options)
        from river import metrics

        self.classifies = not metrics.MSE().works_with(model)
        self._shares: list[Any] = []  # probabilities of the rows just predicted
        self.waiting: deque[tuple[dict[Any, Any], Any]] = deque()  # their labels have not come

    def _takes_weights(self) -> bool:
        return False

    def _loss(self) -> Loss | None:
        return None if self.classifies else SquaredError()

    def _play(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        answers, self._shares = [], []
        for event in zip(_dicts(rows.X), rows.y.tolist(), strict=True):
            answers.append(self.model.predict_one(event[0]))
            if self.classifies:
                with self.clock.paused():  # others need not make them
                    self._shares.append(_shares(self.model, event[0]))
            self.waiting.append(event)
            if len(self.waiting) > self.delay:
                self.model.learn_one(*self.waiting.popleft())
        if self.classifies:
            return np.array(answers, object), None, np.ones(rows.n_rows, bool)
        numbers = np.array([0.0 if answer is None else answer for answer in answers])
        return numbers, None, np.ones(rows.n_rows, bool)

    def _probabilities(self, scores: Any) -> np.ndarray | None:
        if not self.classifies or None in self._shares:
            return None
        classes = self.classes.tolist()
        booleans = {False, True}  # what River's models for two classes take all labels for
        if set(classes) != booleans and any(row.keys() == booleans for row in self._shares):
            return None
        table = np.array([[float(row.get(c, 0.0)) for c in classes] for row in self._shares])
        return np.where(table.sum(axis=1, keepdims=True) > 0.0, table, 1.0 / len(classes))


def for_several_classes(model: Any) -> Any:
    """Return River's model; one that is for two classes only, as one for each class."""
    if getattr(model, "_multiclass", True):
        return model
    from river import multiclass

    return multiclass.OneVsRestClassifier(model)


def _shares(model: Any, x: dict[Any, Any]) -> dict[Any, float] | None:
    """Return the probabilities of River's model by label, None if it has none."""
    try:
        return dict(model.predict_proba_one(x))
    except NotImplementedError:
        return None


def _dicts(X: Any) -> Iterator[dict[Any, Any]]:
    """Return the rows as River takes them."""
    if hasattr(X, "iloc"):
        yield from X.to_dict("records")
        return
    names = [f"x{j}" for j in range(X.shape[1])]
    if not sparse.issparse(X):
        yield from (dict(zip(names, x, strict=True)) for x in X.tolist())
        return
    for start, stop in pairwise(X.indptr.tolist()):
        entries = zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True)
        yield {names[j]: value for j, value in entries}
