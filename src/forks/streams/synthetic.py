"""Generated streams: a drifting nonlinear concept, and the adversarial game of the paper."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Vector
from forks.engine.checks import whole

_BLOCK = 1_000  # rows made at a time, so that no bit of the stream depends on the chunk size
_SAMPLE = 10_000  # rows that set a concept's threshold
_TWIN = 0.75  # height of a bump's twin beside its own


def drifting(
    n_rows: int,
    n_features: int = 8,
    n_concepts: int = 4,
    noise: float = 0.05,
    seed: int = 0,
    chunk: int = 2_000,
) -> Iterator[tuple[Matrix, Vector]]:
    """Return chunks (X, y) of a binary stream whose nonlinear concept changes abruptly.

    Rows are standard normal. A concept is a random sum of Gaussian bumps cut at its median, which
    balances the classes -1 and +1; every bump has a smaller twin on the other side of the origin,
    so that a linear model sees little of it. A new concept is drawn at each row of `drift_rows`.

    Parameters
    ----------
    n_rows, n_features, n_concepts : int
        Sizes of the whole stream; the concepts last equally long.
    noise : float
        Probability that a label is flipped.
    seed : int
        The stream is a function of the seed and of the sizes above, not of `chunk`.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    for name, value in (("n_features", n_features), ("n_concepts", n_concepts), ("chunk", chunk)):
        whole(name, value, 1)
    whole("n_rows", n_rows, 0)
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must be between 0 and 1, got {noise}")
    return _rechunked(_blocks(n_rows, n_features, n_concepts, noise, seed), n_rows, chunk)


def drift_rows(n_rows: int, n_concepts: int = 4) -> list[int]:
    """Return the rows, counted from 0, that are the first of a new concept in `drifting`."""
    return [n_rows * i // n_concepts for i in range(1, n_concepts)]


def adversarial(
    X: Matrix, y: Vector, n_blocks: int = 500, repeats: int = 10, order: Counter | None = None
) -> tuple[Matrix, Vector]:
    """Return the adversarial game of the paper: points repeated, labels of every other one flipped.

    Block j, counted from 1, repeats the row order[j - 1] `repeats` times; in the even blocks the
    label is multiplied by -1. The default order is that of the rows.
    """
    rows = np.arange(X.shape[0]) if order is None else np.asarray(order)
    whole("n_blocks", n_blocks, 0, len(rows), "the number of points")
    whole("repeats", repeats, 1)
    blocks = np.repeat(np.arange(n_blocks), repeats)
    signs = np.where(blocks % 2 == 0, 1.0, -1.0)
    return X[rows[blocks]], y[rows[blocks]] * signs


class _Concept(NamedTuple):
    """+1 where sum_i heights_i exp(-|x - centres_i|^2 / (2 width^2)) reaches the threshold."""

    centres: Matrix
    heights: Vector
    width: float
    threshold: float

    def value(self, X: Matrix) -> Vector:
        squares = (X**2).sum(1)[:, None] - 2.0 * X @ self.centres.T + (self.centres**2).sum(1)
        return np.asarray(np.exp(squares / (-2.0 * self.width**2)) @ self.heights)

    def labels(self, X: Matrix) -> Vector:
        return np.where(self.value(X) >= self.threshold, 1.0, -1.0)


def _draw_concept(rng: np.random.Generator, n_features: int) -> _Concept:
    n_bumps = 2 * n_features
    centres = rng.standard_normal((n_bumps, n_features))
    heights = rng.standard_normal(n_bumps)
    heights -= heights.mean()  # or most concepts would be little more than the length of x
    concept = _Concept(
        np.concatenate([centres, -centres]),
        np.concatenate([heights, _TWIN * heights]),
        0.9 * float(np.sqrt(n_features)),
        0.0,
    )
    sample = rng.standard_normal((_SAMPLE, n_features))
    return concept._replace(threshold=float(np.median(concept.value(sample))))


def _blocks(
    n_rows: int, n_features: int, n_concepts: int, noise: float, seed: int
) -> Iterator[tuple[Matrix, Vector]]:
    rng = np.random.default_rng(seed)
    ends = [*drift_rows(n_rows, n_concepts), n_rows]
    for start, end in zip([0, *ends], ends, strict=False):
        concept = _draw_concept(rng, n_features)
        for first in range(start, end, _BLOCK):
            X = rng.standard_normal((min(_BLOCK, end - first), n_features))
            flipped = rng.random(X.shape[0]) < noise
            yield X, np.where(flipped, -1.0, 1.0) * concept.labels(X)


def _rechunked(
    blocks: Iterator[tuple[Matrix, Vector]], n_rows: int, chunk: int
) -> Iterator[tuple[Matrix, Vector]]:
    X, y = next(blocks, (np.empty((0, 0)), np.empty(0)))
    for start in range(0, n_rows, chunk):
        missing = min(chunk, n_rows - start)
        rows, labels = [], []
        while missing > 0:
            if len(y) == 0:
                X, y = next(blocks)
            rows.append(X[:missing])
            labels.append(y[:missing])
            X, y = X[missing:], y[missing:]
            missing -= len(labels[-1])
        yield np.concatenate(rows), np.concatenate(labels)
