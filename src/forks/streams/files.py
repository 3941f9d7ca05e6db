"""What the formats share: one error, text files that count their lines, and checks."""

import bz2
import gzip
import lzma
import math
import os
import re
import select
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from forks.engine import Vector
from forks.streams.encodings import Transcoder

Parsed = TypeVar("Parsed")
PathLike: TypeAlias = str | Path
Chunk: TypeAlias = tuple[Any, Vector]  # rows, dense or CSR, and their labels
# Readers are generators: closing one closes its file.
Chunks: TypeAlias = Generator[Chunk, None, None]
Columns: TypeAlias = Generator[dict[str, Any], None, None]
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STANDARD_INPUT = "-"  # as a path
BLOCK = 2**16  # bytes
PATIENCE = 1.0  # seconds that rows of a pipe wait for more before they are handed on

# Numbers whose thousands are set apart, by the decimal point.
THOUSANDS = {
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"),
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?"),
}

_MARKED = re.compile(r"([+-]?)(?:[$€£¥] ?)?(\d[\d.,]*)(?: ?[%€£¥])?")

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
    """The text of a file, plain or compressed (by its name), for use in a `with`.

    Every `with` begins anew. `line` counts the lines read so far; `row` is for the reader to count
    rows of data in. Both appear in the error about a file that ends too early, or that is not what
    its name says. The text is read as lines, or as UTF-8 bytes in `block`s, but not as both. For
    `encoding` see `forks.streams.encodings.Transcoder`.
    """

    live = False  # whether rows may come slowly

    def __init__(self, path: Path, encoding: str | None = "utf-8") -> None:
        self.path = path
        self.wanted = encoding
        self._file: Any = None
        self._start()

    def _start(self) -> None:
        self.line = self.row = 0
        self._text = Transcoder(self.wanted)
        self._ended = False
        self._ahead = b""  # text that was looked at
        self._lines: deque[bytes] = deque()  # read, and not yet returned
        self._rest = b""  # the beginning of a line

    @property
    def encoding(self) -> str:
        """The encoding, as far as it is known."""
        return self._text.encoding

    def __enter__(self) -> "TextFile":
        self._start()
        self._file = COMPRESSED.get(self.path.suffix.lower(), open)(self.path, "rb")
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._close()
        if error is not None and is_damage(error):
            raise StreamError(
                f"{self.path} cannot be read beyond {place(self.row, self.line)}: {error}"
            ) from error

    def _close(self) -> None:
        self._file.close()

    # ---- blocks ------------------------------------------------------------------------------

    def block(self, size: int = BLOCK, wait: float | None = None) -> bytes | None:
        """Return the next bytes of the text in UTF-8, or no bytes at its end.

        `size` is about how many. If nothing comes from a pipe for `wait` seconds, return None.
        """
        if self._ahead:
            text, self._ahead = self._ahead, b""
            return text
        while not self._ended:
            if not self._comes(wait):
                return None
            raw = self._read(size)
            self._ended = not raw
            if text := self._text.feed(raw, last=self._ended):
                return text
        return self._text.feed(b"", last=True)  # nothing, or a fault

    def peek(self, size: int = BLOCK) -> bytes:
        """Return the text to come, about so many bytes or what a pipe gives within a second."""
        parts = [self.block(size) or b""]
        deadline = time.monotonic() + PATIENCE
        while parts[-1] and sum(map(len, parts)) < size:
            wait = deadline - time.monotonic()
            parts.append((self.block(size, wait) or b"") if wait > 0 else b"")
        self._ahead = b"".join(parts)
        return self._ahead

    def _read(self, size: int) -> bytes:
        return bytes(self._file.read(size))

    def _comes(self, wait: float | None) -> bool:
        """Return whether something can be read, or the end has come, within so many seconds."""
        del wait
        return True

    # ---- lines -------------------------------------------------------------------------------

    def parsed(
        self, n: int, is_row: Callable[[str], object], parse: Callable[[str], Parsed]
    ) -> list[Parsed]:
        """Return what `parse` makes of the next n rows; its `ValueError` becomes one of the row.

        A message that begins with a comma says where in the row.
        """
        lines = self.rows(n, is_row)
        found = []
        for row, (line, text) in enumerate(lines.items(), self.row - len(lines) + 1):
            try:
                found.append(parse(text))
            except (ValueError, RecursionError) as error:
                fault = str(error) if str(error).startswith(",") else f": {error}"
                raise StreamError(f"{self.path}, {place(row, line)}{fault}") from None
        return found

    def rows(self, n: int, is_row: Callable[[str], object]) -> dict[int, str]:
        """Return the next n lines that are rows, by their numbers, and count them.

        There are fewer at the end, or if a pipe does not give so many within a second.
        """
        found: dict[int, str] = {}
        deadline: float | None = None
        while len(found) < n:
            wait = None if deadline is None else deadline - time.monotonic()
            late = self.live and wait is not None and wait <= 0.0
            if not self._lines and (late or not self._fill(wait)):
                break
            while self._lines and len(found) < n:
                text = self._lines.popleft().decode()
                self.line += 1
                if is_row(text):
                    found[self.line] = text
                    self.row += 1
            if found and deadline is None:
                deadline = time.monotonic() + PATIENCE
        return found

    def _fill(self, wait: float | None) -> bool:
        """Read more lines; return whether there may be any."""
        block = self.block(wait=wait)
        if block is None:
            return False
        if not block:
            if self._rest:
                self._lines.append(self._rest)
                self._rest = b""
                return True
            return False
        lines = (self._rest + block).splitlines(keepends=True)
        # A carriage return at the end may be half of a line's end.
        self._rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        self._lines.extend(lines)
        return True

    def __iter__(self) -> Iterator[str]:
        while self._lines or self._fill(None):
            while self._lines:
                self.line += 1
                yield self._lines.popleft().decode()


