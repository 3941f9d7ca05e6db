"""Opening files of any format as raw columns: format, dialect and encoding are found."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from forks.streams.columns import ArrayColumn, Column, TextColumn
from forks.streams.dialects import Dialect, find_dialect
from forks.streams.files import StreamError, TextFile, cell_error, existing, open_text
from forks.streams.formats import FORMATS, Format, format_of, named_format
from forks.streams.formats.csv import Table
from forks.streams.formats.sniffing import sniff
from forks.streams.words import Words

_DEFAULT = "utf-8"


class Opened:
    """A table that is being read: chunks {name: `Column`}, and what was found about it."""

    def __init__(self, chunks: Iterator[dict[str, Column]], notes: list[str]) -> None:
        self._chunks = chunks
        self.notes = notes
        self.row = 0  # rows before the last chunk
        self._n = 0

    def __iter__(self) -> Iterator[dict[str, Column]]:
        for columns in self._chunks:
            self.row += self._n
            self._n = len(next(iter(columns.values())))
            yield columns

    def fault(self, name: str, at: int, column: str, fault: str) -> StreamError:
        """Return the error about a cell of the last chunk."""
        return cell_error(name, self.row + at + 1, column, fault)


def whose_format(
    path: str, name: str | None, encoding: str | None, known: str | None
) -> tuple[Format, Any]:
    """Return the format of a file, by `name`, its ending or its contents; and what to read."""
    source: Any = path
    if path == "-" or (Path(path).exists() and not Path(path).is_file()):
        if name is not None and not (name in FORMATS and FORMATS[name].text):
            return format_of(path, name), path
        source = open_text(path, encoding)
    else:
        existing(path)
    if name is not None:
        return format_of(path, name), source
    if isinstance(source, TextFile):
        if known is not None:
            return FORMATS[known], source
        return FORMATS[sniff(source.peek())], source
    by_name = named_format(path)
    if by_name is not None:
        return by_name, source
    return FORMATS[_sniffed(path, encoding)], source


def _sniffed(path: str, encoding: str | None) -> str:
    file = open_text(path, encoding)
    with open(path, "rb") as raw:
        start = raw.read(8)
    with file:
        return sniff(file.peek(), start)


@contextmanager
def open_table(
    format: Format, source: Any, dialect: Dialect, encoding: str | None, words: Words, chunk: int
) -> Iterator[Opened]:
    """Open a table; the context closes it."""
    if format.delimiter is None:
        told = {k: v for k, v in vars(dialect).items() if v is not None}
        if told:
            raise ValueError(f"{format.name} has no {', '.join(told)} to be told")
        assert format.columns is not None
        with closing(format.columns(source, None, chunk)) as chunks:
            yield Opened(
                ({k: ArrayColumn(v) for k, v in columns.items()} for columns in chunks), []
            )
        return
    table, notes = text_table(format, source, dialect, encoding, words)
    with closing(table.cells(chunk)) as cells:
        yield Opened(
            ({k: TextColumn(part, j) for j, k in enumerate(table.names)} for part in cells), notes
        )


def text_table(
    format: Format, source: Any, dialect: Dialect, encoding: str | None, words: Words
) -> tuple[Table, list[str]]:
    """Return a text table, and notes on what of it is unusual."""
    file = open_text(source, encoding)
    with file:
        head = file.peek()
    found = find_dialect(head, dialect, words, usual=format.delimiter or ",")
    assert found.delimiter is not None
    table = Table(
        file if file.live else source,
        found.delimiter,
        bool(found.header),
        point=found.point or ".",
        encoding=encoding,
    )
    table.names = _unique(table.names, bool(found.header))
    notes = []
    if found.delimiter != format.delimiter or not found.header or found.point == ",":
        notes.append(found.describe())
    if table.file.encoding not in (_DEFAULT, "ascii"):
        notes.append(f"{table.file.encoding} text")
    return table, notes


def _unique(names: list[str], header: bool) -> list[str]:
    """Return names of columns: c1, c2, ... for those that have none."""
    named = [name.strip() for name in names] if header else [""] * len(names)
    return [name or f"c{i + 1}" for i, name in enumerate(named)]
