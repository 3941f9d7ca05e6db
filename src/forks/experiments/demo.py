"""The demonstration: the default model and a linear one live on a drifting stream; a picture."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from sklearn.linear_model import SGDClassifier

from forks.engine import Vector
from forks.estimators import OnlineKernelClassifier
from forks.evaluate import Checkpoint, prequential
from forks.experiments.style import BLUE, DARK_GREY, FAINT, GREY, INK
from forks.files import replacing
from forks.streams import drift_rows, drifting

try:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ModuleNotFoundError as error:
    needed = "the demo draws with matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

_CHUNK = 500  # rows that both models see at a time
_WINDOW = 2_000  # rows over which "now" is an average
_NOISE = 0.05
_CLASSES = [-1, 1]
_PLAIN_LINES = 8  # progress lines where there is no terminal
_REFRESHES = 10  # of the live line, per second


@dataclass(frozen=True)
class ModelResult:
    """What one model did. `windowed[i]` is the mistake rate of the window ending at `rows[i]`."""

    windowed: Vector
    mistake_rate: float
    settled_rate: float  # of the last windows before each drift and before the end
    rows_per_second: float


@dataclass(frozen=True)
class DemoResult:
    """What `run_demo` found. Mistake rates are fractions, every prediction counted."""

    rows: Vector
    drifts: list[int]
    forks: ModelResult
    linear: ModelResult
    picture: Path


def run_demo(
    rows: int = 200_000,
    seed: int = 0,
    picture: Path = Path("forks-demo.png"),
    console: Console | None = None,
) -> DemoResult:
    """Learn a drifting stream with the default classifier and a linear model; show, draw, sum up.

    Every row is predicted before its label is used, by ours row by row and by the linear model
    (`SGDClassifier` with the logistic loss) in chunks of 500 rows. The clock of a model runs
    while it predicts and learns, on one core, and not while code is compiled.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    picture.parent.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False) if console is None else console
    drifts = drift_rows(rows)
    console.print("The first run on a machine compiles the learner, which takes some seconds.")
    models = {
        "forks": OnlineKernelClassifier(random_state=seed),
        "linear": SGDClassifier(loss="log_loss", random_state=seed),
    }
    stream = drifting(rows, noise=_NOISE, seed=seed, chunk=_CHUNK)
    console.print(
        f"{rows:,} rows, {len(drifts)} abrupt changes of the concept; "
        f"now: the last {_WINDOW:,} rows."
    )
    checkpoints = prequential(models, stream, every=_CHUNK, window=_WINDOW, classes=_CLASSES)
    pairs = []
    with _progress(console, rows) as show:
        for pair in zip(checkpoints, checkpoints, strict=True):  # of both models, in turns
            show(*pair)
            pairs.append(pair)
    forks, linear = (_result(track, drifts) for track in zip(*pairs, strict=True))
    seen = np.array([at.rounds for at, _ in pairs], dtype=float)
    result = DemoResult(seen, drifts, forks, linear, picture)
    with replacing(picture) as file:
        draw(result).savefig(file, format=picture.suffix[1:] or "png")
    _sum_up(console, result)
    return result


def _result(track: Sequence[Checkpoint], drifts: list[int]) -> ModelResult:
    windowed = np.array([at.recent_mistake_rate for at in track])
    rows = [at.rounds for at in track]
    ends = np.searchsorted(rows, [*drifts, rows[-1]], side="right") - 1
    settled = float(np.mean(windowed[np.maximum(ends, 0)]))
    return ModelResult(windowed, track[-1].mistake_rate, settled, track[-1].rounds_per_second)


_COLUMNS = (
    f"{'':26}{'mistakes now':>18}{'mistakes over all':>22}",
    f"{'rows':>10}{'forks rows/s':>16}{'forks':>9}{'linear':>9}{'forks':>13}{'linear':>9}",
)


