"""Second-order memory: A = alpha I + sum_t c_t phi_t phi_t', kept as a square root of A^-1.

With A^-1 = S S' a round needs

    f = S' phi,   u = S f = A^-1 phi,   q = f'f = phi' A^-1 phi,

and A + c phi phi' has the inverse S (I - c/(1 + c q) f f') S', whose root is again explicit,

    S <- S - gamma u f',   gamma = c / (1 + c q + sqrt(1 + c q))

(Potter's form of the Kalman filter). O(k^2) like Sherman and Morrison's formula on A^-1, but S S'
is symmetric and positive semi-definite whatever the rounding, and S has only the square root of
the condition of A.
"""

from forks.engine import njit
from forks.engine.blocks import LANES, fma, load, splat, store, total


@njit
def half_solve(root, phi, f):
    """Write f = S' phi; return q = phi' A^-1 phi.

    S has k rows of padded(k) numbers, zero beyond k, and the vectors are padded alike.
    """
    k, width = root.shape
    squares = splat(0.0)
    for j in range(0, width, LANES):
        sums = splat(0.0)
        for i in range(k):
            sums = fma(splat(phi[i]), load(root, i * width + j), sums)
        store(sums, f, j)
        squares = fma(sums, sums, squares)
    return total(squares)


@njit
def solve(root, f, u):
    """Write u = S f = A^-1 phi."""
    k, width = root.shape
    for i in range(k):
        sums = splat(0.0)
        for j in range(0, width, LANES):
            sums = fma(load(root, i * width + j), load(f, j), sums)
        u[i] = total(sums)


@njit
def solve_and_absorb(root, f, u, gamma):
    """Write u = A^-1 phi, and make S the root for A + c phi phi', row by row in one pass."""
    k, width = root.shape
    for i in range(k):
        sums = splat(0.0)
        for j in range(0, width, LANES):
            sums = fma(load(root, i * width + j), load(f, j), sums)
        u[i] = total(sums)
        value = splat(-gamma * u[i])
        for j in range(0, width, LANES):
            store(fma(value, load(f, j), load(root, i * width + j)), root, i * width + j)
