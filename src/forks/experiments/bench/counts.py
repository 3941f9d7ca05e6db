"""Mistakes against LSOKL, exactly.

german, 1,000 rows, the first five published orders, bandwidth 8, budget 50, every round counted.
BPA-S may differ where two points tie, NOGD by the rounding of its smallest eigenvalues.
"""

from collections.abc import Iterator
from typing import Any

from forks.datasets import permutations
from forks.evaluate import play
from forks.experiments.bench._data import data_set
from forks.experiments.bench._part import Number, Part
from forks.kernels import Gaussian
from forks.learners import BPAS, KOGD, NOGD, Forgetron, Projectron, ProjectronPP

_NARROW: dict[str, Any] = {"kernel": Gaussian(8), "budget": 50}
# Learners, the mistakes of LSOKL (MATLAB, double precision) in each order, and the tolerance.
_COUNTS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "KOGD": (KOGD(kernel=Gaussian(8)), (293, 298, 299, 292, 296), 0),
    "Forgetron, LSOKL's root": (Forgetron(**_NARROW, root="lsokl"), (403, 412, 407, 399, 410), 0),
    "Projectron": (Projectron(**_NARROW), (377, 347, 399, 379, 337), 0),
    "Projectron++": (ProjectronPP(**_NARROW), (362, 315, 374, 348, 330), 0),
    "BPA-S": (BPAS(**_NARROW), (339, 346, 360, 350, 365), 3),
    "NOGD": (NOGD(**_NARROW, rank=5), (305, 308, 304, 296, 305), 10),
}


def measure() -> Iterator[Number]:
    """Count mistakes in five orders of german; they must be those of LSOKL."""
    german, orders = data_set("german"), permutations("german")[:5]
    for name, (learner, expected, within) in _COUNTS.items():
        counts = [int(play(learner, [german.ordered(order)]).mistakes) for order in orders]
        settings = {"data": "german", "learner": str(learner), "LSOKL": list(expected)}
        for i, count in enumerate(counts):
            yield Number(name, count, settings=settings, column=f"order {i + 1}")
        worst = float(max(abs(a - b) for a, b in zip(counts, expected, strict=True)))
        title = f"{name}: largest difference from LSOKL"
        yield Number(title, worst, "mistakes", settings, at_most=within)


PART = Part(__doc__, measure)
