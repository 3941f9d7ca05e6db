"""What is counted of a model: mistakes, losses and errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Matrix, Vector, entry
from forks.estimators.labels import Labels
from forks.evaluate.measures import ClassificationMeasures, RegressionMeasures
from forks.losses import Loss, check_loss, value

SIGNS = np.array([-1.0, 1.0])  # the targets of a classification loss


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


class ClassTally:
    """Counts of a classifier; `classes` are sorted, and `loss` is None to leave the losses out."""

    def __init__(self, classes: np.ndarray, loss: Loss | None, window: int, delay: int = 0) -> None:
        self.classes = classes
        self.loss = loss
        self.window = window
        self.mistakes = 0
        self.as_published = 0
        self.recent = np.zeros(0, bool)
        self.total_loss = 0.0
        self.measures = ClassificationMeasures(classes, window, delay)

    def add(self, y: np.ndarray, weights: np.ndarray | None, played: Played) -> None:
        """Count the next rows."""
        wrong = played.answers != y
        self.mistakes += int(np.count_nonzero(wrong))
        self.as_published += int(np.count_nonzero(wrong & played.switched))
        self.recent = np.concatenate([self.recent, wrong])[-self.window :]
        scores, probabilities = played.scores, played.probabilities
        self.measures.update(y, played.answers, scores, probabilities, self.classes)
        if self.loss is None or played.scores is None:
            self.total_loss = math.nan
            return
        positive = self.classes[1:] if len(self.classes) == 2 else self.classes
        targets = np.where(y[:, None] == positive, 1.0, -1.0)  # the model has checked the labels
        losses = row_losses(self.loss, played.scores.reshape(targets.shape), targets)
        self.total_loss = _sum(self.total_loss, losses, weights)

    def figures(self, rounds: int) -> dict[str, Any]:
        """Return the figures of a checkpoint."""
        del rounds
        return {
            "mistakes": self.mistakes,
            "mistakes_as_published": self.as_published,
            "recent_mistake_rate": float(np.mean(self.recent)) if len(self.recent) else math.nan,
            "loss": self.total_loss,
            "figures": self.measures.figures(),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything counted so far, for `restore`."""
        counts = np.array([self.mistakes, self.as_published], np.int64)
        recent = self.recent.astype(np.uint8)
        sums = np.array([self.total_loss])
        return {"counts": counts, "recent": recent, "sums": sums, **_named(self.measures)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on counting from what `arrays` returned."""
        self.mistakes, self.as_published = arrays["counts"].tolist()
        self.recent = arrays["recent"].astype(bool)
        (self.total_loss,) = arrays["sums"].tolist()
        _restore(self.measures, arrays)


class ErrorTally:
    """Sums of a regressor; without a loss, those of the errors only."""

    def __init__(self, loss: Loss | None, window: int = 1000, delay: int = 0) -> None:
        self.loss = loss
        self.absolute = 0.0
        self.squared = 0.0
        self.total_loss = 0.0
        self.measures = RegressionMeasures(window, delay)

    def add(self, y: np.ndarray, weights: np.ndarray | None, played: Played) -> None:
        """Add the next rows."""
        y = y.astype(np.float64)
        errors = played.answers - y
        self.absolute = _sum(self.absolute, np.abs(errors), None)
        self.squared = _sum(self.squared, errors**2, None)
        self.measures.update(y, played.answers)
        if self.loss is None:
            self.total_loss = math.nan
            return
        losses = row_losses(self.loss, played.answers.reshape(-1, 1), y.reshape(-1, 1))
        self.total_loss = _sum(self.total_loss, losses, weights)

    def figures(self, rounds: int) -> dict[str, Any]:
        """Return the figures of a checkpoint."""
        return {
            "loss": self.total_loss,
            "absolute_error": self.absolute / rounds,
            "squared_error": self.squared / rounds,
            "figures": self.measures.figures(),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything added up so far, for `restore`."""
        sums = np.array([self.total_loss, self.absolute, self.squared])
        return {"sums": sums, **_named(self.measures)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` returned."""
        self.total_loss, self.absolute, self.squared = arrays["sums"].tolist()
        _restore(self.measures, arrays)


Tally = ClassTally | ErrorTally
_PREFIX = "measures."


def _named(measures: ClassificationMeasures | RegressionMeasures) -> dict[str, np.ndarray]:
    return {_PREFIX + name: array for name, array in measures.arrays().items()}


def _restore(
    measures: ClassificationMeasures | RegressionMeasures, arrays: dict[str, np.ndarray]
) -> None:
    """Take measures back to what `_named` returned."""
    own = {k.removeprefix(_PREFIX): v for k, v in arrays.items() if k.startswith(_PREFIX)}
    measures.restore(own)


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


def _sum(total: float, numbers: Vector, weights: np.ndarray | None) -> float:
    """Add numbers one after the other, so that no bit depends on how the stream is cut."""
    if weights is not None:
        numbers = numbers * weights
    return float(np.cumsum(np.concatenate([[total], numbers]))[-1])
