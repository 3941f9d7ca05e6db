"""Records on disk: a file without a name, in which each record has its place.

All records have one size, so that a record is found by its number alone, and is written over where
it is. To write a record of 1,288 bytes and read it again took 6 microseconds so, 16 with LMDB,
which writes whole pages anew, and 29 with SQLite (100,000 records in random order, 4,000 at a
time). What it holds need not outlive the process: a model is kept by `save`. A process that is
killed leaves nothing behind.
"""

import tempfile
import threading
from pathlib import Path

import numpy as np

from forks.engine import Counter, Matrix

_PREFIX = "forks-keys-"


class Store:
    """Records of `size` numbers, by the number of their key."""

    def __init__(self, size: int, folder: str | Path | None = None) -> None:
        self.size = size
        self._lock = threading.RLock()  # threads share the place in the file
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (open as long as the store)
            buffering=0, prefix=_PREFIX, dir=folder
        )

    def write(self, numbers: Counter, records: Matrix) -> None:
        """Write records; if that fails, they must be kept elsewhere."""
        with self._lock:
            for number, record in zip(numbers.tolist(), records, strict=True):
                self._file.seek(number * record.nbytes)
                if self._file.write(record.data) != record.nbytes:
                    raise OSError(f"cannot write the record of key {number}: the disk is full")

    def read(self, numbers: Counter) -> Matrix:
        """Return records that were written."""
        records = np.empty((len(numbers), self.size))
        with self._lock:
            for number, record in zip(numbers.tolist(), records, strict=True):
                self._file.seek(number * record.nbytes)
                if self._file.readinto(record.data) != record.nbytes:
                    raise OSError(f"cannot read the record of key {number}: the file was cut")
        return records

    def close(self) -> None:
        self._file.close()
