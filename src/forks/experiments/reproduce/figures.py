"""Figures, drawn from records."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from forks.experiments.reproduce.records import Record
from forks.experiments.reproduce.report import DECOMPOSITIONS, theta_points
from forks.experiments.reproduce.runs import DONE

try:
    from matplotlib.figure import Figure as Figure
except ModuleNotFoundError as error:
    needed = "the report draws with matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

_COLOURS = {
    "tisvd": "#1f5fbf",
    "recursive": "#d9822b",
    "tisvd + 15": "#8fcfa9",
    "tisvd + 30": "#2f8f5b",
    "tisvd + 60": "#14532d",
    "svd": "#6b7079",
    "TISVD": "#1f5fbf",
    "RandomizedSVD": "#6b7079",
}
_STYLES = {"recursive": ":"}  # which lies on the line of TISVD
_INK = "#22262b"


def draw_theta(records: Sequence[Record]) -> Figure:
    """Mistake rate and time of a pass over the update cycle."""
    figure = Figure(figsize=(9.6, 3.8), dpi=140, layout="constrained")
    rates, times = figure.subplots(1, 2)
    for kind, name in DECOMPOSITIONS.items():
        points = [point for point in theta_points(records) if kind in point.rates]
        if not points:
            continue
        at = [point.theta for point in points]
        style = {"color": _COLOURS[kind], "linestyle": _STYLES.get(kind, "-"), "marker": "o"}
        mean = np.array([point.rates[kind].mean for point in points])
        spread = np.array([point.rates[kind].deviation for point in points])
        rates.fill_between(at, mean - spread, mean + spread, color=_COLOURS[kind], alpha=0.15)
        rates.plot(at, mean, **style, label=name)
        seconds = [1e3 * point.seconds[kind] for point in points]
        times.plot(at, seconds, **style, label=name)
    times.set_yscale("log")
    for axes, label in ((rates, "mistakes, %, every round"), (times, "ms per pass")):
        axes.set_xscale("log")
        axes.invert_xaxis()
        finish(axes, "theta: update cycle / rounds", label)
    return figure


def draw_decompositions(records: Sequence[Record]) -> Figure:
    """Time over the number of updates."""
    figure = Figure(figsize=(6.4, 4.2), dpi=140, layout="constrained")
    axes = figure.subplots()
    own = [r for r in records if r["experiment"] == "tisvd" and r["status"] == DONE]
    for method in dict.fromkeys(record["method"] for record in own):
        curve = sorted((r["n_rows"], r["seconds"]) for r in own if r["method"] == method)
        axes.loglog(*zip(*curve, strict=True), color=_COLOURS[method], marker="o", label=method)
    finish(axes, "updates", "seconds")
    return figure


def finish(axes: Any, x: str, y: str) -> None:
    """Name the axes, and give them the look of all figures."""
    axes.set_xlabel(x, color=_INK)
    axes.set_ylabel(y, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=_INK, labelsize=9)
    axes.legend(frameon=False, fontsize=9)
