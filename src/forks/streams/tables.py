"""Rows of files of any kind, or of standard input, as the command line reads them, in one pass.

An `Input` tells how a file becomes rows and labels: it is made from the first chunk (the first
look), stands in the files of models that learned from it, and reads later files alike.

Columns of a table that hold text are categorical: they are hashed together into 2^hash_bits
columns behind the numbers. The value v of the column c has its place and sign from the hash h =
BLAKE2b("c=v" in UTF-8, 8 bytes, as a little-endian integer): +1 or -1, by the top bit of h, is
added to the column h mod 2^hash_bits.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Matrix, Vector
from forks.streams.formats.csv import open_text_table
from forks.streams.formats.files import (
    StandardInput,
    StreamError,
    TextFile,
    check_columns,
    existing,
)
from forks.streams.formats.files import ending as ending_of
from forks.streams.formats.libsvm import largest_index, libsvm_chunks
from forks.streams.formats.parquet import parquet_columns, parquet_names

STANDARD_INPUT = "-"
FORMATS = ("libsvm", "csv", "tsv", "parquet")
MISSING = ("error", "zero")
_DENSE = 1024  # columns: wider rows of hashed tables are sparse


@dataclass(frozen=True, kw_only=True)
class Input:
    """How a file becomes rows.

    Attributes
    ----------
    format : {"libsvm", "csv", "tsv", "parquet"}
    n_features : int
        Width of the rows.
    label : str or None
        Column of the labels, of a table.
    numbers, categorical : tuple of str
        Columns of the features, of a table.
    hash_bits : int
        Width of the hashed columns is two to this power.
    missing : {"error", "zero"}
        What an empty cell among numbers stands for.
    numeric_labels : bool
        Are labels numbers, or text?
    """

    format: str
    n_features: int
    label: str | None = None
    numbers: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    hash_bits: int = 8
    missing: str = "error"
    numeric_labels: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        lists = {"numbers": list(self.numbers), "categorical": list(self.categorical)}
        return {**asdict(self), **lists}

    @classmethod
    def from_json(cls, given: Any) -> "Input":
        """Make it from what a file says, or raise `ValueError`."""
        try:
            lists = {name: tuple(given[name]) for name in ("numbers", "categorical")}
            made = cls(**{**given, **lists})
        except (TypeError, KeyError) as error:
            raise ValueError(f"the description of the input is wrong: {error}") from None
        names = (*made.numbers, *made.categorical)
        width = len(made.numbers) + (2**made.hash_bits if made.categorical else 0)
        fits = (
            made.format in FORMATS
            and made.missing in MISSING
            and type(made.hash_bits) is int
            and 0 <= made.hash_bits <= 24
            and all(type(name) is str for name in names)
            and (made.format == "libsvm" or made.n_features == width)
        )
        if not fits:
            raise ValueError("the description of the input is wrong")
        return made


class Labelled(NamedTuple):
    """Some rows of a file."""

    X: Any  # dense or CSR
    y: np.ndarray | None  # numbers or text; None if the file has no labels


def format_of(path: str) -> str:
    """Return the format that a file's name stands for."""
    ending = ending_of(Path(path))
    return {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}.get(ending, "libsvm")


