"""Trust at a delay against the oracle, and what it is for."""

import itertools

import numpy as np
import pytest

from forks.engine import entry
from forks.oracles.horizon import HorizonOracle
from forks.parts.calibration import Calibration
from forks.parts.horizon import (
    END,
    LASTING,
    MIXTURE,
    RATES,
    Horizon,
    HorizonRule,
    HorizonWork,
    begin_horizon,
    begins,
    horizon_limits,
    learn_far,
    leave_horizon,
    mix_far,
    next_period,
)

VOICES = 7
OLDEST = 1


@entry
def _play(rule, horizon, work, F, P, W, L, Y, powers, answers, begun, start):
    for i in range(Y.shape[0]):
        t = start + i
        begun[i] = begins(horizon, t)
        mix_far(rule, horizon, horizon.weights, F[i], P[i], OLDEST, work, answers[i])
        work.likelihoods[:] = L[i]
        learn_far(rule, horizon, work, t, Y[i], powers[i])
        next_period(rule, horizon, W[i], t + 1)


def made(n_outputs=1, classifies=True):
    rule = HorizonRule(classifies)
    horizon = Horizon(
        np.zeros(3),
        np.zeros(3),
        np.zeros(3, dtype=np.int64),
        np.zeros(VOICES),
        Calibration(np.zeros((2, 5))),
        np.zeros((VOICES, n_outputs)),
    )
    begin_horizon(rule, horizon, slope=3.0)
    return rule, horizon


def played(rule, horizon, P, W, L, Y, powers=None, start=0):
    n_outputs = Y.shape[1]
    work = HorizonWork(np.zeros((3, n_outputs)), np.zeros((2, n_outputs)), np.zeros(3))
    powers = np.ones(len(Y)) if powers is None else powers
    answers, begun = np.zeros(Y.shape), np.zeros(len(Y), dtype=bool)
    _play.over()(rule, horizon, work, scores_of(P), P, W, L, Y, powers, answers, begun, start)
    return answers, begun


def scores_of(P):
    """Return scores that differ from what the experts say."""
    return 2.0 * P - 0.8


def stream(n, n_outputs, classifies, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, VOICES, n_outputs))
    Y = rng.normal(size=(n, n_outputs))
    if classifies:
        P = rng.uniform(0.05, 0.95, size=P.shape)
        if n_outputs > 1:
            P /= P.sum(axis=2, keepdims=True)
        Y = np.where(np.arange(n_outputs) == rng.integers(n_outputs, size=(n, 1)), 1.0, -1.0)
        Y = rng.choice([-1.0, 1.0], size=(n, 1)) if n_outputs == 1 else Y
    W = rng.dirichlet(np.ones(VOICES), size=n)
    W[n // 2 :, OLDEST] = 0.0
    return P, W, rng.uniform(0.001, 1.0, size=(n, 3)), Y, rng.uniform(0.1, 1.0, size=n)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("classifies", [True, False])
def test_every_answer_is_the_oracles(n_outputs, classifies):
    n, left = 600, 237
    P, W, L, Y, powers = stream(n, n_outputs, classifies)
    rule, horizon = made(n_outputs, classifies)
    oracle = HorizonOracle(VOICES, classifies)
    expected, periods = [], []
    for t in range(n):
        if t == left:
            oracle.leave(0, left)
        periods.append(oracle.first == t)
        expected.append(
            oracle.mixed(oracle.weights, dict(enumerate(scores_of(P[t]))), list(P[t]), OLDEST)
        )
        oracle.learn(L[t], Y[t], t, powers[t])
        oracle.end_of_round(W[t], t + 1)
    answers, begun = played(rule, horizon, *(part[:left] for part in (P, W, L, Y, powers)))
    leave_horizon(horizon, 0, left)
    more, later = played(rule, horizon, *(part[left:] for part in (P, W, L, Y, powers)), left)
    np.testing.assert_allclose(np.vstack([answers, more]), expected, rtol=1e-9)
    np.testing.assert_array_equal(np.hstack([begun, later]), periods)
    np.testing.assert_allclose(horizon.trust, oracle.trust, rtol=1e-9)
    assert sum(periods) > 20


def test_periods_are_an_eighth_of_the_rounds():
    P, W, L, Y, _ = stream(3000, 1, True)
    _, begun = played(*made(), P, W, L, Y)
    rounds = np.flatnonzero(begun)
    lengths = np.diff(rounds)
    np.testing.assert_array_equal(lengths, np.maximum(16, rounds[:-1] // 8))


@pytest.mark.parametrize("right", [MIXTURE, LASTING, RATES])
def test_trust_goes_to_what_is_right_at_the_delay(right):
    P, W, L, Y, _ = stream(2000, 1, True)
    L[:] = 0.5
    L[:, right] = 0.7
    rule, horizon = made()
    played(rule, horizon, P, W, L, Y)
    assert horizon.trust[right] > 0.97
    np.testing.assert_allclose(horizon.trust.sum(), 1.0)
    assert horizon.trust.min() >= rule.share / 3.0 * (1.0 - 1e-12)


def test_rows_just_after_the_beginning_of_a_period_do_not_count():
    """They say how an answer does without a delay."""
    n = 4000
    P, W, L, Y, _ = stream(n, 1, True)
    _, begun = played(*made(), P, W, L, Y)
    rounds = np.append(np.flatnonzero(begun), n)
    L[:] = 0.5
    for first, end in itertools.pairwise(rounds):
        L[first : first + (end - first + 1) // 2, MIXTURE] = 0.99
        L[first + (end - first + 1) // 2 : end, LASTING] = 0.6
    rule, horizon = made()
    played(rule, horizon, P, W, L, Y)
    assert horizon.trust[LASTING] > 0.9


def test_without_what_was_kept_the_base_rates_answer():
    P, W, L, Y, _ = stream(1, 1, False)
    rule, horizon = made(classifies=False)
    leave_horizon(horizon, 0, 0)
    assert horizon.period[END] == 0  # most of the weight has left
    answers, _ = played(rule, horizon, P, W, L, Y)
    np.testing.assert_allclose(answers[0], P[0, -1])


@pytest.mark.parametrize("field", ["trust", "sums", "period", "weights"])
def test_limits(field):
    _, horizon = made()
    bad = {"trust": 1.5, "sums": 1.0, "period": -1, "weights": -0.1}[field]
    assert all(map(_holds, horizon_limits(horizon)))
    getattr(horizon, field)[1] = bad
    assert not all(map(_holds, horizon_limits(horizon)))


def _holds(limit):
    return np.all(limit.low <= limit.values) and np.all(limit.values <= limit.high)
