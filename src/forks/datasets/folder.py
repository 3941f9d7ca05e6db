"""The benchmark data sets, read from `$FORKS_DATA` or from the user's cache folder."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from forks.datasets.flights import keep_flights, read_flights
from forks.datasets.kuairec import KuaiRec
from forks.datasets.registry import REGISTRY, DataFile, DataSet
from forks.engine import Counter, Vector
from forks.streams.formats.files import (
    Chunk,
    PathLike,
    StreamError,
    TextFile,
    check_count,
    existing,
)
from forks.streams.formats.readers import open_labelled, read_csv, read_libsvm

__all__ = [
    "DataFile",
    "DataSet",
    "at_hand",
    "describe",
    "load",
    "names",
    "order",
    "paths",
    "permutations",
    "prepare",
    "read",
    "read_permutations",
    "read_signs",
    "stream",
]


def names(
    task: Literal["classification", "regression", "either"] | None = "classification",
) -> list[str]:
    """Return the names of the data sets for a task, or with None of all."""
    return [name for name, entry in REGISTRY.items() if task in (None, entry.task)]


def describe(name: str) -> DataSet:
    """Return what is known of a data set: files with digests, sizes, task, licence, source."""
    if name not in REGISTRY:
        raise ValueError(f"name must be one of {', '.join(REGISTRY)}, got {name!r}")
    return REGISTRY[name]


def paths(name: str) -> list[Path]:
    """Return the paths of a data set's files, those to be joined with its rows last."""
    entry = describe(name)
    return _paths(entry, (*entry.files, *entry.side_files))


def at_hand(name: str) -> bool:
    """Tell whether all files of a data set are there."""
    try:
        paths(name)
    except FileNotFoundError:
        return False
    return True


def load(name: str) -> tuple[Any, Vector]:
    """Return the rows and the labels, -1 or +1, of a data set in the order of its files.

    Rows are a float64 array, CSR for w7a. The values are as published, not scaled; abalone has
    targets instead of labels. Flights are encoded by `forks.datasets.flights`.
    """
    X, y = _joined(name, stream(name))
    entry = describe(name)
    if len(y) != entry.rows:
        files = " and ".join(str(path) for path in paths(name))
        raise StreamError(
            f"{files}: {name} has {entry.rows:,} rows, and {len(y):,} are there: fetch it again"
        )
    return X, y


def _joined(name: str, chunks: Iterator[Chunk]) -> tuple[Any, Vector]:
    rows, labels = [], []
    for X, y in chunks:
        rows.append(X)
        labels.append(y)
    if not rows:
        raise StreamError(f"{name} has no rows")
    X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate(labels)


def stream(name: str, chunk: int = 10_000) -> Iterator[Chunk]:
    """Return what `load` gives in chunks (X, y), holding no more than a chunk.

    Parameters
    ----------
    name : str
    chunk : int
        Rows given at a time; the last chunk of each file may be shorter.
    """
    check_count("chunk", chunk)
    entry = _of_numbers(name)
    if entry.format == "kuairec":
        return KuaiRec(*paths(name)).chunks(chunk)
    return _chunks(entry, _paths(entry, entry.files), chunk)


def prepare(name: str) -> Callable[[int], Iterator[Chunk]]:
    """Do once what many passes need; give a function that makes the stream in chunks of a size.

    A copy of flights-3m that is read fast is left in the user's cache folder; of kuairec what
    `forks.datasets.kuairec` keeps of its rows stays in memory.
    """
    entry = _of_numbers(name)
    if entry.format == "flights":
        kept = keep_flights(paths(name)[0], cache_folder())
        return lambda chunk: read_flights(kept, chunk=chunk)
    if entry.format == "kuairec":
        return KuaiRec(*paths(name)).chunks
    return lambda chunk: stream(name, chunk)


def _chunks(entry: DataSet, files: list[Path], chunk: int) -> Iterator[Chunk]:
    for path in files:
        if entry.format == "flights":
            yield from read_flights(path, chunk=chunk)
        elif entry.format == "csv":
            for X, y in read_csv(path, target=-1, header=False, chunk=chunk):
                yield X, _signs(y)
        else:
            size, dense = entry.features, not entry.sparse
            yield from read_libsvm(path, n_features=size, chunk=chunk, dense=dense)


def _signs(labels: Vector) -> Vector:
    return np.where(labels > 0.0, 1.0, -1.0)


