"""Rows of a source, each of them once, and the position behind any of them."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from forks.streams.files import PATIENCE, StreamError
from forks.streams.formats.jsonl import read_object
from forks.streams.sources.source import Message, Place, Position, Source

_WAIT = 1.0  # seconds of one look for messages
_MOST = 2_000  # messages of one look


class Row(NamedTuple):
    """A row, and where it is."""

    value: dict[str, Any]
    partition: int
    offset: int
    line: int  # of its message
    is_last: bool  # of its message

    @property
    def next(self) -> Place:
        """What comes behind it."""
        return Place(self.offset + 1) if self.is_last else Place(self.offset, self.line + 1)


def rows_of(message: Message) -> list[dict[str, Any]]:
    """Return the objects of a message, or raise `ValueError`.

    There is one in each line, or one in all.
    """
    lines = [line for line in message.data.splitlines() if line.strip()]
    try:
        return [read_object(line) for line in lines]
    except (ValueError, RecursionError) as error:
        if len(lines) > 1:
            with suppress(ValueError, RecursionError):
                return [read_object(message.data)]
        raise ValueError(f"not JSON objects: {error}") from None


class Feed:
    """The rows of a source from a position on.

    Messages that the broker delivers again are dropped: within a partition offsets only grow.
    `on_bad` is called with the fault of a message that cannot be read, which is skipped then;
    without it such a message is an error.
    """

    def __init__(
        self, source: Source, position: Position, on_bad: Callable[[str], None] | None = None
    ) -> None:
        self.source = source
        self._on_bad = on_bad
        self._next = dict(position)  # behind all that was read from the source
        self._behind = dict(position)  # behind the rows that were passed
        self._ready: deque[Row] = deque()
        self._given: deque[Row] = deque()  # to the reader, and not yet passed
        self.passed = 0  # rows

    def open(self) -> None:
        """Open the source at the position."""
        self.source.open({partition: place.offset for partition, place in self._next.items()})

    def take(self, n: int, exactly: bool = False) -> list[Row]:
        """Return the next rows, n of them at most; none at the end of the source.

        Rows wait for more for a second; with `exactly`, until there are n of them or the source
        ends.
        """
        deadline: float | None = None
        while len(self._ready) < n and not self.source.ended:
            wait = _WAIT if deadline is None else deadline - time.monotonic()
            if wait <= 0.0:
                break
            for message in self.source.take(min(_MOST, n - len(self._ready)), min(wait, _WAIT)):
                self._receive(message)
            if self._ready and deadline is None and not exactly:
                deadline = time.monotonic() + PATIENCE
        rows = [self._ready.popleft() for _ in range(min(n, len(self._ready)))]
        self._given.extend(rows)
        return rows

    def _receive(self, message: Message) -> None:
        partition, offset, _ = message
        known = self._next.get(partition, Place(-1))
        if offset < known.offset:
            return
        self._next[partition] = Place(offset + 1)
        try:
            values = rows_of(message)
        except ValueError as error:
            fault = f"{self.source.where(partition, offset)}: {error}"
            if self._on_bad is None:
                raise StreamError(fault) from None
            self._on_bad(fault)
            return
        last = len(values) - 1
        first = known.rows if offset == known.offset else 0
        for i, value in enumerate(values[first:], first):
            self._ready.append(Row(value, partition, offset, i, i == last))

    def position_after(self, rows: int) -> Position:
        """Return the position behind the first so many rows; earlier ones are forgotten."""
        while self.passed < rows:
            row = self._given.popleft()
            self._behind[row.partition] = row.next
            self.passed += 1
        return dict(self._behind)

    def where(self, row: int) -> str:
        """Name a row, counted from 0, that is not passed: its message, and its line there."""
        at = self._given[row - self.passed]
        place = self.source.where(at.partition, at.offset)
        return place if at.is_last and at.line == 0 else f"{place}, line {at.line + 1}"

    def id_of(self, row: int) -> str:
        """Return what names a row for ever: stream, partition, offset, and its number there."""
        at = self._given[row - self.passed]
        return f"{self.source.identity['stream']}-{at.partition}-{at.offset}-{at.line}"
