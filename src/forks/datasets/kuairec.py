"""KuaiRec's small matrix as a stream in the order of time, with the features of the FORKS paper.

A row is a video shown to a user. The label is +1 if more than 0.75 of the video's length was
watched. The features, in this order:

- of the user: three flags, and an indicator for every value that each of 21 columns of
  `user_features.csv` has there;
- of the video: how often each tag is in its list in `item_categories.csv`;
- of the video on that day, from `item_daily_features.csv`: its play progress, and the users who
  liked, shared, commented, followed or asked for less of it, each over those who played it.

So the number of features follows from the side tables alone: 3 + 172 + 31 + 6 = 212 for KuaiRec
2.0. The columns were found in the notebook and driver that the paper's authors published with
their code, and so was this: a row of the matrix without user, video, timestamp, watch ratio or
date is left out (4,494,578 of 4,676,570 remain), all others are kept, and nothing is scaled. Here a
missing cell of a side table, or a user, video or day that is not there, has zeros for features.
Rows with one timestamp keep the order of the file; the authors' sort leaves it open.

The counts of a day are those of the whole day, so that a row knows a little of what comes after
it. That is how the paper played, and it is kept.

The matrix is not sorted, so it must be read whole before the first row is known. Of a row only
three positions in the side tables and its label are kept, 13 bytes, and while rows are sorted 8
more for the timestamp and 8 for the place. The 212 numbers of a row are put together chunk by
chunk. So memory is that of the side tables and some 30 bytes a row at most, never that of the
features.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forks.engine import Counter, Matrix, Vector
from forks.engine.checks import whole
from forks.streams import Chunk, StreamError, read_columns
from forks.streams.files import PathLike, as_numbers, cell_error, existing

MATRIX = "small_matrix.csv"
USERS = "user_features.csv"
VIDEOS = "item_categories.csv"
DAYS = "item_daily_features.csv"
WATCHED = 0.75  # of the video, and more: +1

_KEYS = ("user_id", "video_id", "timestamp", "watch_ratio", "date")
_FLAGS = ("is_lowactive_period", "is_live_streamer", "is_video_author")
_CATEGORIES = (
    "user_active_degree",
    "follow_user_num_range",
    "fans_user_num_range",
    "friend_user_num_range",
    "register_days_range",
    *(f"onehot_feat{i}" for i in (0, 1, 2, 4, 5, 6, 7, *range(9, 18))),
)
_COUNTS = tuple(f"{do}_user_num" for do in ("like", "share", "comment", "follow", "reduce_similar"))
_MISSING = ("", "nan", "NaN", "NA", "NULL", "null", "None")
_CHUNK = 50_000
_LARGEST_ID = 10**10  # which with a date of eight digits is still an int64


def read_kuairec(folder: PathLike, *, chunk: int = 10_000) -> Iterator[Chunk]:
    """Return chunks (X, y) of the small matrix, in the order of time.

    Parameters
    ----------
    folder : str or path
        The folder `data` of KuaiRec, with small_matrix.csv, user_features.csv,
        item_categories.csv and item_daily_features.csv.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    folder = Path(folder)
    return KuaiRec(*(folder / name for name in (MATRIX, USERS, VIDEOS, DAYS))).chunks(chunk)


class KuaiRec:
    """The rows of the four files in the order of time, for any number of passes.

    A fault is a `StreamError` that names the file and the row or the column.
    """

    def __init__(self, matrix: PathLike, users: PathLike, videos: PathLike, days: PathLike) -> None:
        paths = [existing(path) for path in (matrix, users, videos, days)]
        self._sides = (_users(paths[1]), _videos(paths[2]), _days(paths[3]))
        self._places, self._positive = _sorted_rows(paths[0], self._sides)

    @property
    def n_features(self) -> int:
        return sum(side.features.shape[1] for side in self._sides)

    def __len__(self) -> int:
        return len(self._positive)

    def chunks(self, chunk: int) -> Iterator[Chunk]:
        whole("chunk", chunk, 1)
        for start in range(0, len(self), chunk):
            part = slice(start, start + chunk)
            places = zip(self._sides, self._places, strict=True)
            rows = np.hstack([side.features[at[part]] for side, at in places])
            yield rows, np.where(self._positive[part], 1.0, -1.0)


class _Side:
    """A side table: features by key, and in the last row zeros for keys that are not there."""

    def __init__(self, path: Path, keys: Counter, features: Matrix) -> None:
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        again = np.flatnonzero(self.keys[1:] == self.keys[:-1])
        if len(again):
            row = int(order[again + 1].min()) + 1
            raise StreamError(f"{path}, row {row}: the same key is in an earlier row")
        self.features = np.vstack([features[order], np.zeros((1, features.shape[1]))])

    def find(self, keys: Counter) -> NDArray[np.int32]:
        """Return the rows of `features` that belong to keys."""
        if len(self.keys) == 0:
            return np.zeros(len(keys), np.int32)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, len(self.keys)).astype(np.int32)


# ---- cells -----------------------------------------------------------------------------------


def _numbers(path: Path, rows: Any, name: str, cells: Any) -> Vector:
    """Return numbers, NaN where missing. `rows` are those of the cells, from 0, for errors."""
    cells = np.asarray(cells, dtype=str)
    missing = np.isin(cells, _MISSING)
    values = as_numbers(np.where(missing, "0", cells))
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        raise _error(path, rows[first], name, cells[first], "a finite number")
    values[missing] = np.nan
    return values