def read(data: str) -> tuple[Any, Any]:
    """Return the rows and the labels of a data set by its name, or of a file.

    A file is what `forks.streams.open_stream` reads; a table has a header, and its labels in the
    last column. Rows are an array, or CSR if most entries are zero; labels are as they stand there.
    """
    if data in REGISTRY:
        return load(data)
    path = Path(data)
    if not path.is_file():
        raise FileNotFoundError(
            f"{data!r} is neither a file nor one of the data sets {', '.join(_loadable())}"
        )
    return _joined(data, open_labelled(path))


def read_signs(data: str) -> tuple[Any, Vector]:
    """Return what `read` gives, with the smaller label as -1 and the larger as +1.

    Labels that are not of two classes are an error.
    """
    X, y = read(data)
    classes = np.unique(y)
    if len(classes) != 2:
        told = ", ".join(f"{label:g}" for label in classes[:3])
        raise StreamError(
            f"{data}: labels must be of two classes, got {len(classes)}: "
            f"{told}{', ...' if len(classes) > 3 else ''}"
        )
    return X, np.where(y == classes[1], 1.0, -1.0)


def order(n: int, seed: int) -> Counter:
    """Return a random order of n rows, a permutation of 0, 1, ..., n - 1; one seed, one order."""
    return np.random.default_rng(seed).permutation(n)


def permutations(name: str) -> NDArray[np.int64]:
    """Return the 20 published orders of german or spambase: an int array (20, rows), from 0."""
    entry = describe(name)
    if entry.permutations is None:
        known = [name for name, other in REGISTRY.items() if other.permutations]
        raise ValueError(f"no published orders of {name!r}, only of {' and '.join(known)}")
    return read_permutations(_paths(entry, (entry.permutations,))[0], entry.rows)


def published_orders(data: str) -> NDArray[np.int64]:
    """Return `permutations` of a data set that has some; of any other name, or file, none."""
    entry = REGISTRY.get(data)
    if entry is None or entry.permutations is None:
        return np.empty((0, 0), np.int64)
    return permutations(data)


def read_permutations(path: PathLike, n_rows: int) -> NDArray[np.int64]:
    """Return orders of n_rows rows from a file: an int array (orders, n_rows), from 0.

    Parameters
    ----------
    path : str or path
        CSV: each row has the numbers of all rows, from 1, in one order. May be compressed.
    n_rows : int
    """
    orders = []
    with TextFile(existing(path)) as file:
        for line in file:
            file.row += 1
            if not line.strip():
                continue
            try:
                numbers = np.array(line.split(","), dtype=np.int64)
            except (ValueError, OverflowError):
                numbers = np.empty(0, dtype=np.int64)
            if not np.array_equal(np.sort(numbers), np.arange(1, n_rows + 1)):
                raise StreamError(
                    f"{path}, row {file.row}: not a permutation of the numbers from 1 to {n_rows}"
                )
            orders.append(numbers - 1)
    if not orders:
        raise StreamError(f"{path} is empty")
    return np.array(orders)


def cache_folder() -> Path:
    """Return the folder that files are fetched to, and looked for in after `$FORKS_DATA`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forks"


def _of_numbers(name: str) -> DataSet:
    entry = describe(name)
    if entry.format == "table":
        raise ValueError(
            f"{name} has text, which nothing here turns into numbers yet: "
            "give its `paths` to `forks.streams.read_columns`"
        )
    return entry


def _loadable() -> list[str]:
    return [name for name, entry in REGISTRY.items() if entry.format != "table"]


def _folders() -> list[Path]:
    given = os.environ.get("FORKS_DATA")
    return [Path(given), cache_folder()] if given else [cache_folder()]


def find(file: DataFile, folders: Sequence[Path] | None = None) -> Path | None:
    """Return the path of a data set's file, in one of its forms, if it is there."""
    places = _folders() if folders is None else folders
    candidates = (folder / name for folder in places for name in file.names)
    return next(filter(Path.is_file, candidates), None)


def _paths(entry: DataSet, files: Sequence[DataFile]) -> list[Path]:
    """Return the paths of files of a data set, or say which are missing and how to get them."""
    found = [find(file) for file in files]
    missing = [file for file, path in zip(files, found, strict=True) if path is None]
    if not missing:
        return [path for path in found if path is not None]
    names = ", ".join(file.name for file in missing)
    one = len(missing) == 1
    places = " or ".join(map(str, _folders()))
    if all(file.address for file in missing):
        hint = f", or run `forks data fetch {entry.name}`"
    else:
        hint = f" (source: {entry.source})"
    if "FORKS_DATA" not in os.environ:
        hint += f", or set FORKS_DATA to the folder that has {'it' if one else 'them'}"
    raise FileNotFoundError(
        f"data set {entry.name!r} needs the file{'' if one else 's'} {names}: "
        f"put {'it' if one else 'them'} in {places}{hint}"
    )
