"""Models at work: what each does with the next rows of a stream, and its clock."""

import inspect
import time
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from forks.engine import one_thread
from forks.estimators.base import OnlineEstimator
from forks.estimators.labels import labels_for
from forks.evaluate._rows import Queue, Rows
from forks.evaluate.clock import warm_up
from forks.evaluate.metrics import Checkpoint, ClassTally, ErrorTally, Played
from forks.losses import Hinge, Loss, SquaredError


class Player:
    """A model, its clock and its counts. A subclass says how it plays."""

    def __init__(self, name: str, model: Any, window: int, delay: int) -> None:
        self.name = name
        self.model = model
        self.window = window
        self.delay = delay
        self.classifies = _classifies(name, model)
        self.classes = np.zeros(0)
        self.first_call: dict[str, Any] = {}  # what only the first call that learns is given
        self.rounds = 0
        self.seconds = 0.0
        self.compile_seconds = 0.0
        self.tally: ClassTally | ErrorTally

    def prepare(self, rows: Rows, classes: Any) -> None:
        """Look at the first chunk before anything is played; `classes` are those given, or None."""
        if not self.classifies:
            self.tally = ErrorTally(self._loss() or SquaredError())
            return
        known = getattr(self.model, "classes_", None)
        if known is None:
            self.classes = np.unique(rows.y if classes is None else np.asarray(classes))
            self.first_call = {"classes": self.classes}
        else:
            self.classes = np.asarray(known)
            if classes is not None and not np.array_equal(np.unique(classes), self.classes):
                raise ValueError(
                    f"classes must be those that {self.name} knows, {self.classes.tolist()}, "
                    f"got {np.unique(classes).tolist()}"
                )
        self.tally = ClassTally(self.classes, self._loss(), self.window)

    def play(self, rows: Rows) -> None:
        """Predict and learn the next rows, and count."""
        try:
            with one_thread():
                start = time.process_time()
                played = self._play(rows)
                self.seconds += time.process_time() - start
            self.tally.add(rows.y, rows.weights, played)
        except Exception as error:
            last = self.rounds + rows.n_rows
            error.add_note(f"{self.name} met this in rounds {self.rounds + 1} to {last}")
            raise
        self.rounds += rows.n_rows

    def checkpoint(self) -> Checkpoint:
        """Tell what has been counted so far."""
        stored_points, state_bytes = self._sizes()
        return Checkpoint(
            model=self.name,
            rounds=self.rounds,
            **self.tally.figures(self.rounds),
            seconds=self.seconds,
            compile_seconds=self.compile_seconds,
            rounds_per_second=self.rounds / max(self.seconds, 1e-9),
            stored_points=stored_points,
            state_bytes=state_bytes,
        )

    def _play(self, rows: Rows) -> Played:
        raise NotImplementedError

    def _loss(self) -> Loss | None:
        raise NotImplementedError

    def _sizes(self) -> tuple[int | None, int | None]:
        """Stored points and bytes of state."""
        return None, None

    def _no_scores(self, n: int) -> np.ndarray:
        """Scores of a model that has learned nothing."""
        several = self.classifies and len(self.classes) > 2
        return np.zeros((n, len(self.classes)) if several else n)

    def _answers(self, scores: np.ndarray) -> np.ndarray:
        return labels_for(self.classes, scores) if self.classifies else scores

    def _learning(self, rows: Rows) -> dict[str, Any]:
        """Return what a call that learns these rows is given beside X and y."""
        given, self.first_call = self.first_call, {}
        return given if rows.weights is None else {**given, "sample_weight": rows.weights}


