"""The table of data sets: sizes, task, licence, files with their digests, and how each is read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from forks.streams import Chunk

Task: TypeAlias = Literal["classification", "regression", "either"]


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One file of a data set.

    Addresses serve the text as it is or compressed, with or without carriage returns; so besides
    the digest of the file there is one of its text, decompressed and without carriage returns,
    which holds for every form of it.
    """

    name: str  # in a data folder
    rows: int
    sha256: str | None = None  # None: not known here, and not checked
    text_sha256: str | None = None
    address: str | None = None  # None: only in another form, at the source of the data set

    @property
    def names(self) -> tuple[str, ...]:
        """Names to look for in a data folder: its own, and that of the file at its address."""
        served = PurePosixPath(self.address).name if self.address else self.name
        return tuple(dict.fromkeys((self.name, served)))


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """What is known of a data set.

    `read(data_set, paths, chunk)` returns chunks (X, y), two classes as -1 and +1, more as they are
    in the file; it is None if the data set has text that nothing here encodes. `prepare(data_set,
    paths)` does once what many passes need, and returns a function of the chunk size that returns
    chunks; it may be None.
    """

    name: str
    files: tuple[DataFile, ...]  # read one after the other
    features: int
    source: str
    task: Task = "classification"
    licence: str = "not stated"
    read: Callable[["DataSet", list[Path], int], Iterator[Chunk]] | None = None
    prepare: Callable[["DataSet", list[Path]], Callable[[int], Iterator[Chunk]]] | None = None
    sparse: bool = False
    time_order: bool = False  # the order of the rows means something, and is kept
    rows_given: int | None = None  # rows of the stream, if not all rows of the files
    permutations: DataFile | None = None  # published orders of the rows
    side_files: tuple[DataFile, ...] = ()  # to be joined with the rows

    @property
    def rows(self) -> int:
        given = self.rows_given
        return sum(file.rows for file in self.files) if given is None else given


REGISTRY: dict[str, DataSet] = {}


def register(entry: DataSet) -> None:
    """Add a data set to the table; its name must be new."""
    if entry.name in REGISTRY:
        raise ValueError(f"there is a data set {entry.name!r} already")
    REGISTRY[entry.name] = entry


def names(task: Task | None = "classification") -> list[str]:
    """Return the names of the data sets for a task, or with None of all."""
    return [name for name, entry in REGISTRY.items() if task in (None, entry.task)]


def describe(name: str) -> DataSet:
    """Return what is known of a data set: files with digests, sizes, task, licence, source."""
    if name not in REGISTRY:
        raise ValueError(f"name must be one of {', '.join(REGISTRY)}, got {name!r}")
    return REGISTRY[name]
