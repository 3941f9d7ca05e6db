"""A single machine, nothing tuned.

`OnlineKernelClassifier(effort="fast")`, which is `forks.learners.Adaptive`, and the same with one
part at a time changed. Mean and deviation of the mistake rate in %, every round counted; german and
spambase in the published orders. With repeats: the adversarial games, 500 points repeated and every
second block lying. Time is CPU time of a pass of the first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table
from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.chapters.table1 import ROWS
from forks.experiments.reproduce.rates import every_round, spread, stream_name
from forks.experiments.reproduce.runs import Run

DEFAULT = "default"
VARIANTS: Mapping[str, dict[str, Any]] = {
    DEFAULT: {},
    "no learning before the buffer is full": {"early": False},
    "features as they are": {"scaling": "none"},
    "bandwidth 1 of scaled features": {"bandwidth": "absolute"},
    "no linear part": {"linear": False},
    "no follower": {"follow": False},
    "no new starts": {"restart": False},
    "wrong labels at full strength": {"robust": False},
    "hinge": {"loss": "hinge"},
    "logistic": {"loss": "logistic"},
    "64 landmarks": {"buffer": 64},
    "500 landmarks": {"buffer": 500},
}
GAMES = (("german", 10), ("german", 20), ("cod-rna", 10), ("cod-rna", 20))


def plan(permutations: int = 20, data: Sequence[str] = tuple(ROWS)) -> Iterator[Run]:
    """Every variant on every data set, and in the adversarial games."""
    for name, repeats in [*((name, 0) for name in data), *GAMES]:
        for permutation in range(permutations):
            for variant, arguments in VARIANTS.items():
                yield Run("defaults", name, variant, "Adaptive", arguments, permutation, repeats)


def rates_of(records: Sequence[Record], names: Iterable[str]) -> list[Block]:
    """Return the mean mistake rates, a line per variant and a column per stream.

    Lines are in the order of `names`; the last one has the time of the default.
    """
    runs = grouped(records, lambda r: (r["method"], stream_name(r["data"], r["repeats"])))
    streams = list(dict.fromkeys(stream for _, stream in runs))
    variants = {name for name, _ in runs}
    lines = []
    for name in [*(v for v in names if v in variants), *sorted(variants - set(names))]:
        own = [[every_round(r) for r in runs.get((name, stream), [])] for stream in streams]
        lines.append([name, *(spread(rates) if rates else "" for rates in own)])
    speed = ["µs a round"]
    for stream in streams:
        times = [1e6 * r["seconds"] / r["n_rows"] for r in runs.get((DEFAULT, stream), [])]
        median = float(np.median(times)) if times else np.nan
        speed.append(f"{median:.{0 if median >= 10.0 else 1}f}" if times else "")
    counts = sorted({len(own) for own in runs.values()})
    permutations = "Permutations of each stream: " + ", ".join(map(str, counts)) + "."
    return [permutations, Table(["", *streams], [*lines, speed])]


tables = partial(rates_of, names=VARIANTS)
CHAPTER = Chapter(__doc__, plan, tables, quick={"permutations": 3})
