"""The Nystrom feature map of a set of points: the leading eigenvectors of their kernel matrix.

With K = V Lambda V' of n points, restricted to the k largest eigenvalues,

    phi(x) = Z' [k(x, x_1), ..., k(x, x_n)]',    Z = V Lambda^(-1/2),

gives phi(x_i)'phi(x_j) = (V Lambda V')_ij, the best approximation of K of rank k, and K itself
for k = n. A function sum_i alpha_i k(x_i, .) becomes w'phi with w = Lambda^(1/2) V' alpha: equal to
it on the points if k = n, and else its projection on the span of the features.

Reference: Williams and Seeger, "Using the Nystrom method to speed up kernel machines", NIPS 2000.
"""

import numpy as np

from forks.engine import Matrix, Points, dense_points
from forks.kernels import Kernel, kernel_block
from forks.linalg import leading_eigenpairs


def nystrom_map(
    kernel: Kernel, points: Points, n: int, rank: int, cut: float
) -> tuple[Matrix, Matrix]:
    """Return Z = V Lambda^(-1/2) and Lambda^(1/2) V', (n, k) and (k, n), for the first n points.

    Eigenvalues up to `cut` times the largest are rounding errors: their features are zero.
    """
    K = kernel_block(kernel, dense_points(points, n), points, n)
    values, vectors = leading_eigenpairs(0.5 * (K + K.T), rank)
    kept = values > cut * max(float(values[-1]), 0.0)
    roots = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)
    return vectors * inverse, roots[:, None] * vectors.T
