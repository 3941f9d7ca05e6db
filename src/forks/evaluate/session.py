"""One pass over a stream with one estimator: predictions, metrics, and checkpoints to go on from.

A checkpoint is one file, `checkpoint.forks` in its folder: the model, what was counted, the number
of rows and the lengths of the output files, written whole or not at all. The outputs are on the
disk before a checkpoint that knows of them. So a run may be killed at any moment: the next one
takes model, counts and outputs back to the last checkpoint, skips the rows that were learned, and
ends with the same bytes as a run that was never killed.
"""

import json
import math
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine.checks import whole
from forks.estimators.base import OnlineEstimator
from forks.estimators.labels import UnknownLabelError
from forks.estimators.saving import Saved
from forks.evaluate._curve import Curve
from forks.evaluate._interrupts import uninterrupted
from forks.evaluate._outputs import Output, Publisher
from forks.evaluate._relevance import by_feature, most_relevant
from forks.evaluate.files import read, save
from forks.evaluate.measures import ClassificationMeasures
from forks.evaluate.metrics import Played
from forks.evaluate.players import player_for
from forks.evaluate.predictions import Predictions, plain
from forks.evaluate.rows import Rows, labelled_of, labels_among, rows_of
from forks.files import ModelFileError, encode, remove_temporary
from forks.keyed.base import KeyedEstimator
from forks.keyed.encoded import encoder_beside, encoder_state

CHECKPOINT = "checkpoint.forks"
WINDOW = 1000  # rounds of the recent figures
_CURVE = ("rows", "rate", "recent")
_PATIENCE = 5.0  # seconds for predictions to arrive after an interrupt
_MOST_CLASSES = 20  # beyond, records have no confusion matrix


class StreamLabelError(UnknownLabelError):
    """A label that is not among the classes; `row` is counted from the stream's first, as 0."""

    @property
    def what(self) -> str:
        """What is wrong, without the row."""
        classes = ", ".join(map(plain, self.classes))
        return f"the label {plain(self.label)} is not among the classes {classes}"

    def __str__(self) -> str:
        return f"row {self.row + 1}: {self.what}; give all classes beforehand"


@dataclass(frozen=True)
class Finished:
    """The end of a run.

    Attributes
    ----------
    model : estimator
    rows : int
        Rows predicted and learned.
    figures : dict
        The last record of the metrics.
    curve : dict of arrays
        "rows", "rate" and "recent" at up to 257 rows from the first to the last: the mistake rate,
        or for a regressor the root mean squared error, over all rows so far and over the last
        1,000.
    records : array
        Rows at every record.
    relevance : dict of arrays
        By the number of a feature: its relevance at every record, 0 where it was not among the
        first ten. Those that mattered most come first; empty for learners that do not know it.
    """

    model: Any
    rows: int
    figures: dict[str, Any]
    curve: dict[str, np.ndarray]
    records: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    relevance: dict[int, np.ndarray] = field(default_factory=dict)


