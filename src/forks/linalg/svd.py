"""The decompositions that TISVD is compared with, behind the same face: `fit`, `update`, U, s, V.

All follow a matrix M under updates M <- M + D1 D2'. They differ in what they keep, and in the cost
of an update of an n x n matrix:

    TISVD           k triplets, M being cut to rank k at each update    O(n k + k^3)
    TruncatedSVD    M, decomposed anew                                  O(n^3)
    RandomizedSVD   M, decomposed by random projections                 O(n^2 k)
    IncrementalSVD  all triplets, r of them                             O(n r^2), r up to n

The incremental decomposition (Brand, "Fast low-rank modifications of the thin singular value
decomposition", Linear Algebra and its Applications 415, 2006) is exact, and linear in n only while
the rank r of M stays small: an update of c columns adds up to c to it. TISVD is the same with a
cut; see the discussion in appendix B.3 of the FORKS paper.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import randomized_svd

from forks.engine import Matrix, Vector
from forks.engine.checks import whole
from forks.linalg._dense import (
    check_update,
    finite_matrix,
    truncated_svd,
)
from forks.linalg.tisvd import TISVD


class TruncatedSVD:
    """Rank-k SVD of a matrix that is kept whole, computed anew at every update.

    Parameters
    ----------
    rank : int
        Number of singular triplets to give. No more than min(n, m) exist; k is the smaller one.

    Attributes
    ----------
    U, s, V : arrays (n, k), (k,), (m, k)
        The k leading singular triplets of M, values descending.
    M : array (n, m)
        The matrix.

    Examples
    --------
    >>> TruncatedSVD(rank=1).fit([[3.0, 0.0], [0.0, 1.0]]).update([0.0, 1.0], [0.0, 4.0]).s
    array([5.])
    """

    U: Matrix
    s: Vector
    V: Matrix
    M: Matrix

    def __init__(self, rank: int) -> None:
        self.rank = whole("rank", rank, 1)

    def fit(self, M: ArrayLike) -> Self:
        """Start from M (n, m)."""
        return self._take(finite_matrix("M", M).copy(), "M")

    def update(self, D1: ArrayLike, D2: ArrayLike) -> Self:
        """Add D1 D2' to M, for D1 (n, c) and D2 (m, c); a vector counts as one column."""
        if not hasattr(self, "M"):
            raise ValueError("update needs a matrix to update: call fit first")
        D1, D2 = check_update(D1, D2, *self.M.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._take(self.M + D1 @ D2.T, "D1 D2'")

    def _take(self, M: Matrix, name: str) -> Self:
        self.U, self.s, self.V = self._decompose(M, name)
        self.M = M
        return self

    def _decompose(self, M: Matrix, name: str) -> tuple[Matrix, Vector, Matrix]:
        return truncated_svd(name, M, min(self.rank, *M.shape))

    def reconstruct(self) -> Matrix:
        """U diag(s) V', the best approximation of M of rank k."""
        return np.asarray((self.U * self.s) @ self.V.T)


class RandomizedSVD(TruncatedSVD):
    """Rank-k SVD by random projections, computed anew at every update: approximate, and faster.

    The work is that of `sklearn.utils.extmath.randomized_svd` (Halko, Martinsson, Tropp, SIAM
    Review 53, 2011).

    Parameters
    ----------
    rank : int
        As for `TruncatedSVD`.
    oversampling : int
        Random directions beyond k.
    power_iterations : int
        Multiplications by M M' that sharpen the directions.
    seed : int
        Of the random directions.
    """

    def __init__(
        self, rank: int, oversampling: int = 10, power_iterations: int = 2, seed: int = 0
    ) -> None:
        super().__init__(rank)
        self.oversampling = whole("oversampling", oversampling, 0)
        self.power_iterations = whole("power_iterations", power_iterations, 0)
        self.seed = whole("seed", seed, 0, 2**64 - 1)

    def _decompose(self, M: Matrix, name: str) -> tuple[Matrix, Vector, Matrix]:
        if not np.isfinite(M).all():
            raise ValueError(f"{name} is too large: the result exceeds the range of float64")
        U, s, Vt = randomized_svd(
            M,
            min(self.rank, *M.shape),
            n_oversamples=self.oversampling,
            n_iter=self.power_iterations,
            random_state=self.seed % 2**32,
        )
        return U, s, np.ascontiguousarray(Vt.T)


class IncrementalSVD(TISVD):
    """Exact incremental SVD: nothing is cut, so the number of triplets grows up to min(n, m).

    Attributes
    ----------
    U, s, V : arrays (n, r), (r,), (m, r)
        All singular triplets of M that are more than rounding errors.

    Examples
    --------
    >>> IncrementalSVD().fit([[3.0, 0.0], [0.0, 0.0]]).update([0.0, 1.0], [0.0, 1.0]).s
    array([3., 1.])
    """

    def __init__(self) -> None:
        super().__init__(rank=1)

    def __repr__(self) -> str:
        return "IncrementalSVD()"

    def _leading(self, name: str, M: Matrix, k: int) -> tuple[Matrix, Vector, Matrix]:
        U, s, V = truncated_svd(name, M, min(M.shape))
        r = max(1, int(np.count_nonzero(s > max(M.shape) * np.finfo(np.float64).eps * s[0])))
        return np.ascontiguousarray(U[:, :r]), s[:r], np.ascontiguousarray(V[:, :r])
