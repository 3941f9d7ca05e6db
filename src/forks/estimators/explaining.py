"""What moved an answer: by how much a score changes between the mean of a feature and its value.

For feature j of row x and the mean row m it is the mean of two changes: with all other features as
they are in x, f(x) - f(x with m_j), and with all others at their means, f(m with x_j) - f(m). Each
is the slope of the score between the two points times the distance of x_j from the mean. For a
score that is linear in the features it is the slope times the distance, exactly; for two features
it is their Shapley value. It needs no step size, and holds for indicators and for scores that level
off, where the slope at x is nearly 0 and one feature alone changes little.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from forks.engine import Matrix, Vector

_NUMBERS = 2_000_000  # in the rows that are scored at once

Score = Callable[[Any], Matrix]  # rows to scores, (n_rows, n_outputs)


def effects(score: Score, X: Any, mean: Vector) -> Any:
    """Return the effect of each feature on the score of each row, (n_rows, n_features).

    With several outputs it is that on the largest score of the row. Of a sparse row the entries
    that it has are looked at, and means are 0.
    """
    scores = score(X)
    answered = np.argmax(scores, axis=1)
    if sparse.issparse(X):
        return _sparse_effects(score, X, scores, answered)
    n, d = X.shape
    (at_mean,) = score(mean[None])
    found = np.empty(n * d)
    for pairs in _batches(n * d, 2 * d):
        (i, j), rows = (pairs // d, pairs % d), np.arange(len(pairs))
        without, alone = X[i], np.tile(mean, (len(pairs), 1))
        without[rows, j], alone[rows, j] = mean[j], X[i, j]
        found[pairs] = _effects(score, scores[i], without, alone, at_mean, answered[i])
    return found.reshape(n, d)


def _sparse_effects(score: Score, X: Any, scores: Matrix, answered: np.ndarray) -> Any:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    (at_zero,) = score(sparse.csr_array((1, X.shape[1])))
    found = np.empty(X.nnz)
    per_row = 1 + X.nnz // max(1, X.shape[0])
    for pairs in _batches(X.nnz, per_row):
        i = rows[pairs]
        without = X[i]
        without.data[without.indptr[:-1] + pairs - X.indptr[i]] = 0.0
        entries = (X.data[pairs], X.indices[pairs], np.arange(len(pairs) + 1))
        alone = sparse.csr_array(entries, shape=without.shape)
        found[pairs] = _effects(score, scores[i], without, alone, at_zero, answered[i])
    return sparse.csr_array((found, X.indices, X.indptr), shape=X.shape)


def _effects(
    score: Score, scores: Matrix, without: Any, alone: Any, at_mean: Vector, answered: np.ndarray
) -> Vector:
    """Return the mean of the two changes, for rows without a feature and with it alone."""
    changes = scores - score(without) + score(alone) - at_mean
    return np.asarray(changes[np.arange(len(changes)), answered] / 2.0)


def _batches(n: int, width: int) -> Iterator[np.ndarray]:
    size = max(1, _NUMBERS // max(1, width))
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))


def strongest(found: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the n features of largest effect in each row, and their effects.

    Rows that have fewer are filled up with the number -1 and the effect 0.
    """
    if not sparse.issparse(found):
        order = np.argsort(-np.abs(found), axis=1, kind="stable")[:, :n]
        few = ((0, 0), (0, n - order.shape[1]))
        values = np.pad(np.take_along_axis(found, order, axis=1), few)
        return np.pad(order, few, constant_values=-1), values
    features = np.full((found.shape[0], n), -1)
    values = np.zeros((found.shape[0], n))
    for i in range(found.shape[0]):
        row = slice(found.indptr[i], found.indptr[i + 1])
        order = np.argsort(-np.abs(found.data[row]), kind="stable")[:n]
        features[i, : len(order)] = found.indices[row][order]
        values[i, : len(order)] = found.data[row][order]
    return features, values
