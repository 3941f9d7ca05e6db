"""The packed inverse under rank-one changes, against a dense matrix."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import njit
from forks.linalg.covariance import (
    LATE,
    absorb,
    multiply,
    multiply_late,
    pack,
    packed_size,
    unpack,
)

SIZES = [8, 16, 24, 40, 136]


@njit
def times(P, x, u):
    return multiply(P, x, u)


@njit
def times_late(P, late, n_late, x, u):
    return multiply_late(P, late, n_late, x, u)


@njit
def take_in(P, late):
    absorb(P, late)


@njit
def play(P, late, u, features, h):
    """A <- A + h_t x_t x_t' for all rows, four at a time; gives how many are late."""
    n_late = 0
    for t in range(features.shape[0]):
        q = multiply_late(P, late, n_late, features[t], u)
        root = math.sqrt(h[t] / (1.0 + h[t] * q))
        for j in range(u.shape[0]):
            late[n_late, j] = root * u[j]
        n_late += 1
        if n_late == LATE:
            absorb(P, late)
            n_late = 0
    return n_late


def packed_from(P):
    packed = np.full(packed_size(len(P)), np.nan)
    pack(np.ascontiguousarray(P), np.arange(len(P)), packed)
    return packed


def unpacked(packed, n):
    lower = unpack(packed, np.arange(n))
    return lower + np.tril(lower, -1).T


def symmetric(n, seed=0):
    M = np.random.default_rng(seed).normal(size=(n, n))
    return M + M.T


def dense(packed, late, n_late):
    return unpacked(packed, late.shape[1]) - late[:n_late].T @ late[:n_late]


@pytest.mark.parametrize("n", SIZES)
def test_what_is_packed_can_be_unpacked(n):
    P = symmetric(n)
    packed = packed_from(P)
    assert packed.shape == (packed_size(n),)
    np.testing.assert_array_equal(unpacked(packed, n), P)
    tiles = np.kron(np.tril(np.ones((n // 8, n // 8))), np.ones((8, 8)))
    np.testing.assert_array_equal(np.sort(packed), np.sort(P[tiles > 0.0]))
    spoilt = np.where(np.tri(n) > 0.0, P, np.nan)
    np.testing.assert_array_equal(packed_from(spoilt), packed)


def test_rows_and_columns_go_to_their_places():
    places = np.array([0, 1, 7, 8, 15, 21])
    P = symmetric(len(places))
    whole = np.zeros((24, 24))
    whole[np.ix_(places, places)] = P
    packed = np.full(packed_size(24), np.nan)
    pack(np.tril(P), places, packed)
    np.testing.assert_array_equal(unpacked(packed, 24), whole)
    np.testing.assert_array_equal(unpack(packed, places), np.tril(P))


@pytest.mark.parametrize("n", SIZES)
def test_half_of_the_numbers_are_kept(n):
    assert n * (n + 1) / 2 <= packed_size(n) == n * (n + 8) / 2


@pytest.mark.parametrize("n", SIZES)
def test_multiply(n):
    P, x = symmetric(n), np.random.default_rng(1).normal(size=n)
    u = np.full(n, np.nan)  # what was there before does not matter
    q = times(packed_from(P), x, u)
    np.testing.assert_allclose(u, P @ x, rtol=1e-12, atol=1e-12)
    assert q == pytest.approx(x @ P @ x, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_late", range(LATE))
def test_multiply_late(n, n_late):
    rng = np.random.default_rng(1)
    P, x, late = symmetric(n), rng.normal(size=n), rng.normal(size=(LATE, n))
    u = np.full(n, np.nan)
    q = times_late(packed_from(P), late, n_late, x, u)
    now = P - late[:n_late].T @ late[:n_late]
    np.testing.assert_allclose(u, now @ x, rtol=1e-11, atol=1e-11)
    assert q == pytest.approx(x @ now @ x, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_absorb(n):
    P, late = symmetric(n), np.random.default_rng(1).normal(size=(LATE, n))
    packed, before = packed_from(P), late.copy()
    take_in(packed, late)
    np.testing.assert_allclose(unpacked(packed, n), P - late.T @ late, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(packed, packed_from(P - late.T @ late), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(late, before)


@pytest.mark.parametrize("n", SIZES[:4])
@pytest.mark.parametrize("n_rows", [1, 4, 7, 2000])
def test_P_is_the_inverse_of_A(n, n_rows):
    rng = np.random.default_rng(n)
    X, h = rng.normal(size=(n_rows, n)), rng.uniform(0.0, 2.0, n_rows)
    packed, late = packed_from(np.eye(n) / 0.05), np.zeros((LATE, n))
    n_late = play(packed, late, np.zeros(n), X, h)
    assert n_late == n_rows % LATE
    P, A = dense(packed, late, n_late), 0.05 * np.eye(n) + X.T @ (h[:, None] * X)
    np.testing.assert_allclose(P @ A, np.eye(n), atol=1e-9)
    assert np.linalg.eigvalsh(P)[0] > 0.0


def test_places_that_are_zero_stay_zero():
    """Padding: rows and columns of P that are zero, and features that are zero there."""
    n, used = 24, [0, 1, 2, 8, 9, 17]
    rng = np.random.default_rng(0)
    start = np.zeros((n, n))
    start[used, used] = 2.0
    X = np.zeros((500, n))
    X[:, used] = rng.normal(size=(500, len(used)))
    packed, late = packed_from(start), np.zeros((LATE, n))
    P = dense(packed, late, play(packed, late, np.zeros(n), X, np.ones(500)))
    rest = np.delete(np.arange(n), used)
    assert not P[rest].any()
    A = 0.5 * np.eye(len(used)) + X[:, used].T @ X[:, used]
    np.testing.assert_allclose(P[np.ix_(used, used)] @ A, np.eye(len(used)), atol=1e-10)


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
    packed, late, u = packed_from(np.eye(n)), np.zeros((LATE, n)), np.zeros(n)
    n_late = play(packed, late, u, X, rng.uniform(0.1, 2.0, n_rows))
    values = np.linalg.eigvalsh(dense(packed, late, n_late))
    assert np.isfinite(packed).all()
    assert values[-1] <= 1.0 + 1e-9
    assert values[0] >= -1e-7  # rounding: rows of size 1e6 cannot take more from 1 than 1
