"""The blend against a Kalman filter with whole matrices."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.parts.blend import (
    Blend,
    BlendRule,
    begin_blend,
    blend_limits,
    blended,
    clipped,
    learn_blend,
)

INPUTS = 5


@entry
def _play(rule, blend, S, y, weights, u, answers, sound):
    for t in range(S.shape[0]):
        a, P = blend.weights[0], blend.covariance[0]
        answers[t] = blended(rule, a, S[t])
        sound[t] = learn_blend(rule, a, P, S[t], u, answers[t], y[t], weights[t])


@entry
def _clip(rule, f):
    for i in range(f.shape[0]):
        f[i] = clipped(rule, f[i])


def made(rule):
    blend = Blend(np.zeros((1, INPUTS)), np.zeros((1, INPUTS, INPUTS)))
    begin_blend(rule, blend, 3)
    return blend


def played(rule, blend, S, y, weights=None):
    weights = np.ones(len(S)) if weights is None else weights
    answers, sound = np.zeros(len(S)), np.zeros(len(S), bool)
    _play.over()(rule, blend, S, y, weights, np.zeros(INPUTS), answers, sound)
    return answers, sound


def stream(n=400, seed=0):
    rng = np.random.default_rng(seed)
    S = np.clip(rng.normal(size=(n, INPUTS)), -3.0, 3.0)
    S[:, 1] = S[:, 0] + 0.01 * S[:, 1]  # almost the same
    S[:, -1] = 1.0
    return S, np.sign(S[:, 0] - 2.0 * S[:, 2] + rng.normal(size=n)), rng.exponential(size=n)


@pytest.mark.parametrize("classifies", [True, False])
def test_every_answer_is_that_of_the_oracle(classifies):
    rule = BlendRule(classifies)
    S, y, weights = stream()
    blend = made(rule)
    answers, sound = played(rule, blend, S, y, weights)
    plain = oracles.BlendOracle(INPUTS, 3, classifies)
    for t, s in enumerate(S):
        np.testing.assert_allclose(answers[t], plain.answer(s), rtol=1e-8, atol=1e-10)
        plain.learn(s, y[t], weights[t])
    assert sound.all()
    assert all(np.all(v >= lo) and np.all(v <= hi) for _, v, lo, hi in blend_limits(rule, blend))


def test_it_follows_a_change():
    rule = BlendRule(True)
    S, _, _ = stream(20_000)
    y = np.sign(S[:, 2])
    y[10_000:] *= -1.0
    answers, _ = played(rule, made(rule), S, y)
    assert np.mean(answers[12_000:] * y[12_000:] > 0.0) > 0.95


def test_what_is_not_sound_begins_again():
    rule = BlendRule(False)
    blend = made(rule)
    blend.covariance[:] = -np.eye(INPUTS)
    S, y, _ = stream(1)
    before = blend.weights.copy()
    _, sound = played(rule, blend, S, y)
    assert not sound.any()
    np.testing.assert_array_equal(blend.covariance[0], np.eye(INPUTS))
    np.testing.assert_array_equal(blend.weights, before)


def test_scores_are_clipped():
    f = np.array([-7.0, 2.0, 50.0, np.inf, np.nan])
    for classifies, expected in (
        (True, [-3.0, 2.0, 3.0, 0.0, 0.0]),
        (False, [-7.0, 2.0, 10.0, 0.0, 0.0]),
    ):
        g = f.copy()
        _clip.over()(BlendRule(classifies), g)
        np.testing.assert_array_equal(g, expected)
