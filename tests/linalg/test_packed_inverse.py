"""The packed inverse under rank-one changes, against dense matrices and exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import njit
from forks.engine import shapes_of
from forks.linalg.packed_inverse import (
    PackedInverse,
    add,
    packed_size,
    root,
    set_root,
)

SIZES = [8, 16, 24, 40, 136]


@njit
def add_all(P, h, X, U, q):
    for t in range(X.shape[0]):
        q[t] = add(P, h[t], X[t], U[t])


def empty(n):
    shapes = shapes_of(PackedInverse, {"n": n}).values()
    return PackedInverse(*(np.full(shape, np.nan) for shape in shapes))


def from_root(R):
    inverse = empty(len(R))
    set_root(inverse, R)
    return inverse


def play(inverse, X, h):
    """Add all rows; give P x and x'P x before each change."""
    U, q = np.full(X.shape, np.nan), np.empty(len(X))
    add_all(inverse, np.asarray(h, float), np.ascontiguousarray(X), U, q)
    return U, q


def dense(inverse):
    R = root(inverse, len(inverse.d))
    return R.T @ R


def lower(n, seed=0):
    R = np.tril(np.random.default_rng(seed).normal(size=(n, n)))
    R[np.diag_indices(n)] = 0.5 + np.abs(np.diagonal(R))
    return R


@pytest.mark.parametrize("n", SIZES)
def test_what_is_packed_can_be_unpacked(n):
    R = lower(n)
    inverse = from_root(R)
    assert inverse.T.shape == (packed_size(n),) == (n * (n + 8) // 2,)
    np.testing.assert_allclose(root(inverse, n), R, rtol=1e-14)
    spoilt = np.where(np.tri(n) > 0.0, R, np.nan)
    np.testing.assert_array_equal(root(from_root(spoilt), n), root(inverse, n))


@pytest.mark.parametrize("used", [1, 5, 8, 13])
def test_a_smaller_triangle_leaves_padding(used):
    inverse = empty(24)
    set_root(inverse, lower(used))
    R = root(inverse, 24)
    np.testing.assert_allclose(R[:used, :used], lower(used), rtol=1e-14)
    assert not R[used:].any()
    X = np.zeros((50, 24))
    X[:, :used] = np.random.default_rng(0).normal(size=(50, used))
    whole, short = play(inverse, X, np.ones(50)), empty(24)
    assert not root(inverse, 24)[used:].any()
    assert not whole[0][:, used:].any()
    set_root(short, lower(used))
    up_to = -(-used // 8) * 8
    part = play(short, X[:, :up_to], np.ones(50))  # vectors that end with the last whole tile
    np.testing.assert_array_equal(part[1], whole[1])
    np.testing.assert_array_equal(short.T, inverse.T)


@pytest.mark.parametrize("n", SIZES)
def test_a_change(n):
    R, x, h = lower(n), np.random.default_rng(1).normal(size=(1, n)), 0.7
    inverse = from_root(R)
    P = R.T @ R
    U, q = play(inverse, x, [h])
    np.testing.assert_allclose(U[0], P @ x[0], rtol=1e-11, atol=1e-11)
    assert q[0] == pytest.approx(x[0] @ P @ x[0], rel=1e-12)
    changed = P - h / (1.0 + h * q[0]) * np.outer(P @ x[0], P @ x[0])
    np.testing.assert_allclose(dense(inverse), changed, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", SIZES[:4])
@pytest.mark.parametrize("n_rows", [1, 4, 7, 2000])
def test_P_is_the_inverse_of_A(n, n_rows):
    rng = np.random.default_rng(n)
    X, h = rng.normal(size=(n_rows, n)), rng.uniform(0.0, 2.0, n_rows)
    inverse = from_root(np.eye(n) / math.sqrt(0.05))
    play(inverse, X, h)
    A = 0.05 * np.eye(n) + X.T @ (h[:, None] * X)
    np.testing.assert_allclose(dense(inverse) @ A, np.eye(n), atol=1e-12)


def exact_inverse(A):
    """Gauss and Jordan in rational numbers."""
    n = len(A)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(A)]
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[n:] for row in rows]


@pytest.mark.parametrize("prior", [1e-3, 1e-9, 1e-15])
def test_ill_conditioned_A_against_exact_arithmetic(prior):
    """Rows of rank two, nearly: P is exact to the square root of the condition, and better.

    P <- P - h / (1 + h q) u u', as a dense matrix, has no digit right for the smallest prior.
    """
    n, rng = 8, np.random.default_rng(0)
    X = np.outer(rng.normal(size=300), rng.normal(size=n)) + 1e-4 * rng.normal(size=(300, n))
    inverse = from_root(np.eye(n) / math.sqrt(prior))
    start = inverse.d[0]  # 1 / prior, as it is stored
    U, _ = play(inverse, X, np.ones(300))
    A = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        A[i][i] = 1 / Fraction(float(start))
        for j in range(n):
            A[i][j] += sum(Fraction(float(x[i])) * Fraction(float(x[j])) for x in X[:-1])
    exact = exact_inverse(A)
    u = [sum(exact[i][j] * Fraction(float(X[-1, j])) for j in range(n)) for i in range(n)]
    u = np.array([float(value) for value in u])
    assert np.linalg.norm(U[-1] - u) < 1e-9 * np.linalg.norm(u)


def test_a_million_changes():
    """The diagonal of D only falls, and P stays the inverse of the sum."""
    n, rng = 16, np.random.default_rng(0)
    X = np.outer(rng.normal(size=1000), rng.normal(size=n)) + 1e-3 * rng.normal(size=(1000, n))
    inverse = from_root(np.eye(n) * 1e3)
    for _ in range(1000):
        before = inverse.d.copy()
        play(inverse, X, np.ones(1000))
        assert np.all((inverse.d > 0.0) & (inverse.d <= before))
    A = 1e-6 * np.eye(n) + 1000.0 * X.T @ X
    R = root(inverse, n)
    np.testing.assert_allclose(R @ A @ R.T, np.eye(n), atol=1e-8)


@given(
    st.integers(1, 5),
    st.integers(1, 60),
    st.floats(-3.0, 3.0),
    st.floats(0.0, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_uncertainty_only_shrinks(tiles, n_rows, size, spread, seed):
    """x'P x falls for every x, and never below 0, whatever the sizes of the rows."""
    n = 8 * tiles
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n)) * 10.0 ** (size + spread * rng.uniform(-1, 1, (n_rows, 1)))
    inverse = from_root(np.eye(n))
    _, q = play(inverse, X, rng.uniform(0.1, 2.0, n_rows))
    assert np.all(q >= 0.0)
    assert np.all(inverse.d > 0.0)
    assert np.linalg.norm(root(inverse, n), 2) <= 1.0 + 1e-9


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_what_overflows_is_refused_and_leaves_P_positive_definite(size):
    n, rng = 24, np.random.default_rng(0)
    inverse = from_root(lower(n))
    X = rng.normal(size=(3, n))
    X[1, 10:] *= size
    _, q = play(inverse, X, np.ones(3))
    assert q[1] == math.inf
    assert np.isfinite(q[[0, 2]]).all()
    for numbers in inverse:
        assert np.isfinite(numbers).all()
    assert np.all(inverse.d > 0.0)
