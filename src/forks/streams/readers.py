"""Streams from files and from memory: generators of chunks that never hold the whole file.

The readers of the formats are in `forks.streams.formats`; here the format is chosen. Rows are
C-ordered float64 arrays or CSR matrices, labels are as in the file. A fault in a file is a
`StreamError` that names the file and the row; chunks returned before it are valid. Files are
closed whatever happens, also if a stream is left early.
"""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
from scipy import sparse

from forks.engine.checks import whole
from forks.streams.files import Chunks, Columns, PathLike, StreamError
from forks.streams.formats import FORMATS, format_of


def open_stream(path: PathLike, *, format: str | None = None, **options: Any) -> Chunks:
    """Return chunks (X, y) of a file, by the reader of its format.

    Parameters
    ----------
    path : str or path
        Text may be compressed, with .gz, .bz2 or .xz at the end of the name; "-" is standard input.
    format : str, optional
        A name of `forks.streams.formats.FORMATS`. By default the ending of the file's name decides:
        `.csv`, `.tsv` and `.parquet` are tables, all else is taken for LIBSVM format.
    **options
        Those of `read_csv`, `read_parquet`, `read_libsvm`, or of the reader of another format.
    """
    return format_of(path, format).read(path, **options)


def open_labelled(path: PathLike) -> Chunks:
    """Return chunks (X, y) of a file; a table has a header and its labels in the last column."""
    found = format_of(path)
    if found.columns is None:
        return found.read(path)
    with closing(found.columns(path, None, 1)) as tables:
        first = next(tables, None)
    if first is None:
        raise StreamError(f"{path} has no rows")
    return found.read(path, target=list(first)[-1])


def read_columns(
    path: PathLike, names: Sequence[str], *, format: str | None = None, chunk: int = 10_000
) -> Columns:
    """Return chunks of raw columns, {name: array}, for pipelines that encode text themselves.

    Parameters
    ----------
    path : str or path
        A table with a header: `.csv` or `.tsv`, whose columns are arrays of text, cells as they are
        in the file; or `.parquet`, whose columns are arrays of their own types.
    names : sequence of str
    format : str, optional
        As in `open_stream`.
    chunk : int
        Rows in a chunk, at most.
    """
    whole("chunk", chunk, 1)
    if isinstance(names, str) or len(names) == 0:
        raise ValueError(f"names must be a sequence of columns, got {names!r}")
    found = format_of(path, format)
    if found.columns is None:
        endings = [end for known in FORMATS.values() if known.columns for end in known.endings]
        raise ValueError(f"path must end in {', '.join(endings)}, as tables do, got {path}")
    return found.columns(path, names, chunk)


def read_arrays(X: Any, y: Any, *, chunk: int = 10_000) -> Chunks:
    """Return chunks (X, y) of rows that are in memory, or in a file mapped to memory.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have the shape ({X.shape[0]},), as X has rows, got {y.shape}")
    return _slices(X, y, chunk)


def _slices(X: Any, y: Any, chunk: int) -> Chunks:
    for start in range(0, len(y), chunk):
        rows = X[start : start + chunk]
        rows = rows if sparse.issparse(rows) else np.ascontiguousarray(rows)
        yield rows.astype(np.float64, copy=False), y[start : start + chunk]