def learn(
    model: OnlineEstimator | KeyedEstimator,
    stream: Iterable[Any],
    *,
    classes: Any = None,
    every: int = 10_000,
    predictions: str | Path | None = None,
    metrics: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    note: Any = None,
    encoder: Any = None,
    beside: dict[str, Any] | None = None,
    state_after: Callable[[int], Any] | None = None,
    seconds: float | None = None,
    publisher: Publisher | None = None,
    on_end: Callable[[Any, Any, int], None] | None = None,
) -> Finished:
    """Predict each row of a stream before its label is used, learn it, and keep records.

    Parameters
    ----------
    model : estimator
        One of this package, or a keyed one; it learns in place, unless a run is resumed.
    stream : iterable of chunks (X, y) or (X, y, weights)
        From the beginning, also if a run is resumed, unless there is `state_after`. Results do
        not depend on how it is cut.
        Rows whose label is None or NaN are predicted, and not learned.
    classes : array, optional
        All labels that can occur. Without it those of the first chunk are known at first, and
        others may come later.
    every : int
        Rows from one record, and one checkpoint, to the next. There is one at the end, too.
    predictions : path, optional
        CSV file: row, prediction, score (score_A, score_B, ... for more than two classes),
        probability_A, probability_B, ... for learners that have probabilities, label.
    metrics : path, optional
        File of JSON lines, one a record.
    checkpoint : path, optional
        Folder for the checkpoint; made if it is not there.
    resume : bool
        Go on from the checkpoint, if there is one; begin if there is none.
    on_record : callable, optional
        Called with every record, a dict.
    note : JSON value, optional
        Kept in the checkpoint; a run with another note cannot be resumed.
    encoder : TableEncoder or KeyedEncoder, optional
        Encodes the rows of the stream, which are raw columns then. It has seen the first rows
        (`look`), learns each row with the model, and is kept in checkpoints.
    beside : dict of JSON values, optional
        Kept in checkpoints.
    state_after : callable, optional
        For streams that can be sought in: called with a number of rows, it returns where in the
        stream they end, a JSON value that a checkpoint keeps as "stream". A resumed stream then
        begins behind the rows of the checkpoint.
    seconds : float, optional
        After so many seconds there is a checkpoint in any case, between two chunks.
    publisher : object, optional
        Gets every prediction: `send(row, record)`, rows counted from 0, and `flush(patience)`,
        which returns whether all have arrived. They have before a checkpoint is written.
    on_end : callable, optional
        Called with the model, the encoder and the number of rows when the pass ends, also if an
        interrupt or an error ends it.

    Returns
    -------
    Finished

    Raises
    ------
    StreamLabelError
        If a label is not among the classes.

    Examples
    --------
    >>> from forks import OnlineKernelClassifier
    >>> from forks.evaluate import learn
    >>> from forks.streams import drifting
    >>> end = learn(OnlineKernelClassifier(), drifting(2000, seed=0), every=1000)
    >>> end.rows, end.figures["mistakes"] < 1000
    (2000, True)
    """
    whole("every", every, 1)
    with ExitStack() as stack:
        session = _Session(model, classes, every, checkpoint, note, on_record)
        session.encoder, session.beside = encoder, beside or {}
        session.state_after, session.seconds = state_after, seconds
        session.publisher = publisher
        lengths = session.restore(resume)
        session.predictions, session.metrics = (
            stack.enter_context(closing(Output(None if path is None else Path(path), length)))
            for path, length in zip((predictions, metrics), lengths, strict=True)
        )
        try:
            session.play(stream)
        finally:
            if on_end is not None and session.player.rounds > 0:
                on_end(session.player.model, session.encoder, session.player.rounds)
    return session.finished()


