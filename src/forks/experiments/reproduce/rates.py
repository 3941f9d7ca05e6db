"""Mistake rates of the paper's tables: what the paper prints beside what we count.

Two ways of counting, both given: as the paper does (mistakes of stage one left out, divided by all
rounds), and every round. Three regimes of bandwidths: those of the authors' code; the best of the
grid for each method; and one for all methods of a data set (the one with the smallest mean rate,
every round counted).
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table, csv_text, plus_minus
from forks.experiments.reproduce.paper import METHODS, Printed, authors_bandwidth, printed

GRID = tuple(2.0 ** (0.5 * i) for i in range(-10, 15))  # bandwidths
Rate = Callable[[Record], float]


def every_round(record: Record) -> float:
    """Return the mistake rate in %, every round counted."""
    return 100.0 * float(record["mistakes"]) / float(record["n_rows"])


def as_published(record: Record) -> float:
    """Return the mistake rate in % as the paper counts."""
    return 100.0 * float(record["mistakes_as_published"]) / float(record["n_rows"])


def spread(numbers: Sequence[float]) -> str:
    """Return mean and deviation as text."""
    return plus_minus(float(np.mean(numbers)), float(np.std(numbers)))


def mean(records: Iterable[Record], name: str) -> float:
    """Return the mean of a number over records."""
    return float(np.mean([record[name] for record in records]))


def median_seconds(records: Iterable[Record]) -> float:
    """Return the median time of a pass."""
    return float(np.median([record["seconds"] for record in records]))


def minority_rate(records: Iterable[Record]) -> float:
    """Return the mistakes in % of always answering the majority class."""
    return 100.0 * float(np.mean([r["minority"] / r["n_rows"] for r in records]))


class Cell(NamedTuple):
    """Mean and deviation over permutations, at one bandwidth."""

    mean: float
    deviation: float
    bandwidth: float
    runs: int

    def __str__(self) -> str:
        return f"{plus_minus(self.mean, self.deviation)} ({self.bandwidth:.3g})"


class Line(NamedTuple):
    """One method on one stream. A cell is None where its bandwidth was not played."""

    data: str
    repeats: int
    method: str
    paper: Printed | None
    authors: Cell | None  # the paper's counting, bandwidth of the authors' code
    published: Cell  # the paper's counting, best bandwidth
    every: Cell  # every round, best bandwidth
    common: Cell | None  # every round, the bandwidth of all methods
    milliseconds: float
    points: float

    @property
    def stream(self) -> str:
        return stream_name(self.data, self.repeats)


_HEADINGS = {  # of the cells of a line
    "authors": "as the paper counts, the authors' widths",
    "published": "as the paper counts, best width",
    "every": "every round, best width",
    "common": "every round, one width for all",
}


def stream_name(data: str, repeats: int) -> str:
    """Return the name of a data set, or of the adversarial game on it."""
    return f"{data}, {repeats} repeats" if repeats else data


def bandwidth(record: Record) -> float:
    """Return the bandwidth of a run."""
    return float(record["arguments"]["bandwidth"])


def cell(records: Sequence[Record], rate: Rate) -> Cell:
    """Sum up runs at one bandwidth."""
    rates = [rate(record) for record in records]
    return Cell(float(np.mean(rates)), float(np.std(rates)), bandwidth(records[0]), len(rates))


def _cells(records: Sequence[Record], rate: Rate) -> dict[float, Cell]:
    return {width: cell(own, rate) for width, own in grouped(records, bandwidth).items()}


def _best(records: Sequence[Record], rate: Rate) -> Cell:
    return min(_cells(records, rate).values(), key=lambda cell: cell.mean)


def _stream(run: Record) -> tuple[str, int]:
    return run["data"], run["repeats"]


def lines(records: Iterable[Record]) -> list[Line]:
    """Sum up the records of an experiment, method by method, stream by stream."""
    found = []
    for (data, repeats), runs in grouped(records, _stream).items():
        by_method = grouped(runs, itemgetter("method"))
        common = _common_bandwidth(by_method)
        order = [name for name in METHODS if name in by_method]
        for method in order + [name for name in by_method if name not in order]:
            own = by_method[method]
            # The bandwidth of the authors' code may lie outside the grid; the best is one of it.
            grid = [r for r in own if bandwidth(r) in GRID] or own
            every = _best(grid, every_round)
            chosen = [r for r in grid if bandwidth(r) == every.bandwidth]
            found.append(
                Line(
                    data,
                    repeats,
                    method,
                    printed(method, data, repeats),
                    _cells(own, as_published).get(authors_bandwidth(method, repeats)),
                    _best(grid, as_published),
                    every,
                    _cells(own, every_round).get(common),
                    1e3 * median_seconds(chosen),
                    mean(chosen, "stored_points"),
                )
            )
    return found


def _common_bandwidth(by_method: dict[str, list[Record]]) -> float:
    """Return the bandwidth that all methods of the table have played, with the least mean rate."""
    of_table = [by_method[name] for name in METHODS if name in by_method]
    tables = [_cells(records, every_round) for records in of_table or by_method.values()]
    shared = set.intersection(*(set(table) for table in tables))
    means = {width: sum(table[width].mean for table in tables) for width in shared}
    return min(means, key=means.__getitem__, default=float("nan"))


def rate_tables(
    records: Sequence[Record], remark: Callable[[Sequence[Line]], list[Block]] = lambda own: []
) -> list[Block]:
    """Return the tables of an experiment, one per stream, each with a remark on its lines."""
    blocks: list[Block] = []
    for runs in grouped(records, _stream).values():
        own = lines(runs)
        blocks += [f"### {own[0].stream}", about(runs) + " In brackets the bandwidth."]
        blocks += [_rate_table(own, {bandwidth(run) for run in runs}), *remark(own)]
    return blocks


def _rate_table(own: Sequence[Line], bandwidths: set[float]) -> Table:
    headings = dict(_HEADINGS)
    if len(bandwidths) == 1:  # the regimes are one
        headings = {"published": "as the paper counts", "every": "every round"}
    cells = {name: [getattr(line, name) for line in own] for name in headings}
    best = {
        name: min((cell.mean for cell in column if cell is not None), default=None)
        for name, column in cells.items()
    }
    rows = []
    for i, line in enumerate(own):
        paper = "" if line.paper is None else plus_minus(*line.paper[:2])
        shown = [_shown(cells[name][i], best[name]) for name in headings]
        rows.append([line.method, paper, *shown, f"{line.milliseconds:.3g}", f"{line.points:.0f}"])
    return Table(["", "paper", *headings.values(), "ms", "points"], rows)


def _shown(cell: Cell | None, best: float | None) -> str:
    if cell is None:
        return ""
    return f"**{cell}**" if cell.mean == best else str(cell)


def about(runs: Sequence[Record]) -> str:
    """Return the size of a stream and the rate of its majority class as a sentence."""
    permutations = len({run["permutation"] for run in runs})
    return (
        f"{runs[0]['n_rows']:,} rounds, {permutations} permutations; always the majority class: "
        f"{minority_rate(runs):.2f} % mistakes."
    )


def rate_csv(records: Iterable[Record]) -> str:
    """Return the lines of an experiment as CSV."""
    columns = [f"{name}_{part}" for name in _HEADINGS for part in Cell._fields]
    first = ["data", "repeats", "method", "paper", "paper_deviation"]
    rows = []
    for line in lines(records):
        paper = (None, None) if line.paper is None else line.paper[:2]
        cells = [getattr(line, name) or [None] * len(Cell._fields) for name in _HEADINGS]
        numbers = [number for cell in cells for number in cell]
        rows.append([*line[:3], *paper, *numbers, line.milliseconds, line.points])
    return csv_text([*first, *columns, "milliseconds", "points"], rows)
