"""Mistakes against time and budget on the large streams: a table, its CSV, and the figure."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from forks.reproduce.figures import Figure, finish
from forks.reproduce.records import Record
from forks.reproduce.report import as_published, every_round
from forks.reproduce.runs import DONE

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
}
_OTHER = "#9aa0a6"


class Point(NamedTuple):
    """One method with one budget and one loss."""

    method: str
    loss: str | None  # None for a method that has none
    budget: int | None  # None for a method that chooses its points itself
    rounds: int
    every: float  # mistake rate in %, every round counted
    published: float  # as the paper counts
    majority: float  # of the answer that is always the same
    seconds: float
    read_seconds: float
    points: int
    updates: int
    resident_first: int
    resident_peak: int


def trade_off_points(records: Iterable[Record]) -> list[Point]:
    """Give a point for each record, in the order of the plan: by loss, method and budget."""
    found = []
    for record in records:
        if record["status"] != DONE:
            continue
        arguments = record["arguments"]
        found.append(
            Point(
                record["method"],
                arguments.get("loss"),
                arguments.get("budget", arguments.get("buffer")),
                record["n_rows"],
                every_round(record),
                as_published(record),
                100.0 * record["minority"] / record["n_rows"],
                record["seconds"],
                record["read_seconds"],
                record["stored_points"],
                record["updates"],
                record["resident_bytes_first"],
                record["resident_bytes_peak"],
            )
        )
    methods = list(_COLOURS) + sorted({p.method for p in found} - _COLOURS.keys())
    return sorted(
        found,
        key=lambda p: (p.rounds, p.loss or "", methods.index(p.method), p.budget or 0),
    )


def trade_off_table(records: Sequence[Record]) -> str:
    """Write the tables, one per number of rounds and loss, as Markdown."""
    points = trade_off_points(records)
    parts = []
    for rounds in sorted({p.rounds for p in points}):
        played = [p for p in points if p.rounds == rounds]
        growth = max(p.resident_peak - p.resident_first for p in played)
        parts += [
            f"{rounds:,} rounds; always the majority class: {played[0].majority:.2f} % mistakes. "
            f"Reading and encoding: {min(p.read_seconds for p in played):.2f} to "
            f"{max(p.read_seconds for p in played):.2f} s a pass. From the first chunk to the last "
            f"the memory of the process grew by {growth / 1e6:.1f} MB at most.",
            "",
        ]
        for loss in (None, *LOSSES):
            own = [p for p in played if p.loss == loss]
            if own:
                parts += [f"### {rounds:,} rounds, {LOSSES.get(loss or '', 'no loss')}", ""]
                parts += _table(own)
    return "\n".join(parts)


def _table(points: Sequence[Point]) -> list[str]:
    best = min(p.every for p in points)
    lines = ["| | B | every round | as the paper counts | s | µs a round | points | map updates |"]
    lines += ["| --- | --: | --: | --: | --: | --: | --: | --: |"]
    for p in points:
        every = f"**{p.every:.2f}**" if p.every == best else f"{p.every:.2f}"
        cells = [
            p.method,
            "" if p.budget is None else str(p.budget),
            every,
            f"{p.published:.2f}",
            f"{p.seconds:.3g}",
            f"{1e6 * p.seconds / p.rounds:.2f}",
            str(p.points),
            str(p.updates),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


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
    figure = Figure(figsize=(11.6, 11.4), dpi=140, layout="constrained")
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
    handles, names = rows[0][0].get_legend_handles_labels()
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
