"""Lower triangles by halves, against NumPy."""

import numpy as np
import pytest

from forks.linalg import triangles

SIZES = [1, 2, 80, 81, 163, 400]
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def lower(n, seed):
    L = np.tril(np.random.default_rng(seed).normal(size=(n, n))) / np.sqrt(n)
    return L + np.diag(np.sign(np.diagonal(L)))


@pytest.mark.parametrize("n", SIZES)
def test_products_solutions_and_inverse(n):
    L, B = lower(n, 0), lower(n, 1)
    for got in (triangles.times(L, B), triangles.solve(L, B), triangles.invert(L)):
        np.testing.assert_array_equal(got, np.tril(got))
    np.testing.assert_allclose(triangles.times(L, B), L @ B, **CLOSE)
    np.testing.assert_allclose(L @ triangles.solve(L, B), B, **CLOSE)
    np.testing.assert_allclose(L @ triangles.invert(L), np.eye(n), **CLOSE)


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.5])
@pytest.mark.parametrize("n", SIZES)
def test_squares_are_added_in_place(n, factor):
    V, A = lower(n, 2), np.random.default_rng(3).normal(size=(n, n))
    expected = np.tril(A + factor * (V @ V.T))
    assert triangles.add_squares(A, V, factor) is A
    np.testing.assert_allclose(np.tril(A), expected, **CLOSE)
