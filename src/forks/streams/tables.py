"""Files of any format, or standard input, as the rows that the command line learns, in one pass.

An `Input` describes how files become rows and labels: which columns are read, and as what. It is
made from the first rows, is saved with the models that learned from them, and later files are
read like the first. Tables come as raw columns, for `forks.features.TableEncoder`; other formats
as rows of numbers.
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forks.streams.columns import ArrayColumn, Column, RawTable
from forks.streams.dialects import Dialect
from forks.streams.files import StreamError, check_columns, shown_path
from forks.streams.formats import FORMATS, Format
from forks.streams.formats.cells import Numbers
from forks.streams.formats.libsvm import find_shape
from forks.streams.opening import check_undelimited, open_table, whose_format
from forks.streams.words import Words

LIBSVM = "libsvm"
_RARE = 0.01  # share of words up to which a column is one of numbers all the same
_FEW_WORDS = 3  # of them that may differ
_FEW_CLASSES = 20  # numbers that are rather classes, if there are words among them


@dataclass(frozen=True, kw_only=True)
class ColumnInput:
    """A column that is read."""

    name: str
    numeric: bool  # whether it is read as numbers, or else as text
    words: tuple[str, ...] = ()  # that stand for missing values in it


@dataclass(frozen=True, kw_only=True)
class Input:
    """How files become rows and labels. Label and weights are columns of a table."""

    format: str  # a name of `forks.streams.formats.FORMATS`
    n_features: int | None = None  # of formats that are no tables
    zero_based: bool | None = None  # whether indices of LIBSVM rows count from 0
    columns: tuple[ColumnInput, ...] = ()
    label: ColumnInput | None = None
    weights: str | None = None
    na: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return {"version": 2, **asdict(self)}

    @classmethod
    def from_json(cls, given: Any) -> "Input":
        """Make it from what a file says, or raise `ValueError`."""
        try:
            told = dict(given)
            if told.pop("version") != 2:
                raise ValueError
            columns = tuple(map(_column_from, told.pop("columns")))
            label = told.pop("label")
            made = cls(
                columns=columns,
                label=None if label is None else _column_from(label),
                na=_texts(told.pop("na")),
                **told,
            )
            fits = (
                type(made.format) is str
                and made.format in FORMATS
                and (made.n_features is None or type(made.n_features) is int)
                and (made.n_features is None or made.n_features >= 1)
                and type(made.zero_based) in (bool, type(None))
                and type(made.weights) in (str, type(None))
            )
        except (TypeError, KeyError, ValueError):
            fits = False
        if not fits:
            raise ValueError("the description of the input is wrong")
        return made

    @property
    def label_name(self) -> str | None:
        """The column of the labels."""
        return None if self.label is None else self.label.name

    @property
    def is_table(self) -> bool:
        return FORMATS[self.format].columns is not None


def _column_from(given: Any) -> ColumnInput:
    name, numeric, words = given["name"], given["numeric"], _texts(given["words"])
    if type(name) is not str or type(numeric) is not bool or len(given) != 3:
        raise ValueError
    return ColumnInput(name=name, numeric=numeric, words=words)


def _texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(type(text) is str for text in given):
        raise ValueError
    return tuple(given)


class Labelled(NamedTuple):
    """Some rows of a file."""

    X: Any  # a `RawTable`, or rows of numbers, dense or CSR
    y: np.ndarray | None  # numbers, NaN where missing; or text, None where missing; or no labels
    weights: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the user says about the columns; names may be patterns such as `url.*`."""

    label: str | None = None  # by default the last column
    weights: str | None = None
    drop: Sequence[str] = ()
    only: Sequence[str] = ()
    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    time: Sequence[str] = ()
    day_first: Sequence[str] = ()
    month_first: Sequence[str] = ()
    text: Sequence[str] = ()

    def kinds(self, names: Sequence[str], file: str) -> dict[str, str]:
        told = {
            "number": self.numeric,
            "category": self.categorical,
            "time": self.time,
            "day-first": self.day_first,
            "month-first": self.month_first,
            "text": self.text,
        }
        found: dict[str, str] = {}
        for kind, patterns in told.items():
            for name in matching(patterns, names, file):
                if found.setdefault(name, kind) != kind:
                    raise ValueError(f"{name!r} cannot be both {found[name]} and {kind}")
        return found

    def names(self, column: str) -> bool:
        """Return whether the kind of a column is told by its name, not by a pattern."""
        kinds = "numeric", "categorical", "time", "day_first", "month_first", "text"
        return any(column in getattr(self, kind) for kind in kinds)

    def any_column(self) -> bool:
        """Return whether anything of this makes sense for tables only."""
        return any(getattr(self, name) for name in self.__dataclass_fields__)


