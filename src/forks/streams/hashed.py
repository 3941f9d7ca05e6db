"""Tables as models of earlier versions learned them, before there was `TableEncoder`.

Columns of text are categorical: the values of a row are hashed together into 2^hash_bits columns
behind the numbers, by scikit-learn's `FeatureHasher`, value v of column c as the text "c=v".
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from forks.engine import Vector
from forks.streams.files import (
    STANDARD_INPUT,
    StreamError,
    as_numbers,
    cell_error,
    check_columns,
    existing,
    shown_path,
)
from forks.streams.formats import FORMATS, format_of
from forks.streams.tables import Labelled

MISSING = ("error", "zero")
_DENSE = 1024  # columns: wider rows of hashed tables are sparse


@dataclass(frozen=True, kw_only=True)
class HashedInput:
    """How a file becomes rows. Label, numbers and categorical are columns of a table."""

    format: str  # a name of `forks.streams.formats.FORMATS`
    n_features: int
    label: str | None = None
    numbers: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    hash_bits: int = 8
    missing: str = "error"  # of `MISSING`: what an empty cell among numbers means
    numeric_labels: bool = True  # or text
    hashing: str = "MurmurHash3"  # version 0.1.0 had another one

    @property
    def label_name(self) -> str | None:
        """The column of the labels."""
        return self.label

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Any) -> "HashedInput":
        """Make it from what a file says, or raise `ValueError`."""
        try:
            lists = {name: tuple(given[name]) for name in ("numbers", "categorical")}
            made = cls(**{**given, **lists})
        except (TypeError, KeyError) as error:
            raise ValueError(f"the description of the input is wrong: {error}") from None
        fits = (
            type(made.format) is str
            and made.format in FORMATS
            and made.missing in MISSING
            and type(made.n_features) is type(made.hash_bits) is int
            and 0 <= made.hash_bits <= 24
            and all(type(name) is str for name in (*made.numbers, *made.categorical))
        )
        if fits and FORMATS[made.format].columns is not None:
            hashed = 2**made.hash_bits if made.categorical else 0
            fits = made.n_features == len(made.numbers) + hashed
        if made.categorical and given.get("hashing") != cls.hashing:
            raise ValueError("columns of text were hashed in another way: learn the model again")
        if not fits:
            raise ValueError("the description of the input is wrong")
        return made


class HashedFile:
    """A file, or "-" for standard input, read like an earlier one; for use in a `with`."""

    def __init__(
        self, path: str, known: HashedInput, *, format: str | None = None, chunk: int = 10_000
    ) -> None:
        self.path, self.input, self.chunk = path, known, chunk
        self.paths = [path]
        self.name = str(shown_path(path))
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._row = 0  # rows returned so far
        self._format = format_of(path, format or known.format)
        if path != STANDARD_INPUT:
            existing(path)
        if (FORMATS[known.format].columns is None) != (self._format.columns is None):
            raise ValueError(
                f"{self.name} is {self._format.name}, but the model learned {known.format}"
            )

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def chunks(self) -> Iterator[Labelled]:
        if self._format.columns is None:
            width = self.input.n_features
            rows = self._format.read(self.path, n_features=width, chunk=self.chunk)
            for X, y in self._stack.enter_context(closing(rows)):
                yield Labelled(X, y)
            return
        tables = self._format.columns(self.path, None, self.chunk)
        for table in self._stack.enter_context(closing(tables)):
            if self._row == 0:
                wanted = [*self.input.numbers, *self.input.categorical]
                check_columns(Path(self.name), wanted, list(table))
            labelled = self._encoded(table)
            self._row += labelled.X.shape[0]
            yield labelled

    def where(self, row: int) -> str:
        """Name the file and its row of a row of the stream, which is counted from 0."""
        return f"{self.name}, row {row + 1}"

    def _encoded(self, table: dict[str, Any]) -> Labelled:
        known, n = self.input, len(next(iter(table.values())))
        numbers = np.empty((n, len(known.numbers)))
        for j, name in enumerate(known.numbers):
            numbers[:, j] = self._numbers(name, table[name], known.missing)
        y = None
        if known.label is not None and known.label in table:
            y = self._labels(known.label, table[known.label])
        if not known.categorical:
            return Labelled(numbers, y)
        columns = [np.char.add(f"{name}=", _texts(table[name])) for name in known.categorical]
        hasher = FeatureHasher(2**known.hash_bits, input_type="string")
        hashed = hasher.transform(zip(*(column.tolist() for column in columns), strict=True))
        if known.n_features <= _DENSE:
            return Labelled(np.hstack([numbers, hashed.toarray()]), y)
        return Labelled(sparse.hstack([sparse.csr_array(numbers), hashed], format="csr"), y)

    def _labels(self, name: str, column: Any) -> np.ndarray:
        if self.input.numeric_labels:
            return self._numbers(name, column, "error")
        texts = _texts(column)
        empty = np.char.str_len(texts) == 0
        if empty.any():
            raise self._fault(int(np.argmax(empty)), name, "the cell is empty")
        return texts

    def _numbers(self, name: str, column: Any, missing: str) -> Vector:
        if column.dtype.kind in "biuf":
            values = column.astype(np.float64)
            empty = np.isnan(values)
        else:
            texts = _texts(column)
            empty = np.char.str_len(texts) == 0
            values = as_numbers(np.where(empty, "0", texts))
        if empty.any():
            if missing == "error":
                raise self._fault(int(np.argmax(empty)), name, "the cell is empty")
            values[empty] = 0.0
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise self._fault(at, name, f"{str(column[at])!r} is not a finite number")
        return values

    def _fault(self, at: int, name: str, fault: str) -> StreamError:
        return cell_error(self.name, self._row + at + 1, name, fault)


def _texts(column: Any) -> np.ndarray:
    if column.dtype.kind == "O":
        column = np.array(["" if value is None else str(value) for value in column], dtype=str)
    return np.asarray(np.char.strip(column.astype(str)))
