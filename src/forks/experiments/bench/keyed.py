"""One model per key.

Each row is predicted before it is learned; errors are root mean squared. "one model" has the key as
a category (`TableEncoder`), "separate" is a model for each key, on the made stream for some of the
keys. beijing-air has the hourly PM2.5 of 12 stations, by station. In the made stream the keys share
a function and differ in another, and have 10 to 1,000 rows each, in random order. Rows a second are
of CPU time, on one core.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from forks import OnlineKernelRegressor, datasets
from forks.engine import Matrix, Vector
from forks.evaluate.clock import Clock
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part
from forks.features import TableEncoder
from forks.keyed import KeyedRegressor
from forks.streams import read_columns

_CHUNK = 10_000
_FEATURES, _NOISE = 4, 0.2
_AIR = "beijing-air"
_TEXT, _KEY, _TARGET = "wd", "station", "PM2.5"
_NUMBERS = [
    *("year", "month", "day", "hour", "PM10", "SO2", "NO2", "CO", "O3"),
    *("TEMP", "PRES", "DEWP", "RAIN", "WSPM", _TARGET),
]


class MadeStream:
    """Keys that share a function and differ in another, with rows made when they are asked for."""

    def __init__(self, n_keys: int, rows_of_a_key: tuple[int, int], seed: int = SEED) -> None:
        rng = np.random.default_rng(seed)
        low, high = np.log(rows_of_a_key)
        counts = np.exp(rng.uniform(low, high, n_keys)).astype(np.int64)
        self.keys = rng.permutation(np.repeat(np.arange(n_keys), counts))
        self.weights = rng.normal(size=(n_keys, _FEATURES + 1)) / np.sqrt(_FEATURES + 1.0)
        self.seed = seed

    def chunks(self) -> Iterator[tuple[Any, Matrix, Vector]]:
        """Yield keys, rows and numbers."""
        for start in range(0, len(self.keys), _CHUNK):
            keys = self.keys[start : start + _CHUNK]
            rng = np.random.default_rng((self.seed, start))
            X = rng.normal(size=(len(keys), _FEATURES))
            y = np.sin(2.0 * X[:, 0]) + X[:, 1] * np.tanh(X[:, 2])
            own = np.column_stack([np.cos(1.5 * X), np.ones(len(X))])
            y += np.sum(self.weights[keys] * own, axis=1)
            yield keys, X, y + _NOISE * rng.normal(size=len(X))


def measure(
    air_rows: int | None = None,
    efforts: tuple[str, ...] = ("fast", "balanced"),
    n_keys: int = 100_000,
    rows_of_a_key: tuple[int, int] = (10, 1_001),
    separate: int = 500,
) -> Iterator[Number]:
    """Play the made stream, first with half of the keys on disk, and the air of Beijing.

    The air is left out if it is not at hand.
    """
    stream = MadeStream(n_keys, rows_of_a_key)
    name = f"made stream, {n_keys:,} keys"
    settings = {"rows": len(stream.keys), "keys": n_keys}
    for max_keys, where in ((max(1, n_keys // 2), "half of the keys on disk"), (None, "")):
        figures = _play_made(stream, max_keys)
        if max_keys is None:
            yield Number(name, figures["error"], settings=settings, column="keyed")
        title = ", ".join(["rows a second", where] if where else ["rows a second"])
        goal = None if where else 50_000.0
        yield Number(title, figures["speed"], settings=settings, at_least=goal)
        if where:
            yield Number(f"most memory, {where}", figures["memory"], "MB", at_most=1_000.0)
        else:
            yield Number("bytes of a key", figures["bytes"])
    others = {"one model": _one_model(stream), "separate": _some_separate(stream, separate)}
    for column, pairs in others.items():
        yield Number(name, _error(pairs), settings=settings, column=column)
    if datasets.at_hand(_AIR):
        air = _air(air_rows)
        for effort in efforts:
            yield from _play_air(*air, effort)


# ---- the air of Beijing ------------------------------------------------------------------------


def _air(rows: int | None) -> tuple[Any, dict[str, Any], Vector]:
    """Return keys, columns of a table without them, and numbers."""
    (path,) = datasets.paths(_AIR)
    chunks = list(read_columns(path, [*_NUMBERS, _TEXT, _KEY]))
    found = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    table: dict[str, Any] = {
        name: np.where(found[name] == "NA", "nan", found[name]).astype(float) for name in _NUMBERS
    }
    y = table.pop(_TARGET)
    table[_TEXT] = np.array([None if cell == "NA" else cell for cell in found[_TEXT]], object)
    known = np.flatnonzero(~np.isnan(y))[:rows]
    return found[_KEY][known], {name: cells[known] for name, cells in table.items()}, y[known]


def _play_air(keys: Any, table: dict[str, Any], y: Vector, effort: str) -> Iterator[Number]:
    X = TableEncoder(task="regression").learn_transform(table, y)
    both = {**table, _KEY: keys.astype(object)}
    with_key = TableEncoder(task="regression").learn_transform(both, y)
    keyed, one = KeyedRegressor(effort=effort), OnlineKernelRegressor(effort=effort)
    chunks = [slice(start, start + _CHUNK) for start in range(0, len(y), _CHUNK)]
    answers = {
        "keyed": ((keyed.prequential(keys[rows], X[rows], y[rows]), y[rows]) for rows in chunks),
        "one model": ((one.prequential(with_key[rows], y[rows]), y[rows]) for rows in chunks),
        "separate": _separate(np.unique(keys), (keys, X, y), effort),
    }
    settings = {"rows": len(y), "effort": effort}
    for column, pairs in answers.items():
        yield Number(f"{_AIR}, {effort}", _error(pairs), settings=settings, column=column)


def _error(answers_and_labels: Iterable[tuple[Any, Any]]) -> float:
    """Return the root mean squared error."""
    squares, n = 0.0, 0
    for answers, y in answers_and_labels:
        squares += float(np.sum((answers - y) ** 2))
        n += len(y)
    return float(np.sqrt(squares / n))


def _separate(chosen: Any, stream: tuple[Any, Any, Any], effort: str) -> Iterator[tuple[Any, Any]]:
    """Play a model for each of some keys; return the answers and the labels of each."""
    keys, X, y = stream
    for key in chosen:
        own = np.flatnonzero(keys == key)
        yield OnlineKernelRegressor(effort=effort).prequential(X[own], y[own]), y[own]


# ---- the made stream -----------------------------------------------------------------------------


def _play_made(stream: MadeStream, max_keys: int | None) -> dict[str, float]:
    model, clock = KeyedRegressor(max_keys=max_keys), Clock()

    def played() -> Iterator[tuple[Any, Any]]:
        for keys, X, y in stream.chunks():
            if model.__dict__.get("corrections_") is None:  # compiles
                KeyedRegressor().partial_fit(keys, X, y)
            with clock.running():
                answers = model.prequential(keys, X, y)
            yield answers, y

    return {
        "error": _error(played()),
        "speed": len(stream.keys) / clock.seconds,
        "memory": _most_memory(),
        "bytes": float(model.bytes_per_key_),
    }


def _most_memory() -> float:
    """Return the megabytes that the process has had resident at most."""
    import resource  # which Windows has not

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _one_model(stream: MadeStream) -> Iterator[tuple[Any, Any]]:
    encoder = TableEncoder(kinds={"key": "category"}, task="regression")
    model = OnlineKernelRegressor(effort="fast")
    for keys, X, y in stream.chunks():
        table = {"key": keys.astype(str).astype(object)}
        table |= {f"x{j}": X[:, j] for j in range(X.shape[1])}
        yield model.prequential(encoder.learn_transform(table, y), y), y


def _some_separate(stream: MadeStream, n_keys: int) -> Iterator[tuple[Any, Any]]:
    """Play a model for each of some keys, which stand for all of them."""
    known = np.unique(stream.keys)
    chosen = np.random.default_rng(SEED).choice(known, min(n_keys, len(known)), replace=False)
    parts = []
    for keys, X, y in stream.chunks():
        own = np.isin(keys, chosen)
        parts.append((keys[own], X[own], y[own]))
    keys, X, y = map(np.concatenate, zip(*parts, strict=True))
    return _separate(chosen, (keys, X, y), "fast")


_QUICK = {"air_rows": 20_000, "efforts": ("fast",), "n_keys": 500, "separate": 50}
PART = Part(__doc__, measure, _QUICK)
