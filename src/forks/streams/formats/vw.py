"""Text in the format of Vowpal Wabbit: `label importance 'tag|namespace feature:value ...|...`.

Features are hashed into a fixed width. A namespace has its value before it, as in `|ns:2 a`. Rows
without a label, which has to be a number, have NaN for it.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import murmurhash3_32

from forks.engine.checks import whole
from forks.streams.files import Chunks, PathLike, TextFile, as_number, open_text
from forks.streams.formats._format import Format

WIDTH = 2**18  # features, by default


def read_vw(path: PathLike, *, n_features: int | None = None, chunk: int = 10_000) -> Chunks:
    """Return chunks (X, y), or (X, y, weights) where rows have an importance, X being CSR.

    Parameters
    ----------
    path : str or path
        Compressed if its name ends in .gz, .bz2 or .xz; "-" is standard input.
    n_features : int, optional
        Width that features are hashed into; by default 2^18.
    chunk : int
        Rows in a chunk; the last one may be shorter.
    """
    whole("chunk", chunk, 1)
    width = WIDTH if n_features is None else whole("n_features", n_features, 1, 2**31 - 1)
    return _chunks(open_text(path), int(width), chunk)


def _chunks(file: TextFile, width: int, chunk: int) -> Chunks:
    places: dict[str, int] = {}  # of features, found before
    with file:
        while True:
            entries = _Entries([], [])
            rows = file.parsed(chunk, str.strip, partial(_row, entries, width, places))
            if not rows:
                return
            yield _together(rows, entries, width)
            if len(places) > _KNOWN:
                places.clear()


_KNOWN = 1 << 20  # features whose places are remembered


class _Entries(NamedTuple):
    """The features of some rows, one after the other."""

    indices: list[int]
    values: list[float]


def _together(rows: list[tuple[float, float, int]], entries: _Entries, width: int) -> Any:
    labels, weights, ends = map(np.array, zip(*rows, strict=True))
    indices, values = np.array(entries.indices, np.int32), np.array(entries.values)
    starts = np.concatenate([[0], ends]).astype(np.int32)
    X = sparse.csr_matrix((values, indices, starts), shape=(len(rows), width))
    X.sum_duplicates()
    return (X, labels) if (weights == 1.0).all() else (X, labels, weights)


def _label(text: str) -> tuple[float, float]:
    """Return the label and the importance of a row."""
    before, bar, _ = text.partition("|")
    if not bar:
        raise ValueError("no bar '|', behind which the features are")
    words = before.split()
    if words and (words[-1].startswith("'") or (not before[-1:].isspace() and len(words) > 1)):
        words.pop()  # a tag
    if not words:
        return math.nan, 1.0
    numbers = [as_number(word) for word in words]
    if not math.isfinite(numbers[0]):
        raise ValueError(f"the label {words[0][:40]!r} is not a finite number")
    weight = numbers[1] if len(numbers) > 1 else 1.0
    if not (math.isfinite(weight) and weight >= 0.0):
        raise ValueError(f"the importance {words[1][:40]!r} is not a number of at least 0")
    return numbers[0], weight


def _row(
    entries: _Entries, width: int, places: dict[str, int], text: str
) -> tuple[float, float, int]:
    """Add the features of a row; return its label and importance, and where its features end."""
    label, weight = _label(text)
    indices, values = entries
    for part in text.split("|")[1:]:
        words = part.split()
        namespace, scale = "", 1.0
        if words and not part[0].isspace():
            namespace, scale = _with_value(words.pop(0))
        for word in words:
            name, value = _with_value(word)
            key = f"{namespace}^{name}"
            index = places.get(key)
            if index is None:
                index = places[key] = murmurhash3_32(key, seed=0, positive=True) % width
            indices.append(index)
            values.append(value * scale)
    return label, weight, len(indices)


def _with_value(word: str) -> tuple[str, float]:
    name, colon, text = word.rpartition(":")
    if not colon:
        return word, 1.0
    value = as_number(text)
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError(f"the value of {word[:60]!r} is not a finite number")
    return name, value


_LARGEST = 1e100  # of a value: sums and products of them are finite

VW = Format(
    name="vw",
    endings=(".vw",),
    read=read_vw,
    example=lambda: b"1 2.5 'first|f a:0.5 b |g c\n-1 |f a b:2\n0 |\n",
)
