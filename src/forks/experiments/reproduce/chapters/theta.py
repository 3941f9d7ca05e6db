"""TISVD against a full SVD, over the update cycle.

FORKS as released on cod-rna, s_p 150, s_m 100, k 15, bandwidth 50, an update round every theta N
rounds with loss. The same recursion, dense: at each update the matrix of rank k plus the change is
decomposed by a dense solver and cut to k; where TISVD agrees with it, what TISVD loses to the full
SVD is truncation and not arithmetic. More pairs: TISVD keeps more than k inside, and the map still
uses k (`extra_rank`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.experiments import style
from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table, bullets, plus_minus
from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.chapters.table1 import ROWS
from forks.experiments.reproduce.rates import Cell, cell, every_round, mean, median_seconds
from forks.experiments.reproduce.runs import Run

_SIZES: dict[str, Any] = {"buffer": 200, "sketch_size": 150, "n_landmarks": 100, "rank": 15}
_SIZES["bandwidth"] = 50.0


class _Kind(NamedTuple):
    """A way to update the map, its name in the report and its line in the figure."""

    name: str
    decomposition: str
    extra_rank: int
    colour: str
    line: str = "-"


KINDS = {  # by the names of the runs
    "tisvd": _Kind("TISVD", "tisvd", 0, style.BLUE),
    "recursive": _Kind("the same recursion, dense", "recursive", 0, "#d9822b", ":"),
    "tisvd + 15": _Kind("TISVD, 15 more pairs", "tisvd", 15, "#8fcfa9"),
    "tisvd + 30": _Kind("TISVD, 30 more pairs", "tisvd", 30, "#2f8f5b"),
    "tisvd + 60": _Kind("TISVD, 60 more pairs", "tisvd", 60, "#14532d"),
    "svd": _Kind("full SVD", "svd", 0, style.DARK_GREY),
}
_HEADER = [kind.name for kind in KINDS.values()]
_THETAS = (0.5, 0.3, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)


def plan(permutations: int = 20, thetas: Sequence[float] = _THETAS) -> Iterator[Run]:
    """FORKS with each decomposition over the update cycle theta N (figure 2)."""
    for theta in thetas:
        cycle = int(theta * ROWS["cod-rna"])
        for permutation in range(permutations):
            for name, kind in KINDS.items():
                arguments = {**_SIZES, "update_cycle": cycle, "decomposition": kind.decomposition}
                if kind.extra_rank:
                    arguments["extra_rank"] = kind.extra_rank
                method = f"FORKS, {name}"
                yield Run("theta", "cod-rna", method, "FORKS.as_released", arguments, permutation)


class ThetaPoint(NamedTuple):
    """FORKS with its decompositions at one update cycle."""

    theta: float
    updates: float  # mean number of update rounds
    rates: dict[str, Cell]  # every round, by decomposition
    seconds: dict[str, float]
    orders: dict[str, dict[int, float]]  # rates by permutation


def theta_points(records: Iterable[Record]) -> list[ThetaPoint]:
    """Sum up the records over update cycles, by falling theta."""
    cycles = grouped(records, lambda r: r["arguments"]["update_cycle"])
    points = []
    for cycle in sorted(cycles, reverse=True):
        own = cycles[cycle]
        kinds = grouped(own, lambda r: r["method"].removeprefix("FORKS, "))
        rates = {kind: cell(runs, every_round) for kind, runs in kinds.items()}
        seconds = {kind: median_seconds(runs) for kind, runs in kinds.items()}
        orders = {k: {r["permutation"]: every_round(r) for r in runs} for k, runs in kinds.items()}
        theta = cycle / own[0]["n_rows"]
        points.append(ThetaPoint(theta, mean(own, "updates"), rates, seconds, orders))
    return points


def tables(records: Sequence[Record]) -> list[Block]:
    """Return the rates and times over theta."""
    points = theta_points(records)
    rates, times = [], []
    for point in points:
        cells = [point.rates.get(kind) for kind in KINDS]
        shown = ["" if c is None else plus_minus(*c[:2]) for c in cells]
        rates.append([f"{point.theta:.2g}", f"{point.updates:.1f}", *shown])
        seconds = [point.seconds.get(kind) for kind in KINDS]
        shown = ["" if s is None else f"{1e3 * s:.3g}" for s in seconds]
        times.append([f"{point.theta:.2g}", *shown])
    pairs = [("tisvd", "recursive"), *((kind, "svd") for kind in KINDS if "tisvd" in kind)]
    differences = [_largest_difference(points, *pair) for pair in pairs]
    return [
        "Mistakes in %, every round counted:",
        Table(["theta", "updates", *_HEADER], rates, 0),
        bullets(filter(None, differences)),
        "Milliseconds per pass:",
        Table(["theta", *_HEADER], times, 0),
    ]


def _largest_difference(points: Sequence[ThetaPoint], kind: str, other: str) -> str:
    """Return where two decompositions differ most, order by order of the rows."""
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
        f"{KINDS[kind].name} against {KINDS[other].name}: at most {abs(largest):.2f} "
        f"points apart ({largest:+.2f} at theta {theta:.2g}, standard error {error:.2f})."
    )


def draw(records: Sequence[Record]) -> Any:
    """Draw the mistake rate and the time of a pass over the update cycle."""
    figure, ((rates, times),) = style.figure(9.6, 3.8, 1, 2)
    for kind, (name, _, _, colour, line) in KINDS.items():
        points = [point for point in theta_points(records) if kind in point.rates]
        if not points:
            continue
        at = [point.theta for point in points]
        look = {"color": colour, "linestyle": line, "marker": "o", "label": name}
        mean = np.array([point.rates[kind].mean for point in points])
        spread = np.array([point.rates[kind].deviation for point in points])
        rates.fill_between(at, mean - spread, mean + spread, color=colour, alpha=0.15)
        rates.plot(at, mean, **look)
        times.plot(at, [1e3 * point.seconds[kind] for point in points], **look)
    times.set_yscale("log")
    for axes, label in ((rates, "mistakes, %, every round"), (times, "ms per pass")):
        axes.set_xscale("log")
        axes.invert_xaxis()
        style.finish(axes, "theta: update cycle / rounds", label)
    return figure


CHAPTER = Chapter(
    __doc__, plan, tables, quick={"permutations": 3, "thetas": (0.3, 0.05, 0.005)}, draw=draw
)
