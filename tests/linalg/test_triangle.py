"""The inverse Cholesky factor of a growing matrix, against numpy.linalg."""

import numpy as np
import pytest

from compiled import njit
from forks._simd import padded
from forks.linalg.triangle import backward, border, forward


@njit
def solve_and_grow(T, n, v, corner, f, u):
    q = forward(T, n, v, f)
    backward(T, n, f, u)
    border(T, n, u, corner - q)
    return q


def grow(M):
    """Feed M column by column; give T, and q and u of every column before it entered."""
    n = len(M)
    width = padded(n)
    T = np.zeros((n, width))
    solved = []
    f, u = np.full(width, np.nan), np.full(width, np.nan)  # scratch of any content
    for i in range(n):
        v = np.zeros(width)
        v[:i] = M[:i, i]
        q = solve_and_grow(T, i, v, M[i, i], f, u)
        assert (u[i : padded(i)] == 0.0).all()
        assert (f[i : padded(i)] == 0.0).all()
        solved.append((q, u[:i].copy()))
    return T, solved


def test_every_border_is_that_of_the_inverse():
    A = np.random.default_rng(0).normal(size=(27, 40))  # sizes between and at whole blocks
    M = A @ A.T
    T, solved = grow(M)
    np.testing.assert_allclose(T[:, :27], np.linalg.inv(np.linalg.cholesky(M)), atol=1e-12)
    assert (T[:, 27:] == 0.0).all()
    for i, (q, u) in enumerate(solved):
        expected = np.linalg.solve(M[:i, :i], M[:i, i])
        np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-12)
        assert q == pytest.approx(expected @ M[:i, i], rel=1e-10)


def test_a_dependent_row_is_left_at_zero():
    M = np.diag([4.0, 1.0, 9.0])
    M[1] = M[:, 1] = 0.0
    T, _ = grow(M)
    np.testing.assert_array_equal(T[:, :3], np.diag([0.5, 0.0, 1.0 / 3.0]))


def test_no_entry_is_subnormal():
    M = np.eye(3)
    M[0, 1] = M[1, 0] = 1e-305
    M[0, 2] = M[2, 0] = 1e-50
    T, _ = grow(M)
    assert T[1, 0] == 0.0
    assert T[2, 0] == -1e-50
