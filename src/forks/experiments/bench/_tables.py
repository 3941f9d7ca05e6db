"""Tables for the benchmark: first rows of files, as text and as frames, and prepared by hand."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from forks import OnlineKernelRegressor, datasets
from forks.datasets import order
from forks.engine import Matrix
from forks.evaluate import player_for
from forks.evaluate.clock import Clock
from forks.experiments.bench._data import SEED
from forks.experiments.record import needed
from forks.features import TableEncoder
from forks.streams import read_libsvm
from forks.streams.columns import RawTable
from forks.streams.files import open_text
from forks.streams.tables import InputFile, Told

_SMOOTHING = 10.0  # rows of the mean that a value of a category begins with


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A table, its label, and what a person would do with its columns."""

    name: str
    data: str  # a name of `forks.datasets`
    label: str | None = None  # by default the last column
    classifies: bool = False
    shuffled: bool = False  # files that are sorted by class
    header: bool = True
    ending: str = ".csv"
    drop: tuple[str, ...] = ()  # columns that say nothing
    few: tuple[str, ...] = ()  # categories that get an indicator for each value
    many: tuple[str, ...] = ()  # categories that get means of the label
    time: str | None = None
    rows: int | None = None  # at most, where peers take milliseconds a row


TABLES = (
    Chosen(name="beijing-air, PM2.5", data="beijing-air", label="PM2.5", few=("wd", "station")),
    Chosen(
        name="nycflights13, arr_delay",
        data="nycflights13",
        label="arr_delay",
        drop=("year",),
        few=("carrier", "origin", "dest"),
        many=("tailnum",),
        time="time_hour",
    ),
    Chosen(
        name="nycflights13, carrier",
        data="nycflights13",
        label="carrier",
        classifies=True,
        drop=("year",),
        few=("origin", "dest"),
        many=("tailnum",),
        time="time_hour",
        rows=3_000,
    ),
    Chosen(
        name="flights-3m, delay",
        data="flights-3m",
        label="delay",
        many=("origin", "destination"),
        time="date",
    ),
    Chosen(name="metro-traffic", data="metro-traffic", few=("attr_0", "attr_5", "attr_6")),
    Chosen(name="nomao", data="nomao", classifies=True),
    Chosen(name="internet-ads", data="internet-ads", classifies=True, shuffled=True),
    Chosen(name="spambase", data="spambase", classifies=True, shuffled=True, header=False),
)
LIBSVM = tuple(
    Chosen(name=name, data=name, ending="", classifies=name != "abalone", shuffled=True)
    for name in ("german", "svmguide3", "cod-rna", "ijcnn1", "w7a", "abalone")
)


