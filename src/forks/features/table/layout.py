"""Which features the columns of a table become, and what is known of each column.

First come the columns in their order, but for text; then one indicator of gaps that came late, in
tables that had gaps in their first rows; then the blocks of words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Matrix
from forks.features.means import Means
from forks.features.table.categories import Category, first_categories
from forks.features.table.cells import CellError, floats_of
from forks.features.table.columns import Columns
from forks.features.table.kinds import LEFT_OUT, Column
from forks.features.table.ranges import Ranges
from forks.features.table.targets import Targets
from forks.features.table.text import Text
from forks.features.table.times import Time

WIDEST = 1024  # features: wider rows are sparse, unless few of their numbers are 0
_THIN = 0.1  # share of numbers that are not 0, at most, in the first rows
_BLOCK = 2048  # rows that are encoded at a time, and stay in the cache meanwhile
LATE_GAPS = "missing"  # name of the indicator that columns share


class Read(NamedTuple):
    """The cells of some rows, checked."""

    numbers: Matrix
    gaps: Any  # which of them are missing; None if none is
    times: dict[str, Any]
    categories: dict[str, list[str]]
    texts: dict[str, list[list[str]]]
    labels: Any

    @property
    def n_rows(self) -> int:
        return len(self.numbers)

    def part(self, rows: slice) -> "Read":
        if rows.stop - rows.start >= self.n_rows:
            return self
        return Read(*(_part(each, rows) for each in self))


def _part(cells: Any, rows: slice) -> Any:
    """Return some rows of cells: of one column, of several by name, or of none."""
    if isinstance(cells, dict):
        return {name: part[rows] for name, part in cells.items()}
    return None if cells is None else cells[rows]


@dataclass
class Layout:
    """The encoders of all columns, and where their features are."""

    columns: list[Column]
    numbers: list[str]
    own_gaps: list[str]  # numbers and times that have an indicator for gaps
    means: Means  # of the numbers
    times: dict[str, Time]
    categories: dict[str, Category]
    texts: dict[str, Text]
    targets: Targets
    names: list[str] = field(default_factory=list)  # of the features
    thin: bool = False  # were most numbers of the first rows 0?
    ranges: Ranges | None = None  # of the numbers; None for models of before there were any

    def __post_init__(self) -> None:
        found = self._place()
        if not found:
            raise ValueError("no column is left to encode: all are identifiers or dropped")
        self.names = self.names or found  # values and classes of now; later ones change no name
        if len(self.names) != len(found):
            raise ValueError(f"there are {len(self.names)} names for {len(found)} features")

    def _place(self) -> list[str]:
        """Give each column its features; return their names."""
        at: dict[str, int] = {}
        gap_at: dict[str, int] = {}
        names: list[str] = []
        for column in self.columns:
            name = column.name
            if name in self.texts or column.kind in LEFT_OUT:
                continue
            at[name] = len(names)
            names += self._names_of(name)
            if name in self.own_gaps:
                gap_at[name] = len(names)
                names.append(f"{name} {LATE_GAPS}")
        self._late_at = len(names)
        names += [LATE_GAPS] if self.own_gaps else []
        self._dense_width = len(names)
        self._number_at = np.array([at[name] for name in self.numbers], dtype=np.intp)
        self._at, self._gap_at = at, gap_at
        return names + [name for text in self.texts.values() for name in text.names()]

    def _names_of(self, name: str) -> list[str]:
        if name in self.categories:
            return self.categories[name].names(self.targets.names())
        return self.times[name].names() if name in self.times else [name]

    @classmethod
    def of_first(
        cls,
        columns: list[Column],
        table: Columns,
        y: Any,
        task: str,
        bits: int,
        orders: Mapping[str, str],
    ) -> "Layout":
        """Return the layout that the first rows call for; `orders` are those told of dates."""
        targets = Targets.of_first(task, y)
        numbers: list[str] = []
        times: dict[str, Time] = {}
        cells: dict[str, np.ndarray] = {}
        texts: dict[str, Text] = {}
        for name, kind, _ in columns:
            if kind == "number" or (kind == "constant" and _has_numbers(name, table[name])):
                numbers.append(name)
            elif kind in ("category", "constant"):
                cells[name] = table[name]
            elif kind == "time":
                times[name] = Time.of_first(name, table[name], orders.get(name))
            elif kind == "text":
                texts[name] = Text(name, 2**bits)
        read = [(name, floats_of(name, table[name])) for name in numbers]
        read += [(name, time.read(table[name])) for name, time in times.items()]
        gaps = [name for name, values in read if np.isnan(values).any()]
        means = Means.of_none(len(numbers))
        categories = first_categories(cells, targets.n)
        shares = [np.count_nonzero(values) / max(1, len(values)) for _, values in read]
        thin = bool(shares) and float(np.mean(shares)) <= _THIN
        made = (columns, numbers, gaps, means, times, categories, texts, targets)
        return cls(*made, thin=thin, ranges=Ranges.of_none(len(numbers)))

    @property
    def is_sparse(self) -> bool:
        return len(self.names) > WIDEST and (self.thin or bool(self.texts))

    # ---- rows --------------------------------------------------------------------------------

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names of the columns that are encoded."""
        return tuple(name for name, kind, _ in self.columns if kind not in LEFT_OUT)

    def read(self, table: Columns, y: Any) -> Read:
        """Return the cells of all columns, checked; nothing is learned."""
        n = len(next(iter(table.values()))) if table else 0
        numbers = np.empty((n, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            numbers[:, j] = floats_of(name, table[name])
        gaps = np.isnan(numbers)
        return Read(
            numbers,
            gaps if gaps.any() else None,
            {name: time.read(table[name]) for name, time in self.times.items()},
            {name: category.read(table[name]) for name, category in self.categories.items()},
            {name: text.read(table[name]) for name, text in self.texts.items()},
            self.targets.read(y),
        )

    def rows(self, read: Read, learn: bool) -> Any:
        """Return the features of rows; with `learn`, learn each after its features are made."""
        out = np.zeros((read.n_rows, self._dense_width))
        for start in range(0, read.n_rows, _BLOCK):
            part = slice(start, min(start + _BLOCK, read.n_rows))
            self._write(read.part(part), learn, out[part])
        blocks = [text.rows(read.texts[name]) for name, text in self.texts.items()]
        if self.is_sparse:
            return sparse.hstack([sparse.csr_array(out), *blocks], format="csr")
        if not blocks:
            return out
        return np.hstack([out, *(block.toarray() for block in blocks)])

    def _write(self, read: Read, learn: bool, out: Matrix) -> None:
        if learn and self.ranges is not None:
            self.ranges = self.ranges.after(read.numbers)
        if learn and read.gaps is None:
            self.means = self.means.after(read.numbers)
        elif learn:
            self.means = self.means.fill_running(read.numbers)
        elif read.gaps is not None:
            self.means.fill(read.numbers)
        out[:, self._number_at] = read.numbers
        self._write_gaps(read, out)
        targets = self.targets.of(read.labels, read.n_rows)
        for name, time in self.times.items():
            place = self._at[name]
            time.write(read.times[name], learn, out[:, place : place + time.width])
        for name, category in self.categories.items():
            part = out[:, self._at[name] : self._at[name] + category.width]
            category.write(read.categories[name], targets, learn, part)

    def learned(self, name: str) -> dict[str, Any]:
        """Return what is known of the cells of a column, as JSON."""
        if name in self.categories:
            category = self.categories[name]
            table = category.table
            many = {} if table is None else {"kept_values": int(np.count_nonzero(table.times))}
            return {"values": list(category.values)} if category.n_indicators else many
        if name in self.times:
            return self.times[name].learned()
        if name not in self.numbers or not self.means.counts[j := self.numbers.index(name)]:
            return {}
        ends = {} if self.ranges is None else self.ranges._asdict()
        told = {end: float(values[j]) for end, values in ends.items()}
        return {**told, "mean": float(self.means.now[j])}

    def _write_gaps(self, read: Read, out: Matrix) -> None:
        marks = {name: np.isnan(seconds) for name, seconds in read.times.items()}
        if read.gaps is not None:
            marks.update(zip(self.numbers, read.gaps.T, strict=True))
        for name, gaps in marks.items():
            if name in self._gap_at:
                out[:, self._gap_at[name]] = gaps
            elif self.own_gaps:
                np.maximum(out[:, self._late_at], gaps, out=out[:, self._late_at])


def _has_numbers(name: str, cells: np.ndarray) -> bool:
    if cells.dtype.kind in "biuf":
        return True
    try:
        return not np.isnan(floats_of(name, cells)).all()
    except CellError:
        return False
