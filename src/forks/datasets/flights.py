"""The flights of `flights-3m` as a stream of numbers, encoded as they come.

A row is a flight: its date (year to minute), its delay at arrival in minutes, its distance in
miles, and the codes of its two airports. The label is +1 for a delay of 15 minutes or more; for
regression the target is the delay itself. The features:

- sine and cosine of the time of day, of the day in the week and of the day in the year;
- log(distance / 600);
- shares of late flights so far, each minus a fifth and times a constant that brings it to the size
  of the other features: of the origin, of the destination and of the route, with a memory of 30
  days; of all airports, of the origin and of the destination, with a memory of one hour.

A share counts late flights and flights, both forgotten as exp(-age / memory), and leans by some
flights towards a wider share: a route and an airport towards all airports, the last hour towards
the last 30 days.

Nothing looks ahead. The share that a row meets is made of earlier rows, and of those only whose
delays were known by then: a flight counts from the minute in which it must have landed, taken as
its date + 30 minutes + distance / 8 + its delay if it was late. (Without this wait the stream would
be easier, and not one that anybody could have had.) So the features of a row are a function of the
rows before it, whatever the chunks; memory is that of the tables and of the flights in the air.

What the file calls date seems to be the minute in which a flight left, not that of its timetable:
most flights of the small hours are late. What is learned is then a forecast made at take-off.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forks.engine import Counter, entry, njit
from forks.engine.checks import one_of, whole
from forks.files import replacing
from forks.streams import Chunk, read_columns
from forks.streams.files import PathLike, cell_error, existing

_TIMES = ("time of day", "day in the week", "day in the year")
FEATURES = (
    *(f"{wave} of the {time}" for time in _TIMES for wave in ("sine", "cosine")),
    "distance",
    *(f"{share}, 30 days" for share in ("origin", "destination", "route")),
    *(f"{share}, 1 hour" for share in ("all", "origin", "destination")),
)
LATE = 15  # minutes
ROW = np.dtype(
    [
        ("minute", "<i4"),  # since 1970
        ("delay", "<i2"),
        ("distance", "<i2"),
        ("origin", "<i2"),  # see `_airports`
        ("destination", "<i2"),
    ]
)

_CODES = 26**3  # airports have codes of three capitals
_ROUTES = 1 << 16  # slots; the routes of a pair of slots are taken for one
_DAY, _WEEK, _YEAR = 1440.0, 10_080.0, 525_949.0  # minutes
_HOUR, _MONTH = 60.0, 43_200.0  # the two memories
_WAIT = 4096  # minutes that a flight may wait to be counted, at most

# Tables of shares, rows of [late flights, flights, minute of the last change].
_ALL, _ORIGIN, _DESTINATION = 0, 1, 1 + _CODES
_ROUTE = 1 + 2 * _CODES
_SHARES = _ROUTE + _ROUTES


def read_flights(path: PathLike, *, target: str = "late", chunk: int = 10_000) -> Iterator[Chunk]:
    """Return chunks (X, y) of a table of flights, in the order of the file.

    Parameters
    ----------
    path : str or path
        A table that `forks.streams.read_columns` reads, with the columns date, delay, distance,
        origin and destination, dates not falling; or a copy made by `keep_flights`.
    target : {"late", "delay"}
        What y is: -1 and +1, or minutes.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    one_of("target", target, ("late", "delay"))
    path = existing(path)
    rows = _kept_rows(path, chunk) if path.suffix == ".flights" else _rows(path, chunk)
    return _encoded(rows, target)


def _encoded(rows: Iterator[NDArray[Any]], target: str) -> Iterator[Chunk]:
    encoder = FlightEncoder()
    for flights in rows:
        X, late = encoder.encode(flights)
        yield X, (late if target == "late" else flights["delay"].astype(np.float64))


# ---- from text to whole numbers --------------------------------------------------------------


def _rows(path: Path, chunk: int) -> Iterator[NDArray[Any]]:
    """Return chunks of flights, 12 bytes each."""
    row = 0
    for columns in read_columns(path, list(_COLUMNS), chunk=chunk):
        flights = np.empty(len(columns["date"]), ROW)
        for field, (name, cells) in zip(ROW.names or (), columns.items(), strict=True):
            flights[field] = _converted(path, row, name, np.asarray(cells, dtype=str))
        row += len(flights)
        yield flights


