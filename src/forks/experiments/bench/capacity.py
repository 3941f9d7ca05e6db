"""Capacity: what single steps cost here, and what a million events a second would need.

Constants are measured on this machine; [the guide](../../guide/capacity.md) has the model. One
model from many workers: a simulation of `forks.distributed.learn` with these constants, beside what
one and two processes took (medians; constants and runs in turns), and for many workers with a
partition each. "needs" are sums of the constants for 10^6 events a second and 10^9 keys, every
event of another key, on machines with 32 cores, 128 GB of memory and 3 GB a second to disk.
"""

import copy
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import forks
from forks import OnlineKernelClassifier, distributed
from forks.engine import Matrix, Vector
from forks.experiments.bench._data import made_up
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import wall_time
from forks.experiments.bench.keyed import MadeStream
from forks.experiments.capacity import Costs, simulate
from forks.experiments.record import Missing
from forks.keyed import KeyedRegressor, load
from forks.learners import Adaptive

EVENTS, KEYS = 1e6, 1e9
CORES, MEMORY, DISK = 32, 128e9, 3e9  # of a machine
_PARTS = 4
_KNOWN = 40_000  # rows that a model has learned before it is forked
_STEPS = {  # of `Costs`
    "first": "one of the first 2,000 rows",
    "row": "a row",
    "fork": "to fork the model",
    "pack": "to pack a fork",
    "task": "a task that does nothing",
    "unpack": "to unpack a fork",
    "merge": "to merge a fork",
    "close": "to end a merge",
    "after": "one of 500 rows after a merge",
}


def measure(
    rows: int = 150_000,
    repeats: int = 3,
    landmarks: Sequence[int] = (100, 250, 500),
    forks_merged: Sequence[int] = (2, 8, 32),
    n_keys: int = 20_000,
    spark: bool = True,
) -> Iterator[Number]:
    """Measure the constants, then what follows from them."""
    yield from _merging(landmarks, forks_merged, repeats)
    X, y = _classes(rows)
    row, cpu = _row(X, y, repeats, 1)
    costs, size = _costs(X, y, repeats, row)
    yield Number("one model: a fork on its way", size / 1e6, "MB")
    for name, value in costs._asdict().items():
        yield Number(f"one model: ms, {_STEPS[name]}", 1e3 * value)
    yield Number("one model: ms, a row, CPU time", 1e3 * cpu)
    yield from _against_two_cores(X, y, repeats)
    yield from _many_workers(costs._replace(row=cpu))
    keyed = _keyed(n_keys)
    yield from (Number(f"one model per key: {name}", value) for name, value in keyed.items())
    yield from _needs(cpu, keyed)
    if spark:
        yield from _needs_of_spark()


def _classes(n: int) -> tuple[Matrix, Vector]:
    X, y = made_up(n)
    return X, np.where(y > 0.0, 1.0, -1.0)


# ---- one model ---------------------------------------------------------------------------------


def _merging(
    landmarks: Sequence[int], forks_merged: Sequence[int], repeats: int
) -> Iterator[Number]:
    """Measure time and traffic of a merge, of one machine with so many landmarks."""
    X, y = _classes(3000)
    for m in landmarks:
        model = OnlineKernelClassifier(Adaptive(buffer=m)).partial_fit(X[:2500], y[:2500])
        for n in forks_merged:
            parts = model.fork(n)
            for k, part in enumerate(parts):
                part.partial_fit(X[2500 + k :: n], y[2500 + k :: n])
            seconds = wall_time(partial(forks.merge, parts), repeats)
            yield Number(f"merge, {m} landmarks", 1e3 * seconds, "ms", against="forks", at=n)
        size = float(len(pickle.dumps(model.fork(1)[0])))
        yield Number("a fork on its way", size / 1e6, "MB", against="landmarks", at=m)


