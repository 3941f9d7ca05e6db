"""Stage one against KOGD, up to the switch."""

from typing import NamedTuple

import numpy as np
import pytest

from forks import oracles
from forks.engine import Points, entry
from forks.kernels import Gaussian
from forks.losses import SquaredHinge
from forks.oracles.expansion import expansion
from forks.parts.stage_one import COUNT, SWITCH, gradient_round

BUFFER = 12
KERNEL, PLAIN = Gaussian(1.3), oracles.gaussian(1.3)


class StageOneRule(NamedTuple):
    kernel: Gaussian
    loss: SquaredHinge
    buffer: int
    eta: float


class StageOneState(NamedTuple):
    counts: np.ndarray
    points: Points
    alpha: np.ndarray
    spare: Points


class StageOneWork(NamedTuple):
    row: np.ndarray
    change: np.ndarray


@entry
def _play(rule, state, work, X, Y, weights, scores):
    """Play rounds until the switch is asked for; return how many there were."""
    for t in range(X.shape[0]):
        gradient_round(rule, state, work, X[t], Y[t], weights[t], scores[t])
        if state.counts[COUNT.event] != 0:
            return t + 1
    return X.shape[0]


def empty(d=3, n_outputs=1):
    return StageOneState(
        np.zeros(len(COUNT), np.int64),
        Points(np.zeros((d, 16)), np.zeros((2, 16))),
        np.zeros((n_outputs, 16)),
        Points(np.zeros((d, 8)), np.zeros((2, 8))),
    )


def play(state, X, Y, weights=None, eta=0.2):
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    scores, work = np.empty(Y.shape), StageOneWork(np.zeros(16), np.zeros(Y.shape[1]))
    rule = StageOneRule(KERNEL, SquaredHinge(), BUFFER, eta)
    n = _play.over()(rule, state, work, X, Y, weights, scores)
    return scores[:n]


def stream(n, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.random((n, n_outputs)) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_rounds_are_those_of_kogd_until_the_buffer_is_full_and_a_row_has_loss(n_outputs):
    X, Y = stream(60, n_outputs)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 60)
    state = empty(n_outputs=n_outputs)
    scores = play(state, X, Y, weights)
    loss, points, alphas, lost = oracles.SquaredHinge(), [], [], 0
    for t, f in enumerate(scores):
        columns = np.reshape(alphas, (-1, n_outputs)).T
        expected = [expansion(points, alpha, X[t], PLAIN) for alpha in columns]
        np.testing.assert_allclose(f, expected, rtol=1e-10, atol=1e-13)
        slopes = weights[t] * loss.slope(np.array(expected), Y[t])
        if slopes.any():
            lost += 1
            if len(points) < BUFFER:
                points.append(X[t])
                alphas.append(-0.2 * slopes)
    assert len(points) == BUFFER
    assert state.counts[COUNT.event] == SWITCH == 1
    assert state.counts[COUNT.stored] == BUFFER
    assert state.counts[COUNT.losses] == lost == BUFFER + 1  # the switch is made with the next one
    np.testing.assert_array_equal(state.points.columns[:, :BUFFER].T, points)
    np.testing.assert_allclose(state.alpha[:, :BUFFER].T, alphas, rtol=1e-10)


def test_a_step_beyond_all_bounds_is_left_out_if_the_row_is_to_blame():
    X, Y = stream(2)
    state = empty()
    Y[1] = 1e160
    play(state, X, Y)
    np.testing.assert_array_equal(state.counts[:5], [0, 1, 0, 1, 1])


def test_or_coefficients_start_anew():
    X, Y = stream(2)
    X[1], Y[1] = X[0], -Y[0]
    state = empty()
    play(state, X[:1], Y[:1])
    state.alpha[0, 0] = Y[0, 0] * 1e160
    play(state, X[1:], Y[1:])
    assert state.counts[COUNT.mends] == 1
    np.testing.assert_allclose(state.alpha[0, :2], [0.0, 0.4 * Y[1, 0]])
