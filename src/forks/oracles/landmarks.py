"""The features of the adaptive learner: rows that stand for all others, a linear part, a bias."""

from collections.abc import Callable

import numpy as np

from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.kernels import laplacian as laplacian_kernel
from forks.oracles.scaling import FollowedScale, PlainScale

DEPENDENT = 1e-8  # share of the largest k(x, x): what a row has beyond the landmarks
WIDEST = 512  # features: more have no linear part


class Landmarks:
    """psi(x) = [k(z_1, x / c), ..., k(z_m, x / c), x / sqrt(d), 1], of scaled rows x.

    Scaled features are multiplied by their `relevance`, if there is one. c is `width` times the
    median distance of the rows that it is made from, and the landmarks z are those of them, divided
    by c, that the others depend on. L is the Cholesky factor of their kernel matrix: phi, with L^-1
    times the kernel values, has the identity as its prior. With `laplacian` the kernel is
    exp(-|x - z|_1), and c is 1.4 median sums of absolute differences. With `far` the tails of
    features are not drawn in; with `targets`, and their weights, some are not.
    """

    def __init__(
        self,
        X: Matrix,
        kernel: Kernel,
        *,
        scaled: bool = True,
        median: bool = True,
        linear: bool = True,
        relevance: Vector | None = None,
        width: float = 1.0,
        laplacian: bool = False,
        far: bool = False,
        targets: tuple[Matrix, Vector] | None = None,
    ):
        self.kernel = laplacian_kernel(1.0) if laplacian else kernel
        kernel, self.n_features = self.kernel, X.shape[1]
        self.linear = linear and self.n_features <= WIDEST
        self.relevance = np.ones(self.n_features) if relevance is None else relevance
        bounds = {"bound": 50.0, "draw_in": 0.0} if far else {}
        self.scale: Callable[[Matrix], Matrix] = PlainScale(X, **bounds) if scaled else lambda X: X
        if scaled and self.linear and targets is not None and not far:
            self.scale = FollowedScale(X, *targets)
        Z = self.scale(X) * self.relevance
        usual = 1.4 * median_sum(Z) if laplacian else median_distance(Z)
        self.divisor = width * (usual if median else 1.0)
        K = kernel(Z / self.divisor, Z / self.divisor)
        self.chosen = independent_rows(K, DEPENDENT)
        self.rows = Z[self.chosen] / self.divisor
        self.L = np.linalg.cholesky(K[np.ix_(self.chosen, self.chosen)])

    def psi(self, x: Vector) -> Vector:
        z = self.scale(x[None, :]) * self.relevance
        values = self.kernel(z / self.divisor, self.rows)[0]
        linear = z[0] / np.sqrt(self.n_features) if self.linear else np.zeros(0)
        return np.concatenate([values, linear, [1.0]])

    def phi(self, psi: Vector) -> Vector:
        m = len(self.rows)
        return np.concatenate([np.linalg.solve(self.L, psi[:m]), psi[m:]])


def independent_rows(K: Matrix, tolerance: float) -> list[int]:
    """Greedily choose the row farthest from the span of those chosen, until none is far.

    What a row has beyond the span is its Schur complement, of the kernel matrix K of all rows.
    """
    chosen: list[int] = []
    beyond = K.copy()
    while beyond.diagonal().max() > tolerance * K.diagonal().max():
        i = int(np.argmax(beyond.diagonal()))
        chosen.append(i)
        beyond = beyond - np.outer(beyond[:, i], beyond[i]) / beyond[i, i]
        beyond[i], beyond[:, i] = 0.0, 0.0
    return chosen


def median_distance(Z: Matrix) -> float:
    """Root of the median squared distance; of the mean one if most rows are alike."""
    squares = [np.sum((a - b) ** 2) for i, a in enumerate(Z) for b in Z[:i]]
    return float(np.sqrt(np.median(squares)) or np.sqrt(np.mean(squares)) or 1.0)


def median_sum(Z: Matrix) -> float:
    """Return the median of the sums of absolute differences; their mean if most rows are alike."""
    sums = [np.sum(np.abs(a - b)) for i, a in enumerate(Z) for b in Z[:i]]
    return float(np.median(sums) or np.mean(sums) or 1.0)