def _costs(X: Matrix, y: Vector, repeats: int, row: float) -> tuple[Costs, int]:
    """Measure the steps of `learn` with the default learner, and the bytes of a fork."""
    known, n = min(len(y), _KNOWN), 16
    model = OnlineKernelClassifier().partial_fit(X[:known], y[:known])
    parts = model.fork(n)
    packed = pickle.dumps(parts[0])
    few, many = (wall_time(partial(forks.merge, model.fork(k)), repeats) for k in (2, n))
    merge = (many - few) / (n - 2)
    executor = distributed.JoblibExecutor(2)
    executor.run(_nothing, [(0,)] * n)  # starts the processes

    def least(action: Callable[..., Any], *arguments: Any) -> float:
        return wall_time(partial(action, *arguments), repeats)

    costs = Costs(
        first=least(lambda: OnlineKernelClassifier().partial_fit(X[:2000], y[:2000])) / 2000,
        row=row,
        fork=least(model.fork, n),
        pack=least(pickle.dumps, parts[0]),
        task=least(executor.run, _nothing, [(0,)] * n) / n,
        unpack=least(pickle.loads, packed),
        merge=max(0.0, merge),
        close=max(0.0, few - 2.0 * merge),
        after=_after(X, y),
    )
    return costs, len(packed)


def _after(X: Matrix, y: Vector, spare: int = 100) -> float:
    """Return the seconds of a row that a model learns after a merge, the mean of a few rounds."""
    known, seconds = 2000, []
    model = OnlineKernelClassifier().partial_fit(X[:known], y[:known])
    while 2 * known + spare <= min(len(y), _KNOWN):
        parts = model.fork(_PARTS, rows=known)
        for k, part in enumerate(parts):
            rows = slice(known + k, 2 * known, _PARTS)
            part.partial_fit(X[rows], y[rows])
        model, rows = forks.merge(parts), slice(2 * known, 2 * known + spare)
        seconds.append(wall_time(partial(model.partial_fit, X[rows], y[rows])))
        known = rows.stop
    return float(np.mean(seconds)) / spare


