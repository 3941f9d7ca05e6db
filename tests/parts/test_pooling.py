"""Corrections by key, in features that are given: against the oracle, and what they can do."""

import numpy as np
import pytest

from forks import oracles
from forks.parts import pooling
from forks.parts.calibration import CalibrationRule
from forks.parts.pooling import (
    BIAS,
    FIRST,
    MENDS,
    NOTHING,
    ROUNDS,
    SUMS,
    PoolingRule,
    begun,
    record_size,
    scratch_of,
)

STRENGTHS = np.array([1.0, 10.0, 100.0])
N, EXPERTS = 4, FIRST + len(STRENGTHS)


def play(keys, Phi, given, Y, classifies=False, keep=0.99, weights=None):
    """Return the answers, the records, and what all keys share."""
    outputs = Y.shape[1]
    rule = PoolingRule(CalibrationRule(), classifies, N, outputs, EXPERTS, keep)
    records = np.zeros((keys.max() + 1, record_size(N, outputs, EXPERTS)))
    shared, out = begun(rule), np.empty_like(Y)
    weights = np.ones(len(Y)) if weights is None else weights
    pooling.play.over(rule)(
        rule, STRENGTHS, shared, records, keys, Phi, given, Y, weights, scratch_of(rule), True, out
    )
    return out, records, shared


def stream(n, n_keys, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, n_keys, n)
    Phi = np.hstack([rng.normal(size=(n, N - 1)), np.ones((n, 1))])
    own = rng.normal(size=(n_keys, N, outputs))
    given = rng.normal(size=(n, outputs))
    Y = given + np.einsum("ti,tio->to", Phi, own[keys]) + 0.1 * rng.normal(size=(n, outputs))
    return keys, Phi, given, Y


def of_oracle(keys, Phi, given, Y, classifies=False):
    oracle = oracles.KeyedOracle(Y.shape[1], classifies, N - 1, 0.01)
    oracle.rows, oracle.features = [None] * 512, lambda phi: phi  # no map of its own
    return oracle.play(keys, Phi, given, Y)[0]


def as_classes(Y):
    if Y.shape[1] == 1:
        return np.where(Y > 0.0, 1.0, -1.0)
    return np.where(Y.max(axis=1, keepdims=True) == Y, 1.0, -1.0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_numbers_are_those_of_the_oracle(outputs):
    keys, Phi, given, Y = stream(400, 6, outputs)
    Y[350] += 30.0
    answers = play(keys, Phi, given, Y)[0]
    np.testing.assert_allclose(answers, of_oracle(keys, Phi, given, Y), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("outputs", [1, 3])
def test_scores_of_classes_are_those_of_the_oracle(outputs):
    keys, Phi, given, Y = stream(400, 6, outputs)
    given, Y = np.tanh(given), as_classes(Y)
    answers = play(keys, Phi, given, Y, classifies=True)[0]
    expected = of_oracle(keys, Phi, given, Y, classifies=True)
    np.testing.assert_allclose(answers, expected, rtol=1e-8, atol=1e-8)


def test_each_key_learns_its_own():
    keys, Phi, given, Y = stream(3000, 10)
    answers, records, shared = play(keys, Phi, given, Y, keep=1.0)
    assert np.std((answers - Y)[:200]) > 0.5
    assert np.std((answers - Y)[1000:]) < 0.12
    assert records[:, 0].sum() == shared[ROUNDS] == 3000


def test_where_keys_do_not_differ_nothing_is_corrected():
    rng = np.random.default_rng(1)
    keys, Phi, given, _ = stream(3000, 300)
    Y = given + rng.normal(size=given.shape)
    answers = play(keys, Phi, given, Y)[0]
    assert np.mean((answers - Y) ** 2) < 1.03 * np.mean((given - Y) ** 2)


def test_a_new_key_begins_with_what_others_have_shown():
    keys, Phi, given, Y = stream(2000, 100)
    _, _, shared = play(keys, Phi, given, Y)
    losses = shared[SUMS : SUMS + EXPERTS]
    assert losses[FIRST] < losses[BIAS] < losses[NOTHING]


def test_what_lasts_is_added():
    rng = np.random.default_rng(2)
    keys = np.tile(np.arange(5), 400)
    noise = np.zeros((400, 5))
    for t in range(1, 400):
        noise[t] = 0.9 * noise[t - 1] + rng.normal(size=5)
    Phi = np.hstack([rng.normal(size=(2000, N - 1)), np.ones((2000, 1))])
    Y, given = noise.reshape(-1, 1), np.zeros((2000, 1))
    answers = play(keys, Phi, given, Y)[0]
    assert np.std((answers - Y)[500:]) < 1.15  # of 2.3; the noise of a step has 1


def test_rows_that_overflow_are_left_out():
    keys, Phi, given, Y = stream(300, 3)
    Y[50:60] = 1e200
    answers, records, shared = play(keys, Phi, given, Y)
    assert shared[MENDS] == 10
    assert shared[ROUNDS] == 290
    assert np.isfinite(answers).all()
    assert np.isfinite(records).all()
    assert np.std((answers - Y)[200:]) < 0.5


def test_absurd_scores_of_the_common_model_stay_near_the_targets():
    keys, Phi, given, Y = stream(300, 3)
    given[250] = -1e9
    answers = play(keys, Phi, given, Y)[0]
    assert abs(answers[250, 0]) < 3.0 * np.abs(Y).max()


def test_bits_do_not_depend_on_where_arrays_are():
    """Compiled loops are chosen by the distances of arrays: those of the scratch are fixed."""
    keys, Phi, given, Y = stream(100, 3, 8)
    given, Y = np.tanh(given), as_classes(Y)
    rng, kept = np.random.default_rng(0), []
    expected = play(keys, Phi, given, Y, classifies=True)
    for _ in range(300):
        kept += [np.zeros(size) for size in rng.integers(1, 60, 7)]
        del kept[: rng.integers(0, 5)]
        again = play(keys, Phi, given, Y, classifies=True)
        for part, first in zip(again, expected, strict=True):
            np.testing.assert_array_equal(part, first)
