"""The default learner on the streams of the paper, and with each of its parts switched off alone.

Nothing is tuned, and every round is counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
_GAMES = (("german", 10), ("german", 20), ("cod-rna", 10), ("cod-rna", 20))


def defaults(data: Sequence[str], permutations: int) -> Iterator[Run]:
    """Every variant on every data set, and in the adversarial games."""
    streams = [(name, 0) for name in data] + list(_GAMES)
    for name, repeats in streams:
        for permutation in range(permutations):
            for variant, arguments in VARIANTS.items():
                yield Run(
                    experiment="defaults",
                    data=name,
                    method=variant,
                    learner="Adaptive",
                    arguments=arguments,
                    permutation=permutation,
                    repeats=repeats,
                )
