"""What the keyed estimators share: a common model, and corrections for each key."""

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from forks.engine import Matrix, Vector
from forks.engine.checks import whole
from forks.estimators.inputs import checked_weights, finite_or_missing
from forks.keyed.corrections import BLOCK, Corrections
from forks.keyed.keys import checked_keys
from forks.keyed.two_steps import blocks_of, in_two_steps

_FORM = {"dtype": np.float64, "order": "C", "force_writeable": True, "ensure_all_finite": False}
LARGEST_RANK = 255
_BEGINNING = threading.RLock()  # held while a model gets its first rows


def _fitted(get: Callable[[Any], Any], doc: str) -> property:
    """Return a property that a model has once it has learned."""

    def checked(model: Any) -> Any:
        check_is_fitted(model, "corrections_")
        return get(model)

    return property(checked, doc=doc)


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

    def _arrivals(self, y: Any) -> list[tuple[slice, Any]]:
        """Return parts of a chunk, and the labels that are known in each, or None."""
        return [(slice(0, len(y)), None)]

    def _go_on_with(self, labels: Any) -> None:
        """Make room for labels that have come."""

    def _targets_of(self, y: Any) -> Matrix:
        """Return the targets of labels, one column per output."""
        raise NotImplementedError

    def _n_outputs(self) -> int:
        raise NotImplementedError

    def _learn_common(self, X: Matrix, y: Any, weights: Vector) -> Matrix:
        """Return the answers of the common model to rows, each before it is learned."""
        raise NotImplementedError

    def _common_answers(self, X: Any, ahead: bool) -> Matrix:
        """Return the answers of the common model."""
        raise NotImplementedError

    def _together(self, answers: list[np.ndarray], parts: list[tuple[slice, Any]]) -> np.ndarray:
        """Return the answers to all parts of a chunk."""
        (only,) = answers
        return only

    # ---- learning ------------------------------------------------------------------------------

    def fit(self, keys: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Forget everything, then learn the rows in one pass, in their order.

        An error leaves the model as it was.

        Parameters
        ----------
        keys, X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        self
        """
        self._from_nothing(keys, X, y, None, sample_weight)
        return self

    def partial_fit(
        self, keys: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Any:
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
            first call are known at first, and others may come later.
        sample_weight : float or array of shape (n_rows,), optional
            How much each row counts; a row of weight 0 is answered and not learned.

        Returns
        -------
        self
        """
        self.prequential(keys, X, y, classes, sample_weight)
        return self

    def prequential(
        self, keys: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Answer each row before its label is used, learning as it goes; may be called again.

        Parameters
        ----------
        keys, X, y, classes, sample_weight
            As for `partial_fit`.

        Returns
        -------
        answers : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
            Numbers; for a classifier scores, 2 p - 1 with probabilities p. They answer "what comes
            next?", and may lean on the last targets of the key.
        """
        if not hasattr(self, "corrections_"):
            with _BEGINNING:  # two threads may come first
                if not hasattr(self, "corrections_"):
                    return self._from_nothing(keys, X, y, classes, sample_weight)
        with self.corrections_.lock.alone:  # others see the model before this call, or after it
            self.corrections_.enter()
            return self._prequential(keys, X, y, classes, sample_weight, False)

    def _from_nothing(
        self, keys: Any, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> np.ndarray:
        """Begin anew; whatever fails, everything is as it was."""
        begun = copy.copy(self)
        answers = begun._prequential(keys, X, y, classes, sample_weight, True)
        for name in vars(self).keys() - vars(begun).keys():  # names of features, say
            delattr(self, name)
        self.__dict__.update(vars(begun))  # in one step
        return answers

    def _prequential(
        self, keys: Any, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> np.ndarray:
        if _is_empty(keys) and _is_empty(y):
            return np.empty(0) if first else _shaped(np.empty((0, self._n_outputs())))
        keys = checked_keys(keys)
        rows = self._checked_rows(X, first)
        n = len(rows)
        _check_length("keys", len(keys), n)
        weights = np.ones(n) if sample_weight is None else checked_weights(sample_weight, n)
        if first and not weights.any():
            raise ValueError("sample_weight: all weights are zero")
        y = self._checked_labels(y, n, first, classes)
        if first:
            self._begin(rows.shape[1])
        parts, answers = self._arrivals(y), []
        for part, labels in parts:
            self._go_on_with(labels)
            answers.append(self._learn(keys[part], rows[part], y[part], weights[part]))
        return self._together(answers, parts)

    def _learn(self, keys: list[Any], X: Matrix, y: Any, weights: Vector) -> np.ndarray:
        """Return the answers to checked rows, each before it is learned."""
        corrections = self.corrections_
        targets, out = self._targets_of(y), np.empty((len(X), self._n_outputs()))

        def common(part: slice) -> Matrix:
            return self._learn_common(X[part], y[part], weights[part])

        def correct(part: slice, given: Matrix) -> None:
            numbers = corrections.reserve(keys[part])
            out[part] = corrections.play(numbers, X[part], given, targets[part], weights[part])

        blocks = blocks_of(len(X), corrections.block)
        if corrections.table.max_keys is None:
            in_two_steps(blocks, common, correct)
        else:
            for part in blocks:
                corrections.reserve(keys[part])  # if the disk is full, nothing of them is learned
                correct(part, common(part))
        return _shaped(out)

    def _check_parameters(self) -> None:
        check_parameters(self.rank, self.forgetting, self.max_keys)

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

    def _checked_rows(self, X: Any, first: bool = False) -> Matrix:
        if sparse.issparse(X):
            raise ValueError(
                f"X is sparse, and {type(self).__name__} learns dense rows: X.toarray() has them"
            )
        return finite_or_missing(self, validate_data(self, X, reset=first, **_FORM))

    # ---- answering -----------------------------------------------------------------------------

    def _answers(
        self, keys: Any, X: Any, ahead: bool, then: Callable[[Any], np.ndarray] = np.asarray
    ) -> np.ndarray:
        """Return what `then` makes of the answers to rows, between two calls that learn."""
        check_is_fitted(self, "corrections_")
        keys = checked_keys(keys)
        rows = self._checked_rows(X)
        _check_length("keys", len(keys), len(rows))

        def answer() -> np.ndarray:
            corrections, out = self.corrections_, np.empty((len(rows), self._n_outputs()))

            def common(part: slice) -> Matrix:
                given = self._common_answers(rows[part], ahead)
                return np.ascontiguousarray(given.reshape(len(given), -1))

            def correct(part: slice, given: Matrix) -> None:
                out[part] = corrections.answers(keys[part], rows[part], given, ahead)

            in_two_steps(blocks_of(len(rows), BLOCK), common, correct)
            return then(_shaped(out))

        return self.corrections_.reading(answer)

    def score_ahead(self, keys: Any, X: Any) -> np.ndarray:
        """Answer the next rows of the stream, whose labels are to come; learns nothing.

        Like those of `prequential`, these answers may lean on the last targets of the key.

        Parameters
        ----------
        keys, X
            As for `predict`.
        """
        return self._answers(keys, X, True)

    def expect_delay(self, n: int) -> None:
        """Tell the common model that labels come after so many further rows.

        Parameters
        ----------
        n : int
            How many rows are answered between a row and its label.
        """
        check_is_fitted(self, "corrections_")
        with self.corrections_.lock.alone:
            self.corrections_.enter()
            self.common_.expect_delay(n)

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

    n_keys_ = _fitted(lambda model: len(model.corrections_.table), "How many keys have come.")
    n_keys_in_memory_ = _fitted(
        lambda model: model.corrections_.table.in_memory,
        "How many of them have their records in memory; the others are on disk.",
    )
    bytes_per_key_ = _fitted(
        lambda model: model.corrections_.table.nbytes,
        "Bytes of the record of a key, in memory, on disk and in files.",
    )
    n_mends_ = _fitted(
        lambda model: model.common_.n_mends_ + model.corrections_.mends,
        "Steps that were left out, or mended, because numbers would not have been finite.",
    )
    last_mend_ = _fitted(
        lambda model: model.common_.last_mend_,
        "The round of the last step that the common model mended.",
    )
    n_rounds_ = _fitted(lambda model: model.common_.n_rounds_, "Rows learned so far.")


def check_parameters(rank: Any, forgetting: float, max_keys: Any) -> None:
    """Raise an error that names the parameter which is wrong."""
    whole("rank", rank, 1, LARGEST_RANK)
    if max_keys is not None:
        whole("max_keys", max_keys, 1)
    if not (isinstance(forgetting, Real) and 0.0 <= forgetting < 1.0):
        raise ValueError(f"forgetting must be at least 0 and below 1, got {forgetting!r}")


def unless_ones(weights: Vector) -> Vector | None:
    """Return weights for the common model, which is faster without if all of them are 1."""
    return None if (weights == 1.0).all() else weights


def _shaped(out: Matrix) -> np.ndarray:
    return out[:, 0] if out.shape[1] == 1 else out


def _is_empty(part: Any) -> bool:
    return hasattr(part, "__len__") and len(part) == 0


def _check_length(name: str, given: int, rows: int) -> None:
    if given != rows:
        raise ValueError(f"{name} has {given} entries, but X has {rows} rows")
