"""The learner for wide sparse rows against its oracle, and what it costs."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from forks import OnlineKernelClassifier, OnlineKernelRegressor, oracles
from forks.engine import Engine, one_thread
from forks.kernels import Gaussian, Polynomial
from forks.learners import Wide
from forks.learners.wide import MORE_PLACES
from forks.losses import Hinge, Logistic, SquaredError, SquaredHinge
from forks_against_oracle import oracle_loss

ROWS, WIDTH = 400, 3000


def words(n=ROWS, d=WIDTH, seed=0, per_row=12):
    """Rows of counts: few words are common and most are rare; the label is that of some."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, d + 1)
    draws = rng.choice(d, size=(n, 2 * per_row), p=share / share.sum())
    X = np.zeros((n, d))
    np.add.at(X, (np.repeat(np.arange(n), 2 * per_row), draws.ravel()), 1.0)
    X *= np.exp(rng.normal(size=d))
    w = rng.normal(size=d)
    f = np.sign(X) @ w + 2.0 * (X[:, 0] > 1.0) * (X[:, 1] > 0.0)
    return X, f + 0.3 * rng.normal(size=n)


def weights_for(n=ROWS):
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


def engine_for(learner, d, n_outputs=1):
    return Engine(learner, d, n_outputs, np.random.default_rng(0))


def oracle_run(learner, X, Y, weights=None, **numbers):
    weights = np.ones(len(X)) if weights is None else weights
    oracle = oracles.WideOracle(
        Y.shape[1],
        oracle_loss(learner.loss),
        bandwidth=learner.kernel.bandwidth,
        landmarks=learner.landmarks,
        hash_bits=learner.hash_bits,
        **{"most_places": 2**learner.table_bits, **numbers},
    )
    with one_thread():
        return np.array([oracle.play(*row) for row in zip(X, Y, weights, strict=True)]), oracle


LEARNERS = {
    "usual": Wide(landmarks=40),
    "logistic": Wide(landmarks=40, loss=Logistic(), kernel=Gaussian(0.7)),
    "hinge": Wide(landmarks=20, loss=Hinge()),
    "no landmarks": Wide(landmarks=0),
    "hashed": Wide(landmarks=40, hash_bits=7),
    "a full table": Wide(landmarks=40, table_bits=8),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_score_is_that_of_the_oracle(name):
    learner = LEARNERS[name]
    X, f = words()
    Y, weights = np.sign(f).reshape(-1, 1), weights_for()
    expected, oracle = oracle_run(learner, X, Y, weights)
    engine = engine_for(learner, WIDTH)
    found = engine.learn(csr_array(X), Y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.std(expected) > 0.1
    assert (oracle.kernel is None) == (learner.landmarks == 0)
    used = int(learner.view(engine.memory).seen.used[0])
    assert used == len(oracle.linear.places.known) + 1
    if name == "a full table":
        assert used == 2**8


def test_several_outputs_are_those_of_the_oracle():
    X, f = words()
    Y = np.column_stack([f < -1.0, np.abs(f) <= 1.0, f > 1.0]) * 2.0 - 1.0
    learner = Wide(landmarks=30)
    expected, _ = oracle_run(learner, X, Y, weights_for())
    found = engine_for(learner, WIDTH, 3).learn(csr_array(X), Y, weights_for())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_numbers_are_those_of_the_oracle():
    X, f = words()
    Y = (1000.0 + 5.0 * f).reshape(-1, 1)
    Y[::50] += 300.0
    learner = Wide(landmarks=30, loss=SquaredError())
    expected, _ = oracle_run(learner, X, Y, weights_for())
    found = engine_for(learner, WIDTH).learn(csr_array(X), Y, weights_for())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.median(np.abs(found - Y)[200:]) < np.std(5.0 * f)


def test_kept_rows_end_when_there_is_no_room():
    X, f = words(80, per_row=700, d=20000)
    Y = np.sign(f).reshape(-1, 1)
    learner = Wide(landmarks=70)
    entries = int(np.cumsum([np.count_nonzero(x) for x in X])[39])
    assert entries < 2**16
    engine = engine_for(learner, 20000)
    rows = csr_array(np.vstack([X] * 3))
    rows.data[:] = np.random.default_rng(0).random(rows.nnz) + 0.5
    engine.learn(rows, np.vstack([Y] * 3))
    kept = engine.stored_points
    total = np.diff(rows.indptr).cumsum()
    assert kept <= np.searchsorted(total, 2**16, "right") < 240
    expected = min(70, np.searchsorted(total, 2**16, "right"))
    assert kept == expected
