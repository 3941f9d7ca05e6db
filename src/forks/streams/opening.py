"""Opening files of any format as raw columns: format, dialect and encoding are found."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from forks.streams.columns import ArrayColumn, Column, TextColumn
from forks.streams.dialects import Dialect, find_dialect
from forks.streams.files import StreamError, TextFile, check_columns, existing, open_text
from forks.streams.formats import FORMATS, Format, format_of, named_format
from forks.streams.formats.csv import Table
from forks.streams.formats.sniffing import sniff
from forks.streams.words import Words

_DEFAULT = "utf-8"
# First bytes of files that users have, and that cannot be read.
_REFUSED = {
    b"PK\x03\x04": "an Excel file or another archive: save the table as CSV",
    b"[": "a JSON array: JSON lines have an object in each line, and nothing around them",
}


def whose_format(
    path: str, name: str | None, encoding: str | None, known: str | None
) -> tuple[Format, Any]:
    """Return the format of a file, by `name`, its ending or its contents; and what to read."""
    if path == "-" or (Path(path).exists() and not Path(path).is_file()):
        if name is not None and not (name in FORMATS and FORMATS[name].text):
            return format_of(path, name), path
        text = open_text(path, encoding)
        return format_of(path, name or known or _sniffed_text(text)), text
    existing(path)
    by_name = format_of(path, name) if name is not None else named_format(path)
    format = by_name or FORMATS[_sniffed(path, encoding)]
    return format, open_text(path, encoding) if format.text else path


def _sniffed_text(source: TextFile) -> str:
    with source:
        head = source.peek()
    if not head:
        raise StreamError(f"{source.path} is empty")
    return sniff(head)


def _sniffed(path: str, encoding: str | None) -> str:
    with open(path, "rb") as raw:
        start = raw.read(8)
    for magic, what in _REFUSED.items():
        if start.startswith(magic):
            raise StreamError(f"{path} is {what}")
    with open_text(path, encoding) as file:
        return sniff(file.peek(), start)


def check_undelimited(format: Format, dialect: Dialect) -> None:
    """Check that nothing is told of how cells are delimited."""
    names = {"delimiter": "delimiter=", "header": "header=", "point": "decimal="}
    told = [names[k] for k, v in vars(dialect).items() if v is not None]
    if told:
        raise ValueError(f"{', '.join(told)} cannot be told of {format.name} files")


@contextmanager
def open_table(
    format: Format, source: Any, dialect: Dialect, words: Words, chunk: int
) -> Iterator[tuple[Iterator[dict[str, Column]], list[str]]]:
    """Open a table: chunks {name: `Column`}, and what was found about it; the context closes it."""
    if format.delimiter is None:
        check_undelimited(format, dialect)
        assert format.columns is not None
        with closing(format.columns(source, None, chunk)) as chunks:
            yield ({k: ArrayColumn(v) for k, v in columns.items()} for columns in chunks), []
        return
    table, notes = _text_table(format, source, dialect, words)
    with closing(table.cells(chunk)) as cells:
        yield ({k: TextColumn(part, j) for j, k in enumerate(table.names)} for part in cells), notes


def _text_table(
    format: Format, source: Any, dialect: Dialect, words: Words
) -> tuple[Table, list[str]]:
    """Return a text table, and notes on what of it is unusual."""
    file: TextFile = source
    with file:
        head = file.peek()
    found = find_dialect(head, dialect, words, usual=format.delimiter or ",")
    assert found.delimiter is not None
    table = Table(file, found.delimiter, bool(found.header), point=found.point or ".")
    named = [name.strip() if found.header else "" for name in table.names]
    table.names = [name or f"c{i + 1}" for i, name in enumerate(named)]
    check_columns(file.path, table.names, table.names)
    notes = []
    if found.delimiter != format.delimiter or not found.header or found.point == ",":
        notes.append(found.describe())
    if table.file.encoding not in (_DEFAULT, "ascii"):
        notes.append(f"{table.file.encoding} text")
    return table, notes
