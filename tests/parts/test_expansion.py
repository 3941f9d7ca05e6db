"""Kernel expansions against a plain sum."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import Points, entry, store_points
from forks.kernels import Gaussian
from forks.oracles.expansion import expansion
from forks.parts.expansion import compare, drop, expand, finite_or_zero, is_mistake, self_value

KERNEL, PLAIN = Gaussian(1.3), oracles.gaussian(1.3)


@entry
def _expand(kernel, points, n, alpha, x, row, spare):
    f = expand(kernel, points, n, alpha, x, row)
    compare(kernel, points, n, x, row)
    return f, self_value(kernel, x, spare, np.empty(8))


@entry
def _drop(points, alpha, i, n):
    drop(points, alpha, i, n)


@entry
def _judge(f, y):
    return finite_or_zero(f), is_mistake(f, y)


def points_of(X, capacity=24):
    points = Points(np.full((X.shape[1], capacity), 9.0), np.full((2, capacity), 9.0))
    store_points(X, points)
    return points


@pytest.mark.parametrize("n", [0, 1, 8, 13, 23])
def test_a_score_is_the_sum_over_the_points_in_use(n):
    X, x = np.random.default_rng(0).normal(size=(23, 3)), np.array([0.3, 0.0, -1.0])
    alpha = np.random.default_rng(1).normal(size=24)
    alpha[n:] = 0.0
    row = np.full(24, 7.0)
    spare = points_of(x[None, :], 8)
    f, square = _expand.over()(KERNEL, points_of(X), n, alpha, x, row, spare)
    assert f == pytest.approx(expansion(X[:n], alpha[:n], x, PLAIN), abs=1e-14)
    assert square == 1.0
    np.testing.assert_allclose(row[:n], PLAIN(X[:n], x[None, :])[:, 0], rtol=1e-13)
    assert not row[n : n + 8].any()


def test_the_last_point_takes_the_place_of_a_dropped_one():
    X = np.random.default_rng(0).normal(size=(5, 3))
    points, alpha = points_of(X), np.arange(24.0)
    _drop.over()(points, alpha, 1, 5)
    np.testing.assert_array_equal(points.columns[:, :4].T, X[[0, 4, 2, 3]])
    np.testing.assert_allclose(points.norms[0, :4], (X[[0, 4, 2, 3]] ** 2).sum(axis=1))
    np.testing.assert_allclose(points.norms[1, :4], np.abs(X[[0, 4, 2, 3]]).sum(axis=1))
    np.testing.assert_array_equal(alpha[:4], [0.0, 4.0, 2.0, 3.0])
    _drop.over()(points, alpha, 3, 4)
    np.testing.assert_array_equal(points.columns[:, :3].T, X[[0, 4, 2]])


@pytest.mark.parametrize(
    ("f", "y", "wrong"),
    [(0.0, 1.0, False), (-0.0, 1.0, False), (0.0, -1.0, True), (-1e-300, 1.0, True)],
)
def test_a_score_of_zero_answers_plus_one(f, y, wrong):
    assert _judge.over()(f, y) == (f, wrong)


@pytest.mark.parametrize("f", [np.inf, -np.inf, np.nan])
def test_a_score_that_is_not_finite_counts_as_zero(f):
    assert _judge.over()(f, 1.0)[0] == 0.0
