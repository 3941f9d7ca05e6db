"""Positive definite matrices in their lower triangles, against NumPy."""

import numpy as np
import pytest

from forks.linalg import spd

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
def test_factor_solutions_and_products(n):
    A, lower = made(n)
    B = np.random.default_rng(1).normal(size=(n, 3))
    L = spd.factorise(lower)
    assert np.shares_memory(L, lower)  # in place
    np.testing.assert_array_equal(L, np.tril(L))
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(L @ L.T, A, **close)
    np.testing.assert_allclose(A @ spd.solve(L, B), B, **close)
    np.testing.assert_allclose(L.T @ spd.solve_upper(L, B), B, **close)
    np.testing.assert_allclose(spd.times_lower(B.T, L), B.T @ L, **close)


@pytest.mark.parametrize("k", [1, 4, 30])
def test_squares(k):
    A, lower = made(20)
    V = np.random.default_rng(2).normal(size=(20, k))
    np.testing.assert_allclose(np.tril(spd.squares(V)), np.tril(V @ V.T), atol=1e-12)
    more = spd.add_squares(lower, V)
    assert np.shares_memory(more, lower)
    np.testing.assert_allclose(whole(more), A + V @ V.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e9, 1e100])
def test_factor_of_a_sum(size):
    """Where the sum is singular to rounding, the factor is still that of the sum."""
    F, h = np.random.default_rng(0).normal(size=(5, 12)), np.linspace(0.0, 2.0, 5)
    L = spd.factorise_sum(0.5, size * F, h)
    A = 0.5 * np.eye(12) + (size * F).T @ (h[:, None] * (size * F))
    assert np.all(np.diagonal(L) > 0.0)
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12, atol=1e-12 * np.abs(A).max())
    # of the 12 directions 8 have no row (one has weight zero): the prior is what they have
    smallest = np.linalg.svd(L, compute_uv=False)[-8:]
    if size < 1e50:
        np.testing.assert_allclose(smallest, np.sqrt(0.5), rtol=1e-6 * max(1.0, size * 1e-6))


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_factor_of_a_sum_of_rows_that_count_alike(size):
    F = size * np.random.default_rng(0).normal(size=(5, 12))
    L, A = spd.factorise_sum(0.5, F, np.full(5, 0.3)), 0.5 * np.eye(12) + 0.3 * F.T @ F
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12, atol=1e-12 * np.abs(A).max())


def test_a_sum_beyond_all_bounds_is_refused():
    with np.errstate(over="ignore"), pytest.raises(np.linalg.LinAlgError):
        spd.factorise_sum(0.5, np.full((3, 4), 1e300), np.full(3, 1e300))


@pytest.mark.parametrize("spoil", [-1.0, 0.0, np.nan])
@pytest.mark.parametrize("at", [0, 40, 89])
def test_what_is_not_positive_definite_is_refused(spoil, at):
    A, _ = made(90)
    A[at, at] = spoil
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        spd.factorise(A)
