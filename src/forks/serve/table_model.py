"""A model of tables that learns while it answers: encoder, estimator and figures.

It starts from nothing. The first rows are kept until there are enough of them to tell what the
columns hold and what the task is; till then the answer is the label that came most often, or the
mean. From then on results do not depend on how the rows were cut into batches, so that a replay
of all rows gives the same model, bit for bit.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forks.engine.checks import whole
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.saving import Saved, as_bytes
from forks.evaluate import ClassificationMeasures, RegressionMeasures
from forks.evaluate.files import save
from forks.evaluate.predictions import probabilities_of
from forks.features import TableEncoder
from forks.files import ModelFileError
from forks.keyed import KeyedClassifier, KeyedRegressor
from forks.keyed.base import KeyedEstimator
from forks.keyed.encoded import encoder_beside, encoder_state
from forks.keyed.tables import KeyedEncoder, KeyedRows, dense_encoder, keys_of, without
from forks.serve.labels import LabelKind, check_lengths, check_number, kind_of_labels
from forks.serve.tables import Batch

FIRST = 100  # rows that columns and task are found from
_MOST_FIRST = 10_000  # if all labels are alike
_MEASURES = "measures."
_SLICE = 256  # rows that are learned before others have a turn


@dataclass(frozen=True)
class Settings:
    """What a model is begun with."""

    effort: str = "balanced"
    task: str | None = None  # by default found from the first labels
    seed: int = 0
    key: str | None = None  # the column of keys, for one model per key
    max_keys: int | None = None  # that are in memory; others are on disk
    max_classes: int = 100  # different labels; each makes the model larger

    def check_numbers(self) -> None:
        """Raise an error if the key, or what is counted, is wrong."""
        if not (self.key is None or (isinstance(self.key, str) and self.key)):
            raise ValueError(f"key must be the name of a column, got {self.key!r}")
        if self.max_keys is not None:
            whole("max_keys", self.max_keys, 1, 2**31 - 1)
        whole("max_classes", self.max_classes, 2, 2**31 - 1)


class Answers(NamedTuple):
    """Predictions of rows."""

    labels: list[Any]
    probabilities: list[list[float]] | None  # of the classes, in their order
    classes: list[Any] | None

    def part(self, start: int, stop: int) -> "Answers":
        shares = None if self.probabilities is None else self.probabilities[start:stop]
        return Answers(self.labels[start:stop], shares, self.classes)

    @classmethod
    def joined(cls, parts: list["Answers"]) -> "Answers":
        """Return the answers of parts; classes that came late have had no probability before."""
        classes = parts[-1].classes
        labels = [label for part in parts for label in part.labels]
        if classes is None or parts[-1].probabilities is None:
            return cls(labels, None, classes)
        shares: list[list[float]] = []
        for part in parts:
            if part.classes == classes:
                shares += part.probabilities or []
                continue
            known = {label: i for i, label in enumerate(part.classes or [])}
            places = [known.get(label, -1) for label in classes]
            for row in part.probabilities or []:
                shares.append([row[i] if i >= 0 else 0.0 for i in places])
        return cls(labels, shares, classes)


class TableModel:
    """The model; not safe for threads by itself."""

    def __init__(self, settings: Settings | None = None, folder: Path | None = None) -> None:
        self.settings = settings or Settings()
        self.folder = folder  # of keys that are not in memory
        self.encoder: Any = None  # of the columns
        self.estimator: Any = None
        self.measures: Any = None
        self.kind: LabelKind | None = None  # of the labels
        self.rounds = 0  # rows learned
        self.first = Batch.of_columns({}, [], None)  # kept until the columns are known

    @property
    def ready(self) -> bool:
        """Whether the columns and the task are known."""
        return self.estimator is not None

    @property
    def task(self) -> str | None:
        """The task, if it is known."""
        return self.estimator._task if self.ready else self.settings.task

    # ---- answers -----------------------------------------------------------------------------

    def answer(self, batch: Batch) -> Answers:
        """Predict what comes next in the stream."""
        if not self.ready:
            self._check_keys(batch)
            return self._base(len(batch))
        scores = self.estimator.score_ahead(*_given(self._encoded(batch)))
        return self._answers(scores)

    def _encoded(self, batch: Batch) -> Any:
        if self.encoder is None:
            return batch.matrix(self.estimator)
        return self.encoder.transform(batch.columns_for(self.encoder))

    def _base(self, n: int) -> Answers:
        labels = self.first.labels
        if not labels:
            return Answers([None] * n, None, None)
        if self._task_of(labels) == "regression":
            return Answers([float(np.mean(labels))] * n, None, None)
        return Answers([Counter(labels).most_common(1)[0][0]] * n, None, None)

    def _answers(self, scores: np.ndarray, y: np.ndarray | None = None) -> Answers:
        """Return the answers that scores stand for; with labels, count how right they are."""
        model = self.estimator
        if y is not None and self.measures is None:
            self.measures = self._new_measures()
        if model._task == "regression":
            if y is not None:
                self.measures.update(y, scores)
            return Answers(scores.tolist(), None, None)
        labels = model.labels_of(scores)
        keyed = isinstance(model, KeyedEstimator)
        shares = (
            model.probabilities_of(scores) if keyed else probabilities_of(model.learner_, scores)
        )
        if y is not None:
            self.measures.update(y, labels, scores, shares, model.classes_)
        listed = None if shares is None else shares.tolist()
        return Answers(labels.tolist(), listed, model.classes_.tolist())

    # ---- learning ----------------------------------------------------------------------------

    def check(self, batch: Batch) -> None:
        """Raise an error if the batch cannot be learned, whatever its cells are."""
        known = self.kind
        if known is None and self.first.labels:
            known = kind_of_labels(self.first.labels)
        kind = kind_of_labels(batch.labels, known)
        if kind is LabelKind.TEXT:
            check_lengths(batch.labels)
        if self.task == "regression" and kind is not LabelKind.NUMBER:
            raise ValueError(f"labels must be numbers in a regression, got {batch.labels[0]!r}")

    def _check_number(self, batch: Batch) -> None:
        """Raise an error if there would be too many classes; those of a file stay."""
        most = self.settings.max_classes
        if self.ready:
            if self.task == "classification":
                check_number(batch.labels, self.estimator.classes_.tolist(), most)
            return
        first = [*self.first.labels, *batch.part(0, self._enough(batch)).labels]
        if self._task_of(first) == "classification":
            check_number(batch.labels, set(self.first.labels), most)

    def _check_keys(self, batch: Batch) -> None:
        """Raise an error if a row of a model that is not ready has no key."""
        if self.settings.key is not None:
            keys_of({self.settings.key: [None] * len(batch), **batch.columns}, self.settings.key)

    def learn(self, batch: Batch, give_way: Callable[[], None] | None = None) -> Answers:
        """Predict each row before its label is used, learn it, and count how it went.

        `give_way` is called now and then: others may use the model meanwhile. After a `ValueError`
        the model is as it was before.
        """
        self.check(batch)
        self._check_number(batch)
        if self.ready:
            answers = self._play(batch, give_way)
            self.rounds += len(batch)
            return answers
        self._check_keys(batch)
        before = dict(vars(self))
        try:
            return self._learn_first(batch)
        except ValueError:
            vars(self).update(before)  # what was made of the first rows is gone, but they stay
            raise

    def _learn_first(self, batch: Batch) -> Answers:
        """Keep the first rows; begin, once there are enough of them."""
        base, n = self._base(len(batch)), self._enough(batch)
        self.first = Batch.concatenated([self.first, batch.part(0, n)])
        if len(self.first) < FIRST or not self._can_begin(self.first.labels):
            self.first = self.first.part(max(0, len(self.first) - _MOST_FIRST), len(self.first))
            self.rounds += len(batch)
            return base
        self._begin()
        rest = batch.part(n, len(batch))
        later = self._play(rest) if len(rest) else base.part(0, 0)
        self.rounds += len(batch)
        return Answers(base.labels[:n] + later.labels, None, later.classes)

    def _enough(self, batch: Batch) -> int:
        """Return how many rows of a batch are to be kept with the first ones."""
        labels = [*self.first.labels, *batch.labels]
        n = max(FIRST, len(self.first) + 1)
        while n <= len(labels) and not self._can_begin(labels[:n]):
            n = next((i + 1 for i, y in enumerate(labels) if y != labels[0]), len(labels) + 1)
        return min(n - len(self.first), len(batch))

    def _can_begin(self, labels: list[Any]) -> bool:
        return len(set(labels)) > 1 or self._task_of(labels) == "regression"

    def _task_of(self, labels: list[Any]) -> str:
        return self.settings.task or kind_of_labels(labels).task(labels)

    def _begin(self) -> None:
        first, task = self.first, self._task_of(self.first.labels)
        self.estimator = self._new_estimator(task)
        if self.settings.key is None:
            encoder: Any = TableEncoder(task=task).look(first.columns, first.labels)
        else:
            rest = without(first.columns, self.settings.key)
            encoder = KeyedEncoder(self.settings.key, dense_encoder(rest, first.labels, task))
        self.encoder, self.kind = encoder, kind_of_labels(first.labels)
        self.first = Batch.of_columns({}, [], None)
        self._play(first)

    def _new_estimator(self, task: str) -> Any:
        told = self.settings
        made: dict[str, Any] = {"effort": told.effort, "random_state": told.seed}
        if told.key is not None:
            keyed: Any = {"classification": KeyedClassifier, "regression": KeyedRegressor}
            return keyed[task](max_keys=told.max_keys, folder=self.folder, **made)
        kinds: Any = {"classification": OnlineKernelClassifier, "regression": OnlineKernelRegressor}
        return kinds[task](**made)

    def _play(self, batch: Batch, give_way: Callable[[], None] | None = None) -> Answers:
        assert self.kind is not None
        y = self.kind.array(batch.labels)
        if self.encoder is None:
            X = batch.matrix(self.estimator)
        else:
            X = self.encoder.learn_transform(batch.columns_for(self.encoder), y)
        weights = None if batch.weights is None else np.array(batch.weights)
        parts, size = [], _SLICE if hasattr(self.estimator, "n_rounds_") else len(y)
        for start in range(0, len(y), size):  # the first rows in one go: they have all classes
            part = slice(start, start + size)
            some = None if weights is None else weights[part]
            rows = X.part(start, start + size) if isinstance(X, KeyedRows) else X[part]
            scores = self.estimator.prequential(*_given(rows), y[part], sample_weight=some)
            parts.append(self._answers(scores, y[part]))
            if give_way is not None:
                give_way()
        return parts[0] if len(parts) == 1 else Answers.joined(parts)

    def _new_measures(self) -> Any:
        if self.estimator._task == "regression":
            return RegressionMeasures()
        return ClassificationMeasures(self.estimator.classes_)

    def figures(self) -> dict[str, Any]:
        """Return the figures so far, over all rows and over the last ones."""
        if self.measures is None:
            return {}
        found = self.measures.figures()
        return {name: value if value == value else None for name, value in found.items()}

    # ---- as bytes ----------------------------------------------------------------------------

    def as_bytes(self, note: Any) -> bytes:
        """Return the bytes of a model file, which `forks predict` reads, too."""
        if not isinstance(self.estimator, KeyedEstimator):
            return as_bytes(*self._content(note))
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.save(Path(folder) / "model", note)
            return (Path(folder) / "model").read_bytes()

    def save(self, path: Path, note: Any) -> None:
        """Write a model file; the records of keys need not fit into memory."""
        save(path, *self._content(note))

    def _content(self, note: Any) -> tuple[Any, dict[str, Any], dict[str, np.ndarray]]:
        """Return what a file holds: the estimator, a note and its arrays."""
        known, arrays = encoder_state(self.encoder)
        first = {"columns": self.first.columns, "labels": self.first.labels}
        told = {
            "settings": asdict(self.settings),
            "rounds": self.rounds,
            "kind": self.kind,
            "first": {**first, "weights": self.first.weights},
            **note,
        }
        if self.measures is not None:
            arrays |= {_MEASURES + k: v for k, v in self.measures.arrays().items()}
        model = self.estimator if self.ready else OnlineKernelClassifier()
        return model, {"serve": told, **known}, arrays

    @classmethod
    def from_saved(
        cls, saved: Saved, folder: Path | None = None
    ) -> tuple["TableModel", dict[str, Any]]:
        """Return the model of a file, of the service or of `forks run --save`, and its note."""
        note = saved.note if isinstance(saved.note, dict) else {}
        told = note.get("serve", {})
        try:
            made = cls(Settings(**told.get("settings", {})), folder)
            made.rounds = int(told.get("rounds", 0))
            first = told.get("first", {"columns": {}, "labels": [], "weights": None})
            made.first = Batch.of_columns(**first)
            if hasattr(saved.model, "n_rounds_"):
                made._take(saved, told)
        except (TypeError, KeyError, ValueError) as error:
            raise ModelFileError(f"it is no model of a service: {error}") from None
        return made, told

    def _take(self, saved: Saved, told: dict[str, Any]) -> None:
        self.encoder, self.estimator = encoder_beside(saved), saved.model
        if isinstance(saved.model, KeyedEstimator) and not isinstance(self.encoder, KeyedEncoder):
            raise ValueError("the file does not say which column has the keys")
        classes = getattr(saved.model, "classes_", None)
        kind = told.get("kind")
        self.kind = LabelKind(kind) if kind else LabelKind.of_classes(classes)
        if not self.rounds:
            self.rounds = int(saved.model.n_rounds_)
        counted = {
            name.removeprefix(_MEASURES): array
            for name, array in saved.arrays.items()
            if name.startswith(_MEASURES)
        }
        self.measures = self._new_measures()
        if counted:
            self.measures.restore(counted)


def _given(rows: Any) -> tuple[Any, ...]:
    """Return what an estimator is given of rows: their keys, too, if they have any."""
    return tuple(rows) if isinstance(rows, KeyedRows) else (rows,)
