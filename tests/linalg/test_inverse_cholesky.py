"""The growing triangle against dense inverses."""

import numpy as np
import pytest

from compiled import njit
from forks.engine.blocks import padded
from forks.linalg import inverse_cholesky as triangle


@njit
def forward(T, n, v, f):
    return triangle.forward(T, n, v, f)


@njit
def backward(T, n, f, u):
    triangle.backward(T, n, f, u)


@njit
def border(T, n, u, pivot):
    triangle.border(T, n, u, pivot)


@njit
def absorb(T, n, f, u, c):
    triangle.absorb(T, n, f, u, c)


def vector(values, width):
    out = np.zeros(width)
    out[: len(values)] = values
    return out


def grow(M, room):
    """Build the triangle of M row by row."""
    width = padded(room)
    T, f, u = np.zeros((room, width)), np.full(width, 7.0), np.full(width, 7.0)
    for n in range(len(M)):
        q = forward(T, n, vector(M[n, :n], width), f)
        backward(T, n, f, u)
        border(T, n, u, M[n, n] - q if M[n, n] - q > 1e-10 * M[n, n] else 0.0)
    return T


def matrix(n, seed=0):
    B = np.random.default_rng(seed).normal(size=(n, n + 3))
    return B @ B.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 21, 32])
def test_a_grown_triangle_solves(n):
    M, room = matrix(n), 35
    T = grow(M, room)
    np.testing.assert_allclose(T[:n, :n].T @ T[:n, :n], np.linalg.inv(M), rtol=1e-9, atol=1e-12)
    assert not T[:, n:].any()
    width = T.shape[1]
    v = np.random.default_rng(1).normal(size=n)
    f, u = np.full(width, 7.0), np.full(width, 7.0)
    q = forward(T, n, vector(v, width), f)
    backward(T, n, f, u)
    expected = np.linalg.solve(M, v)
    np.testing.assert_allclose(u[:n], expected, rtol=1e-9, atol=1e-12)
    assert q == pytest.approx(v @ expected)
    assert not f[n : padded(n)].any()
    assert not u[n : padded(n)].any()


@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 21, 32])
@pytest.mark.parametrize("c", [0.0, 0.5, 1e3])
def test_absorb_is_a_change_of_rank_one(n, c):
    M, room = matrix(n), 35
    T = grow(M, room)
    width = T.shape[1]
    v = np.random.default_rng(1).normal(size=n)
    f, u = np.zeros(width), np.full(width, 7.0)
    forward(T, n, vector(v, width), f)
    absorb(T, n, f, u, c)
    np.testing.assert_allclose(u[:n], np.linalg.solve(M, v), rtol=1e-9, atol=1e-12)
    expected = np.linalg.inv(M + c * np.outer(v, v))
    np.testing.assert_allclose(T[:n, :n].T @ T[:n, :n], expected, rtol=1e-8, atol=1e-11)
    assert not np.triu(T[:n, :n], 1).any()
    assert not T[n:].any()
    assert not u[n : padded(n)].any()


def test_rows_that_depend_on_others_stay_at_zero():
    B = np.random.default_rng(0).normal(size=(6, 6))
    B[3] = 2.0 * B[1] - B[0]
    T = grow(B @ B.T, 6)
    kept = [0, 1, 2, 4, 5]
    assert not T[3].any()
    assert not T[:, 3].any()
    inverse = np.linalg.inv((B @ B.T)[np.ix_(kept, kept)])
    np.testing.assert_allclose((T.T @ T)[np.ix_(kept, kept)], inverse, rtol=1e-7, atol=1e-9)
    f, u = np.zeros(8), np.zeros(8)
    forward(T, 6, vector(B @ B[2], 8), f)
    absorb(T, 6, f, u, 2.0)
    assert not T[3].any()
    assert not T[:, 3].any()


def test_a_thousand_changes_lose_no_digits():
    n = 24
    rng = np.random.default_rng(0)
    M = matrix(n)
    T = grow(M, n)
    f, u = np.zeros(24), np.zeros(24)
    for _ in range(1000):
        v = rng.normal(size=n)
        forward(T, n, v, f)
        absorb(T, n, f, u, 0.3)
        M += 0.3 * np.outer(v, v)
    np.testing.assert_allclose(T.T @ T @ M, np.eye(n), atol=1e-11)


def test_no_entry_is_subnormal():
    M = np.eye(3)
    M[0, 1] = M[1, 0] = 1e-305
    M[0, 2] = M[2, 0] = 1e-50
    T = grow(M, 3)
    assert T[1, 0] == 0.0
    assert T[2, 0] == -1e-50
