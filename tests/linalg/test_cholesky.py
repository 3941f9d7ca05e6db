"""The growing Cholesky factor against dense linear algebra."""

import numpy as np
import pytest

from compiled import njit
from forks.engine.blocks import padded
from forks.kernels import Gaussian, kernel_block
from forks.linalg import cholesky
from forks.parts.projection import CUT
from kept_points import kept_points


@njit
def _solve(L, n, v, f, u):
    q = cholesky.forward(L, n, v, f)
    cholesky.backward(L, n, f, u)
    return q


@njit
def _border(L, n, f, pivot):
    cholesky.border(L, n, f, pivot)


def solve(L, n, v):
    width = L.shape[1]
    padded_v = np.zeros(width)
    padded_v[:n] = v
    f, u = np.full(width, 7.0), np.full(width, 7.0)
    q = _solve(L, n, padded_v, f, u)
    return q, f[:n], u[:n]


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31])
def test_substitution_is_that_of_numpy(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n + 3))
    M, v = A @ A.T, rng.standard_normal(n)
    L = np.zeros((n, padded(n)))
    L[:, :n] = np.linalg.cholesky(M)
    q, f, u = solve(L, n, v)
    np.testing.assert_allclose(f, np.linalg.solve(L[:, :n], v), rtol=1e-9)
    np.testing.assert_allclose(u, np.linalg.solve(M, v), rtol=1e-7)
    assert q == pytest.approx(v @ np.linalg.solve(M, v))


def test_a_factor_stays_exact_as_rows_come_to_depend_on_each_other():
    """Points that a wide kernel hardly tells apart: pivots down to 1e-10, hundreds of rows."""
    X = np.random.default_rng(0).standard_normal((900, 3))
    K = kernel_block(Gaussian(2.0), X, kept_points(X), len(X))
    L, chosen, smallest = np.zeros((400, 400)), [], 1.0
    for i in range(len(X)):
        n = len(chosen)
        q, f, _ = solve(L, n, K[i, chosen])
        if 1.0 - q > CUT and n < 400:
            padded_f = np.zeros(400)
            padded_f[:n] = f
            _border(L, n, padded_f, 1.0 - q)
            chosen.append(i)
            smallest = min(smallest, 1.0 - q)
    n = len(chosen)
    assert n > 100
    assert smallest < 1e-9
    np.testing.assert_allclose(L[:n, :n] @ L[:n, :n].T, K[np.ix_(chosen, chosen)], atol=1e-12)
    far, _, _ = solve(L, n, np.zeros(n))
    assert far == 0.0  # a point far away is told from the span
