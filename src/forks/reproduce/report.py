"""The report, from records alone: what the paper prints beside what we count.

Two ways of counting, both given: as the paper does (mistakes of stage one left out, divided by all
rounds), and every round. Two regimes of bandwidths: the best of the grid for each method, and one
for all methods of a data set (the one with the smallest mean rate, every round counted).
"""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from forks.reproduce.paper import Printed, printed
from forks.reproduce.records import Record
from forks.reproduce.runs import DONE

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
    """One method on one stream."""

    data: str
    repeats: int
    method: str
    paper: Printed | None
    published: Cell  # the paper's counting, best bandwidth
    every: Cell  # every round, best bandwidth
    common: Cell  # every round, the bandwidth of all methods
    milliseconds: float
    points: float


def lines(records: Iterable[Record], experiment: str) -> list[Line]:
    """Sum up the records of an experiment, method by method, stream by stream."""
    streams: dict[tuple[str, int], list[Record]] = defaultdict(list)
    for record in records:
        if record["experiment"] == experiment and record["status"] == DONE:
            streams[record["data"], record["repeats"]].append(record)
    found = []
    for (data, repeats), played in streams.items():
        by_method: dict[str, list[Record]] = defaultdict(list)
        for record in played:
            by_method[record["method"]].append(record)
        common = _common_bandwidth(by_method)
        order = [name for name in _METHODS if name in by_method]
        for method in order + [name for name in by_method if name not in order]:
            own = by_method[method]
            every = _best(own, every_round)
            chosen = [r for r in own if _bandwidth(r) == every.bandwidth]
            found.append(
                Line(
                    data,
                    repeats,
                    method,
                    printed(method, data, repeats),
                    _best(own, as_published),
                    every,
                    _cell([r for r in own if _bandwidth(r) == common], every_round),
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
    """The bandwidth that all methods have played whose mean over methods is smallest."""
    tables = [_cells(records, every_round) for records in by_method.values()]
    shared = set.intersection(*(set(table) for table in tables))
    return min(shared, key=lambda bandwidth: sum(table[bandwidth].mean for table in tables))


def rate_tables(records: Sequence[Record], experiment: str) -> str:
    """Write the tables of an experiment with mistake rates, one per stream, as Markdown."""
    parts = []
    summed = lines(records, experiment)
    for data, repeats in dict.fromkeys((line.data, line.repeats) for line in summed):
        own = [line for line in summed if (line.data, line.repeats) == (data, repeats)]
        name = f"{data}, {repeats} repeats" if repeats else data
        parts += [f"### {name}", "", _about(records, experiment, data, repeats), ""]
        parts += ["| | paper | as the paper counts | every round | one bandwidth | ms | points |"]
        parts += ["| --- | --: | --: | --: | --: | --: | --: |"]
        counts = ("published", "every", "common")
        best = {column: min(getattr(line, column).mean for line in own) for column in counts}
        for line in own:
            paper = "" if line.paper is None else f"{line.paper[0]:.2f} ± {line.paper[1]:.2f}"
            cells = [getattr(line, column) for column in counts]
            bold = [cell.mean == best[c] for cell, c in zip(cells, counts, strict=True)]
            told = [f"**{cell}**" if b else str(cell) for cell, b in zip(cells, bold, strict=True)]
            numbers = [f"{line.milliseconds:.3g}", f"{line.points:.0f}"]
            parts.append("| " + " | ".join([line.method, paper, *told, *numbers]) + " |")
        parts.append("")
    return "\n".join(parts)


def _about(records: Sequence[Record], experiment: str, data: str, repeats: int) -> str:
    own = [
        r
        for r in records
        if (r["experiment"], r["data"], r["repeats"], r["status"])
        == (experiment, data, repeats, DONE)
    ]
    minority = 100.0 * float(np.mean([r["minority"] / r["n_rows"] for r in own]))
    permutations = len({r["permutation"] for r in own})
    return (
        f"{own[0]['n_rows']:,} rounds, {permutations} permutations; always the majority class: "
        f"{minority:.2f} % mistakes. In brackets the bandwidth."
    )


def table(records: Iterable[Record], experiment: str) -> str:
    """Write the lines of an experiment as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [
        f"{name}_{part}" for name in ("published", "every", "common") for part in Cell._fields
    ]
    writer.writerow(
        [
            "data",
            "repeats",
            "method",
            "paper",
            "paper_deviation",
            *columns,
            "milliseconds",
            "points",
        ]
    )
    for line in lines(records, experiment):
        paper = ("", "") if line.paper is None else line.paper[:2]
        cells = [*line.published, *line.every, *line.common]
        writer.writerow(
            [line.data, line.repeats, line.method, *paper, *cells, line.milliseconds, line.points]
        )
    return out.getvalue()


class ThetaPoint(NamedTuple):
    """TISVD and a decomposition from scratch at one update cycle."""

    theta: float
    updates: float  # mean number of update rounds
    rates: dict[str, Cell]  # every round, by decomposition
    seconds: dict[str, float]


def theta_points(records: Iterable[Record]) -> list[ThetaPoint]:
    """Sum up the records of the experiment over update cycles, by falling theta."""
    groups: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record["experiment"] == "theta" and record["status"] == DONE:
            arguments = record["arguments"]
            groups[arguments["update_cycle"]][arguments["decomposition"]].append(record)
    points = []
    for cycle, by_kind in sorted(groups.items(), reverse=True):
        own = [record for records in by_kind.values() for record in records]
        points.append(
            ThetaPoint(
                cycle / own[0]["n_rows"],
                float(np.mean([record["updates"] for record in own])),
                {kind: _cell(runs, every_round) for kind, runs in by_kind.items()},
                {k: float(np.median([r["seconds"] for r in runs])) for k, runs in by_kind.items()},
            )
        )
    return points


def theta_table(records: Iterable[Record]) -> str:
    """Write the rates and times over theta as Markdown."""
    parts = ["| theta | updates | TISVD | full SVD | difference | ms, TISVD | ms, full SVD |"]
    parts += ["| --: | --: | --: | --: | --: | --: | --: |"]
    for point in theta_points(records):
        ours, full = point.rates["tisvd"], point.rates["svd"]
        cells = [
            f"{point.theta:.2g}",
            f"{point.updates:.1f}",
            f"{ours.mean:.2f} ± {ours.deviation:.2f}",
            f"{full.mean:.2f} ± {full.deviation:.2f}",
            f"{ours.mean - full.mean:+.2f}",
            *(f"{1e3 * point.seconds[kind]:.3g}" for kind in ("tisvd", "svd")),
        ]
        parts.append("| " + " | ".join(cells) + " |")
    return "\n".join([*parts, ""])


def decomposition_table(records: Iterable[Record]) -> str:
    """Write the times and errors of the decompositions over the number of updates."""
    own = [r for r in records if r["experiment"] == "tisvd" and r["status"] == DONE]
    counts = sorted({record["arguments"]["updates"] for record in own})
    parts = [
        "| seconds (largest error of a singular value) | " + " | ".join(map(str, counts)) + " |"
    ]
    parts += ["| --- |" + " --: |" * len(counts)]
    for method in dict.fromkeys(record["method"] for record in own):
        cells = {r["arguments"]["updates"]: r for r in own if r["method"] == method}
        told = [
            f"{cells[n]['seconds']:.3g} ({cells[n]['error']:.0e})" if n in cells else ""
            for n in counts
        ]
        parts.append("| " + " | ".join([method, *told]) + " |")
    return "\n".join([*parts, ""])


def failures(records: Iterable[Record], experiment: str) -> str:
    """List the runs that failed, with their reasons, as Markdown."""
    failed = [r for r in records if r["experiment"] == experiment and r["status"] != DONE]
    lines = [f"- failed: {r['method']} on {r['data']}: {r['reason']}" for r in failed]
    return "\n".join([*dict.fromkeys(lines), ""]) if failed else ""
