"""What moved an answer: by how much a score changes when a feature is put back to its mean.

For feature j of row x and the mean m that is f(x) - f(x with m_j in place of x_j): the slope of the
score between the two, times the distance of x_j from the mean. For a score that is linear in the
feature it is the slope times the distance, exactly. It needs no step size, and holds for indicators
and for scores that level off, whose slope at x says little.
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
    that it has are looked at, and put back to 0.
    """
    scores = score(X)
    answered = np.argmax(scores, axis=1)
    if sparse.issparse(X):
        return _sparse_effects(score, X, scores, answered)
    n, d = X.shape
    found = np.empty(n * d)
    for pairs in _batches(n * d, d):
        i, j = pairs // d, pairs % d
        moved = X[i]
        moved[np.arange(len(pairs)), j] = mean[j]
        found[pairs] = scores[i, answered[i]] - _of(score(moved), answered[i])
    return found.reshape(n, d)


def _sparse_effects(score: Score, X: Any, scores: Matrix, answered: np.ndarray) -> Any:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    found = np.empty(X.nnz)
    per_row = 1 + X.nnz // max(1, X.shape[0])
    for pairs in _batches(X.nnz, per_row):
        i = rows[pairs]
        moved = X[i]
        moved.data[moved.indptr[:-1] + pairs - X.indptr[i]] = 0.0
        found[pairs] = scores[i, answered[i]] - _of(score(moved), answered[i])
    return sparse.csr_array((found, X.indices, X.indptr), shape=X.shape)


def _batches(n: int, width: int) -> Iterator[np.ndarray]:
    size = max(1, _NUMBERS // max(1, width))
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))


def _of(scores: Matrix, columns: np.ndarray) -> Vector:
    return scores[np.arange(len(scores)), columns]


def strongest(found: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the n features of largest effect in each row, and their effects.

    Rows that have fewer are filled up with the number -1 and the effect 0.
    """
    if not sparse.issparse(found):
        order = np.argsort(-np.abs(found), axis=1, kind="stable")[:, :n]
        return _filled(order, np.take_along_axis(found, order, axis=1), n)
    features = np.full((found.shape[0], n), -1)
    values = np.zeros((found.shape[0], n))
    for i in range(found.shape[0]):
        row = slice(found.indptr[i], found.indptr[i + 1])
        order = np.argsort(-np.abs(found.data[row]), kind="stable")[:n]
        features[i, : len(order)] = found.indices[row][order]
        values[i, : len(order)] = found.data[row][order]
    return features, values


def _filled(features: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    missing = ((0, 0), (0, n - features.shape[1]))
    return np.pad(features, missing, constant_values=-1), np.pad(values, missing)
