"""The paper's experiments as lists of runs.

Methods play as the authors' code has them (`as_released`), with the sizes of the paper's text,
except in the adversarial game, where the code's sizes are those that give the printed numbers. On
the large data sets of table 1 the code's sizes are played beside the text's. Every bandwidth of the
grid is played, and that of the authors' code; the report picks from them.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from forks.experiments.reproduce.defaults import defaults
from forks.experiments.reproduce.floored import SINGLE
from forks.experiments.reproduce.large import flights, kuairec
from forks.experiments.reproduce.paper import DRIVERS_SIZES, FLOORED, authors_bandwidth
from forks.experiments.reproduce.runs import Run

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
EXTRA_RANKS = (15, 30, 60)  # pairs that lines over theta keep beyond k = 15


class Effort(NamedTuple):
    """How much of an experiment to play."""

    permutations: int = 20
    powers: tuple[float, ...] = GRID
    thetas: tuple[float, ...] = THETAS
    updates: tuple[int, ...] = (500, 1_000, 5_000, 10_000, 50_000)
    sketch_sizes: tuple[int, ...] = (150, 300, 500)
    repeats: int = 3  # of what is timed
    budgets: tuple[int, ...] | None = None  # on the large streams, None for all of their plans
    rows: int = 0  # of the large streams, 0 for all
    seeds: int = 3  # on the flights


FULL = Effort()
QUICK = Effort(
    permutations=3,
    powers=(1.0, 3.0, 5.0, 6.0),
    thetas=(0.3, 0.05, 0.005),
    updates=(500, 2_000),
    sketch_sizes=(150, 500),
    repeats=1,
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
        if n > _SMALL:
            released = {"buffer": 200, "sketch_size": 150, "n_landmarks": 100, "rank": 15}
            released["update_cycle"] = sketch["update_cycle"]
            methods |= {
                f"NOGD{DRIVERS_SIZES}": ("NOGD", {"budget": 200, "rank": 15}),
                f"SkeGD{DRIVERS_SIZES}": ("SkeGD.as_released", released),
                f"FORKS{DRIVERS_SIZES}": ("FORKS.as_released", released),
            }
        else:
            for method in ("NOGD", "SkeGD", "FORKS"):
                learner, arguments = methods[method]
                methods[method + FLOORED] = learner, {**arguments, "floor": SINGLE}
        for permutation in range(effort.permutations):
            for method, (learner, arguments) in methods.items():
                grid = (2.0**power for power in effort.powers)
                for bandwidth in dict.fromkeys((*grid, authors_bandwidth(method))):
                    yield Run(
                        experiment="table1",
                        data=data,
                        method=method,
                        learner=learner,
                        arguments={**arguments, "bandwidth": bandwidth},
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
    """TISVD against decompositions from scratch, over the update cycle theta N (figure 2).

    More lines tell where the difference comes from: the recursion of TISVD in dense arithmetic,
    and TISVD that keeps more pairs than the map uses.
    """
    sketch = {"buffer": 200, "sketch_size": 150, "n_landmarks": 100, "rank": 15}
    kinds: dict[str, dict[str, Any]] = {
        "tisvd": {"decomposition": "tisvd"},
        "svd": {"decomposition": "svd"},
        "recursive": {"decomposition": "recursive"},
    }
    for extra in EXTRA_RANKS:
        kinds[f"tisvd + {extra}"] = {"decomposition": "tisvd", "extra_rank": extra}
    for share in effort.thetas:
        for permutation in range(effort.permutations):
            for kind, choice in kinds.items():
                cycle = int(share * ROWS["cod-rna"])
                yield Run(
                    experiment="theta",
                    data="cod-rna",
                    method=f"FORKS, {kind}",
                    learner="FORKS.as_released",
                    arguments={**sketch, "update_cycle": cycle, **choice, "bandwidth": 50.0},
                    permutation=permutation,
                )


def update_times(effort: Effort) -> Iterator[Run]:
    """What an update round costs with TISVD and with a full decomposition, over s_p.

    The same stream with and without update rounds: the difference is their time.
    """
    for size in effort.sketch_sizes:
        for permutation in range(effort.repeats):
            for kind in ("none", "tisvd", "svd"):
                yield Run(
                    experiment="updates",
                    data="cod-rna",
                    method=f"FORKS, {kind}",
                    learner="FORKS.as_released",
                    arguments={
                        "buffer": 2 * size,
                        "sketch_size": size,
                        "n_landmarks": 100,
                        "rank": 50,
                        "update_cycle": 0 if kind == "none" else 20,
                        "decomposition": "tisvd" if kind == "none" else kind,
                        "bandwidth": 50.0,
                    },
                    permutation=permutation,
                    rows=20_000,
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
    "updates": update_times,
    "tisvd": decompositions,
    "defaults": lambda effort: defaults(list(ROWS), effort.permutations),
    "flights": lambda effort: flights(effort.budgets, effort.rows, effort.seeds),
    "kuairec": lambda effort: kuairec(effort.budgets, effort.rows),
}
