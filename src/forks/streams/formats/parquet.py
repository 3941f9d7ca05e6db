"""Parquet tables, with pyarrow. What is in memory is a row group at most."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Vector
from forks.engine.checks import whole
from forks.streams.files import (
    Chunk,
    Chunks,
    Columns,
    PathLike,
    StreamError,
    cell_error,
    check_columns,
    chosen_columns,
    existing,
)
from forks.streams.formats._format import Categories, Format


def read_parquet(
    path: PathLike, *, target: str, features: Sequence[str] | None = None, chunk: int = 10_000
) -> Chunks:
    """Return chunks (X, y) of a Parquet file, float64. Every value that is read must be a number.

    Parameters
    ----------
    path : str or path
    target : str
        Column of the labels.
    features : sequence of str, optional
        Columns of the rows, in this order; by default all but the target.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of columns, got {features!r}")
    path = existing(path)
    with _opened(path) as file:
        schema = file.schema_arrow
    chosen = [name for name in schema.names if name != target] if features is None else features
    if len(chosen) == 0:
        raise ValueError(f"features must name at least one column of {path}")
    columns = [*chosen, target]
    check_columns(path, columns, schema.names)
    for name in columns:
        kind = schema.field(name).type
        if not _is_number(kind):
            raise StreamError(f"{path}: column {name!r} must have numbers, and has {kind}")

    def numbers(row: int, batch: Any) -> list[Chunk]:
        values = [_values(path, row, name, batch.column(name)) for name in columns]
        return [(np.column_stack(values[:-1]), values[-1])]

    return _chunks(path, columns, chunk, numbers)


def _columns(path: PathLike, names: Sequence[str] | None, chunk: int) -> Columns:
    path = existing(path)
    with _opened(path) as file:
        chosen = chosen_columns(path, names, list(file.schema_arrow.names))
    return _chunks(path, chosen, chunk, lambda row, batch: [raw_columns(batch, chosen)])


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{path} cannot be read without {PARQUET.needs}") from error
    with as_stream_error(f"{path} is not a Parquet file, or is damaged"):
        file = ParquetFile(path)
        _ = file.schema_arrow.names  # which must be text
    with file:
        yield file


@contextmanager
def as_stream_error(what: str) -> Iterator[None]:
    """Context that turns errors of pyarrow into `StreamError`."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeError, MemoryError) as error:  # of a damaged length
        raise StreamError(f"{what}: {error}") from error


def made_of(
    batches: Iterator[Any], name: PathLike, make: Callable[[int, Any], list[Any]]
) -> Iterator[Any]:
    """Yield the chunks that `make` makes of the number of rows before a batch, and the batch."""
    row = 0
    while True:
        with as_stream_error(f"{name} cannot be read beyond row {row}"):
            batch = next(batches, None)
            if batch is None:
                return
            chunks = make(row, batch)
        yield from chunks
        row += batch.num_rows


def _chunks(
    path: Path, columns: Sequence[str], chunk: int, make: Callable[[int, Any], list[Any]]
) -> Generator[Any, None, None]:
    with _opened(path) as file:  # whose batches are shorter where row groups of text end
        batches = file.iter_batches(chunk, columns=list(dict.fromkeys(columns)))
        yield from made_of(batches, path, make)


def raw_columns(batch: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return columns of a record batch as arrays of their own."""
    return {name: _raw(batch.column(name)) for name in names}


def _raw(column: Any) -> np.ndarray:
    from pyarrow import types

    values = np.array(column.to_numpy(zero_copy_only=False))  # pyarrow's own are read-only
    if not types.is_dictionary(column.type):
        return values
    known: np.ndarray = values.astype(object)
    return known.view(Categories)


def _values(path: Path, row: int, name: str, column: Any) -> Vector:
    faults = column.is_null().to_numpy(zero_copy_only=False)
    if not faults.any():
        values: Vector = column.to_numpy(zero_copy_only=False).astype(np.float64)
        faults = ~np.isfinite(values)
        if not faults.any():
            return values
    first = int(np.argmax(faults))
    value = column[first].as_py()
    fault = "the cell is empty" if value is None else f"{value!r} is not a finite number"
    raise cell_error(path, row + first + 1, name, fault)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _example() -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    file = BytesIO()
    write_table(pyarrow.table({"a": [1.0, 2.5], "b": [0, 3], "y": [True, False]}), file)
    return file.getvalue()


PARQUET = Format(
    name="parquet",
    endings=(".parquet",),
    read=read_parquet,
    columns=_columns,
    example=_example,
    text=False,
    needs="pyarrow: pip install 'forks-learn[arrow]'",
)
