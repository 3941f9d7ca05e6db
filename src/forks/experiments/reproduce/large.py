"""The large streams: their runs, and mistakes against time and budget as table, CSV and figure.

Nine methods over budgets, one pass each in the order of time, under the hinge and the squared hinge
loss where a method has one. Sizes as in the authors' driver for KuaiRec: the buffers of the
two-stage methods have B points, s_p = 3 B / 4, s_m = 0.2 s_p, k = 0.1 B, an update round every
0.005 (N - B) rounds with loss. PROS-N-KONS chooses its points itself, up to 101, and is one run.

FOGD is played with the 4 B frequencies of the other tables, and with the B / 4 of that driver. Its
step size is the 0.2 of all methods on features of length 1. In the driver the features have the
length sqrt(B / 4): with the squared hinge every step would overshoot, further each time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.datasets import describe
from forks.experiments import style
from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table, csv_text
from forks.experiments.reproduce.rates import as_published, every_round, mean, median_seconds
from forks.experiments.reproduce.runs import Run

LOSSES = {"hinge": "hinge loss", "squared_hinge": "squared hinge loss"}
_WITHOUT_LOSS = ("RBP", "BPA-S", "Projectron")
_COLOURS = {
    "RBP": "#b0a999",
    "BPA-S": "#8c6d4f",
    "Projectron": style.DARK_GREY,
    "BOGD": "#d98c2b",
    "FOGD": "#2a9d6f",
    "FOGD, B/4": "#8fc9ab",
    "NOGD": "#a34fb0",
    "SkeGD": "#d1495b",
    "PROS-N-KONS": style.INK,
    "FORKS": style.BLUE,
    "FOGD, B/4, step/10": "#8fc9ab",
    "NOGD, step/10": "#a34fb0",
    "SkeGD, step/10": "#d1495b",
}
_OTHER = "#9aa0a6"


def large_runs(
    experiment: str, data: str, budgets: Sequence[int], bandwidth: float, rows: int
) -> Iterator[Run]:
    """Return the runs on a large stream."""
    n = rows or describe(data).rows
    for budget in budgets:
        for method, (learner, sizes) in _methods(budget, n).items():
            if method == "PROS-N-KONS" and budget != budgets[0]:
                continue
            losses = [{}] if method in _WITHOUT_LOSS else [{"loss": loss} for loss in LOSSES]
            for loss in losses:
                arguments = {**sizes, **loss, "bandwidth": bandwidth}
                yield Run(experiment, data, method, learner, arguments, rows=rows)


def _methods(B: int, n: int) -> dict[str, tuple[str, dict[str, Any]]]:
    sketch_size = 3 * B // 4
    sketch = {
        "buffer": B,
        "sketch_size": sketch_size,
        "n_landmarks": sketch_size // 5,
        "rank": B // 10,
        "update_cycle": (n - B) // 200,
    }
    return {
        "RBP": ("RBP.as_released", {"budget": B}),
        "BPA-S": ("BPAS", {"budget": B}),
        "Projectron": ("Projectron", {"budget": B}),
        "BOGD": ("BOGD.as_released", {"budget": B}),
        "FOGD": ("FOGD", {"budget": B}),
        "FOGD, B/4": ("FOGD", {"budget": B, "n_frequencies": -(-B // 4)}),
        "NOGD": ("NOGD", {"budget": B, "rank": B // 10}),
        "SkeGD": ("SkeGD.as_released", sketch),
        "PROS-N-KONS": ("PROSNKONS.as_released", {}),
        "FORKS": ("FORKS.as_released", sketch),
    }


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


def points_of(records: Iterable[Record]) -> list[Point]:
    """Sum up the records; points are in the order of rounds, loss, method and budget."""
    points = [_point(group) for group in grouped(records, _place).values()]
    methods = list(_COLOURS) + sorted({p.method for p in points} - _COLOURS.keys())
    return sorted(
        points, key=lambda p: (p.rounds, p.loss or "", methods.index(p.method), p.budget or 0)
    )


def _place(record: Record) -> tuple[str, str | None, int | None, int]:
    own = record["arguments"]
    size = own.get("budget", own.get("buffer"))
    return record["method"], own.get("loss"), size, record["n_rows"]


def _point(records: Sequence[Record]) -> Point:
    rates = [every_round(record) for record in records]
    return Point(
        *_place(records[0]),
        len(records),
        float(np.mean(rates)),
        float(np.std(rates)),
        float(np.mean([as_published(record) for record in records])),
        100.0 * mean(records, "minority") / records[0]["n_rows"],
        median_seconds(records),
        mean(records, "read_seconds"),
        mean(records, "stored_points"),
        mean(records, "updates"),
        max(r["resident_bytes_peak"] - r["resident_bytes_first"] for r in records),
    )


def tables(records: Sequence[Record]) -> list[Block]:
    """Return the tables, one per number of rounds and loss."""
    points = points_of(records)
    blocks: list[Block] = []
    for rounds in sorted({p.rounds for p in points}):
        played = [p for p in points if p.rounds == rounds]
        growth = max(p.growth for p in played)
        blocks.append(
            f"{rounds:,} rounds; always the majority class: {played[0].majority:.2f} % mistakes. "
            f"Reading and encoding: {min(p.read_seconds for p in played):.2f} to "
            f"{max(p.read_seconds for p in played):.2f} s a pass. From the first chunk to the last "
            f"the memory of the process grew by {growth / 1e6:.1f} MB at most."
        )
        for loss in (None, *LOSSES):
            own = [p for p in played if p.loss == loss]
            if own:
                title = f"### {rounds:,} rounds, {LOSSES.get(loss or '', 'no loss')}"
                blocks += [title, _table(own)]
    return blocks


def _table(points: Sequence[Point]) -> Table:
    best = min(p.every for p in points)
    rows = []
    for p in points:
        every = f"**{p.every:.2f}**" if p.every == best else f"{p.every:.2f}"
        every = f"{every} ± {p.deviation:.2f}" if p.seeds > 1 else every
        budget = "" if p.budget is None else str(p.budget)
        times = [f"{p.seconds:.3g}", f"{1e6 * p.seconds / p.rounds:.2f}"]
        sizes = [f"{p.points:.0f}", f"{p.updates:.0f}"]
        rows.append([p.method, budget, str(p.seeds), every, f"{p.published:.2f}", *times, *sizes])
    header = ["", "B", "seeds", "every round", "as the paper counts", "s", "µs a round"]
    return Table([*header, "points", "updates"], rows)


def large_csv(records: Sequence[Record]) -> str:
    """Return the points as CSV."""
    rows = ([records[0]["experiment"], *point] for point in points_of(records))
    return csv_text(["experiment", *Point._fields], rows)


def draw(records: Sequence[Record]) -> Any:
    """Draw rate over time, rate over budget and time over budget; the losses side by side.

    Methods without a loss stand on both sides. A method that chooses its points itself is a point
    over time, and a level line over budgets. Of runs of several lengths the longest are drawn.
    """
    points = points_of(records)
    points = [p for p in points if p.rounds == points[-1].rounds]
    figure, panels = style.figure(11.6, 11.4, 3, 2, sharey="row")
    for column, (loss, name) in enumerate(LOSSES.items()):
        over_time, over_budget, cost = panels[:, column]
        own = [p for p in points if p.loss in (None, loss)]
        for method in dict.fromkeys(p.method for p in own):
            curve = [p for p in own if p.method == method]
            look = _look(method)
            over_time.plot([p.seconds for p in curve], [p.every for p in curve], **look)
            _over_budgets(over_budget, curve, own, "every", look)
            _over_budgets(cost, curve, own, "seconds", look)
        for axes in (over_time, over_budget):
            axes.axhline(points[0].majority, color=_OTHER, linestyle=":", label="majority class")
        over_time.set_xscale("log")
        cost.set_yscale("log")
        over_time.set_title(name, fontsize=10)
        style.finish(over_time, "seconds of learning", "mistakes, %, every round")
        style.finish(over_budget, "budget B", "mistakes, %, every round")
        style.finish(cost, "budget B", "seconds of learning")
    for axes in panels.ravel():
        axes.get_legend().remove()  # one for all of them, beside
    legends = [axes.get_legend_handles_labels() for axes in panels[0]]
    named = {name: handle for pair in legends for handle, name in zip(*pair, strict=True)}
    place = {"loc": "outside right upper", "frameon": False, "fontsize": 9}
    figure.legend(named.values(), named.keys(), **place)
    return figure


def _look(method: str) -> dict[str, Any]:
    look = {"color": _COLOURS.get(method, _OTHER), "label": method, "marker": "o", "markersize": 4}
    look["linewidth"] = 2.4 if method == "FORKS" else 1.2
    return look | ({"linestyle": ":", "marker": "s"} if method.endswith("step/10") else {})


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
