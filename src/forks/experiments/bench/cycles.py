"""What updates cost on a stationary stream.

FORKS on cod-rna, scaled by its first 200 rows, squared hinge, 100 landmarks at full rank: mistakes
beyond those without updates, an update every so many rounds with loss.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.distance import pdist

from forks.datasets import order
from forks.evaluate import play
from forks.experiments.bench._data import shuffled
from forks.experiments.bench._part import Number, Part
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.losses import SquaredHinge

_CYCLES = (50, 100, 200, 500, 1_000, 5_000)


def measure(
    rows: int = 59_535, orders: int = 4, cycles: Sequence[int] = _CYCLES
) -> Iterator[Number]:
    """Count mistakes against how often the map is updated."""
    never = {kept: _rate(rows, orders, 0, kept) for kept in ("carry", "reset")}
    for cycle in cycles:
        for kept, without in never.items():
            more = _rate(rows, orders, cycle, kept) - without
            settings = {"data": "cod-rna", "orders": orders, "on_update": kept}
            name = f"{kept}: mistakes more than without updates"
            yield Number(name, more, "points", settings, "update cycle", cycle)
            if kept == "carry":
                name = f"carry, an update every {cycle:,} losses: more than without"
                yield Number(name, more, "points", settings, at_most=0.1)


def _rate(n_rows: int, orders: int, cycle: int, kept: str) -> float:
    X, y = shuffled("cod-rna")
    rates = []
    for seed in range(orders):
        rows = order(len(y), seed)[:n_rows]
        scaled = (X[rows] - X[rows[:200]].mean(axis=0)) / X[rows[:200]].std(axis=0)
        kernel = Gaussian(float(np.median(pdist(scaled[:200]))))
        learner = FORKS(kernel=kernel, loss=SquaredHinge(), update_cycle=cycle, on_update=kept)
        rates.append(play(learner, [(scaled, y[rows])], seed=seed).mistake_rate)
    return 100.0 * float(np.mean(rates))


PART = Part(__doc__, measure, {"rows": 20_000, "orders": 1, "cycles": (100, 1_000)})
