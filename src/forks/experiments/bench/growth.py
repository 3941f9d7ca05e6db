"""Growth of the regular round.

Time per round after the switch, nearly every round with loss, on Gaussian rows; the others fixed at
s_m 20, k 10, d 8 (against s_m: k 10; against k: the largest k as s_m); z are the non-zeros of a
sparse row among 10,000 features. Exponents are fitted to the upper half of each range. The paper's
bound O(B k + k^2) is linear in B at fixed k; its settings let k grow with B.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Matrix
from forks.experiments import style
from forks.experiments.bench._data import SEED, new_engine
from forks.experiments.bench._part import Number, Part, curves
from forks.experiments.bench._timing import Contender, Timed, best_times, slope_of_upper_half, timed
from forks.experiments.record import Missing
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_D = 8
_WIDE = 10_000  # features of sparse rows
_ROUND = "regular round"
_AXES = {
    "B": "budget B",
    "s_m": "landmarks s_m",
    "k": "rank k",
    "d": "features d",
    "z": "non-zeros of a sparse row with 10,000 features",
}


class _Size(NamedTuple):
    """A point of a curve: its size, the learner, and the form of the rows."""

    size: int
    learner: FORKS
    n_features: int = _D
    n_nonzeros: int | None = None  # None for dense rows


def measure(
    rounds: int = 4_000,
    repeats: int = 7,
    budgets: Sequence[int] = (50, 100, 200, 400, 800),
    landmarks: Sequence[int] = (10, 20, 40, 80, 160, 320, 640),
    ranks: Sequence[int] = (5, 10, 20, 40, 80, 160),
    widths: Sequence[int] = (4, 8, 16, 32, 64, 128, 256, 512),
    nonzeros: Sequence[int] = (5, 10, 20, 40, 80, 160, 320),
) -> Iterator[Number]:
    """Time rounds after the switch on rows whose labels are drawn: nearly all have loss."""
    fixed = [_Size(B, _published(budget=B, rank=10)) for B in budgets]
    yield from _curve("B", "s_m = 0.2 B, k = 0.1 B", _over("budget", budgets), rounds, repeats)
    yield from _curve("B", "s_m = 0.2 B, k = 10", fixed, rounds, repeats)
    most = max(landmarks)
    sizes = {"buffer": 2 * most, "sketch_size": most, "rank": min(10, *landmarks)}
    yield from _curve("s_m", _ROUND, _over("n_landmarks", landmarks, **sizes), rounds, repeats)
    most = max(ranks)
    sizes = {"buffer": 4 * most, "sketch_size": 2 * most, "n_landmarks": most}
    yield from _curve("k", _ROUND, _over("rank", ranks, **sizes), rounds, repeats)
    wide = [_Size(d, _published(bandwidth=math.sqrt(d)), d) for d in widths]
    yield from _curve("d", _ROUND, wide, rounds, repeats)
    few = [_Size(z, _published(bandwidth=math.sqrt(z)), _WIDE, z) for z in nonzeros]
    yield from _curve("z", _ROUND, few, rounds, repeats)


def _over(name: str, sizes: Sequence[int], **others: int) -> list[_Size]:
    return [_Size(size, _published(**{name: size}, **others)) for size in sizes]


def _published(bandwidth: float = math.sqrt(_D), **changes: Any) -> FORKS:
    return FORKS.as_published(kernel=Gaussian(bandwidth), n_rounds=1, update_cycle=0, **changes)


def _curve(
    axis: str, name: str, cases: Sequence[_Size], rounds: int, repeats: int
) -> Iterator[Number]:
    times = best_times({case.size: _contender(case, rounds) for case in cases}, repeats)
    per_round = {size: 1e6 * one.seconds / rounds for size, one in times.items()}
    for size, learner, d, z in cases:
        settings = {**learner.sizes()._asdict(), "n_features": d, "n_nonzeros": z}
        yield Number(name, per_round[size], "µs per round", settings, axis, size)
    slope = slope_of_upper_half(list(per_round), list(per_round.values()))
    yield Number(_exponent(axis, name), slope, settings={"sizes": list(per_round)})


def _exponent(axis: str, name: str) -> str:
    return f"exponent of {axis}" + ("" if name == _ROUND else f" ({name})")


def _contender(case: _Size, n: int) -> Contender:
    rng = np.random.default_rng(SEED)

    def drawn(n: int) -> tuple[Any, Matrix]:
        return _drawn_rows(rng, case, n), rng.choice([-1.0, 1.0], (n, 1))

    engine = new_engine(case.learner, case.n_features)
    engine.learn(*drawn(4 * case.learner.sizes().buffer + 100))
    if memory_of(engine.memory).hot.counts[COUNT.stage] == 0:
        raise Missing("the stream ended in stage one")
    start = engine.memory.copy()
    X, y = drawn(n)

    def play() -> Timed:
        engine.memory = start.copy()
        return timed(lambda: engine.learn(X, y))

    return play


def _drawn_rows(rng: np.random.Generator, case: _Size, n: int) -> Any:
    d, z = case.n_features, case.n_nonzeros
    if z is None:
        return rng.standard_normal((n, d))
    columns = rng.integers(d - z + 1, size=(n, 1)) + np.arange(z)  # z neighbours, anywhere
    parts = rng.standard_normal(n * z), columns.ravel(), np.arange(0, n * z + 1, z)
    return sparse.csr_array(parts, shape=(n, d))


def draw(numbers: Sequence[Number]) -> Any:
    """Draw the time of a regular round against B, s_m, k, d and non-zeros."""
    figure, panels = style.figure(9.6, 10.0, 3, 2)
    exponents = {number.name: number.value for number in numbers if not number.against}
    panels[-1, -1].set_visible(False)
    for axes, axis in zip(panels.ravel(), _AXES, strict=False):
        for colour, (name, at, values) in zip(style.CYCLE, curves(numbers, axis), strict=False):
            label = "" if name == _ROUND else f"{name}: "
            label += f"exponent {exponents[_exponent(axis, name)]:.2f}"
            axes.loglog(at, values, color=colour, **style.POINTS, label=label)
        style.plain_ticks(axes)
        style.finish(axes, _AXES[axis], "µs per round")
    return figure


PART = Part(__doc__, measure, {"rounds": 1_500, "repeats": 3}, draw)
