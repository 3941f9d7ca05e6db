"""Time of a regular round against B, s_m, k, d and non-zeros, one of them at a time."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Matrix
from forks.experiments.bench._clock import Contender, best_times, slope_of_upper_half
from forks.experiments.bench._data import SEED, new_engine
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Missing, Record
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_D = 8
_WIDE = 10_000  # features of sparse rows
AS_PUBLISHED, FIXED_RANK, ROUND = "s_m = 0.2 B, k = 0.1 B", "s_m = 0.2 B, k = 10", "regular round"


def measure(effort: Effort) -> Iterator[Record]:
    """Time rounds after the switch on rows whose labels are drawn: nearly all have loss."""
    for axis, curve, cases in _curves(effort):
        timed = best_times(
            {x: _rounds(learner, rows, effort.growth_rows) for x, learner, rows in cases},
            effort.repeats,
        )
        per_round = {x: 1e6 * one.seconds / effort.growth_rows for x, one in timed.items()}
        for x, learner, rows in cases:
            yield Record(
                name=curve,
                value=per_round[x],
                unit="µs per round",
                against=axis,
                at=x,
                settings={**learner.sizes()._asdict(), **rows._asdict()},
            )
        yield Record(
            name=f"exponent of {axis}" + ("" if curve == ROUND else f" ({curve})"),
            value=slope_of_upper_half(list(per_round), list(per_round.values())),
            settings={"sizes": list(per_round)},
        )


class _Rows(NamedTuple):
    """Form of the rows: dense, or sparse with so many non-zeros each."""

    n_features: int
    n_nonzeros: int | None = None


def _curves(effort: Effort) -> Iterator[tuple[str, str, list[tuple[int, FORKS, _Rows]]]]:
    """(axis, name of the curve, [(size, learner, form of the rows), ...])."""
    rows = _Rows(_D)
    yield "B", AS_PUBLISHED, [(B, _published(budget=B), rows) for B in effort.budgets]
    yield "B", FIXED_RANK, [(B, _published(budget=B, rank=10), rows) for B in effort.budgets]
    most = max(effort.landmarks)
    sizes = {"buffer": 2 * most, "sketch_size": most, "rank": min(10, *effort.landmarks)}
    yield "s_m", ROUND, [(m, _published(n_landmarks=m, **sizes), rows) for m in effort.landmarks]
    most = max(effort.ranks)
    sizes = {"buffer": 4 * most, "sketch_size": 2 * most, "n_landmarks": most}
    yield "k", ROUND, [(k, _published(rank=k, **sizes), rows) for k in effort.ranks]
    yield "d", ROUND, [(d, _published(bandwidth=math.sqrt(d)), _Rows(d)) for d in effort.widths]
    sparse_cases = [
        (z, _published(bandwidth=math.sqrt(z)), _Rows(_WIDE, z)) for z in effort.nonzeros
    ]
    yield "z", ROUND, sparse_cases


def _published(bandwidth: float = math.sqrt(_D), **changes: Any) -> FORKS:
    kernel = Gaussian(bandwidth)
    return FORKS.as_published(kernel=kernel, n_rounds=1, **{"update_cycle": 0, **changes})


def _rounds(learner: FORKS, rows: _Rows, n: int) -> Contender:
    rng = np.random.default_rng(SEED)

    def drawn(n: int) -> tuple[Any, Matrix]:
        return _drawn_rows(rng, rows, n), rng.choice([-1.0, 1.0], (n, 1))

    engine = new_engine(learner, rows.n_features)
    engine.learn(*drawn(4 * learner.sizes().buffer + 100))
    if memory_of(engine.memory).hot.counts[COUNT.stage] == 0:
        raise Missing("the stream ended in stage one")
    start = engine.memory.copy()
    X, y = drawn(n)

    def prepare() -> Callable[[], Matrix]:
        engine.memory = start.copy()
        return lambda: engine.learn(X, y)

    return prepare


def _drawn_rows(rng: np.random.Generator, rows: _Rows, n: int) -> Any:
    d, z = rows
    if z is None:
        return rng.standard_normal((n, d))
    columns = rng.integers(d - z + 1, size=(n, 1)) + np.arange(z)  # z neighbours, anywhere
    starts = np.arange(0, n * z + 1, z)
    values = rng.standard_normal(n * z)
    return sparse.csr_array((values, columns.ravel(), starts), shape=(n, d))