def matching(patterns: Sequence[str], names: Sequence[str], file: str) -> list[str]:
    """Return the names that patterns stand for, in the order of the names."""
    found: set[str] = set()
    for pattern in patterns:
        these = [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]
        if not these:
            raise StreamError(f"{file} has no column {pattern!r}; it has {', '.join(names)}")
        found.update(these)
    return [name for name in names if name in found]


@dataclass
class InputFile:
    """Files, or "-" for standard input, read once from their beginning; for use in a `with`.

    With `known` they are read like earlier files; without it the first chunk decides on `input`.
    Several files are one stream.
    """

    paths: Sequence[str]
    _: KW_ONLY
    known: Input | None = None
    told: Told = field(default_factory=Told)
    format: str | None = None  # by default what names or contents show
    dialect: Dialect = field(default_factory=Dialect)
    encoding: str | None = None
    na: Sequence[str] = ()
    features: int | None = None  # width of LIBSVM rows; without it a file is read twice
    learned: int | None = None  # width that a model has learned, which nothing else is known of
    names: Sequence[str] = ()  # of the columns that it has learned, if these had names
    zero_based: bool | None = None  # whether indices of LIBSVM rows count from 0
    chunk: int = 10_000  # rows

    def __post_init__(self) -> None:
        self.paths = [self.paths] if isinstance(self.paths, str) else list(self.paths)
        self.input = self.known
        self.name = str(shown_path(self.paths[0]))
        self.kinds: dict[str, str] = {}  # of columns, as they were told
        self.notes: list[str] = []  # what was found, for the user
        self._left_out: frozenset[str] = frozenset()
        self._stack = ExitStack()
        self._begun: list[tuple[int, str]] = []  # rows before each file, and its name
        self._row = 0  # rows returned so far
        self._words = Words(self.na if self.known is None else [*self.known.na, *self.na])

    def __enter__(self) -> "InputFile":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def leave_out(self, names: Sequence[str]) -> None:
        """Do not read some columns from the next chunk on."""
        self._left_out = frozenset(names)
        if self.input is not None:
            kept = tuple(column for column in self.input.columns if column.name not in names)
            self.input = replace(self.input, columns=kept)

    def where(self, row: int) -> str:
        """Name the file and its row of a row of the stream, which is counted from 0."""
        known = (item for item in reversed(self._begun) if item[0] <= row)
        before, name = next(known, (0, self.name))
        return f"{name}, row {row - before + 1}"

    def _fault(self, row: int, column: str, fault: str) -> StreamError:
        """Return the error about a cell, in a row of the chunk that is being read."""
        return StreamError(f"{self.where(self._row + row)}, column {column!r}: {fault}")

    # ---- rows --------------------------------------------------------------------------------

    def chunks(self) -> Iterator[Labelled]:
        """Return the rows; `input` is known from the first chunk on."""
        for path in self.paths:
            self.name = str(shown_path(path))
            self._begun.append((self._row, self.name))
            with ExitStack() as stack:
                self._stack = stack
                known = None if self.input is None else self.input.format
                format, source = whose_format(path, self.format, self.encoding, known)
                self._check_format(format)
                rows = self._table_rows if format.columns is not None else self._number_rows
                for labelled in rows(format, source):
                    self._row += labelled.X.shape[0]
                    yield labelled

    def _check_format(self, format: Format) -> None:
        if self.input is not None and self.input.is_table != (format.columns is not None):
            others = "the model learned" if self.known is not None else "the files before it are"
            raise ValueError(f"{self.name} is {format.name}, but {others} {self.input.format}")
        if format.columns is None and self.input is None and self.told.any_column():
            raise ValueError(f"{self.name} is {format.name}, whose rows have no named columns")
        if self.zero_based is not None and format.name != LIBSVM:
            raise ValueError(f"zero_based= is for LIBSVM rows, and {self.name} is {format.name}")
        if self.features is not None and self.known is None and format.columns is not None:
            raise ValueError(
                f"n_features= is for rows of indices, and {self.name} is {format.name}"
            )
        if format.columns is None:
            check_undelimited(format, self.dialect)

    def _number_rows(self, format: Format, source: Any) -> Iterator[Labelled]:
        known = self.input
        width = (self.features or self.learned) if known is None else known.n_features
        options, zero = {}, self.zero_based
        if format.name == LIBSVM:
            if known is None:
                width, zero = find_shape(source, width, zero)
            elif zero is None:
                zero = known.zero_based
            options = {"zero_based": zero}
        rows = format.read(source, n_features=width, chunk=self.chunk, **options)
        for chunk in self._stack.enter_context(closing(rows)):
            labelled = Labelled(*chunk)
            if self.input is None:
                width = labelled.X.shape[1]
                self.input = Input(format=format.name, n_features=width, zero_based=zero)
            yield labelled

    def _table_rows(self, format: Format, source: Any) -> Iterator[Labelled]:
        chunks, notes = self._stack.enter_context(
            open_table(format, source, self.dialect, self._words, self.chunk)
        )
        for number, columns in enumerate(chunks):
            if self.input is None:
                self.input = self._look(format, columns)
            elif number == 0:
                wanted = [c.name for c in self.input.columns if c.name not in self._left_out]
                check_columns(Path(self.name), wanted, list(columns))
            if number == 0 and notes:
                self.notes.append(f"{self.name}: {', '.join(notes)}")
            yield self._labelled(self.input, columns)

    def _labelled(self, known: Input, columns: dict[str, Column]) -> Labelled:
        n = len(next(iter(columns.values())))
        table = {
            column.name: self._read(column, columns[column.name])
            for column in known.columns
            if column.name not in self._left_out
        }
        y = weights = None
        if known.label is not None and known.label.name in columns:
            y = self._read(known.label, columns[known.label.name])
            y = y.astype(str) if y.dtype.kind == "O" and None not in y else y
        if known.weights is not None and known.weights in columns:
            weights = self._weights(known.weights, columns[known.weights])
        return Labelled(RawTable(table, n), y, weights)

    def _read(self, known: ColumnInput, column: Column) -> np.ndarray:
        words = self._words.but(known.words) if known.words else self._words
        if not known.numeric:
            return column.objects(words)
        found = column.numbers(words)
        if len(found.faults):
            row = int(found.faults[0])
            text = column.shown(row)
            fault = f"{text!r} is not a number (na={text!r} takes it for missing)"
            raise self._fault(row, known.name, fault)
        return found.values

    def _weights(self, name: str, column: Column) -> np.ndarray:
        found = column.numbers(self._words)
        wrong = ~(found.values >= 0.0) | ~np.isfinite(found.values)
        if wrong.any():
            row = int(np.argmax(wrong))
            fault = f"{column.shown(row)!r} is no weight, which is a number of at least 0"
            raise self._fault(row, name, fault)
        return found.values

    # ---- the first rows ----------------------------------------------------------------------

    def _look(self, format: Format, columns: dict[str, Column]) -> Input:
        """Decide on the columns by the first chunk."""
        told, names = self.told, list(columns)
        if self.names:
            return self._look_named(format, columns)
        label = told.label or names[-1]
        own = [label] if told.weights is None else [label, told.weights]
        check_columns(Path(self.name), own, names)
        if told.weights == label:
            raise ValueError(f"{label!r} cannot be both the label and the weights")
        rest = [name for name in names if name not in own]
        dropped = matching(told.drop, names, self.name)
        kept = matching(told.only, names, self.name) if told.only else rest
        if label in dropped:
            raise ValueError(f"the label {label!r} cannot be dropped")
        features = [name for name in rest if name in kept and name not in dropped]
        if not features:
            raise StreamError(f"{self.name} has no column but {label!r}")
        self.kinds = told.kinds(names, self.name)
        for name in self.kinds:
            if name in own:
                raise ValueError(f"{name!r} is the label or the weights, and no feature")
            if name not in features and told.names(name):
                raise ValueError(f"{name!r} is told to be {self.kinds[name]}, but left out")
        self.kinds = {name: kind for name, kind in self.kinds.items() if name in features}
        return Input(
            format=format.name,
            columns=tuple(self._found(name, columns[name]) for name in features),
            label=self._found_label(label, columns[label]),
            weights=told.weights,
            na=tuple(self.na),
        )

    def _look_named(self, format: Format, columns: dict[str, Column]) -> Input:
        """Return the columns that a model has learned, in its order; there may be no label."""
        told, there = self.told, list(columns)
        label = told.label or (None if there[-1] in self.names else there[-1])
        own = [name for name in (label, told.weights) if name is not None]
        check_columns(Path(self.name), [*self.names, *own], there)
        for name in own:
            if name in self.names:
                raise ValueError(f"{name!r} is a feature of the model, and no label or weight")
        return Input(
            format=format.name,
            columns=tuple(ColumnInput(name=name, numeric=True) for name in self.names),
            label=None if label is None else self._found_label(label, columns[label]),
            weights=told.weights,
            na=tuple(self.na),
        )

    def _found(self, name: str, column: Column) -> ColumnInput:
        if column.categories:
            self.kinds.setdefault(name, "category")
        if name in self.kinds:
            return ColumnInput(name=name, numeric=self.kinds[name] == "number")
        found = column.numbers(self._words)
        return self._with_words(name, column, _rare_words(column, found), found)

    def _found_label(self, name: str, column: Column) -> ColumnInput:
        found = column.numbers(self._words)
        words = None if column.categories else _rare_words(column, found)
        if words and len(np.unique(found.values[np.isfinite(found.values)])) <= _FEW_CLASSES:
            words = None
        return self._with_words(name, column, words, found)

    def _with_words(
        self, name: str, column: Column, words: tuple[str, ...] | None, found: Numbers
    ) -> ColumnInput:
        """Return a column of numbers with a few words, which are noted; of text if that is None."""
        noted = _frequent_words(column, found) if words is None else words
        if noted:
            n, these = len(found.faults), ", ".join(map(repr, noted))
            cells = "1 cell" if n == 1 else f"{n:,} cells"
            taken = "missing"
            if words is None:
                options = " ".join(f"--na {shlex.quote(word)}" for word in noted)
                taken = f"taken for text ({options} if they are missing)"
            self.notes.append(f"column {name!r} has numbers, but for {these} in {cells}: {taken}")
        return ColumnInput(name=name, numeric=words is not None, words=words or ())


def _rare_words(column: Column, found: Numbers) -> tuple[str, ...] | None:
    """Return the few words in a column of numbers, or None if it is not one."""
    if isinstance(column, ArrayColumn) and column.array.dtype.kind in "Mm":
        return None
    if len(found.faults) == 0:
        return ()
    words = _words(column, found)
    rare = len(found.faults) <= _RARE * _n_numbers(found) and len(words) <= _FEW_WORDS
    return tuple(words) if rare else None


def _frequent_words(column: Column, found: Numbers) -> list[str]:
    """Return the few words in a column of text that would be one of numbers without them."""
    if column.categories or len(found.faults) > _n_numbers(found):
        return []
    words = _words(column, found)
    n_values = len(np.unique(found.values[np.isfinite(found.values)]))
    return words if len(words) <= _FEW_WORDS and n_values > _FEW_CLASSES else []


def _n_numbers(found: Numbers) -> int:
    return len(found.values) - int(found.missing.sum()) - len(found.faults)


def _words(column: Column, found: Numbers) -> list[str]:
    """Return the different words among the first that are no numbers."""
    first = found.faults[: 100 * _FEW_WORDS].tolist()
    return sorted({column.shown(row).strip() for row in first})
