"""What is counted of a model: mistakes, losses and errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Matrix, Vector, entry
from forks.estimators.labels import Labels
from forks.evaluate.measures import ClassificationMeasures, RegressionMeasures
from forks.evaluate.measures.recent import added
from forks.losses import Loss, check_loss, value

SIGNS = np.array([-1.0, 1.0])  # the targets of a classification loss
_PREFIX = "measures."


def is_mistake(scores: Any, y: Any) -> np.ndarray:
    """Return which scores answer wrongly, for targets -1 and +1; a score of 0 answers +1."""
    return Labels(SIGNS).is_mistake(np.asarray(scores), y)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a model has done by the end of a round.

    Attributes
    ----------
    model : str
        Its name.
    rounds : int
        Rows predicted so far.
    unlabelled : int
        Those of them without a label, which were not learned; rates and means are of the others.
    mistakes : int or nan
        Wrong answers, every round counted; nan for a regressor.
    mistakes_as_published : int or nan
        As the FORKS paper counts: for learners of two stages (NOGD, SkeGD, FORKS) without the
        rounds up to the switch; the same as `mistakes` for others. Its rate divides by all rounds.
    recent_mistake_rate : float
        Share of wrong answers in the last rounds, `window` of them or all if there are fewer;
        nan for a regressor.
    loss : float
        Sum of the losses of the scores, times the weights where there are any; over all classes
        if there are more than two.
    absolute_error, squared_error : float
        Means over all rounds; nan for a classifier.
    seconds : float
        CPU time of predicting and learning, with BLAS on one thread.
    compile_seconds : float
        CPU time of compiling and loading machine code, before the first round; 0 for models from
        elsewhere.
    rounds_per_second : float
        Without compilation.
    stored_points, state_bytes : int or None
        Size of the model now; None for models from elsewhere.
    figures : dict
        Those of `ClassificationMeasures` or `RegressionMeasures`, by name.
    """

    model: str
    rounds: int
    unlabelled: int = 0
    mistakes: float = math.nan
    mistakes_as_published: float = math.nan
    recent_mistake_rate: float = math.nan
    loss: float
    absolute_error: float = math.nan
    squared_error: float = math.nan
    seconds: float
    compile_seconds: float
    rounds_per_second: float
    stored_points: int | None
    state_bytes: int | None
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def mistake_rate(self) -> float:
        """Share of wrong answers in all rounds with a label."""
        return self.mistakes / max(1, self.rounds - self.unlabelled)

    @property
    def mistake_rate_as_published(self) -> float:
        """The mistakes that the FORKS paper counts, divided by all rounds."""
        return self.mistakes_as_published / self.rounds


class Played(NamedTuple):
    """What a model answered to some rows, each before its label was used."""

    answers: np.ndarray  # labels or predicted numbers
    scores: np.ndarray | None  # as `decision_function` returns them; None if there are none
    switched: np.ndarray  # bool: was the round after the switch?
    probabilities: np.ndarray | None = None  # of each class; None if there are none

    def of(self, rows: np.ndarray) -> "Played":
        """Return what was answered to some of the rows."""
        parts: Any = (None if part is None else part[rows] for part in self)
        return Played(*parts)


class Tally:
    """Counts of a model: the figures of its answers, and the sum of its losses.

    `classes` are sorted, None for a regressor; `loss` is None to leave the losses out.
    """

    def __init__(
        self, classes: np.ndarray | None, loss: Loss | None, window: int, delay: int = 0
    ) -> None:
        self.classes = classes
        self.loss = loss
        self.total_loss = 0.0
        self.as_published = 0  # mistakes
        self.measures: Any = RegressionMeasures(window, delay)
        if classes is not None:
            self.measures = ClassificationMeasures(classes, window, delay)

    def add(self, y: np.ndarray, weights: np.ndarray | None, played: Played) -> None:
        """Count the next rows."""
        if self.classes is None:
            scores: Any = played.answers
            targets = y.astype(np.float64).reshape(-1, 1)
            self.measures.update(y, scores)
        else:
            answers, scores, switched, probabilities = played
            self.as_published += int(np.count_nonzero((answers != y) & switched))
            self.measures.update(y, answers, scores, probabilities, self.classes)
            positive = self.classes[1:] if len(self.classes) == 2 else self.classes
            targets = np.where(y[:, None] == positive, 1.0, -1.0)  # the model has checked them
        if self.loss is None or scores is None:
            self.total_loss = math.nan
            return
        losses = row_losses(self.loss, scores.reshape(targets.shape), targets)
        self.total_loss = added(self.total_loss, losses if weights is None else losses * weights)

    def figures(self) -> dict[str, Any]:
        """Return the figures of a checkpoint."""
        figures = {"loss": self.total_loss, "figures": self.measures.figures()}
        if self.classes is None:
            squared, absolute, *_ = (
                total / max(1, self.measures.rows) for total in self.measures.sums
            )
            return {**figures, "absolute_error": absolute, "squared_error": squared}
        mistakes, recent = self.measures.answers.mistakes()
        published = {"mistakes_as_published": self.as_published}
        return {**figures, **published, "mistakes": mistakes, "recent_mistake_rate": recent}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`."""
        measures = {_PREFIX + name: array for name, array in self.measures.arrays().items()}
        counts = np.array([self.as_published], np.int64)
        return {"counts": counts, "sums": np.array([self.total_loss]), **measures}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on counting from what `arrays` returned."""
        self.total_loss = float(
            arrays["sums"][0]
        )  # earlier versions kept more, which measures have
        self.as_published = 0 if self.classes is None else int(arrays["counts"][-1])
        own = {k.removeprefix(_PREFIX): v for k, v in arrays.items() if k.startswith(_PREFIX)}
        self.measures.restore(own)


def row_losses(loss: Loss, scores: Matrix, targets: Matrix) -> Vector:
    """Return the loss of each row, summed over its outputs."""
    loss = check_loss(loss)
    losses = np.zeros(scores.shape[0])
    scores = np.ascontiguousarray(scores, np.float64)
    _add_losses.over(loss)(loss, scores, np.ascontiguousarray(targets), losses)
    return losses


@entry
def _add_losses(loss, scores, targets, losses):
    for t in range(scores.shape[0]):
        for o in range(scores.shape[1]):
            losses[t] += value(loss, scores[t, o], targets[t, o])
