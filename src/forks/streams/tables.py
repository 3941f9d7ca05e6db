"""Files of any format, or standard input, as the rows that the command line learns, in one pass.

An `Input` describes how a file becomes rows and labels. It is made from the first chunk, is saved
with the models that learned from it, and later files are read like the first.

Columns of text are categorical: the values of a row are hashed together into 2^hash_bits columns
behind the numbers, by scikit-learn's `FeatureHasher`, value v of column c as the text "c=v".
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

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
)
from forks.streams.formats import FORMATS, format_of

MISSING = ("error", "zero")
_DENSE = 1024  # columns: wider rows of hashed tables are sparse


@dataclass(frozen=True, kw_only=True)
class Input:
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


class Labelled(NamedTuple):
    """Some rows of a file."""

    X: Any  # dense or CSR
    y: np.ndarray | None  # numbers or text; None if the file has no labels


@dataclass
class InputFile:
    """A file, or "-" for standard input, read once from its beginning; for use in a `with`.

    With `known` it is read like an earlier file; without it the first chunk decides on `input`.
    """

    path: str
    _: KW_ONLY
    known: Input | None = None
    format: str | None = None  # by default that of the file's name; needed for standard input
    label: str | None = None  # by default the last column
    features: int | None = None  # width of LIBSVM rows; without it a file is read twice
    categorical: tuple[str, ...] = ()  # columns to hash even if the first chunk has numbers there
    hash_bits: int = 8
    missing: str = "error"
    chunk: int = 10_000  # rows

    def __post_init__(self) -> None:
        known = self.input = self.known
        self.name = "standard input" if self.path == STANDARD_INPUT else self.path
        self._stack = ExitStack()
        self._row = 0  # rows returned so far
        if self.format is None and known is not None:
            self.format = known.format
        self._format = format_of(self.path, self.format)
        if self.path != STANDARD_INPUT:
            existing(self.path)
        if known is not None:
            if (FORMATS[known.format].columns is None) != (self._format.columns is None):
                raise ValueError(
                    f"{self.name} is {self._format.name}, but the model learned {known.format}"
                )
            self.features = known.n_features

    def __enter__(self) -> "InputFile":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def chunks(self) -> Iterator[Labelled]:
        """Return the rows; `input` is known from the first chunk on."""
        if self._format.columns is None:
            rows = self._format.read(self.path, n_features=self.features, chunk=self.chunk)
            for X, y in self._stack.enter_context(closing(rows)):
                if self.input is None:
                    self.input = Input(format=self._format.name, n_features=X.shape[1])
                yield Labelled(X, y)
            return
        tables = self._format.columns(self.path, None, self.chunk)
        for table in self._stack.enter_context(closing(tables)):
            if self.input is None:
                self.input = self._look(table)
            elif self._row == 0:
                wanted = [*self.input.numbers, *self.input.categorical]
                check_columns(Path(self.name), wanted, list(table))
            labelled = self._encoded(self.input, table)
            self._row += labelled.X.shape[0]
            yield labelled

    def _look(self, table: dict[str, Any]) -> Input:
        """Decide on the columns by the first chunk."""
        names = list(table)
        label = self.label or names[-1]
        categorical, bits = self.categorical, self.hash_bits
        check_columns(Path(self.name), [label, *categorical], names)
        if label in categorical:
            raise ValueError(f"the label {label!r} cannot be a categorical feature")
        features = [name for name in names if name != label]
        if not features:
            raise StreamError(f"{self.name} has no column but {label!r}")
        text = [name for name in features if name in categorical or not _is_numeric(table[name])]
        numbers = tuple(name for name in features if name not in text)
        return Input(
            format=self._format.name,
            n_features=len(numbers) + (2**bits if text else 0),
            label=label,
            numbers=numbers,
            categorical=tuple(text),
            hash_bits=bits,
            missing=self.missing,
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
            values = as_numbers(np.where(empty, "0", texts))
        if empty.any():
            if missing == "error":
                at = int(np.argmax(empty))
                raise self._fault(at, name, "the cell is empty (missing='zero' takes it for 0)")
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


def _is_numeric(column: Any) -> bool:
    """Return whether all cells are numbers or empty, and at least one is a number."""
    if column.dtype.kind in "biuf":
        return True
    texts = _texts(column)
    texts = texts[np.char.str_len(texts) > 0]
    return len(texts) > 0 and not np.isnan(as_numbers(texts)).any()


def _hashed(table: dict[str, Any], known: Input) -> Any:
    columns = [np.char.add(f"{name}=", _texts(table[name])) for name in known.categorical]
    hasher = FeatureHasher(2**known.hash_bits, input_type="string")
    return hasher.transform(zip(*(column.tolist() for column in columns), strict=True))
