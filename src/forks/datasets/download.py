"""Data sets from the addresses that publish them, checked by their digests.

A download goes to a file that ends in `.part`. It gets its name only when it is whole and its
digest is right. After a broken connection, the next attempt continues the part, if the server can.
"""

import hashlib
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TypeAlias
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from forks.datasets.folder import cache_folder, find
from forks.datasets.registry import DataFile, describe
from forks.streams.files import COMPRESSED, PathLike, is_damage

Progress: TypeAlias = Callable[[str, int, int | None], None]

_BLOCK = 1 << 16
_TIMEOUT = 30  # seconds without a byte
_FAILURES = (URLError, HTTPException, ConnectionError, TimeoutError)


class DigestError(ValueError):
    """A file that is not the one in the registry."""


def fetch(
    name: str, folder: PathLike | None = None, *, progress: Progress | None = None
) -> list[Path]:
    """Fetch the files of a data set that are not at hand, and return the paths of all.

    Files that are there are checked too.

    Parameters
    ----------
    name : str
        One of `forks.datasets.names(None)`.
    folder : str or path, optional
        By default the user's cache folder, where `load` looks; files in `$FORKS_DATA` are at hand.
    progress : callable, optional
        Called with the file's name, its bytes so far, and its size, or None if the server does
        not say.
    """
    entry = describe(name)
    into = cache_folder() if folder is None else Path(folder)
    wanted = (*entry.files, *entry.side_files)
    files = [(file, _at_hand(file, into, everywhere=folder is None)) for file in wanted]
    for file, path in files:
        if path is None and file.address is None:  # before anything is fetched
            raise FileNotFoundError(
                f"{file.name} is published in another form only ({entry.source}): put it in {into}"
            )
    return [path or _fetched(file, into, progress) for file, path in files]


def _at_hand(file: DataFile, into: Path, *, everywhere: bool) -> Path | None:
    """Return the path of a file that need not be fetched."""
    path = find(file) if everywhere else find(file, [into])
    if path is None or _is_right(path, path.suffix, file):
        return path
    if path == into / file.names[-1]:
        return None  # to be replaced
    raise DigestError(f"{path} is not the published file: remove it, then fetch again")


def _fetched(file: DataFile, into: Path, progress: Progress | None) -> Path:
    assert file.address is not None
    path = into / file.names[-1]
    part = path.with_name(path.name + ".part")
    into.mkdir(parents=True, exist_ok=True)
    try:
        _download(file.address, part, path.name, progress)
    except _FAILURES as error:
        raise ConnectionError(
            f"{file.address} cannot be fetched ({_reason(error)}): "
            f"try again, or put the file by hand where it belongs, {path}"
        ) from error
    if not _is_right(part, path.suffix, file):
        part.unlink()
        raise DigestError(
            f"{file.address} did not give the {path.name} that is known here "
            f"(SHA-256 of its text {file.text_sha256}): nothing was kept"
        )
    part.replace(path)
    return path


def _download(address: str, part: Path, name: str, progress: Progress | None) -> None:
    """Append what the address serves to a file."""
    done = part.stat().st_size if part.exists() else 0
    try:
        response = _request(address, done)
    except HTTPError as error:
        if error.code != 416 or done == 0:
            raise
        done = 0  # nothing follows what is there: begin again
        response = _request(address, done)
    with response:
        goes_on = response.headers.get("Content-Range", "").startswith(f"bytes {done}-")
        if not (response.status == 206 and goes_on):
            done = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with part.open("ab" if done else "wb") as out:
            while block := response.read(_BLOCK):
                out.write(block)
                done += len(block)
                if progress is not None:
                    progress(name, done, total)
    if total is not None and done != total:
        raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")


def _request(address: str, start: int) -> HTTPResponse:
    headers = {"User-Agent": "forks", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urlopen(Request(address, headers=headers), timeout=_TIMEOUT)


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"{error.code} {error.reason}"
    return str(getattr(error, "reason", error)) or type(error).__name__


def _is_right(path: Path, suffix: str, file: DataFile) -> bool:
    if file.sha256 is None and file.text_sha256 is None:
        return True  # nothing is known that it could be compared with
    with path.open("rb") as raw:
        if hashlib.file_digest(raw, "sha256").hexdigest() == file.sha256:
            return True
    digest = hashlib.sha256()
    opener = COMPRESSED.get(suffix, open)
    try:
        with opener(path, "rb") as text:
            while block := text.read(_BLOCK):
                digest.update(block.replace(b"\r", b""))
    except Exception as error:
        if is_damage(error):
            return False
        raise
    return digest.hexdigest() == file.text_sha256
