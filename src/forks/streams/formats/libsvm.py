"""Text in LIBSVM format: one row a line, `label index:value ...`, indices rising from 1 or 0."""

import math
import re
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from forks.engine.checks import whole
from forks.streams.files import (
    Chunk,
    Chunks,
    PathLike,
    Pipe,
    StreamError,
    TextFile,
    as_number,
    open_text,
    place,
)
from forks.streams.formats._format import Format

_SPARSE = 0.25  # rows of a file with at most this share of entries stay sparse
_LARGEST = 2**31 - 1  # index that the parser takes
_ZERO = re.compile(r"^[^#]*?\s0:")
_MOST_DIGITS = 4_000  # Python makes no integers of much longer texts


def read_libsvm(
    path: PathLike,
    *,
    n_features: int | None = None,
    chunk: int = 10_000,
    dense: bool | None = None,
    zero_based: bool | None = None,
) -> Chunks:
    """Return chunks (X, y) of a file in LIBSVM format. Blank lines and comments (#) are skipped.

    Parameters
    ----------
    path : str or path
        Compressed if its name ends in .gz, .bz2 or .xz; "-" is standard input.
    n_features : int, optional
        Without it the file is read twice, first for its largest index.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    dense : bool, optional
        Arrays or CSR matrices; by default arrays if more than a quarter of the entries of the
        first chunk are in the file.
    zero_based : bool, optional
        Whether indices count from 0, as scikit-learn writes them, or from 1; by default from 0 if
        there is an index 0 in the file, or with n_features in its first chunk.
    """
    whole("chunk", chunk, 1)
    file = open_text(path)
    if n_features is not None:
        whole("n_features", n_features, 1)
    elif isinstance(file, Pipe):
        raise ValueError(
            "LIBSVM rows from standard input need n_features=, the largest index: "
            "a file can be read twice to find it, a pipe cannot"
        )
    return _chunks(file, n_features, chunk, dense, zero_based)


def find_shape(
    path: PathLike | TextFile, n_features: int | None, zero_based: bool | None
) -> tuple[int | None, bool | None]:
    """Return the width of rows and whether indices count from 0, as far as it must be found.

    A file is read to its end for that; of a pipe the first rows are looked at.
    """
    file = open_text(path)
    if isinstance(file, Pipe):
        if zero_based is None and n_features is not None:
            lines = file.peek().decode().splitlines()[:-1]
            has_zero = any(map(_ZERO.search, lines))
            zero_based = has_zero and max(map(_last_index, lines), default=-1) < n_features
        return n_features, zero_based
    largest, has_zero = _largest_index(file)
    zero_based = has_zero if zero_based is None else zero_based
    return n_features or max(1, largest + zero_based), zero_based


def _chunks(
    file: TextFile, n_features: int | None, chunk: int, dense: bool | None, zero_based: bool | None
) -> Chunks:
    if n_features is None:
        n_features, zero_based = find_shape(file, None, zero_based)
        assert n_features is not None  # it is no pipe
    with file:
        while lines := file.rows(chunk, _is_row):
            if zero_based is None:
                has_zero = any(map(_ZERO.search, lines.values()))
                zero_based = has_zero and max(map(_last_index, lines.values())) < n_features
            X, y = _parsed(file, lines, n_features, zero_based)
            if dense is None:
                dense = X.nnz > _SPARSE * X.shape[0] * X.shape[1]
            yield (X.toarray() if dense else X), y


def _is_row(text: str) -> bool:
    return text.lstrip()[:1] not in ("", "#")


def _largest_index(file: TextFile) -> tuple[int, bool]:
    """Return the largest index, which is the last of its row, and whether there is an index 0.

    Faults are left to the parser.
    """
    largest, has_zero = -1, False
    with file:
        for text in file:
            if not _is_row(text):
                continue
            file.row += 1
            largest = max(largest, _last_index(text))
            has_zero = has_zero or _ZERO.search(text) is not None
    if file.row > 0 and largest < 0:
        raise StreamError(
            f"{file.path}, row 1 to {file.row}: not one entry of the form index:value"
        )
    return largest, has_zero


def _last_index(text: str) -> int:
    """Return the last index of a row, or -1."""
    before, _, _ = text.partition("#")[0].rpartition(":")
    last = before.rsplit(None, 1)[-1:]
    return _number(last[0]) if last and last[0].isdecimal() else -1


def _parsed(file: TextFile, lines: dict[int, str], n_features: int, zero_based: bool) -> Chunk:
    """Parse rows, given by the numbers of their lines, the last of which was just read."""
    text = "\n".join(lines.values())
    try:
        form: Any = {"n_features": n_features, "zero_based": zero_based}
        X, y = load_svmlight_file(BytesIO(text.encode()), **form)
        if X.shape[0] == len(lines) and np.isfinite(X.data).all() and np.isfinite(y).all():
            return X, y
        reason = "not in LIBSVM format"
    except (ValueError, OverflowError) as error:
        reason = str(error)
    first = file.row - len(lines) + 1
    for row, (line, text) in enumerate(lines.items(), first):
        if fault := _fault(text, n_features, zero_based):
            raise StreamError(f"{file.path}, {place(row, line)}: {fault}")
    raise StreamError(f"{file.path}, row {first} to {file.row}: {reason}")


def _fault(text: str, n_features: int, zero_based: bool) -> str | None:
    """Return what is wrong with a row, or None."""
    label, *entries = text.partition("#")[0].split()
    if not math.isfinite(as_number(label)):
        return f"the label {label!r} is not a finite number"
    before = -1 if zero_based else 0
    for entry in entries[1:] if entries and entries[0].startswith("qid:") else entries:
        index, colon, value = entry.partition(":")
        if not (colon and index.isdecimal()):
            return f"{entry!r} is not of the form index:value"
        number = _number(index)
        if number == 0 and not zero_based:
            return "index 0, but indices count from 1"
        if number > _LARGEST:
            return f"index {index} is larger than {_LARGEST}"
        if number <= before:
            return f"index {index} follows {before}, but indices must rise"
        if number > n_features - zero_based:
            most = f"n_features - 1, which is {n_features - 1}"
            most = most if zero_based else f"n_features, which is {n_features}"
            return f"index {index} is larger than {most}"
        if not math.isfinite(as_number(value)):
            return f"the value of {entry!r} is not a finite number"
        before = number
    return None


def _number(index: str) -> int:
    """Return the number that an index is, or the smallest that is too large for the parser."""
    return min(int(index), _LARGEST + 1) if len(index) <= _MOST_DIGITS else _LARGEST + 1


LIBSVM = Format(
    name="libsvm",
    endings=(".libsvm", ".svm"),
    read=read_libsvm,
    example=lambda: b"-1 1:0.5 3:2\n+1 2:1e-3 # a comment\n\n-1\n",
)
