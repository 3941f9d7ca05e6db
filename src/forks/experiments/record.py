"""Records: what a run was, what came out of it, and where it was made.

A record is a flat JSON object. Every record has a `key` (a hash of what was asked for), the
`experiment` that it belongs to and a `status`; a failed one has a `reason`. Records are lines of a
file, appended as runs end, so that a crash can cut off the last line only.
"""

import hashlib
import json
import lzma
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from forks import __version__
from forks.engine import one_thread

Record = dict[str, Any]
Item = TypeVar("Item")
Key = TypeVar("Key")

DONE, FAILED = "done", "failed"
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


class Missing(Exception):
    """Something that a run needs is not at hand; the message says what."""


@contextmanager
def needed(package: str, install: str) -> Iterator[None]:
    """Context of an import, which a missing package makes `Missing`, with how to install it."""
    try:
        yield
    except ImportError as error:
        raise Missing(f"{package} is not installed: pip install {install}") from error


def key_of(asked: Mapping[str, Any]) -> str:
    """Return the identity of a run: a hash of what was asked for."""
    text = json.dumps(asked, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def played(asked: Mapping[str, Any], play: Callable[[], Mapping[str, Any]]) -> Record:
    """Play a run with BLAS on one thread; return its record, with the reason if it fails.

    `asked` says what is played, `experiment` among it; `play` returns the outcome for the record.
    """
    try:
        with one_thread():
            outcome = {"status": DONE, **play()}
    except Exception as error:
        outcome = {"status": FAILED, "reason": reason_of(error)}
    return {"key": key_of(asked), **asked, **outcome, **made_with()}


def reason_of(error: BaseException) -> str:
    """Return in one line why a run failed."""
    if isinstance(error, Missing):
        return str(error)
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])


@cache
def made_with() -> Mapping[str, Any]:
    """Return the versions and the machine: CPU model, cores and architecture only."""
    versions = {"forks": __version__, **{name: version(name) for name in _PACKAGES}}
    machine = {"cpu": _cpu_model(), "cores": os.cpu_count(), "machine": platform.machine()}
    return {**versions, "python": platform.python_version(), **machine}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def resident_bytes() -> int:
    """Return the bytes of this process that are in memory now; 0 where there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def grouped(records: Iterable[Item], by: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return lists of records by what they have in common, in the order of their first ones."""
    groups: dict[Key, list[Item]] = {}
    for record in records:
        groups.setdefault(by(record), []).append(record)
    return groups


def done_keys(records: Iterable[Record]) -> set[str]:
    """Return the keys of the runs that need not be played again."""
    return {record["key"] for record in records if record["status"] == DONE}


class RecordFile:
    """Records on disk; the file and its folder are made when the first record is appended.

    A file that ends in `.xz` is compressed, for keeping: it can be read only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """Return all whole records; raise `ValueError` with the line of a damaged one."""
        if not self.path.exists():
            return []
        lines = self._bytes().split(b"\n")
        records = []
        for number, line in enumerate(lines[:-1], start=1):  # what follows the last end is cut off
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number}: not a record ({error})") from error
            if not (isinstance(record, dict) and {"key", "experiment", "status"} <= set(record)):
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

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk when this returns."""
        if self.path.suffix == ".xz":
            raise ValueError(f"{self.path} is compressed: decompress it to go on with it")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def drop_cut_off_line(self) -> None:
        """Remove what a crash has left of a last line, so that its run is played again."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            whole = file.read()
            file.truncate(whole.rfind(b"\n") + 1)