@contextmanager
def _progress(console: Console, rows: int) -> Iterator[Callable[[Checkpoint, Checkpoint], None]]:
    """Show one line under a heading: rewritten in place on a terminal, else printed at times."""
    console.print(f"\n{_COLUMNS[0]}\n{_COLUMNS[1]}", style="dim")
    if console.is_terminal:
        with Live(console=console, refresh_per_second=_REFRESHES) as live:
            yield lambda forks, linear: live.update(_line(forks, linear))
        return
    printed = 0

    def show(forks: Checkpoint, linear: Checkpoint) -> None:
        nonlocal printed
        seen = forks.rounds * _PLAIN_LINES // rows
        if seen > printed:
            printed = seen
            console.print(_line(forks, linear))

    yield show


def _line(forks: Checkpoint, linear: Checkpoint) -> Text:
    line = Text(f"{forks.rounds:>10,}{forks.rounds_per_second:>16,.0f}", no_wrap=True)
    line.append(f"{100 * forks.recent_mistake_rate:>7.1f} %", style="bold")
    line.append(f"{100 * linear.recent_mistake_rate:>7.1f} %")
    line.append(f"{100 * forks.mistake_rate:>11.1f} %", style="bold")
    line.append(f"{100 * linear.mistake_rate:>7.1f} %")
    return line


def _sum_up(console: Console, result: DemoResult) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("")
    for heading in ("mistakes over all", "once settled", "rows per second"):
        table.add_column(heading, justify="right")
    for name, model in (("forks", result.forks), ("linear", result.linear)):
        rates = (f"{100 * rate:.1f} %" for rate in (model.mistake_rate, model.settled_rate))
        style = "bold" if name == "forks" else ""
        table.add_row(name, *rates, f"{model.rows_per_second:,.0f}", style=style)
    console.print()
    console.print(table)
    console.print(
        f"\nOnce settled: the last {_WINDOW:,} rows of each concept; "
        f"{100 * _NOISE:.0f} % of the labels are noise."
    )
    console.print(f"Picture: {result.picture}", soft_wrap=True)


def draw(result: DemoResult) -> Figure:
    """Draw the mistake rates over time, with the drifts."""
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    figure = Figure(figsize=(9.6, 4.4), dpi=160, layout=layout)
    axes = figure.add_subplot()
    end = float(result.rows[-1])
    place: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
    for row in result.drifts:
        axes.axvline(row, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate("new concept", (row, 1.0), (5, -2), **place, fontsize=9, color=INK)
    axes.axhline(_NOISE, color=FAINT, linewidth=1.0, zorder=1)
    ours, theirs = result.forks, result.linear
    axes.plot(result.rows, theirs.windowed, color=GREY, linewidth=1.4, zorder=3)
    axes.plot(result.rows, ours.windowed, color=BLUE, linewidth=2.0, zorder=4)
    low = max(float(np.mean(ours.windowed[-10:])), _NOISE + 0.06)
    high = max(float(np.mean(theirs.windowed[-10:])), low + 0.1)  # so that no label hides another
    _beside(axes, high, f"linear model\n{100 * theirs.mistake_rate:.1f} % over all", DARK_GREY)
    _beside(axes, low, f"forks\n{100 * ours.mistake_rate:.1f} % over all", BLUE)
    noise = f"label noise, {100 * _NOISE:.0f} %"
    _beside(axes, _NOISE, noise, DARK_GREY, va="top", weight="normal")
    top = max(0.6, float(ours.windowed.max()), float(theirs.windowed.max())) + 0.06
    axes.set_xlim(0, end)
    axes.set_ylim(0, top)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
    axes.set_xlabel("rows seen", color=INK)
    title = f"Mistakes in the last {_WINDOW:,} rows, each predicted before it is learned"
    axes.set_title(title, loc="left", fontsize=11.5, color=INK, pad=10)
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=INK, length=0, labelsize=9)
    return figure


def _beside(axes: Any, level: float, text: str, colour: str, **style: Any) -> None:
    look = {"fontsize": 9, "color": colour, "va": "center", "weight": "bold", **style}
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(text, (1.0, level), (7, 0), **place, **look, annotation_clip=False)
