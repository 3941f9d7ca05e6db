"""What the parts share: the stream, the settings of the paper, and the oracle of FORKS."""

from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from forks import oracles
from forks.datasets import load
from forks.engine import Engine, Matrix, Vector
from forks.engine.random import choose
from forks.experiments.bench._record import Missing
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.linalg import SJLT

KERNEL = Gaussian(50.0)
SEED = 0


class Stream(NamedTuple):
    """Rows and labels, -1 or +1."""

    X: Matrix
    y: Vector

    def first(self, n: int) -> "Stream":
        return Stream(self.X[:n], self.y[:n])

    @property
    def targets(self) -> Matrix:
        """Labels as an engine takes them."""
        return np.ascontiguousarray(self.y.reshape(-1, 1))


@cache
def shuffled(name: str) -> Stream:
    """A data set in a random order, always the same; in some files classes follow each other."""
    try:
        X, y = load(name)
    except FileNotFoundError as error:
        raise Missing(
            f"the data set {name} is not at hand: set FORKS_DATA to the folder that has it"
        ) from error
    order = np.random.default_rng(SEED).permutation(len(y))
    return Stream(np.ascontiguousarray(X[order]), y[order])


def cod_rna() -> Stream:
    """cod-rna, which most parts measure with."""
    return shuffled("cod-rna")


def published(n_rounds: int, **changes: Any) -> FORKS:
    """The paper's setting: buffer 200, s_p 100, s_m 20, k 10."""
    return FORKS.as_published(kernel=KERNEL, n_rounds=n_rounds, **changes)


def released(**changes: Any) -> FORKS:
    """The setting of the authors' code: buffer 200, s_p 150, s_m 100, k 15."""
    return FORKS.as_released(kernel=KERNEL, **changes)


def settings_of(learner: FORKS) -> dict[str, Any]:
    return {"kernel": str(learner.kernel), **learner.sizes()._asdict()}


def new_engine(learner: FORKS, n_features: int, seed: int = SEED) -> Engine:
    return Engine(learner, n_features, 1, np.random.default_rng(seed))


def oracle_run(learner: FORKS, stream: Stream, **watching: Any) -> oracles.ForksResult:
    """Play the stream through the oracle, with the draws that `new_engine` makes."""
    memory = learner.init(stream.X.shape[1], 1, np.random.default_rng(SEED))
    random = memory_of(memory).random.copy()
    sizes = learner.sizes()
    sketch = SJLT(sizes.sketch_size, learner.n_blocks, int(random[1]))
    names = {f.name for f in fields(oracles.ForksOptions)} - set(sizes._fields)
    options = {name: getattr(learner, name) for name in names}
    return oracles.forks(
        stream.X,
        stream.y,
        oracles.gaussian(learner.kernel.bandwidth),
        oracles.Hinge(),
        oracles.ForksOptions(**sizes._asdict(), **options),
        sjlt_row=sketch.row,
        choose_landmarks=lambda n, size: choose(random[:1], n, size),
        **watching,
    )