class _Session:
    publisher: Publisher | None = None
    predictions: Output
    metrics: Output
    encoder: Any = None
    beside: dict[str, Any]  # kept in checkpoints
    state_after: Callable[[int], Any] | None = None
    seconds: float | None = None

    def __init__(
        self, model: Any, classes: Any, every: int, checkpoint: Any, note: Any, on_record: Any
    ) -> None:
        parameters = {k: encode(k, v) for k, v in model.get_params(deep=False).items()}
        name = type(model).__name__
        described = {"estimator": name, "parameters": parameters}
        self.settings = {"every": every, "model": described, "note": note}  # to be resumed with
        self.player: Any = player_for(name, model, window=WINDOW, classes=classes)
        self.every = every
        self.folder = None if checkpoint is None else Path(checkpoint)
        self.on_record = on_record
        self.recorded = 0  # rows at the last record
        self.saved = 0  # rows at the last checkpoint
        self.saved_at = time.monotonic()
        self.curve = Curve(WINDOW)
        self.records: list[int] = []  # rows at each record
        self.columns: list[str] | None = None  # classes that predictions have columns of
        self.relevance: list[list[float]] = []  # of each record: numbers of features, then values

    # ---- checkpoints -------------------------------------------------------------------------

    def restore(self, resume: bool) -> tuple[int | None, int | None]:
        """Take everything back to the checkpoint; return the lengths of the outputs, if any."""
        if self.folder is None:
            if resume:
                raise ValueError("resume needs the folder of a checkpoint")
            return None, None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / CHECKPOINT
        if not path.exists():
            remove_temporary(self.folder)
            return None, None
        if not resume:
            raise ValueError(f"{path} is there already: resume that run, or remove it")
        remove_temporary(self.folder)
        saved = read(path, getattr(self.player.model, "folder", None))
        try:
            return self._restore(path, saved)
        except (KeyError, TypeError, IndexError) as error:
            raise ModelFileError(f"{path} cannot be loaded: it is no checkpoint: {error}") from None

    def _restore(self, path: Path, saved: Saved) -> tuple[int, int]:
        run, now = saved.note["run"], self.settings
        before = {name: run[name] for name in now}
        if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            raise ValueError(f"{path} is of a run with another {_difference(before, now)}")
        self.saved, self.recorded = int(run["rows"]), int(run["recorded"])
        if "curve_sizes" not in saved.arrays:
            raise ValueError(
                f"{path} is of an earlier version, which counted less: its model can be learned on "
                "with, but not its figures"
            )
        self.curve.restore(saved.arrays)
        self.columns = run["columns"]
        self.records, self.relevance = (saved.arrays[n].tolist() for n in ("records", "relevance"))
        name, is_open = self.player.name, self.player.is_open
        self.player = player_for(name, saved.model, window=WINDOW)
        self.player.is_open = is_open
        self.player.resume(self.saved, saved.arrays, int(run.get("unlabelled", 0)))
        if self.encoder is not None:
            self.encoder = encoder_beside(saved)
        return int(run["predictions"]), int(run["metrics"])

    def save(self) -> None:
        """Write a checkpoint, after what it knows of is on the disk."""
        self.saved, self.saved_at = self.player.rounds, time.monotonic()
        to_disk = self.folder is not None
        self.predictions.flush(to_disk)
        self.metrics.flush(to_disk)
        if self.folder is None:
            return
        run = {
            **self.settings,
            "rows": self.player.rounds,
            "unlabelled": self.player.unlabelled,
            "recorded": self.recorded,
            "predictions": self.predictions.length,
            "metrics": self.metrics.length,
            "columns": self.columns,
        }
        width = len(self.relevance[0]) if self.relevance else 0
        relevance = np.array(self.relevance, dtype=float).reshape(len(self.relevance), width)
        records = {"records": np.array(self.records, np.int64), "relevance": relevance}
        arrays = {**self.curve.arrays(), **records, **self.player.tally.arrays()}
        known, encoded = encoder_state(self.encoder)
        kept = {**self.beside, **known, "run": run}
        if self.state_after is not None:
            kept["stream"] = self.state_after(self.player.rounds)
        save(self.folder / CHECKPOINT, self.player.model, kept, {**arrays, **encoded})

    # ---- the pass ----------------------------------------------------------------------------

    def play(self, stream: Iterable[Any]) -> None:
        """Play what is left of the stream."""
        to_skip = 0 if self.state_after is not None else self.player.rounds
        try:
            for number, chunk in enumerate(stream):
                rows = rows_of(chunk, number)
                skipped = min(to_skip, rows.n_rows)
                to_skip -= skipped
                if not self.player.prepared and rows.n_rows > 0:
                    self.player.prepare(rows)  # looks at the labels
                due = self.every - self.player.rounds % self.every
                for part in rows.part(skipped, rows.n_rows).parts(due, self.every):
                    with uninterrupted():
                        self._play_rows(part)
                    self._deliver()
                    if self.player.rounds % self.every == 0:
                        with uninterrupted():
                            self.save()
                self.predictions.flush(to_disk=False)  # a pipe may pause now
                self._save_if_due()
            if to_skip:
                rounds = self.player.rounds
                raise ValueError(
                    f"the stream has {rounds - to_skip:,} rows, but the checkpoint has learned "
                    f"{rounds:,}"
                )
        except (KeyboardInterrupt, ValueError):  # what was learned is not lost
            if self.player.rounds > self.saved and self._deliver(_PATIENCE):
                self.save()
            raise
        if self.player.rounds == 0:
            raise ValueError("the stream has no rows")
        with uninterrupted():
            if self.player.rounds > self.recorded:
                self._record()
            self.save()

    def _save_if_due(self) -> None:
        """Write a checkpoint if the last one is some time ago."""
        late = self.seconds is not None and time.monotonic() >= self.saved_at + self.seconds
        if late and self.player.rounds > self.saved:
            with uninterrupted():
                self.save()

    def _play_rows(self, rows: Rows) -> None:
        player, before = self.player, self.player.rounds
        if self.encoder is not None:
            rows = rows._replace(X=self.encoder.learn_transform(rows.X, rows.y))
        try:
            played = player.play(*rows)
        except UnknownLabelError as error:
            raise StreamLabelError(before + error.row, error.label, error.classes) from None
        self._trace(rows.y, played)
        self._tell(before, played, rows.y)
        if player.rounds % self.every == 0:
            self._record()

    def _deliver(self, patience: float | None = None) -> bool:
        """Return whether all predictions have arrived where they are published, if they are."""
        return self.publisher is None or self.publisher.flush(patience)

    def _tell(self, before: int, played: Played, y: np.ndarray) -> None:
        """Publish and write predictions; `before` is the number of rows that come before."""
        classes, table = None, Predictions(played.answers, y=y)
        if self.player.classifies:
            classes = self.player.classes
            table = table._replace(scores=played.scores, probabilities=played.probabilities)
        if self.publisher is not None:
            for i, record in enumerate(table.records(before, classes)):
                self.publisher.send(before + i, record)
        if self.predictions.path is None:
            return
        if self.columns is None:
            self.columns = [] if classes is None else [plain(label) for label in classes]
            self.predictions.write(table.heading(classes))
        elif classes is not None:
            table = table.with_columns(classes, self.columns)
        self.predictions.write(table.lines(before))

    def _trace(self, y: np.ndarray, played: Played) -> None:
        """Add the rows that have a label to the curve."""
        known = labelled_of(y)
        answers = played.answers if known is None else played.answers[known]
        labels = labels_among(y, known)
        if self.player.classifies:
            self.curve.update((answers != labels).astype(float))
        else:
            self.curve.update((answers - labels) ** 2)

    def figures(self) -> dict[str, Any]:
        """Return the record of now."""
        at = self.player.checkpoint()
        names = ("mistakes", "mistake_rate", "recent_mistake_rate")
        rates = {name: getattr(at, name) for name in names}
        if not self.player.classifies:
            root = math.sqrt(at.squared_error)
            rates = {"root_mean_squared_error": root, "mean_absolute_error": at.absolute_error}
        sizes = {"stored_points": at.stored_points, "state_bytes": at.state_bytes}
        counted = max(1, at.rounds - at.unlabelled)
        figures = {"rows": at.rounds, **rates, "mean_loss": at.loss / counted, **sizes}
        if at.unlabelled:
            figures["unlabelled"] = at.unlabelled
        figures |= {name: value for name, value in at.figures.items() if name not in figures}
        figures = {name: _or_none(value) for name, value in figures.items()}
        return figures | (_tables(self.player.tally.measures) if self.player.classifies else {})

    def _record(self) -> None:
        figures = self.figures()
        self.recorded = self.player.rounds
        self.metrics.write(json.dumps(figures) + "\n")
        self.records.append(self.recorded)
        self.relevance.append(most_relevant(self.player.model))
        if self.on_record is not None:
            self.on_record(figures)

    def finished(self) -> Finished:
        """Return the end of the run."""
        curve = dict(zip(_CURVE, self.curve.table().T, strict=True))
        if not self.player.classifies:
            curve |= {name: np.sqrt(curve[name]) for name in ("rate", "recent")}
        records, relevance = np.array(self.records, np.int64), by_feature(self.relevance)
        model, rows = self.player.model, self.player.rounds
        return Finished(model, rows, self.figures(), curve, records, relevance)


def _tables(measures: ClassificationMeasures) -> dict[str, Any]:
    """Return classes and confusion matrices, if there are not many classes."""
    if len(measures.classes) > _MOST_CLASSES:
        return {}
    return {
        "classes": [plain(label) for label in measures.classes],
        "confusion": measures.confusion.tolist(),
        "recent_confusion": measures.recent_confusion.tolist(),
    }


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return what differs between the settings of two runs."""
    which = [name for name in now if before[name] != now[name]]
    one, other = before["note"], now["note"]
    if "note" in which and isinstance(one, dict) and isinstance(other, dict):
        which = [name for name in which if name not in ("note", "model")]  # which notes explain
        which += [k for k in sorted(one.keys() | other.keys()) if one.get(k) != other.get(k)]
    return ", ".join(which)


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
