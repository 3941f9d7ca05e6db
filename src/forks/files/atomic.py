"""Writing a file so that its name always stands for a whole one: the old, or the new.

The bytes go to a temporary file in the same folder, are brought to the disk, and the temporary
file takes the name. Whatever fails or is killed on the way, the old file is still there; two
processes that write to one name each put a whole file there, and the last one stays.

Only regular files and new names are replaced. Devices, FIFOs and sockets are written to as they
are: to rename a file over `/dev/null` would remove the device.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PREFIX, _SUFFIX = ".forks-", ".tmp"


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file, or leave the one of that name as it is and raise `OSError` with its name."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Return a file to write to, which takes its name when the context ends without an error."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {path}")
    try:
        with open(path, "wb") if _is_special(path) else _temporary(path) as file:
            yield file
    except OSError as error:
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(path)) from error


def sync(file: BinaryIO) -> None:
    """Bring what was written to the disk, if the file is on one."""
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fsync(file.fileno())


def remove_temporary(folder: Path) -> None:
    """Remove what killed processes left behind in a folder that no other process writes to."""
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            path.unlink()


def _is_special(path: str | Path) -> bool:
    """Return whether the path, links followed, exists and is not a regular file."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _temporary(path: str | Path) -> Iterator[BinaryIO]:
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = target.parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
            sync(file)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names of the files in a folder to the disk."""
    if os.name == "nt":  # where folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
