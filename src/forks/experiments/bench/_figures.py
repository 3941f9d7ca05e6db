"""Figures, drawn from records."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from forks.experiments.bench import endurance, growth, tisvd
from forks.experiments.bench._record import Record

try:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
except ModuleNotFoundError as error:
    needed = "the benchmark draws with matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

_INK, _FAINT = "#22262b", "#c9ccd1"
_COLOURS = ("#1f5fbf", "#a3a8b0", "#6b7079")
_AXES = {
    "B": "budget B",
    "s_m": "landmarks s_m",
    "k": "rank k",
    "d": "features d",
    "z": "non-zeros of a sparse row with 10,000 features",
    "n": "rows and columns n",
    "rows": "rows seen",
}


def draw_growth(records: Sequence[Record]) -> Figure:
    """Time of a regular round against B, s_m, k, d and non-zeros."""
    figure, panels = _figure((9.6, 10.0), 3, 2)
    exponents = {record.name: record.value for record in records if not record.against}
    panels.ravel()[-1].set_visible(False)
    for axes, axis in zip(panels.ravel(), ("B", "s_m", "k", "d", "z"), strict=False):
        for colour, (name, at, values) in zip(_COLOURS, _curves(records, axis), strict=False):
            many = name != growth.ROUND
            slope = exponents[f"exponent of {axis}" + (f" ({name})" if many else "")]
            label = f"{name}: " if many else ""
            _logarithmic(axes, at, values, colour, f"{label}exponent {slope:.2f}")
        axes.set_ylabel("µs per round", color=_INK)
        _finish(axes, axis)
    return figure


def draw_endless(records: Sequence[Record]) -> Figure:
    """Resident memory and state over the stream."""
    figure, panels = _figure((9.6, 3.8), 1, 1)
    axes = panels[0, 0]
    for colour, (name, at, values) in zip(_COLOURS, _curves(records, "rows"), strict=False):
        label = f"{name}: {values[-1]:.3g} MB at the end"
        axes.plot(at, values, color=colour, linewidth=2.0, label=label)
    axes.set_ylim(0, None)
    axes.set_xlim(0, None)
    axes.set_ylabel("MB", color=_INK)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    _finish(axes, "rows")
    return figure


def draw_endurance(records: Sequence[Record]) -> Figure:
    """Memory, speed, mistakes and what rounding does, over the stream."""
    figure, panels = _figure((9.6, 8.4), 3, 2)
    curves = _curves(records, "rows")
    for axes, quantity in zip(panels.ravel(), endurance.QUANTITIES, strict=False):
        wanted = [curve for curve in curves if curve[0].startswith(quantity.name)]
        for name, at, values in wanted:
            label = name.removeprefix(quantity.name).removeprefix(", ")
            colour = _COLOURS[1] if label == endurance.SKETCHED else _COLOURS[0]
            axes.plot(at, values, color=colour, linewidth=1.5, label=label or "both")
        if quantity.logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.15 * max(max(values) for _, _, values in wanted))
        axes.set_xlim(0, None)
        unit = f", {quantity.unit}" if quantity.unit else ""
        axes.set_ylabel(f"{quantity.name}{unit}", color=_INK, fontsize=9)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1e6:,.3g} M"))
        _finish(axes, "rows")
    return figure


def draw_lasting(records: Sequence[Record]) -> Figure:
    """Errors over the streams, in multiples of those in the middle."""
    figure, panels = _figure((9.6, 4.8), 1, 1)
    axes = panels[0, 0]
    styles = ("-", "--", ":", "-.", (0, (1, 3)))
    for i, (name, at, values) in enumerate(_curves(records, "rows")):
        colour, style = _COLOURS[i % len(_COLOURS)], styles[i // len(_COLOURS)]
        axes.plot(at, values, color=colour, linestyle=style, linewidth=1.5, label=name)
    axes.set_xscale("log")
    axes.set_ylim(0, None)
    axes.set_ylabel("error over that in the middle", color=_INK)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1e6:,.3g} M"))
    _finish(axes, "rows")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_tisvd(records: Sequence[Record]) -> Figure:
    """Time of an update against n."""
    figure, panels = _figure((7.2, 4.8), 1, 1)
    exponents = {record.name: record.value for record in records if not record.against}
    curves = {name: (at, values) for name, at, values in _curves(records, "n")}
    for colour, name in zip(
        _COLOURS, (tisvd.TISVD_TIME, tisvd.RANDOM_TIME, tisvd.FULL_TIME), strict=True
    ):
        if name in curves:
            slope = exponents.get(f"exponent of n, {name}")
            label = name if slope is None else f"{name}: exponent {slope:.2f}"
            _logarithmic(panels[0, 0], *curves[name], colour, label)
    panels[0, 0].set_ylabel("ms", color=_INK)
    _finish(panels[0, 0], "n")
    return figure


def _curves(records: Sequence[Record], axis: str) -> list[tuple[str, Any, Any]]:
    """[(name, positions, values), ...] of the curves against an axis."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record.against == axis and record.at is not None and record.value is not None:
            curves.setdefault(record.name, []).append((record.at, record.value))
    return [(name, *np.array(points, float).T) for name, points in curves.items()]


def _figure(size: tuple[float, float], rows: int, columns: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, dpi=140, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _logarithmic(axes: Any, at: Any, values: Any, colour: str, label: str) -> None:
    axes.loglog(at, values, color=colour, linewidth=2.0, marker="o", markersize=4, label=label)
    places = {float(x) for line in axes.lines for x in line.get_xdata()}
    axes.xaxis.set_major_locator(FixedLocator(sorted(places)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())


def _finish(axes: Any, axis: str) -> None:
    axes.set_xlabel(_AXES[axis], color=_INK)
    axes.grid(axis="y", color=_FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_FAINT)
    axes.tick_params(colors=_INK, length=0, labelsize=9)
    axes.legend(frameon=False, fontsize=9)
