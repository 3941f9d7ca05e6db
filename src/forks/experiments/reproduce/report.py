"""The report, from records alone: what the paper prints beside what we count.

Two ways of counting, both given: as the paper does (mistakes of stage one left out, divided by all
rounds), and every round. Three regimes of bandwidths: those of the authors' code; the best of the
grid for each method; and one for all methods of a data set (the one with the smallest mean rate,
every round counted).
"""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from forks.datasets import describe, names
from forks.experiments.reproduce.document import Block, Bullets, Heading, Paragraph, Table
from forks.experiments.reproduce.paper import WITHOUT_CHANCE, Printed, authors_bandwidth, printed
from forks.experiments.reproduce.plans import EXTRA_RANKS, GRID
from forks.experiments.reproduce.records import Record
from forks.experiments.reproduce.runs import DONE

_METHODS = (
    "RBP",
    "BPA-S",
    "Projectron",
    "BOGD",
    "FOGD",
    "NOGD",
    "SkeGD",
    "PROS-N-KONS",
    "FORKS",
)
_BANDWIDTHS = {2.0**power for power in GRID}
Rate = Callable[[Record], float]


def every_round(record: Record) -> float:
    """Mistake rate in %, every round counted."""
    return 100.0 * float(record["mistakes"]) / float(record["n_rows"])


def as_published(record: Record) -> float:
    """Mistake rate in % as the paper counts."""
    return 100.0 * float(record["mistakes_as_published"]) / float(record["n_rows"])


class Cell(NamedTuple):
    """Mean and deviation over permutations, at one bandwidth."""

    mean: float
    deviation: float
    bandwidth: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f} ({self.bandwidth:.3g})"


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
        """Name of the stream."""
        return f"{self.data}, {self.repeats} repeats" if self.repeats else self.data


_CELLS = {  # of a line, by the headings of their columns
    "authors": "as the paper counts, the authors' widths",
    "published": "as the paper counts, best width",
    "every": "every round, best width",
    "common": "every round, one width for all",
}


def done(records: Iterable[Record], experiment: str) -> list[Record]:
    """Return the records of an experiment's successful runs."""
    return [r for r in records if r["experiment"] == experiment and r["status"] == DONE]


def lines(records: Iterable[Record], experiment: str) -> list[Line]:
    """Sum up the records of an experiment, method by method, stream by stream."""
    streams: dict[tuple[str, int], dict[str, list[Record]]] = {}
    for record in done(records, experiment):
        by_method = streams.setdefault((record["data"], record["repeats"]), defaultdict(list))
        by_method[record["method"]].append(record)
    found = []
    for (data, repeats), by_method in streams.items():
        common = _common_bandwidth(by_method)
        order = [name for name in _METHODS if name in by_method]
        for method in order + [name for name in by_method if name not in order]:
            own = by_method[method]
            # The bandwidth of the authors' code may lie outside the grid; the best is one of it.
            grid = [r for r in own if _bandwidth(r) in _BANDWIDTHS] or own
            every = _best(grid, every_round)
            chosen = [r for r in grid if _bandwidth(r) == every.bandwidth]
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
                    1e3 * float(np.median([r["seconds"] for r in chosen])),
                    float(np.mean([r["stored_points"] for r in chosen])),
                )
            )
    return found


def _bandwidth(record: Record) -> float:
    return float(record["arguments"]["bandwidth"])


def _cell(records: Sequence[Record], rate: Rate) -> Cell:
    rates = [rate(record) for record in records]
    return Cell(float(np.mean(rates)), float(np.std(rates)), _bandwidth(records[0]), len(rates))


def _cells(records: Sequence[Record], rate: Rate) -> dict[float, Cell]:
    groups: dict[float, list[Record]] = defaultdict(list)
    for record in records:
        groups[_bandwidth(record)].append(record)
    return {bandwidth: _cell(group, rate) for bandwidth, group in groups.items()}


def _best(records: Sequence[Record], rate: Rate) -> Cell:
    return min(_cells(records, rate).values(), key=lambda cell: cell.mean)


