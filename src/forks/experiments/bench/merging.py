"""Forks that learn apart: how far the merged model is from one that has learned all rows.

Rows in random orders, four fifths to learn and the others to predict; sets of fewer than 10,000
rows in four times as many orders, since of spambase a mistake is a tenth of a point. The mistakes
of one model that has learned row after row, and how many points more those have that
`forks.distributed.learn` has made: from 2, 4 and 32 partitions, in the rounds that it chooses, in
one round after 2,000 rows, and in 4 equal rounds. For the squared error, the largest difference of
predictions between forks merged and one fork that has learned all rows, over the spread of the
targets (goal: 1e-6). Rows per second, the best of three turns: of one model, row by row, as one
core learns; and with forks, the same partitions by one thread and by two. The goal is that two
cores learn 1.8 times as many rows as one does: of sets in random order, and of the first rows of
tables in the order of their files. What two threads gain beside one with forks says how much of
that work is done side by side: the first rows, forks and merges are not. By CPU time, which other
work on the machine does not lengthen: all that is done here, less half of what two workers do.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone

import forks
from forks import OnlineKernelClassifier, OnlineKernelRegressor, distributed
from forks.experiments.bench._data import Stream, data_set, made_up, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._tables import TABLES, take
from forks.experiments.bench._timing import wall_time
from forks.experiments.record import Missing
from forks.features import TableEncoder

LARGE = ("cod-rna", "ijcnn1", "interchanging-rbf", "flights-3m")  # of more than 50,000 rows
LARGE_TABLES = ("beijing-air, PM2.5", "nycflights13, arr_delay")
_SMALL = 10_000  # rows
NAMES = ("spambase", "cod-rna", "ijcnn1", "nomao")
WAYS = {  # partitions, rounds, and the goal
    "2 partitions": (2, None, 0.1),
    "4 partitions": (4, None, 0.1),
    "32 partitions": (32, None, 0.1),
    "32 partitions, one round": (32, 1, 0.1),
    "4 partitions, 4 rounds": (4, 4, 0.05),
}


def measure(
    names: tuple[str, ...] = NAMES,
    rows: int = 60_000,
    orders: int = 5,
    efforts: tuple[str, ...] = ("fast", "balanced"),
    shards: tuple[int, ...] = (2, 8, 64),
    timed_rows: int = 400_000,
    large: tuple[str, ...] = LARGE,
    tables: tuple[str, ...] = LARGE_TABLES,
    table_rows: int = 100_000,
) -> Iterator[Number]:
    """Compare models."""
    for effort in efforts:
        for name in names:
            yield from _mistakes(name, rows, orders, effort)
    yield from _exactness(shards)
    X, y = made_up(timed_rows)
    yield from _speed("made", OnlineKernelClassifier(), X, np.where(y > 0.0, 1.0, -1.0))
    for name in (*large, *tables):
        try:
            if name in large:
                yield from _speed(name, OnlineKernelClassifier(), *shuffled(name).first(timed_rows))
            else:
                yield from _speed(name, OnlineKernelRegressor(), *_table(name, table_rows))
        except (Missing, FileNotFoundError) as error:
            yield Number(f"{name}: speed", reason=str(error))


def _table(name: str, rows: int) -> tuple[Any, Any]:
    """Return the first rows of a table as numbers, in the order of its file."""
    (chosen,) = (each for each in TABLES if each.name == name)
    with TemporaryDirectory() as folder:
        taken = take(chosen, rows, Path(folder))
    known = ~np.isnan(taken.y)
    y = taken.y[known]
    return TableEncoder().fit_transform(taken.frame[known], y), y


def _mistakes(name: str, rows: int, orders: int, effort: str) -> Iterator[Number]:
    try:
        stream = data_set(name)
    except Missing as error:
        yield Number(f"{name}, {effort}", reason=str(error))
        return
    orders = orders if len(stream.y) >= _SMALL else 4 * orders
    alone: list[float] = []
    more: dict[str, list[float]] = {way: [] for way in WAYS}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(stream.y))[:rows]
        known, other = (stream.ordered(part) for part in np.split(order, [4 * len(order) // 5]))
        model = OnlineKernelClassifier(effort=effort).partial_fit(known.X, known.y)
        alone.append(_missed(model, other))
        for way, (n, rounds, _) in WAYS.items():
            model = OnlineKernelClassifier(effort=effort)
            rows_known = (known.X, known.y)
            learned = distributed.learn(rows_known, model, executor=1, partitions=n, rounds=rounds)
            more[way].append(_missed(learned, other) - alone[-1])
    about = {"data": name, "effort": effort, "rows": rows, "orders": orders}
    yield Number(f"{name}, {effort}: one model", float(np.mean(alone)), "%", about)
    for way, (_, _, goal) in WAYS.items():
        points = float(np.mean(more[way]))
        yield Number(f"{name}, {effort}: {way}", points, "points more", about, at_most=goal)


def _missed(model: OnlineKernelClassifier, stream: Stream) -> float:
    return 100.0 * float(np.mean(model.predict(stream.X) != stream.y))


def _exactness(shards: tuple[int, ...]) -> Iterator[Number]:
    X, y = made_up(20_000)
    model = OnlineKernelRegressor(effort="fast").partial_fit(X[:1000], y[:1000])
    alone = model.fork(1)[0].partial_fit(X[1000:], y[1000:]).predict(X)
    for n in shards:
        parts = model.fork(n)
        for k, part in enumerate(parts):
            part.partial_fit(X[1000 + k :: n], y[1000 + k :: n])
        apart = forks.merge(parts[::-1], close=False).predict(X)
        far = float(np.abs(apart - alone).max() / y.std())
        yield Number(f"squared error, {n} shards: difference", far, "", at_most=1e-6)


class _Clocked:
    """Does tasks one after the other, and keeps their CPU time."""

    workers = 2

    def __init__(self) -> None:
        self.spent = 0.0

    def run(self, function: Callable[..., Any], tasks: Sequence[Any]) -> list[Any]:
        begun = time.process_time()
        results = [function(*task) for task in tasks]
        self.spent += time.process_time() - begun
        return results


def _speed(name: str, model: Any, X: Any, y: Any) -> Iterator[Number]:
    rows, about = len(y), {"data": name, "rows": len(y)}
    apart = partial(distributed.learn, model=model, partitions=2)
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "one model": lambda X, y: clone(model).partial_fit(X, y),
        "forks, one at a time": lambda X, y: apart((X, y), executor=1),
        "forks, two at a time": lambda X, y: apart((X, y), executor=2),
    }
    spent = dict.fromkeys(ways, math.inf)
    for n in (5000, rows, rows, rows):  # first to load what is compiled
        for way, learn in ways.items():
            seconds = wall_time(partial(learn, X[:n], y[:n]))
            spent[way] = min(spent[way], seconds) if n == rows else spent[way]
    for way, seconds in spent.items():
        yield Number(f"{name}: {way}", rows / seconds, "rows per second", about)
    alone, one, two = spent.values()
    yield Number(f"{name}: two cores beside one", alone / two, "times", about, at_least=1.8)
    yield Number(f"{name}: forks, two beside one at a time", one / two, "times", about)
    clocked, begun = _Clocked(), time.process_time()
    apart((X, y), executor=clocked)
    all_of_it = time.process_time() - begun
    begun = time.process_time()
    ways["one model"](X, y)
    likely = (time.process_time() - begun) / (all_of_it - clocked.spent / 2.0)
    yield Number(f"{name}: two cores beside one, by CPU time", likely, "times", about)


PART = Part(
    __doc__, measure, {"rows": 10_000, "orders": 1, "timed_rows": 40_000, "large": (), "tables": ()}
)
