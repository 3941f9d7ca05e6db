"""Table 1: fixed budget.

Methods as in the authors' code, sizes as in the paper's text: B = 50 up to 10,000 rows, 100 above,
and buffers of 2 B; on the large data sets also the sizes of the authors' driver (buffer 200, s_p
150, s_m 100, k 15), on the small ones the two-stage methods also with kernel values below 1.2e-7
taken as zero, as in sums in single precision. The columns: what the paper prints; then ours. As the
paper counts: the mistakes of stage one are left out of NOGD, SkeGD and FORKS, and all rounds are
divided by. Every round: every mistake counts. The authors' widths: bandwidth 50 for SkeGD and
FORKS, 8 for the others. Best width: the bandwidth of the grid with the lowest rate, for each
method. One width for all: the one with the lowest mean over methods. Time and points are those at
the best width, every round.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from forks.datasets import describe, names
from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table, plus_minus
from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.paper import (
    DRIVERS_SIZES,
    FLOORED,
    WITHOUT_CHANCE,
    authors_bandwidth,
)
from forks.experiments.reproduce.rates import (
    GRID,
    Line,
    as_published,
    bandwidth,
    every_round,
    mean,
    minority_rate,
    rate_csv,
    rate_tables,
)
from forks.experiments.reproduce.runs import SINGLE, Run

ROWS = {
    "german": 1_000,
    "svmguide3": 1_243,
    "spambase": 4_601,
    "cod-rna": 59_535,
    "w7a": 24_692,
    "ijcnn1": 141_691,
}
_SMALL = 10_000  # rows up to which B = 50


def plan(permutations: int = 20, bandwidths: Sequence[float] = GRID) -> Iterator[Run]:
    """Nine methods under a fixed budget on six data sets, at the bandwidths and the authors'."""
    for data, n in ROWS.items():
        methods = _methods(n)
        for permutation in range(permutations):
            for method, (learner, sizes) in methods.items():
                for width in dict.fromkeys((*bandwidths, authors_bandwidth(method))):
                    arguments = {**sizes, "bandwidth": width}
                    yield Run("table1", data, method, learner, arguments, permutation)


def _methods(n: int) -> dict[str, tuple[str, dict[str, Any]]]:
    B = 50 if n <= _SMALL else 100
    cycle = 3 * n // 10
    sketch = {"buffer": 2 * B, "sketch_size": B, "n_landmarks": B // 5, "rank": B // 10}
    sketch["update_cycle"] = cycle
    methods: dict[str, tuple[str, dict[str, Any]]] = {
        "RBP": ("RBP.as_released", {"budget": B}),
        "BPA-S": ("BPAS", {"budget": B}),
        "Projectron": ("Projectron", {"budget": B}),
        "BOGD": ("BOGD.as_released", {"budget": B}),
        "FOGD": ("FOGD", {"budget": B, "eta": 0.002 * 4 * B}),
        "NOGD": ("NOGD", {"budget": 2 * B, "rank": B // 10}),
        "SkeGD": ("SkeGD.as_released", sketch),
        "PROS-N-KONS": ("PROSNKONS.as_released", {}),
        "FORKS": ("FORKS.as_released", sketch),
    }
    if n > _SMALL:
        released = {"buffer": 200, "sketch_size": 150, "n_landmarks": 100, "rank": 15}
        released["update_cycle"] = cycle
        methods |= {
            f"NOGD{DRIVERS_SIZES}": ("NOGD", {"budget": 200, "rank": 15}),
            f"SkeGD{DRIVERS_SIZES}": ("SkeGD.as_released", released),
            f"FORKS{DRIVERS_SIZES}": ("FORKS.as_released", released),
        }
    else:
        for method in ("NOGD", "SkeGD", "FORKS"):
            learner, arguments = methods[method]
            methods[method + FLOORED] = learner, {**arguments, "floor": SINGLE}
    return methods


def tables(records: Sequence[Record]) -> list[Block]:
    """Return a table per stream, and what is behind the rates of the two-stage methods."""
    blocks = rate_tables(records, _without_chance)
    rows = _two_stage_rows(records)
    if rows:
        columns = ["as the paper counts", "every round", "majority class"]
        columns += ["% answers +1, last 1,000 rounds", "rounds of stage one", "map updates"]
        blocks.append("### What is behind the rates of the two-stage methods")
        blocks.append("Means over permutations, with the authors' widths.")
        blocks.append(Table(["stream", "method", *columns], rows, 2))
    return blocks


def _without_chance(own: Sequence[Line]) -> list[Block]:
    """Compare methods that draw nothing with the printed digits, on the published orders."""
    compared = []
    for line in own:
        has_orders = line.data in names() and describe(line.data).permutations is not None
        if line.method in WITHOUT_CHANCE and has_orders and line.paper and line.authors:
            ours, paper = (plus_minus(*cell[:2], 3) for cell in (line.authors, line.paper))
            verdict = "the same digits" if ours == paper else "not the same digits"
            compared.append(f"{line.method} {ours}, printed {paper}: {verdict}")
    if not compared:
        return []
    where = "Where nothing is left to chance (published orders, the authors' widths): "
    return [where + "; ".join(compared) + "."]


def _two_stage_rows(records: Sequence[Record]) -> list[list[str]]:
    rows = []
    for data, played in grouped(records, itemgetter("data")).items():
        for method, runs in grouped(played, itemgetter("method")).items():
            own = [r for r in runs if bandwidth(r) == authors_bandwidth(method)]
            own = [r for r in own if r["warm_up_rounds"]]
            if not own:
                continue
            rates = (np.mean([rate(r) for r in own]) for rate in (as_published, every_round))
            plus = 100.0 * mean(own, "share_of_plus")
            counts = (mean(own, name) for name in ("warm_up_rounds", "updates"))
            numbers = (*rates, minority_rate(own), plus, *counts)
            rows.append([data, method, *(f"{number:.2f}" for number in numbers)])
    return rows


CHAPTER = Chapter(
    __doc__,
    plan,
    tables,
    quick={"permutations": 3, "bandwidths": (2.0, 8.0, 32.0, 64.0)},
    csv=rate_csv,
)