class InputFile:
    """A file, or "-" for standard input, read once from its beginning; for use in a `with`.

    Parameters
    ----------
    path : str
    known : Input, optional
        Read like this, as an earlier file. Without it, the first chunk tells.
    format : str, optional
        Needed for standard input; else by the file's name.
    label : str, optional
        Column of the labels; the last one by default.
    features : int, optional
        Width of rows in LIBSVM format; without it a file is read twice.
    categorical : tuple of str
        Columns to hash although all of the first look are numbers.
    hash_bits, missing
        See `Input`.
    chunk : int
        Rows at a time, and of the first look.
    """

    def __init__(
        self,
        path: str,
        *,
        known: Input | None = None,
        format: str | None = None,
        label: str | None = None,
        features: int | None = None,
        categorical: tuple[str, ...] = (),
        hash_bits: int = 8,
        missing: str = "error",
        chunk: int = 10_000,
    ) -> None:
        self.path = path
        self.name = "standard input" if path == STANDARD_INPUT else path
        self.input = known
        self.chunk = chunk
        self._label = label
        self._categorical = categorical
        self._hash_bits = hash_bits
        self._missing = missing
        self._features = features
        self._stack = ExitStack()
        self._row = 0  # rows given so far
        if known is not None:
            self.format = known.format if format is None else format
        elif format is None and path == STANDARD_INPUT:
            raise ValueError("standard input needs --format: libsvm, csv or tsv")
        else:
            self.format = format or format_of(path)
        if path == STANDARD_INPUT and self.format == "parquet":
            raise ValueError("Parquet cannot be read from standard input")
        if path != STANDARD_INPUT:
            existing(path)
        if known is not None and (known.format == "libsvm") != (self.format == "libsvm"):
            raise ValueError(f"{self.name} is {self.format}, but the model learned {known.format}")

    def __enter__(self) -> "InputFile":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _text(self) -> TextFile:
        file = StandardInput() if self.path == STANDARD_INPUT else TextFile(Path(self.path))
        return self._stack.enter_context(file)

    def chunks(self) -> Iterator[Labelled]:
        """Return the rows; `input` is known from the first chunk on."""
        if self.format == "libsvm":
            yield from self._libsvm()
            return
        if self.format == "parquet":
            names = parquet_names(Path(self.path))
            tables = parquet_columns(Path(self.path), names, self.chunk)
        else:
            delimiter = "\t" if self.format == "tsv" else ","
            names, tables = open_text_table(self._text(), delimiter, self.chunk)
        for table in tables:
            if self.input is None:
                self.input = self._look(names, table)
            elif self._row == 0:
                check_columns(
                    Path(self.name), [*self.input.numbers, *self.input.categorical], names
                )
            labelled = self._encoded(self.input, table)
            self._row += labelled.X.shape[0]
            yield labelled

    def _libsvm(self) -> Iterator[Labelled]:
        width = self.input.n_features if self.input is not None else self._features
        if width is None:
            if self.path == STANDARD_INPUT:
                raise ValueError(
                    "LIBSVM rows from standard input need --features, the largest index: "
                    "a file can be read twice to find it, a pipe cannot"
                )
            width = largest_index(Path(self.path))
        if self.input is None:
            self.input = Input(format="libsvm", n_features=width)
        for X, y in libsvm_chunks(self._text(), width, self.chunk, None):
            yield Labelled(X, y)

    def _look(self, names: list[str], table: dict[str, Any]) -> Input:
        """Decide on the columns by the first chunk."""
        label = self._label or names[-1]
        categorical, bits = self._categorical, self._hash_bits
        check_columns(Path(self.name), [label, *categorical], names)
        if label in categorical:
            raise ValueError(f"the label {label!r} cannot be a categorical feature")
        features = [name for name in names if name != label]
        if not features:
            raise StreamError(f"{self.name} has no column but {label!r}")
        text = [name for name in features if name in categorical or not _is_numeric(table[name])]
        numbers = tuple(name for name in features if name not in text)
        return Input(
            format=self.format,
            n_features=len(numbers) + (2**bits if text else 0),
            label=label,
            numbers=numbers,
            categorical=tuple(text),
            hash_bits=bits,
            missing=self._missing,
            numeric_labels=_is_numeric(table[label]),
        )

    def _encoded(self, known: Input, table: dict[str, Any]) -> Labelled:
        n = len(next(iter(table.values())))
        numbers = np.empty((n, len(known.numbers)))
        for j, name in enumerate(known.numbers):
            numbers[:, j] = self._numbers(name, table[name], known.missing)
        y = None
        if known.label is not None and known.label in table:
            y = self._labels(known, table[known.label])
        if not known.categorical:
            return Labelled(numbers, y)
        hashed = _hashed(table, known)
        if known.n_features <= _DENSE:
            return Labelled(np.hstack([numbers, hashed.toarray()]), y)
        return Labelled(sparse.hstack([sparse.csr_array(numbers), hashed], format="csr"), y)

    def _labels(self, known: Input, column: Any) -> np.ndarray:
        if known.numeric_labels:
            return self._numbers(str(known.label), column, "error")
        texts = _texts(column)
        empty = np.char.str_len(texts) == 0
        if empty.any():
            raise self._fault(int(np.argmax(empty)), str(known.label), "the cell is empty")
        return texts

    def _numbers(self, name: str, column: Any, missing: str) -> Vector:
        if column.dtype.kind in "biuf":
            values = column.astype(np.float64)
            empty = np.isnan(values)
        else:
            texts = _texts(column)
            empty = np.char.str_len(texts) == 0
            try:
                values = np.where(empty, "0", texts).astype(np.float64)
            except ValueError:
                values = np.array([_number(text) for text in texts])
        if empty.any():
            if missing == "error":
                at = int(np.argmax(empty))
                raise self._fault(at, name, "the cell is empty (--missing zero takes it for 0)")
            values[empty] = 0.0
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise self._fault(at, name, f"{str(column[at])!r} is not a finite number")
        return values

    def _fault(self, at: int, name: str, what: str) -> StreamError:
        return StreamError(f"{self.name}, row {self._row + at + 1}, column {name!r}: {what}")


def _number(text: str) -> float:
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return 0.0 if not text else np.nan


def _texts(column: Any) -> np.ndarray:
    if column.dtype.kind == "O":
        column = np.array(["" if value is None else str(value) for value in column], dtype=str)
    return np.asarray(np.char.strip(column.astype(str)))


def _is_numeric(column: Any) -> bool:
    """Are all cells numbers, or empty, and one of them at least a number?"""
    if column.dtype.kind in "biuf":
        return True
    texts = _texts(column)
    texts = texts[np.char.str_len(texts) > 0]
    return len(texts) > 0 and not np.isnan([_number(text) for text in texts]).any()


def _hashed(table: dict[str, Any], known: Input) -> Any:
    width = 2**known.hash_bits
    n = len(table[known.categorical[0]])
    places = np.empty((n, len(known.categorical)), np.int64)
    signs: Matrix = np.empty(places.shape)
    for j, name in enumerate(known.categorical):
        values, inverse = np.unique(_texts(table[name]), return_inverse=True)
        hashes = [_hash(f"{name}={value}") for value in values]
        places[:, j] = np.array([h % width for h in hashes])[inverse]
        signs[:, j] = np.array([1.0 if h >> 63 else -1.0 for h in hashes])[inverse]
    rows = np.repeat(np.arange(n), places.shape[1])
    hashed = sparse.coo_array((signs.ravel(), (rows, places.ravel())), shape=(n, width)).tocsr()
    hashed.sum_duplicates()
    return hashed


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
