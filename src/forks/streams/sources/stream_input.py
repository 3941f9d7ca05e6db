"""A source as the rows that the command line learns, with the columns and kinds of files."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from forks.streams.columns import ArrayColumn, Column
from forks.streams.files import StreamError
from forks.streams.formats.jsonl import JSON_LINES, columns_of
from forks.streams.opening import check_undelimited
from forks.streams.sources.feed import Feed, Row
from forks.streams.sources.source import Position, Source, position_as_json
from forks.streams.tables import ColumnInput, InputFile, Labelled

FIRST = 100  # rows that columns and task are found from, as in the service


@dataclass
class StreamInput(InputFile):
    """A source of messages, for use in a `with`; see `InputFile`.

    The first chunk has exactly `first` rows, unless the source ends before: what is found from it
    does not depend on when messages come.
    """

    source: Source | None = None
    position: Position | None = None  # to begin at
    before: int = 0  # rows that were learned up to there
    made: dict[str, Any] | None = None  # identity of the stream that the position is of
    first: int = FIRST
    on_skip: Callable[[str], None] | None = None  # hears of faults, which end the run otherwise

    def __post_init__(self) -> None:
        assert self.source is not None
        super().__post_init__()
        self.name = self.source.name
        self._feed = Feed(self.source, self.position or {}, self.on_skip)
        self._stack.callback(self.source.close)

    def chunks(self) -> Iterator[Labelled]:
        """Return the rows; `input` is known from the first chunk on."""
        if self.format not in (None, JSON_LINES.name):
            raise ValueError(f"format= must be {JSON_LINES.name} for {self.name}")
        check_undelimited(JSON_LINES, self.dialect)
        self._check_format(JSON_LINES)
        self._feed.open()
        if self.made is not None and self.made != self._feed.source.identity:
            was = ", ".join(f"{k} {v}" for k, v in self.made.items())
            raise StreamError(f"{self.name} is not what the checkpoint was learned from: {was}")
        for columns in self._columns():
            if self.input is None:
                self.input = self._look(JSON_LINES, columns)
            yield self._labelled(self.input, columns)

    def _columns(self) -> Iterator[dict[str, Column]]:
        names: list[str] | None = None
        known = self.input is not None
        rows = self._feed.take(self.chunk if known else min(self.first, self.chunk), not known)
        while rows:
            names = names or self._names(rows)
            if not names:
                raise StreamError(f"{self._feed.where(self._row)}: no keys")
            arrays = columns_of([row.value for row in rows], names)
            yield {name: ArrayColumn(array) for name, array in arrays.items()}
            self._row += len(rows)
            self._feed.position_after(self._row)  # whoever asks for more has learned these
            rows = self._feed.take(self.chunk)

    def _names(self, rows: list[Row]) -> list[str]:
        """Return the columns: those that are known, or the keys of the first rows."""
        known = self.input
        if known is None:
            return list(dict.fromkeys(key for row in rows for key in row.value))
        own = [known.label_name, known.weights]
        return [*(column.name for column in known.columns), *(name for name in own if name)]

    def _read(self, known: ColumnInput, column: Column) -> np.ndarray:
        """Return a column; cells that are no numbers are missing, if bad messages are skipped."""
        if self.on_skip is None or not known.numeric:
            return super()._read(known, column)
        found = column.numbers(self._words.but(known.words) if known.words else self._words)
        values = found.values.copy()
        for row in found.faults.tolist():
            values[row] = math.nan
            fault = f"{column.shown(row)!r} is not a number, and taken for missing"
            self.on_skip(str(self._fault(row, known.name, fault)))
        return values

    def state_after(self, rows: int) -> dict[str, Any]:
        """Return what is kept to go on behind so many rows of the stream, as JSON."""
        position = self._feed.position_after(rows - self.before)
        return {"source": self._feed.source.identity, "position": position_as_json(position)}

    def where(self, row: int) -> str:
        """Name the message of a row, which is counted from 0."""
        return self._feed.where(row - self.before)

    def _fault(self, row: int, column: str, fault: str) -> StreamError:
        return super()._fault(self.before + row, column, fault)

    def id_of(self, row: int) -> str:
        """Return what names a row for ever."""
        return self._feed.id_of(row - self.before)
