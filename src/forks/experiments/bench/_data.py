"""What the parts share: streams, the settings of the paper, and the oracle of FORKS."""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from forks import oracles
from forks.datasets import load, order
from forks.engine import Engine, Learner, Matrix, Vector
from forks.engine.random import choose
from forks.evaluate import is_mistake, player_for
from forks.evaluate.metrics import SIGNS
from forks.experiments.bench._timing import Timed
from forks.experiments.record import Missing, resident_bytes
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.catalogue import Setting
from forks.learners.forks import memory_of
from forks.linalg import SJLT

KERNEL = Gaussian(50.0)
SEED = 0


class Stream(NamedTuple):
    """Rows, dense or CSR, and labels, -1 or +1."""

    X: Any
    y: Vector

    def first(self, n: int) -> "Stream":
        return Stream(self.X[:n], self.y[:n])

    def ordered(self, rows: Any) -> "Stream":
        return Stream(np.ascontiguousarray(self.X[rows]), np.ascontiguousarray(self.y[rows]))

    @property
    def targets(self) -> Matrix:
        """Labels as an engine takes them."""
        return np.ascontiguousarray(self.y.reshape(-1, 1))


@cache
def data_set(name: str) -> Stream:
    """Return a data set in the order of its file."""
    try:
        return Stream(*load(name))
    except FileNotFoundError as error:
        raise Missing(
            f"the data set {name} is not at hand: set FORKS_DATA to the folder that has it"
        ) from error


@cache
def shuffled(name: str) -> Stream:
    """Return a data set in a random order, always the same; some files are sorted by class."""
    stream = data_set(name)
    return stream.ordered(order(len(stream.y), SEED))


def paper_settings(rows: int) -> Iterator[tuple[str, Stream, Setting, dict[str, Any]]]:
    """Two data sets with the budgets of the paper and the bandwidths of the authors' code."""
    for name, kernel, budget in (("cod-rna", KERNEL, 100), ("spambase", Gaussian(8.0), 50)):
        stream = shuffled(name).first(rows)
        about = {"data": name, "rows": len(stream.y), "kernel": str(kernel), "budget": budget}
        yield name, stream, Setting(kernel, budget, len(stream.y)), about


def published(n_rounds: int, **changes: Any) -> FORKS:
    """The paper's setting: buffer 200, s_p 100, s_m 20, k 10."""
    return FORKS.as_published(kernel=KERNEL, n_rounds=n_rounds, **changes)


def released(**changes: Any) -> FORKS:
    """The setting of the authors' code: buffer 200, s_p 150, s_m 100, k 15."""
    return FORKS.as_released(kernel=KERNEL, **changes)


def settings_of(learner: FORKS, **others: Any) -> dict[str, Any]:
    return {"kernel": str(learner.kernel), **learner.sizes()._asdict(), **others}


def new_engine(learner: Learner, n_features: int) -> Engine:
    return Engine(learner, n_features, 1, np.random.default_rng(SEED))


def a_pass(model: Any, stream: Stream) -> Timed:
    """Play a stream with a new estimator or learner; the result is its scores."""
    player = player_for(type(model).__name__, model, classes=SIGNS)
    scores = player.play(*stream).scores
    return Timed(player.clock.seconds, scores)


def mistakes(scores: Any, stream: Stream) -> float:
    """Return the share of wrong scores in %, of the first rows of a stream."""
    return 100.0 * float(np.mean(is_mistake(scores, stream.y[: len(scores)])))


def made_up(n: int) -> Stream:
    """Make rows with a number each, which depends on three features and on noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return Stream(X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n))


def resident_megabytes() -> float:
    megabytes = resident_bytes() / 1e6
    if megabytes == 0.0:
        raise Missing("resident memory is read from /proc, which this system lacks")
    return megabytes


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
