"""TISVD: against a dense decomposition of the same running matrix, and its time per update."""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.utils.extmath import randomized_svd

from forks.engine import Matrix
from forks.experiments.bench._clock import Contender, best_times, slope_of_upper_half
from forks.experiments.bench._data import SEED
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.linalg import TISVD

_N, _RANK, _COLUMNS = 100, 30, 3  # the paper's experiment
TISVD_TIME, FULL_TIME, RANDOM_TIME = "TISVD, one update", "NumPy, full SVD", "randomized SVD"

_Update = Callable[[np.random.Generator, int], tuple[Matrix, Matrix]]


def _gaussian(rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
    return rng.standard_normal((n, _COLUMNS)), rng.standard_normal((n, _COLUMNS))


def _deficient(rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
    """Three columns that span two dimensions, as in the update of FORKS."""
    s, psi = rng.standard_normal((2, n))
    return np.column_stack([s, psi, s]), np.column_stack([psi, s, s])


_KINDS: dict[str, _Update] = {"rank-3 updates": _gaussian, "rank-deficient updates": _deficient}


def measure_accuracy(effort: Effort) -> Iterator[Record]:
    """Follow the running matrix M <- M_k + D1 D2' by TISVD and by dense SVDs."""
    settings = {"n": _N, "rank": _RANK, "columns": _COLUMNS}
    for kind, update in _KINDS.items():
        rng = np.random.default_rng(SEED)
        M = rng.standard_normal((_N, _N))
        tisvd = TISVD(rank=_RANK).fit(M)
        M = _truncated(M)[0]
        values, whole = 0.0, 0.0
        for _ in range(effort.svd_updates):
            D1, D2 = update(rng, _N)
            M, s = _truncated(M + D1 @ D2.T)
            tisvd.update(D1, D2)
            values = max(values, float(np.max(np.abs(tisvd.s - s) / s)))
            error = np.linalg.norm(tisvd.reconstruct() - M) / np.linalg.norm(M)
            whole = max(whole, float(error))
        told = {**settings, "updates": effort.svd_updates}
        for what, value in (("singular value", values), ("reconstruction", whole)):
            name = f"{kind}: worst relative error of a {what}"
            yield Record(name=name, value=value, settings=told)
        for _ in range(effort.svd_updates, effort.svd_long):
            tisvd.update(*update(rng, _N))
        yield Record(
            name=f"{kind}: orthogonality error after {max(effort.svd_updates, effort.svd_long):,}",
            value=max(map(_orthogonality_error, (tisvd.U, tisvd.V))),
            at_most=1e-8,
            settings={**settings, "updates": effort.svd_long},
        )


def _truncated(M: Matrix) -> tuple[Matrix, Matrix]:
    U, s, Vt = np.linalg.svd(M)
    return (U[:, :_RANK] * s[:_RANK]) @ Vt[:_RANK], s[:_RANK]


def _orthogonality_error(U: Matrix) -> float:
    return float(np.abs(U.T @ U - np.eye(U.shape[1])).max())


def measure_time(effort: Effort) -> Iterator[Record]:
    """Time an update of an n x n matrix of rank 30, and decompositions of the changed matrix."""
    contenders: dict[tuple[str, int], Contender] = {}
    for n in effort.svd_sizes:
        contenders[TISVD_TIME, n] = _incremental(n, effort.svd_batch)
    timed = best_times(contenders, effort.repeats)
    seconds = {key: one.seconds / effort.svd_batch for key, one in timed.items()}
    dense: dict[tuple[str, int], Contender] = {}
    for n in effort.svd_sizes:
        dense[RANDOM_TIME, n] = _dense(n, lambda M: randomized_svd(M, _RANK, random_state=SEED))
        if n <= effort.svd_full_up_to:
            dense[FULL_TIME, n] = _dense(n, np.linalg.svd)
    for key, one in best_times(dense, min(3, effort.repeats), warm_up=False).items():
        seconds[key] = one.seconds
    for (name, n), value in seconds.items():
        yield Record(
            name=name,
            value=1e3 * value,
            unit="ms",
            against="n",
            at=n,
            settings={"rank": _RANK, "columns": _COLUMNS},
        )
    sizes = list(effort.svd_sizes)
    for name in (TISVD_TIME, RANDOM_TIME):
        yield Record(
            name=f"exponent of n, {name}",
            value=slope_of_upper_half(sizes, [seconds[name, n] for n in sizes]),
            settings={"sizes": sizes},
        )
    n = sizes[-1]
    yield Record(
        name=f"randomized SVD against TISVD at n = {n:,}",
        value=seconds[RANDOM_TIME, n] / seconds[TISVD_TIME, n],
        unit="times the time",
        settings={"n": n, "rank": _RANK},
    )


def _low_rank(n: int) -> tuple[TISVD, np.random.Generator]:
    """A decomposition of rank 30, put together rather than computed from a dense matrix."""
    rng = np.random.default_rng(SEED)
    tisvd = TISVD(rank=_RANK)
    tisvd.U, tisvd.V = (np.linalg.qr(rng.standard_normal((n, _RANK)))[0] for _ in range(2))
    tisvd.s = n * np.linspace(2.0, 1.0, _RANK)
    return tisvd, rng


def _incremental(n: int, batch: int) -> Contender:
    _, rng = _low_rank(n)
    updates = [_gaussian(rng, n) for _ in range(batch)]

    def prepare() -> Callable[[], None]:
        tisvd, _ = _low_rank(n)

        def play() -> None:
            for D1, D2 in updates:
                tisvd.update(D1, D2)

        return play

    return prepare


def _dense(n: int, decompose: Callable[[Matrix], object]) -> Contender:
    def prepare() -> Callable[[], object]:
        tisvd, rng = _low_rank(n)
        D1, D2 = _gaussian(rng, n)
        M = tisvd.reconstruct() + D1 @ D2.T
        return lambda: decompose(M)

    return prepare
