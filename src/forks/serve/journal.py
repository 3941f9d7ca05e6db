"""The journal of a model: what was acknowledged, in the order in which it is learned.

Records are bytes, numbered from 1. They lie in segments, files called "journal-" and the number of
their first record. A record is its length, the CRC-32 of these four bytes, the CRC-32 of the
record, and its bytes. `append` returns when the records are on the disk. A record that was cut
short by a crash was never acknowledged: opening the journal removes it. Anything else that is not
as it was written is damage, and an error.
"""

import errno
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from forks.files import sync_folder

_LENGTH, _HEAD = struct.Struct("<I"), struct.Struct("<III")
_PREFIX, _SUFFIX = "journal-", ".log"
# A write returns when it is on the disk: one call, after which Python's lock is waited for once.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC
_RESERVE = 16 * 2**20  # bytes of the disk that are left for checkpoints and rows that wait
_LOOK = 2**20  # bytes that are written from one look at the disk to the next


class JournalError(Exception):
    """A journal that cannot be read: records are damaged, or absent."""


class Journal:
    """The records after a checkpoint; one process at a time.

    `after` is the number of the last record that the checkpoint knows of. With `keep`, segments
    that a checkpoint knows of stay.
    """

    def __init__(self, folder: Path, after: int = 0, keep: bool = False) -> None:
        self.folder = folder
        self.keep = keep
        self.after = after
        self._segments = sorted(_first_of(path) for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"))
        self.last = after  # number of the last record
        if self._segments and self._segments[0] > after + 1:
            raise JournalError(
                f"{folder}: the journal begins with record {self._segments[0]}, but the "
                f"checkpoint ends with {after}"
            )
        for i, first in enumerate(self._segments):
            if i > 0 and first != self.last + 1:
                raise JournalError(f"{self._path(first)}: records {self.last + 1} on are absent")
            self.last = first - 1 + self._check(first, is_last=i == len(self._segments) - 1)
        self.last = max(self.last, after)
        if not self._segments or self.last < self._segments[-1] - 1:
            self._segments.append(self.last + 1)
        self._file = self._open(self._segments[-1])
        self._room = 0  # bytes that can be written before the next look at the disk

    def _path(self, first: int) -> Path:
        return self.folder / f"{_PREFIX}{first:016d}{_SUFFIX}"

    def _open(self, first: int) -> int:
        descriptor = os.open(self._path(first), _FLAGS, 0o600)
        sync_folder(self.folder)
        self._end = os.fstat(descriptor).st_size
        return descriptor

    def _check(self, first: int, is_last: bool) -> int:
        """Count the records of a segment; remove one that was cut short at the end of the last."""
        path, n, whole = self._path(first), 0, 0
        data = path.read_bytes()
        for _, end in _records(data):
            n, whole = n + 1, end
        if whole < len(data):
            if not (is_last and _is_cut_short(data[whole:])):
                raise JournalError(f"{path}: record {first + n} is damaged")
            os.truncate(path, whole)
        return n

    def replay(self) -> Iterator[tuple[int, bytes]]:
        """Return the numbers and bytes of the records after the checkpoint."""
        for first in self._segments:
            data = self._path(first).read_bytes()
            for number, (record, _) in enumerate(_records(data), first):
                if number > self.after:
                    yield number, record

    def append(self, records: Sequence[bytes]) -> None:
        """Bring records to the disk, all or none of them; raise `OSError` if that fails."""
        data = b"".join(_head(record) + record for record in records)
        if len(data) > self._room:
            self._room = self._look(len(data))
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:] if written else data)
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(data)
        self._room -= len(data)
        self.last += len(records)

    def _look(self, n: int) -> int:
        """Return how many bytes, n or more, may be written until the next look at the disk."""
        disk = os.fstatvfs(self._file)
        free = disk.f_bavail * disk.f_frsize - _RESERVE
        if free < n:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return max(n, min(free, _LOOK))

    def cut(self, upto: int) -> None:
        """Remove the segments whose records a checkpoint knows of, those up to a number."""
        self.after = upto
        if upto == self.last >= self._segments[-1]:
            os.close(self._file)
            self._segments.append(self.last + 1)
            self._file = self._open(self.last + 1)
        while not self.keep and len(self._segments) > 1 and self._segments[1] <= upto + 1:
            self._path(self._segments.pop(0)).unlink()

    @property
    def size(self) -> int:
        return sum(self._path(first).stat().st_size for first in self._segments)

    def close(self) -> None:
        os.close(self._file)


def _first_of(path: Path) -> int:
    digits = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    if not digits.isdigit():
        raise JournalError(f"{path} is no segment of a journal")
    return int(digits)


def _head(record: bytes) -> bytes:
    length = _LENGTH.pack(len(record))
    return _HEAD.pack(len(record), zlib.crc32(length), zlib.crc32(record))


def _records(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Return the whole records at the beginning of some bytes, and where each ends."""
    at = 0
    while at + _HEAD.size <= len(data):
        length, of_length, of_record = _HEAD.unpack_from(data, at)
        end = at + _HEAD.size + length
        if zlib.crc32(data[at : at + _LENGTH.size]) != of_length or end > len(data):
            return
        record = data[at + _HEAD.size : end]
        if zlib.crc32(record) != of_record:
            return
        yield record, end
        at = end


def _is_cut_short(rest: bytes) -> bool:
    """Return whether what follows the last whole record is one that was not written whole.

    Its end is absent, or zeros stand there, as file systems leave them after a power failure.
    """
    written = rest.rstrip(b"\0")
    if len(written) < _HEAD.size:
        return True
    length, of_length, _ = _HEAD.unpack_from(rest)
    if zlib.crc32(rest[: _LENGTH.size]) != of_length:
        return False
    return _HEAD.size + length > len(written)
