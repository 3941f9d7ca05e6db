"""Every printed mistake rate beside ours, and whether the two agree."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from forks.experiments.record import DONE, Record, grouped
from forks.experiments.report import Block, Table, plus_minus
from forks.experiments.reproduce.paper import DRIVERS_SIZES, FLOORED, Printed, plain_name
from forks.experiments.reproduce.rates import Cell, lines


class Comparison(NamedTuple):
    """A printed rate, and ours in the regimes that were played, that of the authors first."""

    stream: str
    method: str
    paper: Printed
    authors: Cell | None  # the authors' widths, the text's sizes
    others: dict[str, Cell]

    @property
    def agrees(self) -> bool:
        """Whether the authors' widths give the printed rate."""
        return self.authors is not None and agree(self.authors, self.paper)

    @property
    def elsewhere(self) -> dict[str, Cell]:
        """The other regimes that give it."""
        return {name: cell for name, cell in self.others.items() if agree(cell, self.paper)}


def off(cell: Cell, paper: Printed) -> float:
    """Return the difference of ours from the printed rate, in printed standard deviations."""
    return (cell.mean - paper.rate) / paper.deviation


def agree(cell: Cell, paper: Printed) -> bool:
    """Return whether a rate is within one printed standard deviation."""
    return abs(off(cell, paper)) <= 1.0


def comparisons(records: Iterable[Record]) -> list[Comparison]:
    """Compare the cells of table 1 and of the adversarial tables, as the paper counts."""
    played = grouped((r for r in records if r["status"] == DONE), itemgetter("experiment"))
    summed = lines(played.get("table1", ())) + lines(played.get("adversarial", ()))
    by_name = {(line.stream, line.method): line for line in summed}
    found = []
    for (stream, method), line in by_name.items():
        if line.paper is not None and method == plain_name(method):
            driver = by_name.get((stream, method + DRIVERS_SIZES))
            floored = by_name.get((stream, method + FLOORED))
            is_other = line.published.bandwidth != getattr(line.authors, "bandwidth", None)
            regimes = {
                "small values 0": floored and floored.authors,
                "driver's sizes": driver and driver.authors,
                "best width": line.published if is_other else None,
                "driver's sizes, best width": driver and driver.published,
            }
            others = {name: cell for name, cell in regimes.items() if cell is not None}
            found.append(Comparison(stream, method, line.paper, line.authors, others))
    return found


def agreement(records: Sequence[Record]) -> list[Block]:
    """Return the table of all printed rates, with ours and the difference."""
    found = comparisons(records)
    rows = []
    for comparison in found:
        paper, cell = comparison.paper, comparison.authors
        elsewhere = {} if comparison.agrees else comparison.elsewhere
        others = (f"{name}: {cell} {off(cell, paper):+.2f}" for name, cell in elsewhere.items())
        row = [comparison.stream, comparison.method, plus_minus(*paper[:2])]
        row += ["", ""] if cell is None else [str(cell), f"{off(cell, paper):+.2f}"]
        rows.append([*row, "yes" if comparison.agrees else "no", "; ".join(others)])
    header = ["stream", "method", "paper", "ours, the authors' widths", "off by", "agrees"]
    table = Table([*header, "other regimes that agree"], rows, 2)
    return [_summary(found), table] if found else []


def _summary(found: Sequence[Comparison]) -> str:
    first = [comparison for comparison in found if comparison.agrees]
    second = [c for c in found if not c.agrees and c.elsewhere]
    forks = [c for c in found if c.method == "FORKS"]
    close = "; ".join(c.stream for c in forks if c.agrees) or "none"
    apart = "; ".join(c.stream for c in forks if not c.agrees) or "none"
    return (
        "All as the paper counts. `off by` is the difference in printed standard deviations, and a "
        f"rate agrees if it is off by at most one. With the authors' widths {len(first)} of "
        f"{len(found)} printed rates agree; {len(second)} more do in another regime, which the "
        "last column names: the sizes of the authors' driver; kernel values below 1.2e-7 taken as "
        "zero, as in sums in single precision; or the best width of the grid, which is a choice "
        "made in hindsight, so that to agree there is weak evidence. FORKS with the "
        f"authors' widths agrees on these streams: {close}. It does not on these: {apart}."
    )
