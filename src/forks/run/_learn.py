"""One pass over a stream with one model: predictions, metrics, and checkpoints to go on from.

A checkpoint is one file, `checkpoint.forks` in its folder: the model, what was counted, the number
of rows and the lengths of the output files, written whole or not at all. The outputs are on the
disk before a checkpoint that knows of them. So a run may be killed at any moment: the next one
takes model, counts and outputs back to the last checkpoint, skips the rows that were learned, and
ends with the same bytes as a run that was never killed.
"""

import json
import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from forks.engine.checks import whole as check_whole
from forks.estimators.base import OnlineEstimator
from forks.estimators.labels import labels_for
from forks.estimators.saving import Saved, read, save
from forks.evaluate.metrics import ClassTally, ErrorTally, Played
from forks.files import ModelFileError, encode, remove_temporary
from forks.losses import Hinge, SquaredError
from forks.run._interrupts import whole
from forks.run._outputs import Output

CHECKPOINT = "checkpoint.forks"
WINDOW = 1000  # rounds of the recent mistake rate
_CURVE = ("rows", "rate", "recent")


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
        "rows", "rate" and "recent" of every record: mistake rates, or for a regressor the root
        mean squared error and the mean absolute error.
    """

    model: Any
    rows: int
    figures: dict[str, Any]
    curve: dict[str, np.ndarray]


def learn(
    model: OnlineEstimator,
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
) -> Finished:
    """Predict each row of a stream before its label is used, learn it, and keep records.

    Parameters
    ----------
    model : estimator
        One of this package; it learns in place, unless a run is resumed.
    stream : iterable of chunks (X, y)
        From the beginning, also if a run is resumed. Results do not depend on how it is cut.
    classes : array, optional
        All labels that can occur; without it the first chunk must hold them.
    every : int
        Rows from one record, and one checkpoint, to the next. There is one at the end, too.
    predictions : path, optional
        CSV file: row, prediction, score (one column a class for more than two), label.
    metrics : path, optional
        File of JSON lines, one a record.
    checkpoint : path, optional
        Folder for the checkpoint; made if it is not there.
    resume : bool
        Go on from the checkpoint, if there is one; begin if there is none.
    on_record : callable, optional
        Is given every record.
    note : JSON value, optional
        Kept in the checkpoint; one with another note is not gone on from.

    Returns
    -------
    Finished

    Examples
    --------
    >>> from forks import FORKSClassifier
    >>> from forks.run import learn
    >>> from forks.streams import drifting
    >>> end = learn(FORKSClassifier(), drifting(2000, seed=0), every=1000)
    >>> end.rows, end.figures["mistakes"] < 500
    (2000, True)
    """
    check_whole("every", every, 1)
    with ExitStack() as stack:
        run = _Run(model, every, classes, note, on_record)
        run.folder = None if checkpoint is None else Path(checkpoint)
        lengths = run.restore(resume)
        run.predictions, run.metrics = (
            stack.enter_context(Output(None if path is None else Path(path), length))
            for path, length in zip((predictions, metrics), lengths, strict=True)
        )
        run.play(stream)
    curve = dict(zip(_CURVE, np.array(run.curve, dtype=float).reshape(-1, 3).T, strict=True))
    return Finished(run.model, run.rows, run.figures(), curve)


class _Run:
    predictions: Output
    metrics: Output
    folder: Path | None

    def __init__(self, model: Any, every: int, classes: Any, note: Any, on_record: Any) -> None:
        self.model = model
        self.described = _described(model)  # before learning changes its generator
        self.every = every
        self.classes: Any = None if classes is None else np.unique(classes)
        self.note = note
        self.on_record = on_record
        self.rows = 0
        self.recorded = 0  # rows at the last record
        self.curve: list[tuple[float, ...]] = []
        self.tally: ClassTally | ErrorTally | None = None

    # ---- checkpoints -------------------------------------------------------------------------

    def restore(self, resume: bool) -> tuple[int | None, int | None]:
        """Take everything back to the checkpoint; give the lengths of the outputs, if any."""
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
        saved = read(path)
        try:
            return self._restore(path, saved)
        except (KeyError, TypeError, IndexError) as error:
            raise ModelFileError(f"{path} cannot be loaded: it is no checkpoint: {error}") from None

    def _restore(self, path: Path, saved: Saved) -> tuple[int, int]:
        run = saved.note["run"]
        now = {"every": self.every, "model": self.described, "note": self.note}
        before = {name: run[name] for name in now}
        if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            which = [name for name in now if before[name] != now[name]]
            raise ValueError(f"{path} is of a run with another {', '.join(which)}")
        self.rows, self.recorded = int(run["rows"]), int(run["recorded"])
        self.model = saved.model
        self.curve = [tuple(point) for point in saved.arrays["curve"].tolist()]
        if self.rows:
            if self.model._task == "classification":
                self.classes = self.model.classes_
            self.tally = self._new_tally()
            _restore_tally(self.tally, saved.arrays)
        return int(run["predictions"]), int(run["metrics"])

    def save(self) -> None:
        """Write a checkpoint, after what it knows of is on the disk."""
        to_disk = self.folder is not None
        self.predictions.flush(to_disk)
        self.metrics.flush(to_disk)
        if self.folder is None:
            return
        run = {
            "every": self.every,
            "model": self.described,
            "note": self.note,
            "rows": self.rows,
            "recorded": self.recorded,
            "predictions": self.predictions.length,
            "metrics": self.metrics.length,
        }
        curve = np.array(self.curve, dtype=float).reshape(-1, 3)
        arrays = {"curve": curve, **({} if self.tally is None else _tally_arrays(self.tally))}
        save(self.folder / CHECKPOINT, self.model, {"run": run}, arrays)

    # ---- the pass ----------------------------------------------------------------------------

    def play(self, stream: Iterable[Any]) -> None:
        """Play what is left of the stream."""
        saved_at = self.rows
        to_skip = self.rows
        try:
            for X, y in stream:
                skipped = min(to_skip, len(y))
                to_skip -= skipped
                start = skipped
                while start < len(y):
                    stop = min(start + self.every - self.rows % self.every, len(y))
                    with whole():
                        self._play_rows(X[start:stop], np.asarray(y[start:stop]))
                        if self.rows % self.every == 0:
                            self._record()
                            self.save()
                            saved_at = self.rows
                    start = stop
            if to_skip:
                raise ValueError(
                    f"the stream has {self.rows - to_skip:,} rows, but the checkpoint has learned "
                    f"{self.rows:,}"
                )
        except KeyboardInterrupt:
            if self.rows > saved_at:
                self.save()
            raise
        with whole():
            if self.rows > self.recorded:
                self._record()
            if self.rows == 0:
                raise ValueError("the stream has no rows")
            self.save()

    def _play_rows(self, X: Any, y: np.ndarray) -> None:
        model: Any = self.model
        classifies = model._task == "classification"
        known = {}
        if classifies:
            if self.classes is None:
                self.classes = np.unique(y)
            self._check_labels(y)
            known = {"classes": self.classes}
        X = X if sparse.issparse(X) or hasattr(X, "iloc") else np.ascontiguousarray(X)
        scores = model.prequential(X, y, **known)
        if self.tally is None:
            self.tally = self._new_tally()
            self.predictions.write(self._heading())
        answers = labels_for(self.classes, scores) if classifies else scores
        self.tally.add(y, None, Played(answers, scores, np.ones(len(y), bool)))
        if self.predictions.path is not None:
            self.predictions.write(prediction_lines(self.rows, answers, scores, y))
        self.rows += len(y)

    def _check_labels(self, y: np.ndarray) -> None:
        unknown = ~np.isin(y, self.classes)
        if unknown.any():
            at = int(np.argmax(unknown))
            raise ValueError(
                f"row {self.rows + at + 1}: the label {plain(y[at])} is not among the classes "
                f"{', '.join(map(plain, self.classes))}; give all classes beforehand"
            )

    def _heading(self) -> str:
        return heading(self.classes if self.model._task == "classification" else None, True)

    def _new_tally(self) -> ClassTally | ErrorTally:
        loss = getattr(self.model.learner_, "loss", Hinge())
        if self.model._task == "classification":
            return ClassTally(np.asarray(self.classes), loss, WINDOW)
        return ErrorTally(loss or SquaredError())

    def figures(self) -> dict[str, Any]:
        """Return the record of now."""
        assert self.tally is not None
        counted = self.tally.figures(self.rows)
        figures: dict[str, Any] = {"rows": self.rows}
        if isinstance(self.tally, ClassTally):
            figures["mistakes"] = counted["mistakes"]
            figures["mistake_rate"] = counted["mistakes"] / self.rows
            figures["recent_mistake_rate"] = counted["recent_mistake_rate"]
        else:
            figures["root_mean_squared_error"] = math.sqrt(counted["squared_error"])
            figures["mean_absolute_error"] = counted["absolute_error"]
        figures["mean_loss"] = counted["loss"] / self.rows
        figures["stored_points"] = self.model.engine_.stored_points
        figures["state_bytes"] = self.model.engine_.state_bytes
        return {name: _or_none(value) for name, value in figures.items()}

    def _record(self) -> None:
        figures = self.figures()
        self.recorded = self.rows
        self.metrics.write(json.dumps(figures) + "\n")
        point = list(figures.values())
        two = point[2:4] if "mistakes" in figures else point[1:3]
        self.curve.append((float(self.rows), *(math.nan if v is None else v for v in two)))
        if self.on_record is not None:
            self.on_record(figures)


def _described(model: Any) -> dict[str, Any]:
    parameters = {k: encode(k, v) for k, v in model.get_params(deep=False).items()}
    return {"estimator": type(model).__name__, "parameters": parameters}


def _tally_arrays(tally: ClassTally | ErrorTally) -> dict[str, np.ndarray]:
    if isinstance(tally, ClassTally):
        counts = np.array([tally.mistakes, tally.as_published], np.int64)
        recent = tally.recent.astype(np.uint8)
        return {"counts": counts, "recent": recent, "sums": np.array([tally.total_loss])}
    return {"sums": np.array([tally.total_loss, tally.absolute, tally.squared])}


def _restore_tally(tally: ClassTally | ErrorTally, arrays: dict[str, np.ndarray]) -> None:
    if isinstance(tally, ClassTally):
        tally.mistakes, tally.as_published = arrays["counts"].tolist()
        tally.recent = arrays["recent"].astype(bool)
        (tally.total_loss,) = arrays["sums"].tolist()
    else:
        tally.total_loss, tally.absolute, tally.squared = arrays["sums"].tolist()


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- predictions as text ---------------------------------------------------------------------


def plain(value: Any) -> str:
    """Return a label or a number as text: whole numbers without a point."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def heading(classes: np.ndarray | None, labelled: bool) -> str:
    """Return the first line of a file of predictions; `classes` of a classifier."""
    names = ["row", "prediction"]
    if classes is not None:
        several = [f"score {plain(label)}" for label in classes]
        names += ["score"] if len(classes) == 2 else several
    return ",".join(map(_cell, [*names, *(["label"] if labelled else [])])) + "\n"


def prediction_lines(
    before: int, answers: np.ndarray, scores: np.ndarray | None, y: np.ndarray | None
) -> str:
    """Return a line a row: its number, the answer, the scores unless they are it, and the label."""
    columns: list[Any] = [range(before + 1, before + 1 + len(answers))]
    columns.append([_cell(plain(answer)) for answer in answers])
    if scores is not None and scores is not answers:
        columns += [map(repr, column) for column in np.atleast_2d(scores.T).tolist()]
    if y is not None:
        columns.append([_cell(plain(label)) for label in y])
    return "".join(",".join(map(str, cells)) + "\n" for cells in zip(*columns, strict=True))
