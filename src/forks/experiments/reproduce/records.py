"""The file of records: one JSON object per line, appended as runs end.

A crash can cut off the last line only. Opening the file for more drops such a line, so that its
run is played again. A file that ends in `.xz` is compressed, for keeping: it can be read only.
"""

import json
import lzma
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class RecordFile:
    """Records on disk.

    Parameters
    ----------
    path : Path
        The file; it and its folder are made when the first record is appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """Return all whole records; say which line is damaged, if one before the last is."""
        if not self.path.exists():
            return []
        lines = self._bytes().split(b"\n")
        records = []
        for number, line in enumerate(lines[:-1], start=1):  # what follows the last end is cut off
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number}: not a record ({error})") from error
            if not (isinstance(record, dict) and _is_told(record)):
                raise ValueError(f"{self.path}, line {number}: not a record")
            records.append(record)
        return records

    def _bytes(self) -> bytes:
        if self.path.suffix != ".xz":
            return self.path.read_bytes()
        try:
            with lzma.open(self.path) as file:
                return file.read()
        except (EOFError, lzma.LZMAError) as error:
            raise ValueError(f"{self.path} is not an xz file, or is damaged: {error}") from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on the disk when this returns."""
        if self.path.suffix == ".xz":
            raise ValueError(f"{self.path} is compressed: decompress it to go on with it")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def drop_cut_off_line(self) -> None:
        """Remove what a crash has left of a last line."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            whole = file.read()
            file.truncate(whole.rfind(b"\n") + 1)


def _is_told(record: Record) -> bool:
    """Does a record say whose it is, so that a report can be made from it?"""
    return {"key", "experiment", "data", "method", "status"} <= set(record)
