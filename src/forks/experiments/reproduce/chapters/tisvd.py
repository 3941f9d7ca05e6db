"""TISVD against the randomised SVD.

A Gaussian 100 x 100 matrix under Gaussian updates of three columns, k = 30. The errors are against
dense decompositions of the same running matrix.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from forks.experiments import style
from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table
from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.runs import Run

_COLOURS = {"TISVD": style.BLUE, "RandomizedSVD": style.DARK_GREY}


def plan(updates: Sequence[int] = (500, 1_000, 5_000, 10_000, 50_000)) -> Iterator[Run]:
    """Both decompositions of the changed matrix, over the number of updates (appendix B.3)."""
    for count in updates:
        for kind in _COLOURS:
            arguments = {"rank": 30, "columns": 3, "updates": count}
            yield Run("tisvd", "gaussian 100 x 100", kind, kind, arguments)


def _by_method(records: Sequence[Record]) -> dict[str, dict[int, Record]]:
    methods = grouped(records, itemgetter("method"))
    return {name: {r["arguments"]["updates"]: r for r in own} for name, own in methods.items()}


def tables(records: Sequence[Record]) -> list[Block]:
    """Return the times and errors over the number of updates."""
    found = _by_method(records)
    counts = sorted({count for runs in found.values() for count in runs})
    rows = []
    for method, runs in found.items():
        cells = [runs.get(count) for count in counts]
        shown = ["" if r is None else f"{r['seconds']:.3g} ({r['error']:.0e})" for r in cells]
        rows.append([method, *shown])
    return [Table(["seconds (largest error of a singular value)", *map(str, counts)], rows)]


def draw(records: Sequence[Record]) -> Any:
    """Draw the time over the number of updates."""
    figure, ((axes,),) = style.figure(6.4, 4.2)
    for method, runs in _by_method(records).items():
        seconds = [runs[count]["seconds"] for count in sorted(runs)]
        axes.loglog(sorted(runs), seconds, color=_COLOURS[method], marker="o", label=method)
    style.finish(axes, "updates", "seconds")
    return figure


CHAPTER = Chapter(__doc__, plan, tables, quick={"updates": (500, 2_000)}, draw=draw)
