"""The default learner, nothing tuned.

`OnlineKernelClassifier()`, which is `forks.learners.OverTime`, the same with one part at a time
switched off, and a single machine (`effort="fast"`). Mean and deviation of the mistake rate in %,
every round counted; german and spambase in the published orders. With repeats: the adversarial
games, 500 points repeated and every second block lying. Time is CPU time of a pass of the first.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.chapters.defaults import DEFAULT, GAMES, rates_of
from forks.experiments.reproduce.chapters.table1 import ROWS
from forks.experiments.reproduce.runs import Run

VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    DEFAULT: ("OverTime", {}),
    "no relevance": ("OverTime", {"relevance": False}),
    "no new start after an alarm": ("OverTime", {"restart": False}),
    "without the last label": ("OverTime", {"repeat": False}),
    "three experts": ("OverTime", {"experts": 3}),
    "a single machine": ("Adaptive", {}),
}


def plan(
    permutations: int = 20, of_others: int = 5, data: Sequence[str] = tuple(ROWS)
) -> Iterator[Run]:
    """Every variant on every data set, and in the adversarial games; the default more often."""
    for name, repeats in [*((name, 0) for name in data), *GAMES]:
        for variant, (learner, arguments) in VARIANTS.items():
            for permutation in range(permutations if variant == DEFAULT else of_others):
                yield Run("experts", name, variant, learner, arguments, permutation, repeats)


_QUICK = {"permutations": 1, "of_others": 1}
CHAPTER = Chapter(__doc__, plan, partial(rates_of, names=VARIANTS), quick=_QUICK)
