"""Arrow IPC, files and streams, with pyarrow. What is in memory is a record batch at most."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from forks.engine.checks import whole
from forks.streams.files import (
    STANDARD_INPUT,
    Chunks,
    Columns,
    PathLike,
    chosen_columns,
    existing,
    shown_path,
)
from forks.streams.formats._format import Format
from forks.streams.formats._numbers import numbers_of
from forks.streams.formats.parquet import as_stream_error, made_of, raw_columns

_MAGIC = b"ARROW1"


def read_arrow(
    path: PathLike, *, target: str, features: Sequence[str] | None = None, chunk: int = 10_000
) -> Chunks:
    """Return chunks (X, y) of an Arrow IPC file or stream, float64; all values must be numbers.

    Parameters
    ----------
    path : str or path
        "-" is standard input, for streams.
    target, features, chunk
        See `read_parquet`; a record batch may end a chunk.
    """
    whole("chunk", chunk, 1)
    return numbers_of(_columns(path, None, chunk), path, target, features)


def _columns(path: PathLike, names: Sequence[str] | None, chunk: int) -> Columns:
    name = shown_path(path)
    with _opened(path) as (schema, batches):
        chosen = chosen_columns(Path(name), names, list(schema.names))

        def tables(row: int, batch: Any) -> list[dict[str, Any]]:
            batch.validate(full=True)
            parts = [batch.slice(at, chunk) for at in range(0, batch.num_rows, chunk)]
            return [raw_columns(part, chosen) for part in parts]

        yield from made_of(batches, name, tables)


@contextmanager
def _opened(path: PathLike) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Return the schema and the batches."""
    try:
        from pyarrow import ipc
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{path} cannot be read without {ARROW.needs}") from error
    with ExitStack() as stack:
        if path == STANDARD_INPUT:
            file: Any = sys.stdin.buffer
        else:
            file = stack.enter_context(open(existing(path), "rb"))
        with as_stream_error(f"{path} is not Arrow IPC, or is damaged"):
            if path != STANDARD_INPUT and file.peek(8).startswith(_MAGIC):
                reader = stack.enter_context(ipc.open_file(file))
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                reader = stack.enter_context(ipc.open_stream(file))
                batches = iter(reader)
            _ = reader.schema.names  # which must be text
        yield reader.schema, batches


def _example() -> bytes:
    import pyarrow
    from pyarrow import ipc

    file = BytesIO()
    table = pyarrow.table({"a": [1.0, 2.5], "b": [0, 3], "y": [1, 0]})
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


ARROW = Format(
    name="arrow",
    endings=(".arrow", ".feather", ".arrows", ".ipc"),
    read=read_arrow,
    columns=_columns,
    example=_example,
    text=False,
    piped=True,
    needs="pyarrow: pip install 'forks-learn[arrow]'",
)
