"""Second-order memory: A = alpha I + sum_t c_t phi_t phi_t', kept as a square root of A^-1.

With A^-1 = S S' a round needs

    f = S' phi,   u = S f = A^-1 phi,   q = f'f = phi' A^-1 phi,

and A + c phi phi' has the inverse S (I - c/(1 + c q) f f') S', whose root is again explicit,

    S <- S - gamma u f',   gamma = c / (1 + c q + sqrt(1 + c q))

(Potter's form of the Kalman filter). O(k^2) like Sherman and Morrison's formula on A^-1, but S S'
is symmetric and positive semi-definite whatever the rounding, and S has only the square root of
the condition of A.
"""

from forks._jit import njit


@njit
def solve(root, phi, f, u):
    """Write f = S' phi and u = A^-1 phi; return q = phi' A^-1 phi."""
    k = phi.shape[0]
    for j in range(k):
        f[j] = 0.0
    for i in range(k):
        value = phi[i]
        for j in range(k):
            f[j] += root[i, j] * value
    q = 0.0
    for j in range(k):
        q += f[j] * f[j]
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += root[i, j] * f[j]
        u[i] = total
    return q


@njit
def absorb(root, f, u, gamma):
    """Make S the root of the inverse of A + c phi phi', with gamma as above."""
    k = f.shape[0]
    for i in range(k):
        value = gamma * u[i]
        for j in range(k):
            root[i, j] -= value * f[j]