def _converted(path: Path, row: int, name: str, cells: NDArray[np.str_]) -> Any:
    """Convert a column, or name the first row that cannot be converted."""
    convert, kind = _COLUMNS[name]
    values = convert(cells)
    if values is not None:
        return values
    first = next(i for i in range(len(cells)) if convert(cells[i : i + 1]) is None)
    raise cell_error(path, row + first + 1, name, f"{str(cells[first])!r} is not {kind}")


def _letters(cells: NDArray[np.str_], length: int) -> NDArray[np.uint32] | None:
    """Return the code points, (n, length), or None if a cell is longer."""
    padded = np.ascontiguousarray(cells, dtype=f"<U{max(length, cells.itemsize // 4)}")
    points = padded.view(np.uint32).reshape(len(cells), -1)
    return None if points[:, length:].any() else points[:, :length]


def _minutes(cells: NDArray[np.str_]) -> Any:
    letters = _letters(cells, 16)
    if letters is None or (letters[:, 10] != ord("T")).any() or (letters[:, 15] == 0).any():
        return None  # NumPy would also take less of a date, and "today"
    try:
        minutes = cells.astype("datetime64[m]").astype(np.int64)
    except ValueError:
        return None
    return minutes if np.abs(minutes).max(initial=0) < 2**31 else None


def _whole(cells: NDArray[np.str_], smallest: int) -> Any:
    try:
        values = cells.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    inside = (values >= smallest) & (values < 2**15)
    return values if inside.all() else None


def _airports(cells: NDArray[np.str_]) -> Any:
    letters = _letters(cells, 3)
    if letters is None or (letters < ord("A")).any() or (letters > ord("Z")).any():
        return None
    a, b, c = (letters.astype(np.int64) - ord("A")).T
    return 676 * a + 26 * b + c


_NUMBER, _CODE = "a whole number of", "an airport's code of three capitals"
# How each column is converted, and what its cells must be; in the order of ROW.
_COLUMNS: dict[str, tuple[Callable[[NDArray[np.str_]], Any], str]] = {
    "date": (_minutes, "a date such as 2001-01-01T00:01"),
    "delay": (partial(_whole, smallest=-(2**15)), f"{_NUMBER} minutes between -32,768 and 32,767"),
    "distance": (partial(_whole, smallest=1), f"{_NUMBER} miles between 1 and 32,767"),
    "origin": (_airports, _CODE),
    "destination": (_airports, _CODE),
}


# ---- a copy that is quick to read ------------------------------------------------------------


def keep_flights(path: PathLike, folder: PathLike) -> Path:
    """Return a copy of a table of flights that `read_flights` reads fast; make it if it is missing.

    It has 12 bytes a row. Its name contains the digest of the table.
    """
    path, folder = existing(path), Path(folder)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    kept = folder / f"{path.name.split('.')[0]}-{digest}.flights"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as out:
            for flights in _rows(path, 50_000):
                out.write(flights.tobytes())
    return kept


def _kept_rows(path: Path, chunk: int) -> Iterator[NDArray[Any]]:
    with path.open("rb") as file:
        while len(flights := np.fromfile(file, ROW, chunk)):
            yield flights


# ---- from whole numbers to features ----------------------------------------------------------


class _Waiting(NamedTuple):
    """Flights in the air: a list for every minute of the wait to come, and one of free places."""

    heads: Counter  # (_WAIT + 1,)  first place of each list, -1 for none; last, the free places
    following: Counter  # (capacity,)  the next place in the same list
    flights: Any  # (capacity, 3)  origin, destination, late


