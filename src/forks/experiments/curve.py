"""The picture of `forks run --plot`: errors over the rows of a stream, and what mattered when."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forks.evaluate import Finished
from forks.files import replacing

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    needed = "--plot needs matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

_FEATURES = 6
_FEW = 3  # records: fewer are bars, not curves
_DARK, _LIGHT, _GREY = "#1f4e79", "#7fb0d6", "#8a8f96"


def draw(
    finished: Finished, path: Path, names: Sequence[str] | None = None, title: str | None = None
) -> None:
    """Draw the course of a run; `names` are those of the features."""
    panels = 2 if finished.relevance else 1
    figure = Figure(figsize=(8, 1.2 + 3 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    _draw_errors(axes[0], finished)
    axes[0].set_title(f"{title + ': ' if title else ''}{finished.rows:,} rows", loc="left")
    if panels == 2:
        _draw_relevance(axes[1], finished, names)
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=150)


def _draw_errors(axes: Any, finished: Finished) -> None:
    rows, rate, recent = finished.curve.values()
    classes, figures = "mistakes" in finished.figures, finished.figures
    factor = 100.0 if classes else 1.0
    if not np.array_equal(rate, recent):
        axes.plot(rows, factor * recent, color=_LIGHT, label="last 1,000 rows")
    axes.plot(rows, factor * rate, color=_DARK, linewidth=2.0, label="all rows so far")
    lines = {
        "last_label_mistake_rate" if classes else "last_value_root_mean_squared_error": (
            "repeating the last label", ":"
        ),
        "majority_mistake_rate" if classes else "mean_value_root_mean_squared_error": (
            "always the most frequent class" if classes else "always the mean label", "--"
        ),
    }  # fmt: skip
    for name, (label, style) in lines.items():
        if figures.get(name) is not None:
            axes.axhline(factor * figures[name], color=_GREY, linestyle=style, label=label)
    axes.set_ylabel("mistakes, %" if classes else "root mean squared error")
    axes.yaxis.set_major_formatter("{x:,.6g}")
    axes.set_ylim(bottom=0.0, top=1.15 * _highest(axes))
    _finish_rows(axes, finished)
    axes.legend(frameon=False, ncols=2, fontsize=9)


def _highest(axes: Any) -> float:
    """Return the top of what is worth seeing: the first rows of a curve may be far above."""
    settled = [line.get_ydata() for line in axes.lines]
    return max(float(max(values[len(values) // 10 :], default=0.0)) for values in settled) or 1.0


def _finish_rows(axes: Any, finished: Finished) -> None:
    axes.set_xlim(0, finished.rows)
    axes.set_xlabel("rows")
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _draw_relevance(axes: Any, finished: Finished, names: Sequence[str] | None) -> None:
    first = [*finished.relevance.items()][:_FEATURES]
    named = [f"feature {j + 1}" if names is None else names[j] for j, _ in first]
    if len(finished.records) < _FEW:
        axes.barh(named, [100 * relevance[-1] for _, relevance in first], color=_DARK, height=0.6)
        axes.invert_yaxis()
        axes.set_xlabel("relevance at the end, %")
        return
    for name, (_, relevance) in zip(named, first, strict=True):
        axes.plot(finished.records, 100 * relevance, marker=".", label=name)
    axes.set_ylabel("relevance, %")
    axes.set_ylim(bottom=0.0)
    _finish_rows(axes, finished)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
