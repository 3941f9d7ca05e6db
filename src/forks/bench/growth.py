"""Time of a regular round against B, s_m, k and d, one of them at a time."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from forks.bench._clock import Contender, best_times, slope_of_upper_half
from forks.bench._data import SEED, new_engine
from forks.bench._effort import Effort
from forks.bench._record import Missing, Record
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.forks import COUNT, memory_of
from forks.typing import Matrix

_D = 8
AS_PUBLISHED, FIXED_RANK, ROUND = "s_m = 0.2 B, k = 0.1 B", "s_m = 0.2 B, k = 10", "regular round"


def measure(effort: Effort) -> Iterator[Record]:
    """Time rounds after the switch on rows whose labels are drawn: nearly all have loss."""
    for axis, curve, cases in _curves(effort):
        timed = best_times(
            {x: _rounds(learner, d, effort.growth_rows) for x, learner, d in cases}, effort.repeats
        )
        per_round = {x: 1e6 * one.seconds / effort.growth_rows for x, one in timed.items()}
        for x, learner, d in cases:
            yield Record(
                name=curve,
                value=per_round[x],
                unit="µs per round",
                against=axis,
                at=x,
                settings={**learner.sizes()._asdict(), "n_features": d},
            )
        yield Record(
            name=f"exponent of {axis}" + ("" if curve == ROUND else f" ({curve})"),
            value=slope_of_upper_half(list(per_round), list(per_round.values())),
            settings={"sizes": list(per_round)},
        )


def _curves(effort: Effort) -> Iterator[tuple[str, str, list[tuple[int, FORKS, int]]]]:
    """(axis, name of the curve, [(size, learner, d), ...])."""
    yield "B", AS_PUBLISHED, [(B, _published(budget=B), _D) for B in effort.budgets]
    yield "B", FIXED_RANK, [(B, _published(budget=B, rank=10), _D) for B in effort.budgets]
    most = max(effort.landmarks)
    sizes = {"buffer": 2 * most, "sketch_size": most, "rank": min(10, *effort.landmarks)}
    yield "s_m", ROUND, [(m, _published(n_landmarks=m, **sizes), _D) for m in effort.landmarks]
    most = max(effort.ranks)
    sizes = {"buffer": 4 * most, "sketch_size": 2 * most, "n_landmarks": most}
    yield "k", ROUND, [(k, _published(rank=k, **sizes), _D) for k in effort.ranks]
    yield "d", ROUND, [(d, _published(bandwidth=math.sqrt(d)), d) for d in effort.widths]


def _published(bandwidth: float = math.sqrt(_D), **changes: Any) -> FORKS:
    kernel = Gaussian(bandwidth)
    return FORKS.as_published(kernel=kernel, n_rounds=1, **{"update_cycle": 0, **changes})


def _rounds(learner: FORKS, d: int, n: int) -> Contender:
    rng = np.random.default_rng(SEED)

    def drawn(n: int) -> tuple[Matrix, Matrix]:
        return rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], (n, 1))

    engine = new_engine(learner, d)
    engine.learn(*drawn(4 * learner.sizes().buffer + 100))
    if memory_of(engine.memory).hot.counts[COUNT.stage] == 0:
        raise Missing("the stream ended in stage one")
    start = engine.memory.copy()
    X, y = drawn(n)

    def prepare() -> Callable[[], Matrix]:
        engine.memory = start.copy()
        return lambda: engine.learn(X, y)

    return prepare
