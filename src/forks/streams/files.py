"""What the formats share: one error, text files that count their lines, and checks."""

import bz2
import gzip
import io
import lzma
import math
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from forks.engine import Vector

PathLike: TypeAlias = str | Path
Chunk: TypeAlias = tuple[Any, Vector]  # rows, dense or CSR, and their labels
# Readers are generators: closing one closes its file.
Chunks: TypeAlias = Generator[Chunk, None, None]
Columns: TypeAlias = Generator[dict[str, Any], None, None]
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STANDARD_INPUT = "-"  # as a path

_HEAD, _TAIL = 600, 150  # characters of a long message that are kept


class StreamError(ValueError):
    """A file that cannot be read on; the message names the file, and the row if one is at fault.

    The message is one line that can be printed, and not much longer, whatever is in the file.
    """

    def __init__(self, message: str) -> None:
        text = "".join(map(_printable, " ".join(message.split("\n")).strip()))
        if len(text) > _HEAD + _TAIL:
            text = f"{text[:_HEAD]} ... {text[-_TAIL:]}"
        super().__init__(text)


def _printable(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


class TextFile:
    """The lines of a text file, plain or compressed (by its name), for use in a `with`.

    Every `with` begins with the first line. `line` counts the lines read so far; `row` is for the
    reader to count rows of data in. Both appear in the error about a file that ends too early, or
    that is not what its name says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.row = 0
        self._file: Any = None

    def __enter__(self) -> "TextFile":
        self.line = self.row = 0
        self._file = COMPRESSED.get(self.path.suffix.lower(), open)(self.path, "rt", **_TEXT)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._close()
        if error is not None and is_damage(error):
            raise StreamError(
                f"{self.path} cannot be read beyond {place(self.row, self.line)}: {error}"
            ) from error

    def _close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        for line in self._file:
            if not (line.isascii() or _is_text(line)):
                raise UnicodeError("what follows is not UTF-8 text")
            self.line += 1
            yield line


# Bytes that are not text pass the decoder, so that `__iter__` can tell in which line they are.
_TEXT: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": ""}


class StandardInput(TextFile):
    """The lines of standard input; a second `with` goes on where the first one ended."""

    def __init__(self) -> None:
        super().__init__(Path("standard input"))
        self._file = io.TextIOWrapper(sys.stdin.buffer, **_TEXT)

    def __enter__(self) -> "StandardInput":
        return self

    def _close(self) -> None:
        pass


def open_text(path: PathLike) -> TextFile:
    """Return a text file that exists, or standard input for "-"."""
    return StandardInput() if path == STANDARD_INPUT else TextFile(existing(path))


def is_damage(error: BaseException) -> bool:
    """Return whether an error comes from the contents of a file."""
    if isinstance(error, OSError):
        return error.errno is None  # with a number it comes from the system
    return isinstance(error, EOFError | zlib.error | lzma.LZMAError | UnicodeError)


def _is_text(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def place(row: int, line: int) -> str:
    """Name a row, and its line where the two differ; both count from 1."""
    return f"row {row}" if row == line else f"row {row} (line {line})"


def ending(path: Path) -> str:
    """Return the lower-case ending of a file's name, that of its compression left out."""
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return plain.suffix.lower()


def existing(path: PathLike) -> Path:
    """Check that a file is there before anything is read from it."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {path}")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    return path


def check_columns(path: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Check that every wanted column is in the file once."""
    for name in wanted:
        if there.count(name) == 0:
            raise StreamError(f"{path} has no column {name!r}; it has {', '.join(there)}")
        if there.count(name) > 1:
            raise StreamError(f"{path} has {there.count(name)} columns called {name!r}")


def cell_error(path: PathLike, row: int, column: str, fault: str) -> StreamError:
    """Return the error about a cell; rows count from 1."""
    return StreamError(f"{path}, row {row}, column {column!r}: {fault}")


def as_numbers(texts: Any) -> Vector:
    """Return the numbers that an array of text holds, NaN where a text is not a number."""
    # Python and NumPy take 1_000 for a number, which no table means.
    underscores = (np.ascontiguousarray(texts).view(np.uint32) == ord("_")).any()
    if not underscores:
        with suppress(ValueError):
            return np.asarray(texts.astype(np.float64))
    return np.array([as_number(text) for text in texts])


def as_number(text: str) -> float:
    """Return the number that a text is, or NaN."""
    try:
        return float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan
