"""Mistakes against time and budget on the large streams: a table, its CSV, and the figure."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.experiments.reproduce.document import Block, Heading, Paragraph, Table
from forks.experiments.reproduce.figures import Figure, finish
from forks.experiments.reproduce.records import Record
from forks.experiments.reproduce.report import as_published, every_round
from forks.experiments.reproduce.runs import DONE

LOSSES = {"hinge": "hinge loss", "squared_hinge": "squared hinge loss"}
_COLOURS = {
    "RBP": "#b0a999",
    "BPA-S": "#8c6d4f",
    "Projectron": "#6b7079",
    "BOGD": "#d98c2b",
    "FOGD": "#2a9d6f",
    "FOGD, B/4": "#8fc9ab",
    "NOGD": "#a34fb0",
    "SkeGD": "#d1495b",
    "PROS-N-KONS": "#22262b",
    "FORKS": "#1f5fbf",
    "FOGD, B/4, step/10": "#8fc9ab",
    "NOGD, step/10": "#a34fb0",
    "SkeGD, step/10": "#d1495b",
}
_OTHER = "#9aa0a6"
_COLUMNS = (
    "",
    "B",
    "seeds",
    "every round",
    "as the paper counts",
    "s",
    "µs a round",
    "points",
    "updates",
)


class Point(NamedTuple):
    """One method with one budget and one loss: means over its seeds, of seconds the median."""

    method: str
    loss: str | None  # None for a method that has none
    budget: int | None  # None for a method that chooses its points itself
    rounds: int
    seeds: int
    every: float  # mistake rate in %, every round counted
    deviation: float  # of it, over seeds
    published: float  # as the paper counts
    majority: float  # of the answer that is always the same
    seconds: float
    read_seconds: float
    points: float
    updates: float
    growth: int  # bytes that the process grew by after the first chunk, at most


def trade_off_points(records: Iterable[Record]) -> list[Point]:
    """Sum up the records; points are in the order of rounds, loss, method and budget."""
    groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in records:
        if record["status"] == DONE:
            own = record["arguments"]
            size = own.get("budget", own.get("buffer"))
            groups[record["n_rows"], own.get("loss"), record["method"], size].append(record)
    methods = list(_COLOURS) + sorted({method for _, _, method, _ in groups} - _COLOURS.keys())
    points = [_point(key, group) for key, group in groups.items()]
    return sorted(
        points, key=lambda p: (p.rounds, p.loss or "", methods.index(p.method), p.budget or 0)
    )


def _point(key: tuple[Any, ...], records: Sequence[Record]) -> Point:
    rounds, loss, method, budget = key

    def mean(name: str) -> float:
        return float(np.mean([record[name] for record in records]))

    rates = [every_round(record) for record in records]
    return Point(
        method,
        loss,
        budget,
        rounds,
        len(records),
        float(np.mean(rates)),
        float(np.std(rates)),
        float(np.mean([as_published(record) for record in records])),
        100.0 * mean("minority") / rounds,
        float(np.median([record["seconds"] for record in records])),
        mean("read_seconds"),
        mean("stored_points"),
        mean("updates"),
        max(r["resident_bytes_peak"] - r["resident_bytes_first"] for r in records),
    )


def trade_off_table(records: Sequence[Record]) -> list[Block]:
    """Return the tables, one per number of rounds and loss."""
    points = trade_off_points(records)
    blocks: list[Block] = []
    for rounds in sorted({p.rounds for p in points}):
        played = [p for p in points if p.rounds == rounds]
        growth = max(p.growth for p in played)
        about = (
            f"{rounds:,} rounds; always the majority class: {played[0].majority:.2f} % mistakes. "
            f"Reading and encoding: {min(p.read_seconds for p in played):.2f} to "
            f"{max(p.read_seconds for p in played):.2f} s a pass. From the first chunk to the last "
            f"the memory of the process grew by {growth / 1e6:.1f} MB at most."
        )
        blocks.append(Paragraph(about))
        for loss in (None, *LOSSES):
            own = [p for p in played if p.loss == loss]
            if own:
                title = f"{rounds:,} rounds, {LOSSES.get(loss or '', 'no loss')}"
                blocks += [Heading(3, title), _table(own)]
    return blocks


def _table(points: Sequence[Point]) -> Table:
    best = min(p.every for p in points)
    rows = []
    for p in points:
        every = f"**{p.every:.2f}**" if p.every == best else f"{p.every:.2f}"
        rows.append(
            [
                p.method,
                "" if p.budget is None else str(p.budget),
                str(p.seeds),
                f"{every} ± {p.deviation:.2f}" if p.seeds > 1 else every,
                f"{p.published:.2f}",
                f"{p.seconds:.3g}",
                f"{1e6 * p.seconds / p.rounds:.2f}",
                f"{p.points:.0f}",
                f"{p.updates:.0f}",
            ]
        )
    return Table(_COLUMNS, rows)


def trade_off_lines(records: Sequence[Record], experiment: str) -> str:
    """Write the points as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["experiment", *Point._fields])
    for point in trade_off_points(records):
        writer.writerow([experiment, *("" if cell is None else cell for cell in point)])
    return out.getvalue()