def _common_bandwidth(by_method: dict[str, list[Record]]) -> float:
    """The bandwidth that all methods of the table have played whose mean rate is smallest."""
    of_table = [by_method[name] for name in _METHODS if name in by_method]
    tables = [_cells(records, every_round) for records in of_table or by_method.values()]
    shared = set.intersection(*(set(table) for table in tables))
    return min(
        shared,
        key=lambda bandwidth: sum(table[bandwidth].mean for table in tables),
        default=float("nan"),
    )


def rate_tables(records: Sequence[Record], experiment: str) -> list[Block]:
    """Write the tables of an experiment with mistake rates, one per stream."""
    blocks: list[Block] = []
    summed = lines(records, experiment)
    for data, repeats in dict.fromkeys((line.data, line.repeats) for line in summed):
        own = [line for line in summed if (line.data, line.repeats) == (data, repeats)]
        played = [
            r for r in done(records, experiment) if (r["data"], r["repeats"]) == (data, repeats)
        ]
        blocks += [
            Heading(3, own[0].stream),
            Paragraph(_about(played) + " In brackets the bandwidth."),
        ]
        blocks.append(_rate_table(own, {_bandwidth(record) for record in played}))
        blocks += _without_chance(own)
    return blocks


def _rate_table(own: Sequence[Line], bandwidths: set[float]) -> Table:
    headings = dict(_CELLS)
    if len(bandwidths) == 1:  # the regimes are one
        headings = {"published": "as the paper counts", "every": "every round"}
    cells = {name: [getattr(line, name) for line in own] for name in headings}
    best = {
        name: min((cell.mean for cell in column if cell is not None), default=None)
        for name, column in cells.items()
    }
    rows = []
    for i, line in enumerate(own):
        paper = "" if line.paper is None else f"{line.paper.rate:.2f} ± {line.paper.deviation:.2f}"
        told = [_told(cells[name][i], best[name]) for name in headings]
        rows.append([line.method, paper, *told, f"{line.milliseconds:.3g}", f"{line.points:.0f}"])
    return Table(["", "paper", *headings.values(), "ms", "points"], rows)


def _told(cell: Cell | None, best: float | None) -> str:
    if cell is None:
        return ""
    return f"**{cell}**" if cell.mean == best else str(cell)


def _about(played: Sequence[Record]) -> str:
    minority = 100.0 * float(np.mean([r["minority"] / r["n_rows"] for r in played]))
    permutations = len({r["permutation"] for r in played})
    return (
        f"{played[0]['n_rows']:,} rounds, {permutations} permutations; always the majority class: "
        f"{minority:.2f} % mistakes."
    )


def _without_chance(own: Sequence[Line]) -> list[Block]:
    """Tell whether methods that draw nothing give the printed digits on the published orders."""
    told = []
    for line in own:
        has_orders = line.data in names() and describe(line.data).permutations is not None
        if line.method not in WITHOUT_CHANCE or not has_orders or line.repeats:
            continue
        if line.paper is None or line.authors is None:
            continue
        ours = f"{line.authors.mean:.3f} ± {line.authors.deviation:.3f}"
        paper = f"{line.paper.rate:.3f} ± {line.paper.deviation:.3f}"
        verdict = "the same digits" if ours == paper else "not the same digits"
        told.append(f"{line.method} {ours}, printed {paper}: {verdict}")
    if not told:
        return []
    return [
        Paragraph(
            "Where nothing is left to chance (published orders, the authors' widths): "
            f"{'; '.join(told)}."
        )
    ]