class OurPlayer(Player):
    """An estimator of this package: exact, row by row, in compiled code."""

    def __init__(self, name: str, model: Any, window: int, delay: int) -> None:
        super().__init__(name, model, window, delay)
        self.waiting = Queue()
        self.at_first: int | None = None  # rounds since the switch: 0, or None for one stage

    def prepare(self, rows: Rows, classes: Any) -> None:
        """Compile, as well."""
        super().prepare(rows, classes)
        learner = self._learner()
        empty = learner.init(1, 1, np.random.default_rng(0))
        self.at_first = learner.rounds_since_switch(empty)
        self.compile_seconds = warm_up(learner, sparse.issparse(rows.X), self.delay > 0)

    def _learner(self) -> Any:
        fitted = hasattr(self.model, "engine_")
        return self.model.learner_ if fitted else self.model._learner()

    def _loss(self) -> Loss | None:
        return getattr(self._learner(), "loss", Hinge())

    def _sizes(self) -> tuple[int | None, int | None]:
        if not hasattr(self.model, "engine_"):  # no label has come yet
            return 0, 0
        return self.model.engine_.stored_points, self.model.engine_.state_bytes

    def _play(self, rows: Rows) -> Played:
        if self.delay > 0:
            return self._play_late(rows)
        before = self._rounds_since_switch()
        scores = self.model.prequential(rows.X, rows.y, **self._learning(rows))
        return Played(self._answers(scores), scores, self._switched(before, rows))

    def _play_late(self, rows: Rows) -> Played:
        """Score each row, then learn the one that came `delay` rows before."""
        scores, switched = [], []
        start, n = 0, rows.n_rows
        self.waiting.add(rows)
        while start < n:
            before = self._rounds_since_switch()
            missing = self.delay - (self.waiting.n_rows - (n - start))
            if missing > 0:  # no label comes after these
                stop = min(start + missing, n)
                scores.append(self._scores(rows.part(start, stop)))
                switched.append(np.full(stop - start, before is None or before > 0))
            else:
                come = self.waiting.take(n - start)
                stop = start + come.n_rows
                ahead, learning = rows.part(start, stop).X, self._learning(come)
                scores.append(self.model.score_then_learn(ahead, come.X, come.y, **learning))
                switched.append(self._switched(before, come))
            start = stop
        all_scores = np.concatenate(scores)
        return Played(self._answers(all_scores), all_scores, np.concatenate(switched))

    def _scores(self, rows: Rows) -> np.ndarray:
        if not hasattr(self.model, "engine_"):
            return self._no_scores(rows.n_rows)
        score = self.model.decision_function if self.classifies else self.model.predict
        return np.asarray(score(rows.X))

    def _rounds_since_switch(self) -> int | None:
        fitted = hasattr(self.model, "engine_")
        rounds: int | None = self.model.engine_.rounds_since_switch if fitted else self.at_first
        return rounds

    def _switched(self, before: int | None, learned: Rows) -> np.ndarray:
        """Which of the rounds just learned were after the switch?

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
        switched[: rounds[-now] if now > 0 else learned.n_rows] = False
        return switched


class OtherPlayer(Player):
    """A model from elsewhere: predicts a piece of the stream, then learns what labels have come."""

    def __init__(self, name: str, model: Any, window: int, delay: int) -> None:
        super().__init__(name, model, window, delay)
        self.has_scores = self.classifies and hasattr(model, "decision_function")
        self.has_learned = False
        self.waiting = Queue()

    def prepare(self, rows: Rows, classes: Any) -> None:
        """Check that weights can be learned, as well."""
        super().prepare(rows, classes)
        if rows.weights is not None and not _takes_weights(self.model.partial_fit):
            raise ValueError(f"the stream has weights, but {self.name} cannot learn with weights")

    def _loss(self) -> Loss | None:
        if self.classifies:
            return Hinge() if self.has_scores else None
        return SquaredError()

    def _play(self, rows: Rows) -> Played:
        played = self._predict(rows)
        self.waiting.add(rows)
        while self.waiting.n_rows > self.delay:
            come = self.waiting.take(self.waiting.n_rows - self.delay)
            self.model.partial_fit(come.X, come.y, **self._learning(come))
            self.has_learned = True
        return played

    def _predict(self, rows: Rows) -> Played:
        switched = np.ones(rows.n_rows, bool)
        try:
            if not self.has_scores:
                return Played(np.asarray(self.model.predict(rows.X)), None, switched)
            scores = np.asarray(self.model.decision_function(rows.X))
        except NotFittedError:
            if self.has_learned:
                raise
            scores = self._no_scores(rows.n_rows)
        return Played(self._answers(scores), scores, switched)


def player_for(name: str, model: Any, window: int, delay: int) -> Player:
    """Make the player of a model."""
    kind = OurPlayer if isinstance(model, OnlineEstimator) else OtherPlayer
    return kind(name, model, window, delay)


def _classifies(name: str, model: Any) -> bool:
    """Is the model a classifier? Without scikit-learn's tags, one with scores is."""
    if not hasattr(model, "partial_fit") or not hasattr(model, "predict"):
        raise ValueError(
            f"models: {name} must have partial_fit and predict, got {type(model).__name__}"
        )
    with suppress(AttributeError):
        return bool(get_tags(model).estimator_type == "classifier")
    return hasattr(model, "decision_function")


def _takes_weights(partial_fit: Any) -> bool:
    return "sample_weight" in inspect.signature(partial_fit).parameters
