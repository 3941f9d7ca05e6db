"""Speed of tables.

From the file to the prediction: the hourly air of Beijing, all columns of the file, stations and
wind as categories, gaps as they are. Each step has its own clock: reading the file, encoding the
rows, and learning them with `effort="fast"`. Then a file of numbers, text of 8 columns with 7
digits each, read whole: by our reader of CSV, by pandas, and by pyarrow with one thread.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from forks import OnlineKernelRegressor, datasets
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._tables import from_file
from forks.experiments.bench._timing import best_times, timed
from forks.streams import read_csv
from forks.streams.files import open_text

_AIR, _TARGET = "beijing-air", "PM2.5"
_NUMBERS = 8  # columns
_GOAL = 15.0  # microseconds
_ROWS_PER_SECOND = 500_000.0


def measure(rows: int | None = None, numbers: int = 200_000, repeats: int = 3) -> Iterator[Number]:
    """Time the steps of a table, if it is at hand, and the reading of numbers."""
    with tempfile.TemporaryDirectory() as folder:
        if datasets.at_hand(_AIR):
            yield from _steps(_plain_text(Path(folder), rows), repeats)
        yield from _reading(Path(folder) / "numbers.csv", numbers, repeats)


# ---- from the file to the prediction -----------------------------------------------------------


def _plain_text(folder: Path, rows: int | None) -> Path:
    """Return the file without its compression, or its first rows."""
    (source,) = datasets.paths(_AIR)
    path = folder / f"{_AIR}.csv"
    with open_text(source) as file, path.open("w", encoding="utf-8", newline="") as out:
        out.writelines(islice(file, None if rows is None else rows + 1))  # and the names
    return path


def _steps(path: Path, repeats: int) -> Iterator[Number]:
    best: dict[str, float] = {}
    for _ in range(repeats):
        n, seconds = from_file(path, _TARGET, OnlineKernelRegressor(effort="fast"))
        for step, spent in seconds.items():
            best[step] = min(best.get(step, spent), spent)
    settings = {"rows": n, "effort": "fast"}
    for step, spent in best.items():
        name = f"{_AIR}: {step}" + (", fast" if step == "learning" else "")
        yield Number(name, 1e6 * spent / n, "µs a row", settings)
    whole = 1e6 * sum(best.values()) / n
    yield Number(f"{_AIR}: all, fast", whole, "µs a row", settings, at_most=_GOAL)


# ---- numbers -------------------------------------------------------------------------------------


def _reading(path: Path, rows: int, repeats: int) -> Iterator[Number]:
    X = np.random.default_rng(SEED).normal(size=(rows, _NUMBERS))
    names = [f"x{j}" for j in range(_NUMBERS)]
    np.savetxt(path, X, fmt="%.7g", delimiter=",", header=",".join(names), comments="")
    contenders = {name: partial(timed, read) for name, read in _readers(path, names[-1]).items()}
    settings = {"rows": rows, "columns": _NUMBERS}
    for name, one in best_times(contenders, repeats).items():
        goal = _ROWS_PER_SECOND if name == "forks" else None
        title = f"numbers as CSV, {name}"
        yield Number(title, rows / one.seconds, "rows a second", settings, at_least=goal)


def _readers(path: Path, target: str) -> dict[str, Callable[[], Any]]:
    """Return our reader of CSV, and those of others that are installed."""
    readers: dict[str, Callable[[], Any]] = {
        "forks": lambda: sum(len(y) for _, y in read_csv(path, target=target))
    }
    with suppress(ModuleNotFoundError):
        import pandas

        readers["pandas"] = lambda: pandas.read_csv(path)
    with suppress(ModuleNotFoundError):
        from pyarrow import csv

        options = csv.ReadOptions(use_threads=False)
        readers["pyarrow"] = lambda: csv.read_csv(path, read_options=options)
    return readers


PART = Part(__doc__, measure, {"rows": 20_000, "numbers": 50_000})
