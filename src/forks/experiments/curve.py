"""The picture of `forks run --plot`: errors over the rows of a stream."""

from pathlib import Path

from forks.evaluate import Finished
from forks.files import replacing

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    needed = "--plot needs matplotlib: pip install 'forks-learn[plot]'"
    raise ModuleNotFoundError(needed, name=error.name) from error


def draw(finished: Finished, path: Path) -> None:
    """Draw the records of a run."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    rows, rate, recent = finished.curve.values()
    if "mistakes" in finished.figures:
        axes.plot(rows, 100 * recent, color="#9dbcd4", label="last 1,000 rows")
        axes.plot(rows, 100 * rate, color="#1f4e79", label="all rows so far")
        axes.set_ylabel("mistakes, %")
    else:
        axes.plot(rows, rate, color="#1f4e79", label="root mean squared error so far")
        axes.plot(rows, recent, color="#9dbcd4", label="mean absolute error so far")
        axes.set_ylabel("error")
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("rows")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=150)
