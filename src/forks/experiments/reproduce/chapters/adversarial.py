"""Adversarial environments.

500 points, each repeated r times, labels flipped in every second block; bandwidth 50. Sizes as in
the authors' code (B = 100, where the text says 200), and like there the last feature is left at
zero.
"""

from collections.abc import Iterator
from typing import Any

from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.rates import rate_csv, rate_tables
from forks.experiments.reproduce.runs import Run

_B = 100


def plan(permutations: int = 20) -> Iterator[Run]:
    """Five methods against 500 blocks of repeated points with flipped labels (two tables)."""
    for repeats in (10, 20):
        sketch = {"buffer": _B, "sketch_size": 75, "n_landmarks": 15, "rank": 10}
        sketch["update_cycle"] = int(0.005 * (500 * repeats - _B))
        methods: dict[str, tuple[str, dict[str, Any]]] = {
            "BOGD": ("BOGD.as_released", {"budget": _B}),
            "NOGD": ("NOGD", {"budget": _B, "rank": 10}),
            "SkeGD": ("SkeGD.as_released", sketch),
            "PROS-N-KONS": ("PROSNKONS.as_released", {}),
            "FORKS": ("FORKS.as_released", sketch),
        }
        for data in ("german", "cod-rna"):
            for permutation in range(permutations):
                for method, (learner, sizes) in methods.items():
                    arguments = {**sizes, "bandwidth": 50.0}
                    yield Run("adversarial", data, method, learner, arguments, permutation, repeats)


CHAPTER = Chapter(__doc__, plan, rate_tables, quick={"permutations": 3}, csv=rate_csv)
