"""Projections onto the span of stored points, against direct solves."""

from typing import NamedTuple

import numpy as np
import pytest

from forks import oracles
from forks.engine import Points, entry
from forks.kernels import Gaussian
from forks.parts.expansion import compare
from forks.parts.projection import ProjectionState, ProjectionWork, learn, split

KERNEL, PLAIN = Gaussian(1.3), oracles.gaussian(1.3)
BUDGET = 10


class ProjectionRule(NamedTuple):
    kernel: Gaussian
    budget: int


@entry
def _learn_all(rule, state, work, X, amounts, may_join, lengths):
    for t in range(X.shape[0]):
        compare(rule.kernel, state.points, state.counts[2], X[t], work.row)
        inside, outside = split(rule, state, work, X[t])
        lengths[t, 0], lengths[t, 1] = inside, outside
        learn(rule, state, work, X[t], inside, outside, amounts[t], may_join[t])


def empty(d):
    return ProjectionState(
        counts=np.zeros(3, np.int64),
        points=Points(np.zeros((d, 16)), np.zeros((2, 16))),
        alpha=np.zeros(16),
        L=np.zeros((BUDGET, 16)),
        spare=Points(np.zeros((d, 8)), np.zeros((2, 8))),
    )


def play(state, X, amounts, may_join=None):
    """Learn amounts of the rows; return P and delta^2 of each."""
    may_join = np.ones(len(X), bool) if may_join is None else np.asarray(may_join)
    lengths = np.empty((len(X), 2))
    work = ProjectionWork(*(np.zeros(16) for _ in range(3)))
    rule = ProjectionRule(KERNEL, BUDGET)
    _learn_all.over()(rule, state, work, X, np.asarray(amounts, float), may_join, lengths)
    return lengths


def test_points_join_up_to_the_budget_and_are_projected_beyond():
    rng = np.random.default_rng(0)
    X, amounts = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[6] = X[2]  # in the span though there is room
    may_join = np.arange(40) != 4
    state = empty(3)
    lengths = play(state, X, amounts, may_join)
    stored, alpha = np.empty((0, 3)), np.zeros(0)
    for t, x in enumerate(X):
        k = PLAIN(stored, x[None, :])[:, 0]
        d = np.linalg.solve(PLAIN(stored, stored), k)
        np.testing.assert_allclose(lengths[t], [k @ d, 1.0 - k @ d], atol=1e-10)
        if may_join[t] and len(stored) < BUDGET and 1.0 - k @ d > 1e-10:
            stored, alpha = np.vstack([stored, x]), np.append(alpha, amounts[t])
        else:
            alpha = alpha + amounts[t] * d
    assert len(stored) == BUDGET
    np.testing.assert_array_equal(stored, X[[0, 1, 2, 3, 5, 7, 8, 9, 10, 11]])
    np.testing.assert_array_equal(state.counts, [0, 0, BUDGET])
    np.testing.assert_array_equal(state.points.columns[:, :BUDGET].T, stored)
    np.testing.assert_allclose(state.alpha[:BUDGET], alpha, rtol=1e-8, atol=1e-10)
    L = state.L[:, :BUDGET]
    np.testing.assert_allclose(L @ L.T, PLAIN(stored, stored), rtol=1e-12)


def test_coefficients_that_overflow_start_anew_and_amounts_that_do_are_left_out():
    X = np.random.default_rng(0).normal(size=(BUDGET, 3))
    state = empty(3)
    play(state, X, np.full(BUDGET, 1.7e308))
    play(state, X[:1], [1.7e308])
    assert state.counts[1] == 1
    np.testing.assert_allclose(state.alpha[0], 1.7e308, rtol=1e-9)
    np.testing.assert_allclose(state.alpha[1:BUDGET] / 1.7e308, 0.0, atol=1e-9)
    before = state.alpha.copy()
    play(state, X[:1], [np.inf])
    assert state.counts[1] == 2
    np.testing.assert_array_equal(state.alpha, before)


@pytest.mark.parametrize("distance", [30.0, 1e3])
def test_rows_far_from_all_points_are_outside(distance):
    state = empty(3)
    lengths = play(state, np.array([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]]), [1.0, 1.0])
    np.testing.assert_array_equal(lengths, [[0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(state.L[:2, :2], np.eye(2))
