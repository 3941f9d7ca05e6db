"""Sums of what forks have learned, and means, against plain numbers."""

import numpy as np
import pytest

from forks.linalg.packed_inverse import PackedInverse, packed_size, root
from forks.losses import EpsilonInsensitive, SquaredError
from forks.parts.merging import (
    CannotForkError,
    Shares,
    add_newtons,
    check_begun,
    check_second_order,
    mean_of_all,
)
from forks.parts.newton import Newton, set_solution

WIDTH, ROOM, M = 5, 8, 3
RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(M, M))
L = np.linalg.cholesky(HALF @ HALF.T + np.eye(M))  # of the prior of the first three features


def solved(Phi, y):
    """Return the weights of whitened features by rows with squared errors, and their precision."""
    A = 0.5 * np.eye(WIDTH) + Phi.T @ Phi
    return np.linalg.solve(A, Phi.T @ y), A


def newton_of(Phi, y):
    """Return the state of a learner that has learned rows of whitened features."""
    w, A = solved(Phi, y)
    inverse = PackedInverse(np.zeros(packed_size(ROOM)), np.zeros(ROOM))
    state = Newton(np.zeros((1, ROOM)), np.zeros((1, ROOM)), inverse)
    set_solution(state, w[:, None], np.linalg.cholesky(A), L)
    return state


@pytest.mark.parametrize("n_forks", [1, 2, 7])
def test_what_forks_learned_is_what_one_would_have(n_forks):
    first, rest = RNG.normal(size=(20, WIDTH)), RNG.normal(size=(90, WIDTH))
    y = RNG.normal(size=20), RNG.normal(size=90)
    parts = np.array_split(RNG.permutation(90), n_forks)
    start = newton_of(first, y[0])
    forks = [newton_of(np.r_[first, rest[part]], np.r_[y[0], y[1][part]]) for part in parts]
    merged = newton_of(first, y[0])
    add_newtons(merged, start, forks, WIDTH, L)
    expected = newton_of(np.r_[first, rest], np.concatenate(y))
    np.testing.assert_allclose(merged.theta, expected.theta, rtol=1e-9, atol=1e-12)
    P, P_of_one = (R.T @ R for R in (root(merged.P, WIDTH), root(expected.P, WIDTH)))
    np.testing.assert_allclose(P, P_of_one, rtol=1e-9, atol=1e-12)


def test_a_sum_that_is_not_finite_changes_nothing():
    start = newton_of(RNG.normal(size=(9, WIDTH)), RNG.normal(size=9))
    fork, merged = (
        newton_of(np.eye(WIDTH), np.ones(WIDTH)),
        newton_of(np.eye(WIDTH), np.ones(WIDTH)),
    )
    fork.theta[0, 3], before = np.inf, merged.theta.copy()
    with pytest.raises(np.linalg.LinAlgError):
        add_newtons(merged, start, [fork], WIDTH, L)
    np.testing.assert_array_equal(merged.theta, before)


def test_means_are_weighed_by_the_rows_of_each_fork():
    shares = Shares(100, (30, 10))
    assert shares.rounds == 140
    mean = shares.mean(np.array([9.0]), [np.array([1.0]), np.array([5.0])])
    np.testing.assert_allclose(mean, [2.0])
    np.testing.assert_array_equal(
        Shares(5, (0, 0)).mean(np.array([9.0]), [np.array([9.0])] * 2), [9.0]
    )
    total = shares.total(np.array([100.0]), [np.array([130.0]), np.array([110.0])])
    np.testing.assert_array_equal(total, [140.0])


def test_a_mean_over_all_rows_is_that_of_one_learner():
    values = RNG.normal(size=12)
    start, forks = values[:4].mean(), [values[:9].mean(), np.r_[values[:4], values[9:]].mean()]
    mean = mean_of_all(np.array([start]), [np.array([m]) for m in forks], Shares(4, (5, 3)))
    np.testing.assert_allclose(mean, [values.mean()])


def test_the_last_rows_are_taken_from_forks_by_their_shares():
    whose, rounds = Shares(50, (30, 10)).last_rows(8)
    assert (whose == 0).sum() == 6
    assert (whose == 1).sum() == 2
    assert rounds[whose == 0].tolist() == [74, 75, 76, 77, 78, 79]  # oldest first
    assert rounds[whose == 1].tolist() == [58, 59]
    whose, rounds = Shares(50, (2, 1)).last_rows(6)
    assert whose.tolist()[:3] == [-1, -1, -1]
    assert rounds[:3].tolist() == [47, 48, 49]


def test_rings_hold_the_last_rows():
    shares, size = Shares(3, (2, 1)), 4
    rows_of_start = np.array([0.0, 1.0, 2.0, -1.0])  # rounds 0, 1, 2
    first, second = np.array([11.0, 1.0, 2.0, 10.0]), np.array([0.0, 1.0, 2.0, 20.0])
    merged = np.zeros(size)
    shares.pool_rows([merged], [rows_of_start], [[first], [second]])
    assert sorted(merged) == [2.0, 10.0, 11.0, 20.0]
    assert merged[(shares.rounds - 1) % size] in (11.0, 20.0)  # the youngest


def test_what_cannot_be_forked_is_refused():
    check_second_order(SquaredError(), classifies=False)
    with pytest.raises(CannotForkError, match="EpsilonInsensitive has no curvature"):
        check_second_order(EpsilonInsensitive(), classifies=False)
    check_begun(250, 250)
    with pytest.raises(CannotForkError, match="250 rows, of which it has learned 249"):
        check_begun(249, 250)
