"""The picture of `forks run --plot`: errors over the rows of a stream, and what mattered when."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forks.evaluate import Finished
from forks.files import replacing

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    needed = "--plot needs matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

_FEATURES = 6
_FEW = 3  # records, that need markers to be seen


def draw(finished: Finished, path: Path, names: Sequence[str] | None = None) -> None:
    """Draw the records of a run; `names` are those of the features."""
    panels = 2 if finished.relevance else 1
    figure = Figure(figsize=(8, 1 + 3 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    _draw_errors(axes[0], finished)
    if panels == 2:
        _draw_relevance(axes[1], finished, names)
    for each in axes:
        each.set_ylim(bottom=0.0)
        each.legend(frameon=False)
        each.spines[["top", "right"]].set_visible(False)
        each.xaxis.set_major_formatter("{x:,.0f}")
    axes[-1].set_xlabel("rows")
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=150)


def _draw_errors(axes: Any, finished: Finished) -> None:
    rows, rate, recent = finished.curve.values()
    look = {"marker": "o"} if len(rows) < _FEW else {}
    if "mistakes" in finished.figures:
        axes.plot(rows, 100 * recent, color="#9dbcd4", label="last 1,000 rows", **look)
        axes.plot(rows, 100 * rate, color="#1f4e79", label="all rows so far", **look)
        axes.set_ylabel("mistakes, %")
    else:
        axes.plot(rows, rate, color="#1f4e79", label="root mean squared error so far", **look)
        axes.plot(rows, recent, color="#9dbcd4", label="mean absolute error so far", **look)
        axes.set_ylabel("error")


def _draw_relevance(axes: Any, finished: Finished, names: Sequence[str] | None) -> None:
    rows = finished.curve["rows"]
    look = {"marker": "o"} if len(rows) < _FEW else {}
    for feature, relevance in [*finished.relevance.items()][:_FEATURES]:
        name = f"feature {feature + 1}" if names is None else names[feature]
        axes.plot(rows, 100 * relevance, label=name, **look)
    axes.set_ylabel("relevance, %")
