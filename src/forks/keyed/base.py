"""What the keyed estimators share: a common model, and corrections for each key."""

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from forks.engine import Matrix
from forks.engine.checks import whole
from forks.estimators.inputs import finite_or_missing
from forks.keyed.corrections import Corrections
from forks.keyed.keys import checked_keys

_FORM = {"dtype": np.float64, "order": "C", "force_writeable": True, "ensure_all_finite": False}
LARGEST_RANK = 255


@dataclass(eq=False, repr=False, kw_only=True)
class KeyedEstimator(BaseEstimator):
    """Learns a stream of keys, rows and labels; a subclass knows labels and answers."""

    _task: ClassVar[str]  # "classification" or "regression"
    _common_class: ClassVar[Any]  # the estimator that all keys share

    effort: str = "fast"
    rank: int = 15
    forgetting: float = 0.002
    max_keys: int | None = None
    folder: str | Path | None = None
    random_state: Any = None

    # ---- what a subclass has -------------------------------------------------------------------

    def _checked_labels(self, y: Any, n_rows: int, first: bool, classes: Any) -> Any:
        """Return labels that can be learned, or raise an error that names the row."""
        raise NotImplementedError

    def _targets_of(self, y: Any) -> Matrix:
        """Return the targets of labels, one column per output."""
        raise NotImplementedError

    def _n_outputs(self) -> int:
        raise NotImplementedError

    def _common_answers(self, X: Any, ahead: bool) -> Matrix:
        """Return the answers of the common model."""
        raise NotImplementedError

    # ---- learning ------------------------------------------------------------------------------

    def fit(self, keys: Any, X: Any, y: Any) -> Any:
        """Forget everything, then learn the rows in one pass, in their order.

        An error leaves the model as it was.

        Parameters
        ----------
        keys, X, y
            As for `partial_fit`.

        Returns
        -------
        self
        """
        self._from_nothing(keys, X, y, None)
        return self

    def partial_fit(self, keys: Any, X: Any, y: Any, classes: Any = None) -> Any:
        """Learn the next rows of the stream in their order; an empty chunk does nothing.

        An error about keys, rows or labels leaves the model as it was. An interrupt (Ctrl-C) may
        leave some thousand rows learned by the common model and not by their keys.

        Parameters
        ----------
        keys : sequence of str or int, of length n_rows
            The key of each row. 1 and "1" are two keys.
        X : array or data frame of shape (n_rows, n_features)
            The rows; numbers may be missing (NaN).
        y : array of shape (n_rows,)
            Labels, or numbers for a regressor.
        classes : array, optional
            For classifiers: all labels that can occur, in the first call; without it those of the
            first call.

        Returns
        -------
        self
        """
        self.prequential(keys, X, y, classes)
        return self

    def prequential(self, keys: Any, X: Any, y: Any, classes: Any = None) -> np.ndarray:
        """Answer each row before its label is used, learning as it goes; may be called again.

        Parameters
        ----------
        keys, X, y, classes
            As for `partial_fit`.

        Returns
        -------
        answers : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
            Numbers; for a classifier scores, 2 p - 1 with probabilities p. They answer "what comes
            next?", and may lean on the last targets of the key.
        """
        if hasattr(self, "corrections_"):
            return self._prequential(keys, X, y, classes, False)
        return self._from_nothing(keys, X, y, classes)

    def _from_nothing(self, keys: Any, X: Any, y: Any, classes: Any) -> np.ndarray:
        """Begin anew; whatever fails, everything is as it was."""
        before = self.__dict__.copy()
        try:
            return self._prequential(keys, X, y, classes, True)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _prequential(self, keys: Any, X: Any, y: Any, classes: Any, first: bool) -> np.ndarray:
        if _is_empty(keys) and _is_empty(y):
            return np.empty((0,)) if first or self._n_outputs() == 1 else self._nothing()
        keys = checked_keys(keys)
        rows = self._checked_rows(X, first)
        _check_length("keys", len(keys), len(rows))
        y = self._checked_labels(y, len(rows), first, classes)
        if first:
            self._begin(rows.shape[1])
        targets, out = self._targets_of(y), np.empty((len(rows), self._n_outputs()))
        step = self.corrections_.block
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            numbers = self.corrections_.reserve(keys[part])
            given = self._learn_common(rows[part], y[part])
            out[part] = self.corrections_.play(numbers, rows[part], given, targets[part])
        return _shaped(out)

    def _check_parameters(self) -> None:
        whole("rank", self.rank, 1, LARGEST_RANK)
        if self.max_keys is not None:
            whole("max_keys", self.max_keys, 1)
        if not (isinstance(self.forgetting, Real) and 0.0 <= self.forgetting < 1.0):
            raise ValueError(f"forgetting must be at least 0 and below 1, got {self.forgetting!r}")

    def _begin(self, n_features: int) -> None:
        """Make a common model and corrections that know nothing."""
        self._check_parameters()
        self.common_ = self._common_class(effort=self.effort, random_state=self.random_state)
        self.corrections_ = Corrections(
            n_features,
            self._n_outputs(),
            classifies=self._task == "classification",
            rank=self.rank,
            forgetting=float(self.forgetting),
            max_keys=self.max_keys,
            folder=self.folder,
        )

    def _learn_common(self, X: Matrix, y: Any) -> Matrix:
        scores = self.common_.prequential(X, y)
        return np.ascontiguousarray(scores.reshape(len(X), -1))

    def _checked_rows(self, X: Any, first: bool = False) -> Matrix:
        return finite_or_missing(self, validate_data(self, X, reset=first, **_FORM))

    # ---- answering -----------------------------------------------------------------------------

    def _answers(self, keys: Any, X: Any, ahead: bool) -> np.ndarray:
        check_is_fitted(self, "corrections_")
        keys = checked_keys(keys)
        rows = self._checked_rows(X)
        _check_length("keys", len(keys), len(rows))
        given = np.ascontiguousarray(self._common_answers(rows, ahead).reshape(len(rows), -1))
        return _shaped(self.corrections_.answers(keys, rows, given, ahead))

    def score_ahead(self, keys: Any, X: Any) -> np.ndarray:
        """Answer the next rows of the stream, whose labels are to come; learns nothing.

        Like those of `prequential`, these answers may lean on the last targets of the key.

        Parameters
        ----------
        keys, X
            As for `predict`.
        """
        return self._answers(keys, X, True)

    def _nothing(self) -> np.ndarray:
        return np.empty((0, self._n_outputs()))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for `forks.keyed.load`.

        The file is written under another name, brought to the disk and renamed: whatever fails, a
        file that was there before is still whole. Equal models give equal bytes.

        Parameters
        ----------
        path : str or path
            The file.
        """
        from forks.keyed.saving import save

        save(path, self)

    # ---- what users ask for ----------------------------------------------------------------------

    @property
    def n_keys_(self) -> int:
        """How many keys have come."""
        check_is_fitted(self, "corrections_")
        return len(self.corrections_.table)

    @property
    def n_keys_in_memory_(self) -> int:
        """How many of them have their records in memory; the others are on disk."""
        check_is_fitted(self, "corrections_")
        return self.corrections_.table.in_memory

    @property
    def bytes_per_key_(self) -> int:
        """Bytes of the record of a key, in memory, on disk and in files."""
        check_is_fitted(self, "corrections_")
        return self.corrections_.table.nbytes

    @property
    def n_rounds_(self) -> int:
        """Rows learned so far."""
        check_is_fitted(self, "corrections_")
        return int(self.common_.n_rounds_)


def _shaped(out: Matrix) -> np.ndarray:
    return out[:, 0] if out.shape[1] == 1 else out


def _is_empty(part: Any) -> bool:
    return hasattr(part, "__len__") and len(part) == 0


def _check_length(name: str, given: int, rows: int) -> None:
    if given != rows:
        raise ValueError(f"{name} has {given} entries, but X has {rows} rows")
