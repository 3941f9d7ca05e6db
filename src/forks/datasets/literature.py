"""Data sets of the literature on streams: tables with a header, the label in the last column.

They are played in the order of their files where that is the order of time, or of changes that
were made on purpose.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from forks.datasets.registry import DataFile, DataSet
from forks.streams import Chunk, read_columns, read_csv
from forks.streams.files import open_text

Reader: TypeAlias = Callable[[DataSet, list[Path], int], Iterator[Chunk]]

_SGBR = "as in the SGBR experiments (DMKD 2025)"

# Rows, and SHA-256 of the file and of its text: see `DataFile`.
_FILES = """
nomao 34465 d7c28525a617dc686c470231fd8affe7b54222d72597a24f3b886e35d79741b7
    9cec8068d4abe109b6691594a0ed337234bf6691ecedffa746e8717a7835db2c
weather 18159 0ab138b853c242ff99ddd5fb74b76f5fd0f0f38574861631c2b0cfa0d9fe7a18
    81c11f6e46c4605bf4ea5a2b783caf492f21f063ab4ed174a721645ee440d8d3
interchanging-rbf 200000 db2f6aedb1e7f9bb9e011dd506289ef723fb3c035a60f00d80b7e6aea94bebbc
    082a15937ad027cc66eae9375126f0f29d8b4c700dafcf5f52ccc6b57c85495a
internet-ads 3279 8090617e234bb7d7d60636a6ac6c00461fea101c88d388d910eff3b5f2dee228
    f1ba387cf941fc5e36721f17787c18665526e4727e0d50d660ce429618cbedc8
fried 40768 c3a5c63d58b89a6af3999bf30d113969a852c9082f43a9de53463e42fbb7f73a
    8921a96371c0f6615e13d651db8ec7b1216e1a42d8957c79372c356b5477a65b
elevators 16599 4b5889b502556aa0c504fa13fb2d4cd3d1e9d6ff6c5851e6bced3b8ba0129ed9
    fabeab34da329300c8f68a03a7f61b76eeff669279d4b3a63babf01ce05ae25d
ailerons 13750 11fb5140be9f2e45587e4911c957b7fb05a519dd8bd7600332e20398ae11aa1f
    9c560fb1a9f6b650b8b2ba74520a1420144fff5ddc0053ee28deee0d1d41e0a4
metro-traffic 48204 ded3e53febe3fa128a8d25a852ed2cd8ffe9c519d19a8aaf68c2e6c0845421fe
    c693477f78f1932bf0f4413d87ef7f778550da811fa3e16373262318e4aafe64
beijing-air 420768 54cfa9004d722b67a4b694c73bdf31121d3f2bae68a7c9cf9d20811d0b8409c2
    4bc1e562df33096639961626ce19b367673f66dbcd1a0be7a5fda1718816cf9f
"""
_WORDS = _FILES.split()
_KNOWN = dict(zip(_WORDS[::4], zip(*(_WORDS[i::4] for i in (1, 2, 3)), strict=True), strict=True))


def _file(name: str) -> DataFile:
    rows, digest, text = _KNOWN[name]
    return DataFile(name=f"{name}.csv.bz2", rows=int(rows), sha256=digest, text_sha256=text)


def _numbers(target: str) -> Reader:
    def read(entry: DataSet, paths: list[Path], chunk: int) -> Iterator[Chunk]:
        for path in paths:
            yield from read_csv(path, target=target, chunk=chunk)

    return read


def _signs(target: str, positive: float) -> Reader:
    """Read labels of two classes, of which one is +1."""

    def read(entry: DataSet, paths: list[Path], chunk: int) -> Iterator[Chunk]:
        for X, y in _numbers(target)(entry, paths, chunk):
            yield X, np.where(y == positive, 1.0, -1.0)

    return read


def _read_ads(entry: DataSet, paths: list[Path], chunk: int) -> Iterator[Chunk]:
    """Read labels that are words, and rows that are nearly all zeros."""
    for path in paths:
        with open_text(path) as file:
            names = next(iter(file)).strip().split(",")
        for table in read_columns(path, names, chunk=chunk):
            y = np.where(table.pop("class") == "ad", 1.0, -1.0)
            X = np.column_stack([column.astype(np.float64) for column in table.values()])
            yield sparse.csr_array(X), y


def _table(name: str, features: int, source: str, **more: Any) -> DataSet:
    return DataSet(name=name, files=(_file(name),), features=features, source=source, **more)


def _regression(name: str, features: int, source: str, **more: Any) -> DataSet:
    read = _numbers("target")
    return _table(name, features, f"{source}, {_SGBR}", task="regression", read=read, **more)


LITERATURE = (
    _table(
        "nomao",
        118,
        "UCI Nomao, as in the StreamingRandomPatches experiments",
        read=_signs("Class", 2.0),
        time_order=True,
    ),
    _table(
        "weather",
        8,
        "NOAA, Bellevue, daily from 1949 to 1999; vlosing/driftDatasets",
        read=_signs("y", 1.0),
        time_order=True,
    ),
    _table(
        "interchanging-rbf",
        2,
        "15 classes that change places 67 times; vlosing/driftDatasets",
        read=_numbers("y"),
        time_order=True,
    ),
    _table(
        "internet-ads",
        1_558,
        "UCI Internet Advertisements; sorted by class",
        read=_read_ads,
        sparse=True,
    ),
    _regression("fried", 10, "Friedman 1991 and Breiman 1996, made up"),
    _regression("elevators", 18, "control of an F16, LIAAD"),
    _regression("ailerons", 40, "control of an F16, LIAAD"),
    _regression(
        "metro-traffic",
        7,
        "UCI Metro Interstate Traffic Volume, hourly, categories as codes",
        licence="CC BY 4.0",
        time_order=True,
    ),
    _table(
        "beijing-air",
        16,
        "UCI Beijing Multi-Site Air Quality, the 12 files in the order of time",
        task="either",
        licence="CC BY 4.0",
        time_order=True,
    ),
)