def draw_trade_off(records: Sequence[Record]) -> Figure:
    """Rate over time, rate over budget and time over budget; the two losses side by side.

    Methods without a loss stand on both sides. A method that chooses its points itself is a point
    over time, and a level line over budgets. Of runs of several lengths the longest are drawn.
    """
    points = trade_off_points(records)
    rounds = max(p.rounds for p in points)
    points = [p for p in points if p.rounds == rounds]
    figure = Figure(figsize=(11.6, 11.4), dpi=100, layout="constrained")
    rows = figure.subplots(3, 2, sharey="row")
    for column, (loss, name) in enumerate(LOSSES.items()):
        over_time, over_budget, cost = (row[column] for row in rows)
        own = [p for p in points if p.loss in (None, loss)]
        for method in dict.fromkeys(p.method for p in own):
            curve = [p for p in own if p.method == method]
            look: dict[str, Any] = {
                "color": _COLOURS.get(method, _OTHER),
                "label": method,
                "marker": "o",
            }
            look |= {"linewidth": 2.4 if method == "FORKS" else 1.2, "markersize": 4}
            if method.endswith("step/10"):
                look |= {"linestyle": ":", "marker": "s"}
            over_time.plot([p.seconds for p in curve], [p.every for p in curve], **look)
            _over_budgets(over_budget, curve, own, "every", look)
            _over_budgets(cost, curve, own, "seconds", look)
        for axes in (over_time, over_budget):
            axes.axhline(points[0].majority, color=_OTHER, linestyle=":", label="majority class")
        over_time.set_xscale("log")
        cost.set_yscale("log")
        over_time.set_title(name, fontsize=10)
        finish(over_time, "seconds of learning", "mistakes, %, every round")
        finish(over_budget, "budget B", "mistakes, %, every round")
        finish(cost, "budget B", "seconds of learning")
        for axes in (over_time, over_budget, cost):
            axes.get_legend().remove()  # one for all of them, beside
    legends = [row.get_legend_handles_labels() for row in rows[0]]
    named = {
        name: handle
        for handles, names in legends
        for handle, name in zip(handles, names, strict=True)
    }
    handles, names = list(named.values()), list(named)
    figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _over_budgets(
    axes: Any, curve: Sequence[Point], all_points: Sequence[Point], value: str, look: dict[str, Any]
) -> None:
    at = [p.budget for p in curve]
    values = [getattr(p, value) for p in curve]
    if at[0] is None:
        budgets = [p.budget for p in all_points if p.budget is not None]
        at, values = [min(budgets), max(budgets)], [values[0]] * 2
        look = {**look, "marker": "", "linestyle": "--"}
    axes.plot(at, values, **look)
