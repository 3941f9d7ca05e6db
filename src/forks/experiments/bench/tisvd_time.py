"""TISVD: time per update.

An n x n matrix, k = 30, Gaussian updates of three columns; scikit-learn's `randomized_svd` and
NumPy's SVD decompose the changed matrix anew.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from forks.engine import Matrix
from forks.experiments import style
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part, curves
from forks.experiments.bench._timing import Contender, Timed, best_times, slope_of_upper_half, timed
from forks.linalg import TISVD

_RANK, _COLUMNS = 30, 3
_BATCH = 50  # updates that are timed together
_TISVD, _RANDOM, _FULL = "TISVD, one update", "randomized SVD", "NumPy, full SVD"


def measure(
    sizes: Sequence[int] = (100, 200, 400, 800, 1_600, 3_200),
    full_up_to: int = 400,
    repeats: int = 7,
) -> Iterator[Number]:
    """Time an update of an n x n matrix of rank 30, and decompositions of the changed matrix."""
    times = best_times({n: _incremental(n) for n in sizes}, repeats)
    seconds = {(_TISVD, n): one.seconds / _BATCH for n, one in times.items()}
    dense: dict[tuple[str, int], Contender] = {}
    for n in sizes:
        random = partial(randomized_svd, n_components=_RANK, random_state=SEED)
        dense[_RANDOM, n] = partial(_dense, n, random)
        if n <= full_up_to:
            dense[_FULL, n] = partial(_dense, n, np.linalg.svd)
    for key, one in best_times(dense, min(3, repeats), warm_up=False).items():
        seconds[key] = one.seconds
    for (name, n), value in seconds.items():
        yield Number(name, 1e3 * value, "ms", {"rank": _RANK, "columns": _COLUMNS}, "n", n)
    for name in (_TISVD, _RANDOM):
        slope = slope_of_upper_half(sizes, [seconds[name, n] for n in sizes])
        yield Number(f"exponent of n, {name}", slope, settings={"sizes": list(sizes)})
    n = sizes[-1]
    ratio = seconds[_RANDOM, n] / seconds[_TISVD, n]
    name = f"randomized SVD against TISVD at n = {n:,}"
    yield Number(name, ratio, "times the time", {"n": n, "rank": _RANK})


def _low_rank(n: int) -> tuple[TISVD, np.random.Generator]:
    """A decomposition of rank 30, put together rather than computed from a dense matrix."""
    rng = np.random.default_rng(SEED)
    tisvd = TISVD(rank=_RANK)
    tisvd.U, tisvd.V = (np.linalg.qr(rng.standard_normal((n, _RANK)))[0] for _ in range(2))
    tisvd.s = n * np.linspace(2.0, 1.0, _RANK)
    return tisvd, rng


def _incremental(n: int) -> Contender:
    _, rng = _low_rank(n)
    updates = [tuple(rng.standard_normal((2, n, _COLUMNS))) for _ in range(_BATCH)]

    def play() -> Timed:
        tisvd, _ = _low_rank(n)

        def update() -> None:
            for D1, D2 in updates:
                tisvd.update(D1, D2)

        return timed(update)

    return play


def _dense(n: int, decompose: Callable[[Matrix], object]) -> Timed:
    tisvd, rng = _low_rank(n)
    D1, D2 = rng.standard_normal((2, n, _COLUMNS))
    M = tisvd.reconstruct() + D1 @ D2.T
    return timed(lambda: decompose(M))


def draw(numbers: Sequence[Number]) -> Any:
    """Draw the time of an update against n."""
    figure, ((axes,),) = style.figure(7.2, 4.8)
    exponents = {number.name: number.value for number in numbers if not number.against}
    for colour, (name, at, values) in zip(style.CYCLE, curves(numbers, "n"), strict=False):
        slope = exponents.get(f"exponent of n, {name}")
        label = name if slope is None else f"{name}: exponent {slope:.2f}"
        axes.loglog(at, values, color=colour, **style.POINTS, label=label)
    style.plain_ticks(axes)
    style.finish(axes, "rows and columns n", "ms")
    return figure


PART = Part(__doc__, measure, {"repeats": 3}, draw)