def _row(X: Matrix, y: Vector, repeats: int, jobs: int) -> tuple[float, float]:
    """Return seconds and CPU time of a row, of forks that learn as many rows as they know."""
    known = min(len(y) // 2, _KNOWN)
    model = OnlineKernelClassifier().partial_fit(X[:known], y[:known])
    parts = [slice(known + k, 2 * known, _PARTS) for k in range(_PARTS)]
    tasks = [(fork, X[k], y[k]) for fork, k in zip(model.fork(_PARTS), parts, strict=True)]
    executor = distributed.JoblibExecutor(jobs)
    executor.run(_seconds_of_rows, [(fork, X[:200], y[:200]) for fork, _, _ in tasks])
    runs = [np.mean(executor.run(_seconds_of_rows, tasks), axis=0) for _ in range(repeats)]
    wall, cpu = np.min(runs, axis=0) / (known / _PARTS)
    return float(wall), float(cpu)


def _seconds_of_rows(fork: Any, X: Matrix, y: Vector) -> tuple[float, float]:
    fork = copy.copy(fork)
    begun = time.perf_counter(), time.process_time()
    fork.partial_fit(X, y)
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def _nothing(number: int) -> int:
    return number


def _loaded(folder: str, k: int) -> tuple[Any, Any]:
    """Return a partition, which a worker reads where it is."""
    X, y = (np.load(Path(folder) / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
    return X[k::_PARTS], y[k::_PARTS]


def _against_two_cores(X: Matrix, y: Vector, repeats: int) -> Iterator[Number]:
    """Compare the simulation with one and two processes.

    The constants are measured anew before each run, since the machine may do other work, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        parts = [partial(_loaded, folder, k) for k in range(_PARTS)]
        for jobs in (1, 2):
            executor = distributed.JoblibExecutor(jobs)
            distributed.learn([(X[k:5000:4], y[k:5000:4]) for k in range(4)], executor=executor)
            took, told = [], []
            for _ in range(repeats):
                costs = _costs(X, y, 1, _row(X, y, 1, jobs)[0])[0]
                if jobs == 1:  # in this process: nothing is sent
                    costs = costs._replace(pack=0.0, task=0.0, unpack=0.0)
                told.append(simulate(costs, len(y), jobs, _PARTS).seconds)
                took.append(wall_time(partial(distributed.learn, parts, executor=executor)))
            name = f"{jobs} {'process' if jobs == 1 else 'processes'}, {len(y):,} rows"
            yield Number(name, float(np.median(took)), "s", column="measured")
            yield Number(name, float(np.median(told)), "s", column="simulated")
            ratio = float(np.median(np.divide(told, took)))
            yield Number(name, ratio, at_least=0.75, at_most=1.33, column="ratio")


def _many_workers(costs: Costs, rows: int = 10**9) -> Iterator[Number]:
    """Simulate many workers, one partition each."""
    alone = rows * costs.row
    for workers in (1, 4, 16, 64, 256, 1024, 4096):
        told = simulate(costs, rows, workers, workers)
        figures = {
            ("10^9 rows, simulated", "rows a second"): rows / told.seconds,
            ("of what so many cores could", "%"): 100.0 * alone / told.seconds / workers,
            ("the coordinator is busy", "% of the time"): 100.0 * told.coordinator / told.seconds,
        }
        for (name, unit), value in figures.items():
            yield Number(name, value, unit, against="workers", at=workers)


# ---- one model per key -------------------------------------------------------------------------


def _keyed(n_keys: int) -> dict[str, float]:
    """Measure rows a second and core, bytes of a key, and how fast models are saved and loaded."""
    model, seconds, rows = KeyedRegressor(), 0.0, 0
    for i, (keys, X, y) in enumerate(MadeStream(n_keys, (10, 20)).chunks()):
        begun = time.process_time()
        model.partial_fit(keys, X, y)
        if i:  # the first compiles, and makes the map
            seconds += time.process_time() - begun
            rows += len(y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        saving = wall_time(partial(model.save, path), 3)
        size = path.stat().st_size
        loading = wall_time(partial(load, path), 3)
    return {
        "rows a second of CPU time": rows / seconds,
        "bytes of a key": float(model.bytes_per_key_),
        "bytes of a key in a file": size / model.n_keys_,
        "bytes a second saved": size / saving,
        "bytes a second loaded": size / loading,
    }


def _needs(row: float, keyed: dict[str, float]) -> Iterator[Number]:
    """What 10^6 events a second and 10^9 keys need, without an engine."""
    yield Number("needs: cores, one model", EVENTS * row)
    yield Number("needs: cores, one model per key", EVENTS / keyed["rows a second of CPU time"])
    size = KEYS * keyed["bytes of a key"]
    yield Number("needs: bytes of all keys", size / 1e12, "TB")
    machines = np.ceil(size / (0.5 * MEMORY))
    yield Number("needs: machines, keys in half of their memory", float(machines))
    file = KEYS * keyed["bytes of a key in a file"] / machines
    slowest = min(keyed["bytes a second saved"], DISK)
    yield Number("needs: a whole checkpoint, each machine its own", file / slowest, "s")
    changes = EVENTS * keyed["bytes of a key"]
    yield Number("needs: records that change", changes / 1e9, "GB a second")


def _needs_of_spark() -> Iterator[Number]:
    """What the same needs in Spark."""
    from forks.experiments.bench import spark

    try:
        numbers = {number.name: number.value for number in spark.measure(repeats=2)}
    except Missing as error:
        yield Number("Spark", reason=str(error))
        return
    costs = {each: numbers[f"Spark's time for a {each}"] or 0.0 for each in ("batch", "key", "row")}
    for each, cost in costs.items():
        yield Number(f"Spark, two cores: ms for a {each}", cost)
    log = numbers["state on disk, of a key learned once in a batch"] or 0.0
    of_event = 2.0 * (costs["key"] + costs["row"]) / 1e3  # seconds of a core
    yield Number("needs: cores in Spark, one model per key", EVENTS * of_event)
    yield Number("needs: changelog in Spark", EVENTS * log / 1e9, "GB a second")
    of_row = 2.0 * (costs["key"] / 100.0 + costs["row"]) / 1e3
    yield Number("needs: cores in Spark, 100 rows of a key in each batch", EVENTS * of_row)


_QUICK = {"rows": 20_000, "repeats": 1, "landmarks": (50,), "forks_merged": (2, 4)}
PART = Part(__doc__, measure, {**_QUICK, "n_keys": 1000, "spark": False})