def two_stage_table(records: Iterable[Record]) -> list[Block]:
    """Write what is behind the rates of the two-stage methods of table 1."""
    streams: dict[str, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in done(records, "table1"):
        method = record["method"]
        if record["warm_up_rounds"] and _bandwidth(record) == authors_bandwidth(method):
            streams[record["data"]][method].append(record)
    rows = []
    groups = [(data, *pair) for data, by_method in streams.items() for pair in by_method.items()]
    for data, method, own in groups:
        minority = 100.0 * float(np.mean([r["minority"] / r["n_rows"] for r in own]))
        rates = (float(np.mean([rate(r) for r in own])) for rate in (as_published, every_round))
        plus = 100.0 * float(np.mean([r["share_of_plus"] for r in own]))
        counts = (float(np.mean([r[name] for r in own])) for name in ("warm_up_rounds", "updates"))
        told = (*rates, minority, plus, *counts)
        rows.append([data, method, *(f"{number:.2f}" for number in told)])
    header = [
        "stream",
        "method",
        "as the paper counts",
        "every round",
        "majority class",
        "% answers +1, last 1,000 rounds",
        "rounds of stage one",
        "map updates",
    ]
    return [Table(header, rows, 2)] if rows else []


def table_1(records: Sequence[Record]) -> list[Block]:
    """Write the tables of table 1, and what is behind those of the two-stage methods."""
    blocks = rate_tables(records, "table1")
    behind = two_stage_table(records)
    if behind:
        blocks.append(Heading(3, "What is behind the rates of the two-stage methods"))
        blocks.append(Paragraph("Means over permutations, with the authors' widths."))
    return blocks + behind


def table(records: Iterable[Record], experiment: str) -> str:
    """Write the lines of an experiment as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [f"{name}_{part}" for name in _CELLS for part in Cell._fields]
    first = ["data", "repeats", "method", "paper", "paper_deviation"]
    writer.writerow([*first, *columns, "milliseconds", "points"])
    for line in lines(records, experiment):
        paper = ("", "") if line.paper is None else line.paper[:2]
        cells = [getattr(line, name) or [""] * len(Cell._fields) for name in _CELLS]
        numbers = [number for cell in cells for number in cell]
        told = [line.data, line.repeats, line.method, *paper]
        writer.writerow([*told, *numbers, line.milliseconds, line.points])
    return out.getvalue()


class ThetaPoint(NamedTuple):
    """FORKS with its decompositions at one update cycle."""

    theta: float
    updates: float  # mean number of update rounds
    rates: dict[str, Cell]  # every round, by decomposition
    seconds: dict[str, float]
    orders: dict[str, dict[int, float]]  # rates by permutation


DECOMPOSITIONS = {  # by the names of the runs
    "tisvd": "TISVD",
    "recursive": "the same recursion, dense",
    **{f"tisvd + {extra}": f"TISVD, {extra} more pairs" for extra in EXTRA_RANKS},
    "svd": "full SVD",
}


def theta_points(records: Iterable[Record]) -> list[ThetaPoint]:
    """Sum up the records of the experiment over update cycles, by falling theta."""
    groups: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in done(records, "theta"):
        kind = record["method"].removeprefix("FORKS, ")
        groups[record["arguments"]["update_cycle"]][kind].append(record)
    points = []
    for cycle, by_kind in sorted(groups.items(), reverse=True):
        own = [record for records in by_kind.values() for record in records]
        points.append(
            ThetaPoint(
                cycle / own[0]["n_rows"],
                float(np.mean([record["updates"] for record in own])),
                {kind: _cell(runs, every_round) for kind, runs in by_kind.items()},
                {k: float(np.median([r["seconds"] for r in runs])) for k, runs in by_kind.items()},
                {
                    k: {r["permutation"]: every_round(r) for r in runs}
                    for k, runs in by_kind.items()
                },
            )
        )
    return points


def theta_table(records: Iterable[Record]) -> list[Block]:
    """Write the rates and times over theta."""
    points = theta_points(records)
    rates = []
    for point in points:
        cells = [point.rates.get(kind) for kind in DECOMPOSITIONS]
        told = ["" if c is None else f"{c.mean:.2f} ± {c.deviation:.2f}" for c in cells]
        rates.append([f"{point.theta:.2g}", f"{point.updates:.1f}", *told])
    times = [
        [
            f"{point.theta:.2g}",
            *(
                f"{1e3 * point.seconds[k]:.3g}" if k in point.seconds else ""
                for k in DECOMPOSITIONS
            ),
        ]
        for point in points
    ]
    differences = [
        _largest_difference(points, "tisvd", "recursive"),
        _largest_difference(points, "tisvd", "svd"),
        *(_largest_difference(points, f"tisvd + {extra}", "svd") for extra in EXTRA_RANKS),
    ]
    return [
        Paragraph("Mistakes in %, every round counted:"),
        Table(["theta", "updates", *DECOMPOSITIONS.values()], rates, 0),
        Bullets([told for told in differences if told]),
        Paragraph("Milliseconds per pass:"),
        Table(["theta", *DECOMPOSITIONS.values()], times, 0),
    ]


def _largest_difference(points: Sequence[ThetaPoint], kind: str, other: str) -> str:
    """Tell where two decompositions differ most, order by order of the rows."""
    found = []
    for point in points:
        ours, theirs = point.orders.get(kind, {}), point.orders.get(other, {})
        differences = [ours[order] - theirs[order] for order in ours.keys() & theirs.keys()]
        if differences:
            error = float(np.std(differences)) / len(differences) ** 0.5
            found.append((float(np.mean(differences)), error, point.theta))
    if not found:
        return ""
    largest, error, theta = max(found, key=lambda difference: abs(difference[0]))
    return (
        f"{DECOMPOSITIONS[kind]} against {DECOMPOSITIONS[other]}: at most {abs(largest):.2f} "
        f"points apart ({largest:+.2f} at theta {theta:.2g}, standard error {error:.2f})."
    )


def update_time_table(records: Iterable[Record]) -> list[Block]:
    """Write what an update round costs, over the size of the sketch.

    That is the time of a pass beyond that of the same pass without update rounds, by their number.
    """
    runs: dict[int, dict[str, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in done(records, "updates"):
        kind = record["method"].removeprefix("FORKS, ")
        runs[record["arguments"]["sketch_size"]][kind][record["permutation"]] = record
    rows = []
    for size, by_kind in sorted(runs.items()):
        times = {}
        for kind in ("tisvd", "svd"):
            shared = by_kind[kind].keys() & by_kind["none"].keys()
            times[kind] = [
                (by_kind[kind][p]["seconds"] - by_kind["none"][p]["seconds"])
                / max(1, by_kind[kind][p]["updates"])
                for p in shared
            ]
        if not (times["tisvd"] and times["svd"]):
            continue
        ours, full = (1e3 * float(np.median(times[kind])) for kind in ("tisvd", "svd"))
        updates = float(np.mean([r["updates"] for r in by_kind["tisvd"].values()]))
        cells = [f"{updates:.0f}", f"{ours:.3g}", f"{full:.3g}", f"{full / ours:.1f}"]
        rows.append([str(size), *cells])
    header = ["s_p", "updates", "ms per update, TISVD", "ms per update, full SVD", "ratio"]
    return [Table(header, rows, 0)]


def decomposition_table(records: Iterable[Record]) -> list[Block]:
    """Write the times and errors of the decompositions over the number of updates."""
    own = done(records, "tisvd")
    counts = sorted({record["arguments"]["updates"] for record in own})
    rows = []
    for method in dict.fromkeys(record["method"] for record in own):
        cells = {r["arguments"]["updates"]: r for r in own if r["method"] == method}
        told = [
            f"{cells[n]['seconds']:.3g} ({cells[n]['error']:.0e})" if n in cells else ""
            for n in counts
        ]
        rows.append([method, *told])
    return [Table(["seconds (largest error of a singular value)", *map(str, counts)], rows)]


def plan_tables(records: Iterable[Record], experiment: str) -> list[Block]:
    """Write the tables of a plan of the user's, one per stream."""
    blocks: list[Block] = []
    own = done(records, experiment)
    for data in dict.fromkeys(record["data"] for record in own):
        played = [record for record in own if record["data"] == data]
        rows = []
        for method in dict.fromkeys(record["method"] for record in played):
            runs = [record for record in played if record["method"] == method]
            rates = [[rate(r) for r in runs] for rate in (every_round, as_published)]
            told = [f"{np.mean(found):.2f} ± {np.std(found):.2f}" for found in rates]
            seconds = float(np.median([r["seconds"] for r in runs]))
            points = float(np.mean([r["stored_points"] for r in runs]))
            rows.append([method, *told, f"{1e3 * seconds:.3g}", f"{points:.0f}"])
        header = ["", "every round", "as the paper counts", "ms", "points"]
        blocks += [Heading(3, data), Paragraph(_about(played)), Table(header, rows)]
    return blocks


def failures(records: Iterable[Record], experiment: str) -> list[Block]:
    """List the runs that failed, with their reasons."""
    failed = [r for r in records if r["experiment"] == experiment and r["status"] != DONE]
    told = [f"failed: {r['method']} on {r['data']}: {r['reason']}" for r in failed]
    return [Bullets(list(dict.fromkeys(told)))] if failed else []