def _error(path: Path, row: int, name: str, cell: Any, kind: str) -> StreamError:
    return cell_error(path, row + 1, name, f"{str(cell)!r} is not {kind}")


def _whole(path: Path, rows: Any, name: str, cells: Any) -> Counter:
    """Return whole numbers; KuaiRec writes some as 20200705.0."""
    values = _numbers(path, rows, name, cells)
    largest = 10**8 if name == "date" else _LARGEST_ID
    good = (values >= 0) & (values < largest) & (values == np.floor(values))
    if not good.all():
        first = int(np.argmin(good))
        kind = f"a whole number below {largest:,}"
        raise _error(path, rows[first], name, cells[first], kind)
    return values.astype(np.int64)


def _day_keys(videos: Counter, dates: Counter) -> Counter:
    return videos * 10**8 + dates


def _table(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a side table."""
    parts = list(read_columns(path, names, chunk=_CHUNK))
    if not parts:
        raise StreamError(f"{path} has no rows")
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


# ---- side tables -----------------------------------------------------------------------------


def _users(path: Path) -> _Side:
    table = _table(path, ("user_id", *_FLAGS, *_CATEGORIES))
    rows = range(len(table["user_id"]))
    flags = [np.nan_to_num(_numbers(path, rows, name, table[name])) for name in _FLAGS]
    indicators = [_indicators(table[name]) for name in _CATEGORIES]
    features = np.hstack([np.column_stack(flags), *indicators])
    return _Side(path, _whole(path, rows, "user_id", table["user_id"]), features)


def _indicators(cells: Any) -> Matrix:
    """Return a column for each value, numbers by size and text by letters; zeros where missing."""
    cells = np.asarray(cells, dtype=str)
    values = np.unique(cells[~np.isin(cells, _MISSING)])
    numbers = as_numbers(values)
    if not np.isnan(numbers).any():
        values = values[np.argsort(numbers, kind="stable")]
    return (cells[:, None] == values[None, :]).astype(np.float64)


def _videos(path: Path) -> _Side:
    table = _table(path, ("video_id", "feat"))
    lists = [_tags(path, row, cell) for row, cell in enumerate(table["feat"])]
    tags = sorted({tag for tags in lists for tag in tags})
    place = {tag: i for i, tag in enumerate(tags)}
    features = np.zeros((len(lists), len(tags)))
    for row, own in enumerate(lists):
        for tag in own:
            features[row, place[tag]] += 1.0
    return _Side(path, _whole(path, range(len(lists)), "video_id", table["video_id"]), features)


def _tags(path: Path, row: int, cell: str) -> list[int]:
    if cell in _MISSING:
        return []
    inside = cell.strip()
    try:
        if not (inside.startswith("[") and inside.endswith("]")):
            raise ValueError
        return [int(tag) for tag in inside[1:-1].split(",") if inside != "[]"]
    except ValueError:
        raise _error(path, row, "feat", cell, "a list of tags such as [27, 9]") from None


def _days(path: Path) -> _Side:
    names = ("video_id", "date", "play_progress", "play_user_num", *_COUNTS)
    table = _table(path, names)
    rows = range(len(table["date"]))
    numbers = {name: _numbers(path, rows, name, table[name]) for name in names[2:]}
    players = numbers["play_user_num"]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [numbers[name] / players for name in _COUNTS]
    features = np.column_stack([numbers["play_progress"], *shares])
    features = np.nan_to_num(features, nan=0.0, posinf=0.0, neginf=0.0)
    videos, dates = (_whole(path, rows, name, table[name]) for name in names[:2])
    return _Side(path, _day_keys(videos, dates), features)


# ---- the matrix ------------------------------------------------------------------------------


def _sorted_rows(
    path: Path, sides: Sequence[_Side]
) -> tuple[list[NDArray[np.int32]], NDArray[np.bool_]]:
    """Return for each row that is kept its places in the side tables and its label, by time."""
    users, videos, days = sides
    columns: list[list[Any]] = [[], [], [], [], []]
    before = 0
    for table in read_columns(path, _KEYS, chunk=_CHUNK):
        kept = np.flatnonzero(~np.any([np.isin(table[name], _MISSING) for name in _KEYS], axis=0))
        cells = {name: table[name][kept] for name in _KEYS}
        rows = before + kept
        user, video, date = (
            _whole(path, rows, name, cells[name]) for name in ("user_id", "video_id", "date")
        )
        found = (
            _numbers(path, rows, "timestamp", cells["timestamp"]),
            users.find(user),
            videos.find(video),
            days.find(_day_keys(video, date)),
            _numbers(path, rows, "watch_ratio", cells["watch_ratio"]) > WATCHED,
        )
        for column, part in zip(columns, found, strict=True):
            column.append(part)
        before += len(table["date"])
    if not any(len(part) for part in columns[0]):
        raise StreamError(f"{path} has no row without a missing cell")
    order = np.argsort(np.concatenate(columns.pop(0)), kind="stable")
    user, video, day, positive = (np.concatenate(columns.pop(0))[order] for _ in range(4))
    return [user, video, day], positive