class Pipe(TextFile):
    """Text that can be read once, such as standard input.

    A second `with` goes on where the first one ended.
    """

    def __init__(self, path: Path, file: Any, encoding: str | None = "utf-8") -> None:
        super().__init__(path, encoding)
        self._file = file
        try:
            self._descriptor: int | None = file.fileno()
        except (OSError, ValueError):  # text in memory
            self._descriptor = None
        self.live = self._descriptor is not None

    def __enter__(self) -> "Pipe":
        return self

    def _close(self) -> None:
        pass

    def _read(self, size: int) -> bytes:
        if self._descriptor is None:
            return bytes(self._file.read(size))
        return os.read(self._descriptor, size)

    def _comes(self, wait: float | None) -> bool:
        if self._descriptor is None or wait is None:
            return True
        try:
            return bool(select.select([self._descriptor], [], [], wait)[0])
        except (OSError, ValueError):  # it cannot be asked, on Windows for instance
            return True


def open_text(path: PathLike | TextFile, encoding: str | None = "utf-8") -> TextFile:
    """Return a text file that exists, or standard input for "-"; see `TextFile`.

    A `TextFile` is returned as it is.
    """
    if isinstance(path, TextFile):
        return path
    if path == STANDARD_INPUT:
        return Pipe(Path("standard input"), sys.stdin.buffer, encoding)
    path = existing(path)
    if path.is_file():
        return TextFile(path, encoding)
    return Pipe(path, open(path, "rb", buffering=0), encoding)


def is_damage(error: BaseException) -> bool:
    """Return whether an error comes from the contents of a file."""
    if isinstance(error, OSError):
        return error.errno is None  # with a number it comes from the system
    return isinstance(error, EOFError | zlib.error | lzma.LZMAError | UnicodeError)


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


def chosen_columns(path: Path, wanted: Sequence[str] | None, there: list[str]) -> list[str]:
    """Return the wanted columns, having checked that they are in the file once; None for all."""
    chosen = there if wanted is None else list(wanted)
    check_columns(path, chosen, there)
    return chosen


def shown_path(path: PathLike) -> PathLike:
    """Return a path for messages."""
    return "standard input" if path == STANDARD_INPUT else path


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


def written_number(text: str, point: str = ".") -> float:
    """Return the number that a cell is, or NaN.

    Thousands may be set apart, as in 1,234.5, and a currency or a percent sign may be beside it.
    """
    marked = _MARKED.fullmatch(text.strip())
    text = "".join(marked.groups()) if marked else text
    if THOUSANDS[point].fullmatch(text.strip()):
        text = text.replace("," if point == "." else ".", "")
    if point != ".":
        text = text.replace(".", "x").replace(point, ".")
    return as_number(text)
