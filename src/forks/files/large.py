"""Files whose arrays need not fit into memory: those of `container`, written and read in blocks.

An array may be given as blocks, which are asked for twice, once for the digest and once for the
file. Reading yields blocks of rows; whether the digest fits is known after the last of them, and
what was made of them before is to be thrown away if it does not.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors

from forks.files.atomic import replacing
from forks.files.container import (
    DAMAGED,
    ENTRY,
    FORMAT,
    KINDS,
    VERSION,
    begin_digest,
    cannot_load,
    check_version,
    little_endian,
    opening,
    parse,
    text_of,
    title_of,
)

_NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}
_ALIGN = 8


class Blocks(NamedTuple):
    """An array of numbers in blocks of rows."""

    shape: tuple[int, ...]
    blocks: Callable[[], Iterator[np.ndarray]]
    dtype: Any = np.dtype(np.float64)


def write_large(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, Any], library: str
) -> None:
    """Write a file atomically; arrays may be `Blocks`. Equal content gives equal bytes."""
    parts = {name: _as_blocks(array) for name, array in arrays.items()}
    whole = {"format": FORMAT, "version": VERSION, "library": library, **header}
    digest = begin_digest(whole)
    for name in sorted(parts):
        digest.update(title_of(name, parts[name].dtype, parts[name].shape))
        for block in parts[name].blocks():
            digest.update(little_endian(block).data)
    whole["digest"] = digest.hexdigest()
    with replacing(path) as file:
        file.write(_head({ENTRY: text_of(whole)}, parts))
        for name in sorted(parts):
            for block in parts[name].blocks():
                file.write(little_endian(block).data)


def _as_blocks(array: Any) -> Blocks:
    if isinstance(array, Blocks):
        return array
    return Blocks(array.shape, lambda: iter([array]), array.dtype)


def _head(metadata: dict[str, str], parts: Mapping[str, Blocks]) -> bytes:
    """Return what comes before the numbers: the length of the header, and the header."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name in sorted(parts):
        shape, _, dtype = parts[name]
        stop = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        entries[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(shape),
            "data_offsets": [start, stop],
        }
        start = stop
    text = text_of(entries).encode()
    text += b" " * (-len(text) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


class LargeFile:
    """A file that is being read.

    It is a `ModelFileError` if the file is damaged, cut short, not a model of this package, or of
    another version.
    """

    def __init__(self, path: str | Path) -> None:
        self.name = str(path)
        if Path(path).stat().st_size == 0:
            raise cannot_load(self.name, "the file is empty")
        with opening(self.name):
            self._file = safetensors.safe_open(self.name, framework="np")
            self.names = sorted(self._file.keys())
            header = parse((self._file.metadata() or {})[ENTRY])
            is_ours = header["format"] == FORMAT
        check_version(self.name, header, is_ours)
        self.digest = header.pop("digest", None)
        self.header: dict[str, Any] = header

    def shape_of(self, name: str) -> tuple[int, ...]:
        return tuple(self._file.get_slice(name).get_shape())

    def blocks(self, size: int = 1 << 24) -> Iterator[tuple[str, np.ndarray]]:
        """Yield every array, in blocks of rows of about so many bytes, in the order of the names.

        Raises `ModelFileError` at the end if the digest does not fit.
        """
        digest = begin_digest(self.header)
        for name in self.names:
            part = self._file.get_slice(name)
            shape = tuple(part.get_shape())
            kind = KINDS.get(part.get_dtype())
            if kind is None or not shape:
                raise cannot_load(self.name, f"the array {name!r} is of type {part.get_dtype()}")
            digest.update(title_of(name, np.dtype(kind), shape))
            row = np.dtype(kind).itemsize * int(np.prod(shape[1:], dtype=np.int64))
            rows = max(1, size // max(1, row))
            if 0 in shape:
                yield name, np.empty(shape, kind)
                continue
            for start in range(0, shape[0], rows):
                block = np.array(part[start : min(start + rows, shape[0])], dtype=kind)
                digest.update(little_endian(block).data)
                yield name, block
        if digest.hexdigest() != self.digest:
            raise cannot_load(self.name, DAMAGED)
