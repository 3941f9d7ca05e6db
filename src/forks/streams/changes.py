"""Generated streams with changes of every kind, one function each: `CHANGING` has them by name.

A stream is a function of its length and its seed, and comes as arrays (X, y), y the class. Where
nothing else is said, rows are standard normal with five features, the concept is
sin(2 x_1) + x_2 x_3 > 0, and 5 % of the labels are flipped: the features x_4 and x_5 do not matter.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from forks.engine import Matrix, Vector
from forks.engine.checks import whole

Classes = NDArray[np.int64]
_WIDTH = 5
_NOISE = 0.05

CHANGING: dict[str, Callable[[int, np.random.Generator], tuple[Matrix, Classes]]] = {}


def changing(name: str, n_rows: int, seed: int = 0) -> tuple[Matrix, Classes]:
    """Return the rows and the classes of a stream of `CHANGING`.

    Parameters
    ----------
    name : str
        A name in `CHANGING`.
    n_rows : int
        Its length.
    seed : int
        Of everything that is drawn.
    """
    if name not in CHANGING:
        raise ValueError(f"name must be one of {', '.join(CHANGING)}, got {name!r}")
    whole("n_rows", n_rows, 1)
    return CHANGING[name](n_rows, np.random.default_rng(seed))


def _stream(make: Callable[[int, np.random.Generator], tuple[Matrix, Classes]]) -> None:
    CHANGING[make.__name__.strip("_").replace("_", "-")] = make


def _rows(n: int, rng: np.random.Generator, width: int = _WIDTH) -> Matrix:
    return rng.standard_normal((n, width))


def _usual(X: Matrix) -> Vector:
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2])


def _concepts(X: Matrix) -> list[Vector]:
    """Return four concepts, positive for the second class."""
    return [
        _usual(X),
        X[:, 0] * X[:, 3] + X[:, 4] - 0.3,
        np.abs(X[:, 1]) - np.abs(X[:, 2]),
        (X**2).sum(axis=1) - 4.5,
    ]


def _labels(value: Vector, rng: np.random.Generator) -> Classes:
    flipped = rng.random(len(value)) < _NOISE
    return ((value > 0.0) ^ flipped).astype(np.int64)


def _time(n: int) -> Vector:
    return np.linspace(0.0, 1.0, n)


@_stream
def stationary(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Return a stream that does not change."""
    X = _rows(n, rng)
    return X, _labels(_usual(X), rng)


@_stream
def covariate_shift(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Let the rows walk ten deviations away, and the concept with them."""
    X = _rows(n, rng)
    return X + 10.0 * _time(n)[:, None], _labels(_usual(X), rng)


@_stream
def covariate_jumps(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Let the first feature, and the concept with it, jump by six deviations three times."""
    X = _rows(n, rng)
    jumps = np.zeros((n, _WIDTH))
    jumps[:, 0] = 6.0 * np.minimum(np.floor(4.0 * _time(n)), 3.0)
    return X + jumps, _labels(_usual(X), rng)


@_stream
def scale_growth(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Let all features grow tenfold."""
    X = _rows(n, rng)
    return X * (1.0 + 9.0 * _time(n))[:, None], _labels(_usual(X), rng)


@_stream
def rotation(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Turn the concept once round, slowly."""
    X = _rows(n, rng)
    angle = 2.0 * np.pi * _time(n)
    turned = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, _labels(turned * X[:, 2], rng)


@_stream
def moving_clusters(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Return 40 clusters of two classes, each on its own way."""
    centres, ways = rng.standard_normal((2, 40, _WIDTH))
    classes = rng.random(40) < 0.5
    cluster = rng.integers(40, size=n)
    moved = centres[cluster] + ways[cluster] * _time(n)[:, None]
    value = np.where(classes[cluster], 1.0, -1.0)
    return 1.5 * moved + 0.35 * _rows(n, rng), _labels(value, rng)


@_stream
def abrupt(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Take the next of four concepts after each eighth of the rows."""
    X = _rows(n, rng)
    concept = 8 * np.arange(n) // n % 4
    return X, _labels(np.choose(concept, _concepts(X)), rng)


@_stream
def recurring(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Change between two concepts after each 1,000 rows."""
    X = _rows(n, rng)
    return X, _labels(np.choose(np.arange(n) // 1000 % 2, _concepts(X)[:2]), rng)


@_stream
def gradual_mix(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Let more and more rows have a second concept."""
    X = _rows(n, rng)
    first, second = _concepts(X)[:2]
    new = rng.random(n) < 1.0 / (1.0 + np.exp(-12.0 * (_time(n) - 0.5)))
    return X, _labels(np.where(new, second, first), rng)


@_stream
def late_feature(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Hide the first feature, which matters, in the first twentieth of the rows."""
    X = _rows(n, rng)
    y = _labels(_usual(X), rng)
    X[: n // 20, 0] = 0.0
    return X, y


def _noise(n: int, rng: np.random.Generator, width: int) -> tuple[Matrix, Classes]:
    """Add features of noise."""
    X = _rows(n, rng, _WIDTH + width)
    return X, _labels(_usual(X), rng)


CHANGING |= {"noise-15": partial(_noise, width=15), "noise-45": partial(_noise, width=45)}


@_stream
def imbalance(n: int, rng: np.random.Generator) -> tuple[Matrix, Classes]:
    """Return a stream without noise in which one row of a hundred is positive."""
    X = _rows(n, rng)
    value = _usual(X) + X[:, 3]
    return X, (value > np.quantile(value, 0.99)).astype(np.int64)
