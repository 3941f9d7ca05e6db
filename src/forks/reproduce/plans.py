"""The paper's experiments as lists of runs.

Methods play as the authors' code has them (`as_released`), with the sizes of the paper's text,
except in the adversarial game, where the code's sizes are those that give the printed numbers.
Every bandwidth of the grid is played; the report picks from them.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from forks.reproduce.large import flights, kuairec
from forks.reproduce.runs import Run

ROWS = {  # of the data sets of table 1
    "german": 1_000,
    "svmguide3": 1_243,
    "spambase": 4_601,
    "cod-rna": 59_535,
    "w7a": 24_692,
    "ijcnn1": 141_691,
}
_SMALL = 10_000  # rows up to which B = 50
GRID = tuple(0.5 * i for i in range(-10, 15))  # bandwidths 2^p
THETAS = (0.5, 0.3, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)


class Effort(NamedTuple):
    """How much of an experiment to play."""

    permutations: int = 20
    powers: tuple[float, ...] = GRID
    thetas: tuple[float, ...] = THETAS
    updates: tuple[int, ...] = (500, 1_000, 5_000, 10_000, 50_000)
    budgets: tuple[int, ...] | None = None  # on the large streams, None for all of their plans
    rows: int = 0  # of the large streams, 0 for all
    seeds: int = 3  # on the flights


FULL = Effort()
QUICK = Effort(
    permutations=3,
    powers=(1.0, 3.0, 5.0, 6.0),
    thetas=(0.3, 0.05, 0.005),
    updates=(500, 2_000),
    budgets=(100, 500),
    rows=100_000,
    seeds=1,
)


def table_1(effort: Effort) -> Iterator[Run]:
    """Nine methods under a fixed budget on six data sets (table 1)."""
    for data, n in ROWS.items():
        B = 50 if n <= _SMALL else 100
        sketch = {"buffer": 2 * B, "sketch_size": B, "n_landmarks": B // 5, "rank": B // 10}
        sketch["update_cycle"] = 3 * n // 10
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
        for permutation in range(effort.permutations):
            for method, (learner, arguments) in methods.items():
                for power in effort.powers:
                    yield Run(
                        experiment="table1",
                        data=data,
                        method=method,
                        learner=learner,
                        arguments={**arguments, "bandwidth": 2.0**power},
                        permutation=permutation,
                    )


def adversarial_game(effort: Effort) -> Iterator[Run]:
    """Five methods against 500 blocks of repeated points with flipped labels (two tables)."""
    B = 100
    for repeats in (10, 20):
        sketch = {"buffer": B, "sketch_size": 75, "n_landmarks": 15, "rank": 10}
        sketch["update_cycle"] = int(0.005 * (500 * repeats - B))
        methods: dict[str, tuple[str, dict[str, Any]]] = {
            "BOGD": ("BOGD.as_released", {"budget": B}),
            "NOGD": ("NOGD", {"budget": B, "rank": 10}),
            "SkeGD": ("SkeGD.as_released", sketch),
            "PROS-N-KONS": ("PROSNKONS.as_released", {}),
            "FORKS": ("FORKS.as_released", sketch),
        }
        for data in ("german", "cod-rna"):
            for permutation in range(effort.permutations):
                for method, (learner, arguments) in methods.items():
                    yield Run(
                        experiment="adversarial",
                        data=data,
                        method=method,
                        learner=learner,
                        arguments={**arguments, "bandwidth": 50.0},
                        permutation=permutation,
                        repeats=repeats,
                    )


def theta(effort: Effort) -> Iterator[Run]:
    """TISVD against decompositions from scratch, over the update cycle theta N (figure 2)."""
    sketch = {"buffer": 200, "sketch_size": 150, "n_landmarks": 100, "rank": 15}
    for share in effort.thetas:
        for permutation in range(effort.permutations):
            for decomposition in ("tisvd", "svd"):
                cycle = int(share * ROWS["cod-rna"])
                yield Run(
                    experiment="theta",
                    data="cod-rna",
                    method=f"FORKS, {decomposition}",
                    learner="FORKS.as_released",
                    arguments={
                        **sketch,
                        "update_cycle": cycle,
                        "decomposition": decomposition,
                        "bandwidth": 50.0,
                    },
                    permutation=permutation,
                )


def decompositions(effort: Effort) -> Iterator[Run]:
    """TISVD against the randomised SVD of the changed matrix, over updates (appendix B.3)."""
    for updates in effort.updates:
        for kind in ("TISVD", "RandomizedSVD"):
            yield Run(
                experiment="tisvd",
                data="gaussian 100 x 100",
                method=kind,
                learner=kind,
                arguments={"rank": 30, "columns": 3, "updates": updates},
            )


EXPERIMENTS: dict[str, Callable[[Effort], Iterator[Run]]] = {
    "table1": table_1,
    "adversarial": adversarial_game,
    "theta": theta,
    "tisvd": decompositions,
    "flights": lambda effort: flights(effort.budgets, effort.rows, effort.seeds),
    "kuairec": lambda effort: kuairec(effort.budgets, effort.rows),
}
