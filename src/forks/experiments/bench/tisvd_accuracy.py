"""TISVD against dense decompositions.

The paper's experiment: a Gaussian 100 x 100 matrix, updates of three columns, k = 30.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from forks.engine import Matrix
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part
from forks.linalg import TISVD

_N, _RANK = 100, 30


def _deficient(rng: np.random.Generator) -> Any:
    """Three columns that span two dimensions, as in the update of FORKS."""
    s, psi = rng.standard_normal((2, _N))
    return np.column_stack([s, psi, s]), np.column_stack([psi, s, s])


def measure(updates: int = 500, long: int = 50_000) -> Iterator[Number]:
    """Follow the running matrix M <- M_k + D1 D2' by TISVD and by dense SVDs."""
    settings = {"n": _N, "rank": _RANK, "columns": 3, "updates": updates}
    kinds = {
        "rank-3 updates": lambda rng: rng.standard_normal((2, _N, 3)),
        "rank-deficient updates": _deficient,
    }
    for kind, update in kinds.items():
        rng = np.random.default_rng(SEED)
        M = rng.standard_normal((_N, _N))
        tisvd = TISVD(rank=_RANK).fit(M)
        M = _truncated(M)[0]
        values, whole = 0.0, 0.0
        for _ in range(updates):
            D1, D2 = update(rng)
            M, s = _truncated(M + D1 @ D2.T)
            tisvd.update(D1, D2)
            values = max(values, float(np.max(np.abs(tisvd.s - s) / s)))
            error = np.linalg.norm(tisvd.reconstruct() - M) / np.linalg.norm(M)
            whole = max(whole, float(error))
        worst = f"{kind}: worst relative error of a"
        yield Number(f"{worst} singular value", values, settings=settings)
        yield Number(f"{worst} reconstruction", whole, settings=settings)
        for _ in range(updates, long):
            tisvd.update(*update(rng))
        name = f"{kind}: orthogonality error after {max(updates, long):,}"
        error = max(np.abs(U.T @ U - np.eye(_RANK)).max() for U in (tisvd.U, tisvd.V))
        yield Number(name, float(error), settings={**settings, "updates": long}, at_most=1e-8)


def _truncated(M: Matrix) -> tuple[Matrix, Matrix]:
    U, s, Vt = np.linalg.svd(M)
    return (U[:, :_RANK] * s[:_RANK]) @ Vt[:_RANK], s[:_RANK]


PART = Part(__doc__, measure, {"long": 2_000})
