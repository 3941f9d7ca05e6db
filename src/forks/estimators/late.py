"""Labels that come late: rows are scored long before they can be learned."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from forks.engine import Matrix, Vector
from forks.engine.checks import whole
from forks.estimators.inputs import part_of


class LateLabels:
    """What estimators do when further rows are scored before the label of a row comes."""

    engine_: Any
    targets_of: Callable[[Any], Matrix]
    _by_classes: Callable[..., Any]
    _check: Callable[..., Any]
    _fill_as_learned: Callable[..., Any]
    _held: Callable[..., Any]
    _is_beginning: bool
    _learn: Callable[..., Matrix]
    _play: Callable[..., Any]
    _prepare: Callable[..., None]
    _scaled: Callable[[Any], Any]
    _scores: Callable[..., Matrix]
    _shaped: Callable[[Matrix], np.ndarray]
    _weighed: Callable[..., Any]
    _whole_call: Callable[..., Any]

    def score_ahead(self, X: Any) -> np.ndarray:
        """Score the next rows of the stream, whose labels are to come; learns nothing.

        Like the scores of `prequential` and `score_then_learn`, these may lean on the last labels.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        """
        return self._shaped(self._scores(X, ahead=True))

    def expect_delay(self, n: int) -> None:
        """Say that the label of a row comes after n further rows have been scored.

        What leans on the last labels is judged by how it does n rows later. For models that have
        learned at least one row.

        Parameters
        ----------
        n : int
            Rows; 0 if each label comes before the next row.
        """
        check_is_fitted(self, "engine_")
        self.engine_.expect_delay(whole("n", n, 0))

    def score_then_learn(
        self, ahead: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Score each row of `ahead`, then learn the row of X beside it: labels that come late.

        Parameters
        ----------
        ahead : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows to score, each before the row of X beside it is learned.
        X, y, classes, sample_weight
            As for `partial_fit`; as many rows as `ahead`, and at least one.

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
            Of the rows of `ahead`.
        """

        def learn(*rows: Any) -> np.ndarray:
            return self._shaped(self._score_and_learn(*rows))

        return self._play(X, y, classes, sample_weight, learn, ahead)

    def _play_late(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, delay: int
    ) -> np.ndarray:
        """Score each row, then learn the one that came `delay` rows before; at last the others."""
        first = not hasattr(self, "engine_")

        def work() -> np.ndarray:
            rows, labels, weights = self._check(X, y, sample_weight, first)
            self._prepare(rows, labels, weights, classes, first)
            (filled,) = self._fill_as_learned(weights, rows)

            def learn_part(part: slice) -> np.ndarray:
                targets = self.targets_of(labels[part])
                own = self._weighed(targets, None if weights is None else weights[part])
                learned = part_of(filled, part)
                beside = filled[part.start + delay : part.stop + delay]
                n = beside.shape[0]
                scores = []
                if part.start == 0:  # no label has come yet
                    scores.append(self.engine_.predict(self._scaled(filled[:delay]), ahead=True))
                some = None if own is None else own[:n]
                scores.append(self._score_and_learn(learned[:n], beside, targets[:n], some))
                if n < len(targets):  # all rows have been scored
                    self._learn(learned[n:], targets[n:], None if own is None else own[n:])
                return self._shaped(np.concatenate(scores))

            with self.engine_.lock.alone:  # no prediction in between
                self.engine_.enter()
                self.engine_.expect_delay(delay)
                return np.asarray(self._by_classes(labels, learn_part))

        return np.asarray(self._whole_call(work, first))

    def _score_and_learn(
        self, X: Any, ahead: Any, targets: Matrix, weights: Vector | None
    ) -> Matrix:
        if weights is None:
            weights = np.ones(X.shape[0])
        parts, start = [], 0
        while self._is_beginning and start < X.shape[0]:
            row = slice(start, start + 1)
            parts.append(self.engine_.predict(self._scaled(ahead[row]), ahead=True))
            self._learn(X[row], targets[row], weights[row])
            start += 1
        weights = self._held(X, weights, targets)
        ahead, X = (self._scaled(rows[start:] if start else rows) for rows in (ahead, X))
        parts.append(self.engine_.score_then_learn(ahead, X, targets[start:], weights[start:]))
        return np.concatenate(parts)
