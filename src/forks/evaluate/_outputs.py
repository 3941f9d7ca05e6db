"""Files that a run appends to, and can be taken back to the length that a checkpoint knows.

And what publishes predictions elsewhere.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from forks.files import sync

STANDARD_OUTPUT = "-"  # as a path


class Publisher(Protocol):
    """Where predictions go to; see `forks.evaluate.learn`."""

    def send(self, row: int, record: dict[str, Any]) -> None: ...
    def flush(self, patience: float | None = None) -> bool: ...


class Output:
    """A file of lines, or standard output for "-"; without a path, lines go nowhere.

    `length` is the number of bytes to go on after; None to begin anew.
    """

    def __init__(self, path: Path | None, length: int | None) -> None:
        self.path = path
        self.length = length or 0
        self._file: BinaryIO | None = None
        if path is None:
            return
        if str(path) == STANDARD_OUTPUT:
            if length:
                raise ValueError("a run that wrote to standard output cannot be resumed")
            self._file = sys.stdout.buffer
            return
        if length is None:
            self._file = open(path, "wb")  # noqa: SIM115  closed by `close`
            return
        there = path.stat().st_size if path.exists() else -1
        if there < self.length:
            have = "is not there" if there < 0 else f"has {there:,} bytes"
            raise ValueError(f"{path} {have}, but the checkpoint goes on after {length:,} bytes")
        file = self._file = open(path, "r+b")  # noqa: SIM115
        file.truncate(self.length)
        file.seek(self.length)

    def close(self) -> None:
        if self._file is not None and str(self.path) != STANDARD_OUTPUT:
            with self._named():
                self._file.close()

    def write(self, text: str) -> None:
        if self._file is not None:
            data = text.encode()
            with self._named():
                self._file.write(data)
            self.length += len(data)

    def flush(self, to_disk: bool) -> None:
        """Hand all lines to the system, or bring them to the disk."""
        if self._file is not None:
            regular = str(self.path) != STANDARD_OUTPUT
            with self._named():
                sync(self._file) if to_disk and regular else self._file.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Context in which errors of the system name the file, on a disk that is full say."""
        try:
            yield
        except OSError as error:
            if error.filename is None and str(self.path) != STANDARD_OUTPUT:
                error.filename = str(self.path)
            raise
