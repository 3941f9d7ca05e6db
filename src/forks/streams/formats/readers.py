"""Streams from files: generators of chunks that never hold the file.

`open_stream` picks the reader by the file's name. Rows are C-ordered float64 arrays or CSR, labels
are as they stand in the file. A fault in a file is a `StreamError` that names the file and the row;
chunks given before it stand. Files are closed whatever happens, also if a stream is left early.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from forks.streams.formats.csv import csv_columns, csv_names, read_csv
from forks.streams.formats.files import Chunk, PathLike, StreamError, check_count, ending, existing
from forks.streams.formats.libsvm import read_libsvm
from forks.streams.formats.parquet import parquet_columns, parquet_names, read_parquet

__all__ = [
    "StreamError",
    "open_stream",
    "read_arrays",
    "read_columns",
    "read_csv",
    "read_libsvm",
    "read_parquet",
]


def open_stream(path: PathLike, **options: Any) -> Iterator[Chunk]:
    """Return chunks (X, y) of a file, by the reader that fits its name.

    Parameters
    ----------
    path : str or path
        `.csv`, `.tsv` and `.parquet` are tables. All else is taken for LIBSVM format: published
        files in it have names such as a9a, german.numer and ijcnn1.t. Text may be compressed, with
        .gz, .bz2 or .xz at the end of the name.
    **options
        Those of `read_csv`, `read_parquet` or `read_libsvm`.
    """
    match ending(existing(path)):
        case ".csv":
            return read_csv(path, **options)
        case ".tsv":
            return read_csv(path, **{"delimiter": "\t", **options})
        case ".parquet":
            return read_parquet(path, **options)
        case _:
            return read_libsvm(path, **options)


def open_labelled(path: PathLike) -> Iterator[Chunk]:
    """Return chunks (X, y) of a file; a table has a header and its labels in the last column."""
    match ending(existing(path)):
        case ".csv":
            return open_stream(path, target=csv_names(Path(path), ",")[-1])
        case ".tsv":
            return open_stream(path, target=csv_names(Path(path), "\t")[-1])
        case ".parquet":
            return open_stream(path, target=parquet_names(Path(path))[-1])
        case _:
            return open_stream(path)


def read_arrays(X: Any, y: Any, *, chunk: int = 10_000) -> Iterator[Chunk]:
    """Return chunks (X, y) of rows that are in memory, or in a file mapped to memory.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    chunk : int
        Rows given at a time; the last chunk may be shorter.
    """
    check_count("chunk", chunk)
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have the shape ({X.shape[0]},), as X has rows, got {y.shape}")
    return _slices(X, y, chunk)


def _slices(X: Any, y: Any, chunk: int) -> Iterator[Chunk]:
    for start in range(0, len(y), chunk):
        rows = X[start : start + chunk]
        rows = rows if sparse.issparse(rows) else np.ascontiguousarray(rows)
        yield rows.astype(np.float64, copy=False), y[start : start + chunk]


def read_columns(
    path: PathLike, names: Sequence[str], *, chunk: int = 10_000
) -> Iterator[dict[str, Any]]:
    """Return chunks of raw columns, {name: array}, for pipelines that encode text themselves.

    Parameters
    ----------
    path : str or path
        A table with a header: `.csv` or `.tsv`, whose columns are arrays of text, cells as they
        stand there; or `.parquet`, whose columns are arrays of their own kind.
    names : sequence of str
    chunk : int
        Rows given at a time, at most.
    """
    check_count("chunk", chunk)
    if isinstance(names, str) or len(names) == 0:
        raise ValueError(f"names must be a sequence of columns, got {names!r}")
    path = existing(path)
    match ending(path):
        case ".csv":
            return csv_columns(path, names, ",", chunk)
        case ".tsv":
            return csv_columns(path, names, "\t", chunk)
        case ".parquet":
            return parquet_columns(path, names, chunk)
        case other:
            raise ValueError(f"path must end in .csv, .tsv or .parquet, got {other!r} in {path}")