@dataclass(frozen=True)
class Taken:
    """The rows of a table that are played."""

    chosen: Chosen
    path: Path  # of a file that has them and nothing else
    frame: Any  # columns without the label; text, or numbers
    y: np.ndarray  # labels: None or NaN where there is none

    @property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers."""
        own = {*self.chosen.drop, *self.chosen.few, *self.chosen.many, self.chosen.time}
        return [name for name in self.frame if name not in own]


def take(chosen: Chosen, rows: int, folder: Path) -> Taken:
    """Return the first rows of a table, or some at random; `folder` gets them as a file."""
    pandas = pandas_or_missing()
    path = folder / f"{chosen.data}{chosen.ending}"
    _write_rows(chosen, min(rows, chosen.rows or rows), path)
    if not chosen.ending:
        X, y = next(read_libsvm(path, chunk=1 << 30))
        dense = X.toarray() if hasattr(X, "toarray") else X
        names = [f"x{j}" for j in range(dense.shape[1])]
        return Taken(chosen, path, pandas.DataFrame(dense, columns=names), y)
    header = 0 if chosen.header else None
    frame = pandas.read_csv(path, na_values=["?"], skipinitialspace=True, header=header)
    frame.columns = [str(name) for name in frame.columns]
    label = frame.pop(chosen.label or frame.columns[-1])
    y = label.astype(str).to_numpy(str) if chosen.classifies else label.to_numpy(np.float64)
    return Taken(chosen, path, frame, y)


def pandas_or_missing() -> Any:
    """Return pandas, or say that it is missing."""
    with needed("pandas", "pandas"):
        import pandas
    return pandas


def _write_rows(chosen: Chosen, rows: int, path: Path) -> None:
    (source,) = datasets.paths(chosen.data)[:1]
    with open_text(source) as file, path.open("w", encoding="utf-8", newline="") as out:
        lines = iter(file)
        if chosen.header and chosen.ending:
            out.write(next(lines))
        if chosen.shuffled:
            all_lines = [line for line in lines if line.strip()]
            lines = (all_lines[i] for i in order(len(all_lines), SEED))
        out.writelines(islice(lines, rows))


def from_file(path: Path, label: str | None, model: Any) -> tuple[int, dict[str, float]]:
    """Play a file as `forks run` does; return the rows, and the seconds of each step."""
    reading, encoding = Clock(), Clock()
    player, encoder = player_for("file", model), None
    task = "regression" if isinstance(model, OnlineKernelRegressor) else "classification"
    with InputFile([str(path)], told=Told(label=label)) as file:
        for chunk in reading.over(file.chunks()):
            X, y = chunk.X, np.asarray(chunk.y)
            if isinstance(X, RawTable):
                with encoding.running():
                    encoder = encoder or TableEncoder(task=task).look(X, y)
                    X = encoder.learn_transform(X, y)
            player.play(X, y)
    seconds = {"reading": reading.seconds, "encoding": encoding.seconds}
    return player.rounds, {**seconds, "learning": player.clock.seconds}


# ---- by hand -------------------------------------------------------------------------------------


def prepared(taken: Taken) -> Matrix:
    """Return the table as numbers, as a person with pandas would.

    Gaps are filled with the mean of the whole column and have an indicator; times are hour,
    weekday and month as points on circles; categories become indicators, or means of the labels
    before a row.
    """
    pandas, chosen, frame = pandas_or_missing(), taken.chosen, taken.frame
    parts = [frame[taken.numbers]]
    gaps = parts[0].isna()
    parts[0] = parts[0].fillna(parts[0].mean()).fillna(0.0)
    parts.append(gaps.loc[:, gaps.any()])
    if chosen.time is not None:
        parts.append(_circles(pandas.to_datetime(frame[chosen.time])))
    for name in chosen.few:
        parts.append(pandas.get_dummies(frame[name].astype(str)))
    for name in chosen.many:
        parts.append(_means_before(frame[name].astype(str), taken.y, chosen.classifies))
    return np.column_stack([np.asarray(part, np.float64) for part in parts])


def _circles(times: Any) -> Matrix:
    parts = ((times.dt.hour, 24.0), (times.dt.day_of_week, 7.0), (times.dt.day_of_year, 365.25))
    angles = [2.0 * np.pi * np.asarray(part, np.float64) / turn for part, turn in parts]
    days = np.asarray((times - times.iloc[0]).dt.total_seconds()) / 86_400.0
    return np.column_stack([*map(np.sin, angles), *map(np.cos, angles), days])


def _means_before(values: Any, y: np.ndarray, classifies: bool) -> Matrix:
    """Return the smoothed mean label of the earlier rows with the same value."""
    pandas = pandas_or_missing()
    targets = [y == label for label in np.unique(y)] if classifies else [y]
    columns = []
    for target in targets:
        labels = pandas.Series(np.asarray(target, np.float64))
        known = labels.notna().astype(np.float64)
        labels = labels.fillna(0.0)
        seen, total = known.cumsum() - known, labels.cumsum() - labels
        prior = total / seen.clip(lower=1.0)
        sums = labels.groupby(values).cumsum() - labels
        times = known.groupby(values).cumsum() - known
        columns.append((sums + _SMOOTHING * prior) / (times + _SMOOTHING))
    return np.column_stack([np.asarray(column) for column in columns])
