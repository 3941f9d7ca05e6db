"""Data sets by name, and files: whole, or in chunks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forks.datasets.folder import paths
from forks.datasets.registry import REGISTRY, describe
from forks.engine import Vector
from forks.engine.checks import whole
from forks.streams import Chunk, StreamError, open_labelled
from forks.streams.columns import joined


def load(name: str) -> tuple[Any, Vector]:
    """Return the rows and the labels, -1 or +1, of a data set in the order of its files.

    Rows are a float64 array, or CSR for wide and sparse ones. The values are as published, not
    scaled; more than two classes are as in the file, and a regression has targets. Flights are
    encoded by `forks.datasets.flights`.
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
    parts = list(chunks)
    if not parts:
        raise StreamError(f"{name} has no rows")
    rows, labels = zip(*parts, strict=True)
    return joined(rows), np.concatenate(labels)


def stream(name: str, chunk: int = 10_000) -> Iterator[Chunk]:
    """Return what `load` returns in chunks (X, y), holding no more than a chunk.

    Chunks have `chunk` rows; the last one of each file may be shorter.
    """
    whole("chunk", chunk, 1)
    entry = describe(name)
    if entry.read is None:
        raise ValueError(
            f"{name} has text, which nothing here turns into numbers yet: "
            "read its `paths` with `forks.streams.read_columns`"
        )
    return entry.read(entry, paths(name), chunk)


def prepare(name: str) -> Callable[[int], Iterator[Chunk]]:
    """Do once what many passes need; return a function that makes the stream in chunks of a size.

    A copy of flights-3m that is read fast is left in the user's cache folder; of kuairec what
    `forks.datasets.kuairec` keeps of its rows stays in memory.
    """
    entry = describe(name)
    if entry.prepare is None:
        return lambda chunk: stream(name, chunk)
    return entry.prepare(entry, paths(name))


def read(data: str) -> tuple[Any, Any]:
    """Return the rows and the labels of a data set by its name, or of a file.

    A file is what `forks.streams.open_stream` reads; a table has a header, and its labels in the
    last column. Rows are an array, or CSR if most entries are zero; labels are as in the file.
    """
    if data in REGISTRY:
        return load(data)
    path = Path(data)
    if not path.is_file():
        known = [name for name, entry in REGISTRY.items() if entry.read is not None]
        raise FileNotFoundError(
            f"{data!r} is neither a file nor one of the data sets {', '.join(known)}"
        )
    return _joined(data, open_labelled(path))


def read_signs(data: str) -> tuple[Any, Vector]:
    """Return what `read` returns, with the smaller label as -1 and the larger as +1.

    Labels that are not of two classes are an error.
    """
    X, y = read(data)
    classes = np.unique(y)
    if len(classes) != 2:
        first = ", ".join(f"{label:g}" for label in classes[:3])
        raise StreamError(
            f"{data}: labels must be of two classes, got {len(classes)}: "
            f"{first}{', ...' if len(classes) > 3 else ''}"
        )
    return X, np.where(y == classes[1], 1.0, -1.0)
