"""Positive definite matrices in their lower triangles, against NumPy."""

import numpy as np
import pytest

from forks.linalg import definite

SIZES = [1, 2, 79, 80, 81, 163, 308]


def made(n, seed=0):
    """A positive definite matrix, and the same with garbage above its diagonal."""
    M = np.random.default_rng(seed).normal(size=(n, n + 5))
    A = M @ M.T / n + np.eye(n)
    return A, np.where(np.tri(n) > 0.0, A, np.nan)


def whole(lower):
    lower = np.tril(lower)
    return lower + np.tril(lower, -1).T


@pytest.mark.parametrize("n", SIZES)
def test_factor_solution_inverse_and_product(n):
    A, lower = made(n)
    B = np.random.default_rng(1).normal(size=(n, 3))
    np.testing.assert_allclose(definite.multiply(lower, B), A @ B, rtol=1e-12, atol=1e-12)
    factor = definite.factorise(lower)
    assert np.shares_memory(factor, lower)  # in place
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A @ definite.solve(factor, B), B, atol=1e-11)
    np.testing.assert_allclose(whole(definite.invert(factor)) @ A, np.eye(n), atol=1e-11)


@pytest.mark.parametrize("k", [0, 1, 4])
def test_less_squares(k):
    A, lower = made(20)
    V = np.random.default_rng(2).normal(size=(k, 20))
    less = definite.less_squares(lower, V)
    assert np.shares_memory(less, lower)
    np.testing.assert_allclose(whole(less), A - V.T @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spoil", [-1.0, 0.0, np.nan])
@pytest.mark.parametrize("at", [0, 40, 89])
def test_what_is_not_positive_definite_is_refused(spoil, at):
    A, _ = made(90)
    A[at, at] = spoil
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        definite.factorise(A)