class FlightEncoder:
    """Encodes flights as rows, by the flights that were encoded before."""

    def __init__(self) -> None:
        self._shares = np.zeros((_SHARES, 2, 3))
        self._counts = np.array([np.iinfo(np.int64).min, 0])  # the clock, and free places
        self._waiting = _Waiting(
            np.full(_WAIT + 1, -1), np.empty(0, np.int64), np.empty((0, 3), np.int64)
        )

    def encode(self, flights: NDArray[Any]) -> Chunk:
        """Return the rows and labels of the flights that come next."""
        n = len(flights)
        columns = [flights[name].astype(np.int64) for name in ROW.names or ()]
        X = np.empty((n, len(FEATURES)))
        if n:
            self._make_room(n)
            _encode.over()(*columns, self._shares, self._counts, self._waiting, X)
        return X, np.where(flights["delay"] >= LATE, 1.0, -1.0)

    def _make_room(self, n: int) -> None:
        """Have n free places, as many as a chunk may fill before a flight lands."""
        missing = n - self._counts[1]
        if missing <= 0:
            return
        heads, following, flights = self._waiting
        old, new = len(following), len(following) + missing
        following = np.concatenate([following, np.arange(old + 1, new + 1)])
        following[-1], heads[_WAIT] = heads[_WAIT], old
        self._waiting = _Waiting(heads, following, np.resize(flights, (new, 3)))
        self._counts[1] = n


@njit
def _share(table, minute, memory, wider, weight):
    """Late flights over flights, with so many flights of the wider share."""
    kept = math.exp((table[2] - minute) / memory)
    return (kept * table[0] + weight * wider) / (kept * table[1] + weight)


@njit
def _count(table, minute, memory, late):
    if minute > table[2]:
        kept = math.exp((table[2] - minute) / memory)
        table[0] *= kept
        table[1] *= kept
        table[2] = minute
    table[0] += late
    table[1] += 1.0


@njit
def _route(origin, destination):
    return _ROUTE + (origin * 40_503 + destination) % _ROUTES


@entry
def _encode(minutes, delays, distances, origins, destinations, shares, counts, waiting, X):
    heads, following, flights = waiting
    for i in range(len(minutes)):
        origin, destination = origins[i], destinations[i]
        if counts[0] < minutes[i]:
            # after a pause in the stream: all that wait land within _WAIT minutes of the clock
            for minute in range(counts[0] + 1, min(counts[0] + _WAIT, minutes[i]) + 1):
                place = heads[minute % _WAIT]
                if place < 0:
                    continue
                heads[minute % _WAIT] = -1
                while place >= 0:
                    late = float(flights[place, 2])
                    a, b = flights[place, 0], flights[place, 1]
                    for share in (_ALL, _ORIGIN + a, _DESTINATION + b, _route(a, b)):
                        _count(shares[share, 0], minute, _HOUR, late)
                        _count(shares[share, 1], minute, _MONTH, late)
                    left = following[place]
                    following[place] = heads[_WAIT]
                    heads[_WAIT] = place
                    counts[1] += 1
                    place = left
            counts[0] = minutes[i]
        now = counts[0]
        for f, period in enumerate((_DAY, _WEEK, _YEAR)):
            angle = 2.0 * math.pi * (minutes[i] % period) / period
            X[i, 2 * f] = math.sin(angle)
            X[i, 2 * f + 1] = math.cos(angle)
        X[i, 6] = math.log(distances[i] / 600.0)
        of_all = _share(shares[_ALL, 1], now, _MONTH, 0.2, 100.0)
        of_hour = _share(shares[_ALL, 0], now, _HOUR, of_all, 50.0)
        start, end = shares[_ORIGIN + origin], shares[_DESTINATION + destination]
        route = shares[_route(origin, destination), 1]
        X[i, 7] = 10.0 * (_share(start[1], now, _MONTH, of_all, 50.0) - 0.2)
        X[i, 8] = 10.0 * (_share(end[1], now, _MONTH, of_all, 50.0) - 0.2)
        X[i, 9] = 5.0 * (_share(route, now, _MONTH, of_all, 10.0) - 0.2)
        X[i, 10] = 10.0 * (of_hour - 0.2)
        X[i, 11] = 4.0 * (_share(start[0], now, _HOUR, of_hour, 3.0) - 0.2)
        X[i, 12] = 4.0 * (_share(end[0], now, _HOUR, of_hour, 3.0) - 0.2)
        landing = now + min(30 + distances[i] // 8 + max(delays[i], 0), _WAIT - 1)
        place = heads[_WAIT]
        heads[_WAIT] = following[place]
        counts[1] -= 1
        flights[place, 0] = origin
        flights[place, 1] = destination
        flights[place, 2] = delays[i] >= LATE
        following[place] = heads[landing % _WAIT]
        heads[landing % _WAIT] = place
