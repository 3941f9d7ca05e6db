"""A model at work on a stream: what every kind of model has in common."""

from typing import Any

import numpy as np

from forks.estimators.labels import Labels
from forks.evaluate.clock import Clock
from forks.evaluate.metrics import Checkpoint, Played, Tally
from forks.evaluate.rows import Rows, labelled_of, labels_among
from forks.losses import Loss, SquaredError


class Player:
    """A model, its clock and its counts. `forks.evaluate.players` has one for every kind.

    Parameters
    ----------
    name : str
        Of the model, in checkpoints and errors.
    model
        It learns in place.
    window, delay : int
        See `prequential`.
    classes : array, optional
        All labels that can occur; by default those that the model knows, or those of the first
        chunk.
    """

    classifies: bool
    tally: Tally  # made when the first chunk is known

    def __init__(
        self, name: str, model: Any, *, window: int = 1000, delay: int = 0, classes: Any = None
    ) -> None:
        self.name = name
        self.model = model
        self.window = window
        self.delay = delay
        self.classes: Any = None if classes is None else np.unique(classes)
        self.first_call: dict[str, Any] = {}  # what only the first call that learns is given
        self.prepared = False
        self.rounds = 0  # rows played so far
        self.unlabelled = 0  # those of them without a label, which are not learned
        self.clock = Clock()  # of predicting and learning
        self.compile_seconds = 0.0

    def prepare(self, rows: Rows) -> None:
        """Look at the first chunk: settle the classes, and begin to count."""
        self.prepared = True
        if rows.weights is not None and not self._takes_weights():
            raise ValueError(f"the stream has weights, but {self.name} cannot learn with weights")
        if not self.classifies:
            self.tally = Tally(None, self._loss() or SquaredError(), self.window, self.delay)
            return
        known, given = getattr(self.model, "classes_", None), self.classes
        if known is None:
            if given is None:
                self.classes = np.unique(labels_among(rows.y, labelled_of(rows.y)))
            self.first_call = {"classes": self.classes}
        else:
            self.classes = np.asarray(known)
            if given is not None and not np.array_equal(given, self.classes):
                raise ValueError(
                    f"classes must be those that {self.name} knows, {self.classes.tolist()}, "
                    f"got {given.tolist()}"
                )
        self.tally = Tally(self.classes, self._loss(), self.window, self.delay)

    def warm_up(self, rows: Rows) -> None:
        """Compile what rows like these need, off the clock."""

    def resume(self, rounds: int, arrays: dict[str, np.ndarray], unlabelled: int = 0) -> None:
        """Go on with a model that has seen so many rows, from `tally.arrays()` of that time."""
        self.prepare(Rows(None, np.zeros(0), None))
        self.tally.restore(arrays)
        self.rounds, self.unlabelled = rounds, unlabelled

    def play(self, X: Any, y: np.ndarray, weights: np.ndarray | None = None) -> Played:
        """Score each row before its label is used, learn it, and count."""
        rows = Rows(X, y, weights)
        if not self.prepared:
            self.prepare(rows)
            self.warm_up(rows)
        try:
            known = labelled_of(y)
            ready = self._ready(rows if known is None else self._filled(rows, known))
            with self.clock.running():
                answers, scores, switched = self._play(ready)
            if answers is None:
                answers = Labels(self.classes).labels_of(scores) if self.classifies else scores
            played = Played(answers, scores, switched, self._probabilities(scores))
            self._count(rows, known, played)
        except Exception as error:
            last = self.rounds + rows.n_rows
            error.add_note(f"{self.name} met this in rounds {self.rounds + 1} to {last}")
            raise
        self.rounds += rows.n_rows
        return played

    def _count(self, rows: Rows, known: np.ndarray | None, played: Played) -> None:
        """Count the rows that have a label; `known` says which, None that all have."""
        if known is None:
            self.tally.add(rows.y, rows.weights, played)
            return
        self.unlabelled += int(np.count_nonzero(~known))
        if known.any():
            weights = None if rows.weights is None else rows.weights[known]
            self.tally.add(labels_among(rows.y, known), weights, played.of(known))

    def _filled(self, rows: Rows, known: np.ndarray) -> Rows:
        """Return rows of which those without a label have any, and the weight 0."""
        del rows, known
        raise ValueError(f"{self.name} cannot learn a stream with rows that have no label")

    def checkpoint(self) -> Checkpoint:
        """Return what has been counted so far."""
        stored_points, state_bytes = self._sizes()
        return Checkpoint(
            model=self.name,
            rounds=self.rounds,
            unlabelled=self.unlabelled,
            **self.tally.figures(),
            seconds=self.clock.seconds,
            compile_seconds=self.compile_seconds,
            rounds_per_second=self.rounds / max(self.clock.seconds, 1e-9),
            stored_points=stored_points,
            state_bytes=state_bytes,
        )

    def _ready(self, rows: Rows) -> Rows:
        """Return what `_play` is given: work on rows that is not to be timed."""
        return rows

    def _play(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        """Return answers (None: those that the scores stand for), scores, and `Played.switched`."""
        raise NotImplementedError

    def _probabilities(self, scores: Any) -> np.ndarray | None:
        """Return the probability of each class for the rows just played; None if there is none."""
        del scores
        return None

    def _takes_weights(self) -> bool:
        return True

    def _loss(self) -> Loss | None:
        raise NotImplementedError

    def _sizes(self) -> tuple[int | None, int | None]:
        """Return the stored points and the bytes of state."""
        return None, None

    def _no_scores(self, n: int) -> np.ndarray:
        """Return the scores of a model that has learned nothing."""
        several = self.classifies and len(self.classes) > 2
        return np.zeros((n, len(self.classes)) if several else n)

    def _learning(self, rows: Rows) -> dict[str, Any]:
        """Return what a call that learns these rows is given beside X and y."""
        given, self.first_call = self.first_call, {}
        return given if rows.weights is None else {**given, "sample_weight": rows.weights}
