"""Kernel online gradient descent against its oracle, in every way of feeding it."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracle_streams
from forks import oracles
from forks.kernels import Gaussian, Laplacian, Linear
from forks.learners import KOGD
from forks.losses import Hinge, Logistic, SquaredError
from oracle_streams import column, made_up

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array])
PAIRS = [
    (KOGD(kernel=Gaussian(1.5), loss=Hinge()), oracles.gaussian(1.5), oracles.Hinge()),
    (
        KOGD(kernel=Laplacian(2.0), loss=Logistic(), eta=0.5),
        oracles.laplacian(2.0),
        oracles.Logistic(),
    ),
    (
        KOGD(kernel=Linear(), loss=SquaredError(), eta=0.05),
        oracles.linear(),
        oracles.SquaredError(),
    ),
]
HINGE, LOGISTIC, SQUARED = [pair[0] for pair in PAIRS]


def stream(n=150):
    return made_up(n)


state_of = KOGD().view


def engine_for(learner, d=5, n_outputs=1):
    return oracle_streams.engine_for(learner, d, n_outputs)


# ---- the oracle ------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("learner", "kernel", "loss"), PAIRS, ids=["hinge", "logistic", "squared"])
def test_every_score_is_the_oracles(form, weighted, learner, kernel, loss):
    X, y = stream()
    weights = None
    if weighted:
        weights = np.random.default_rng(1).exponential(size=len(y))
        weights[::7] = 0.0
    expected = oracles.kogd(X, y, kernel, loss, learner.eta, weights)
    engine = engine_for(learner)
    scores = engine.learn(form(X), column(y), weights)[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())
    slopes = loss.slope(expected, y) * (1.0 if weights is None else weights)
    assert learner.stored_points(engine.memory) == np.count_nonzero(slopes)


def test_the_first_score_is_zero_and_prediction_needs_no_learning():
    X, y = stream(10)
    assert (engine_for(HINGE).predict(X) == 0.0).all()
    assert engine_for(HINGE).learn(X, column(y))[0, 0] == 0.0
    assert engine_for(HINGE).predict_one(X[0]) == 0.0


def test_prediction_changes_nothing():
    X, y = stream()
    engine = engine_for(HINGE)
    engine.learn(X[:80], column(y[:80]))
    before = engine.memory.copy()
    first = engine.predict(X)
    np.testing.assert_array_equal(engine.predict(X), first)
    np.testing.assert_array_equal(engine.memory.floats, before.floats)
    np.testing.assert_array_equal(engine.memory.ints, before.ints)


def test_a_prediction_is_the_next_rounds_score():
    X, y = stream(60)
    engine = engine_for(HINGE)
    for t in range(60):
        predicted = engine.predict(X[t : t + 1])
        learned = engine.learn(X[t : t + 1], column(y[t]))
        np.testing.assert_allclose(learned, predicted, rtol=1e-13, atol=1e-15)


def test_inputs_are_left_alone():
    X, y = stream()
    weights = np.full(len(y), 0.5)
    sparse, targets = csr_array(X), column(y)
    copies = X.copy(), sparse.copy(), targets.copy(), weights.copy()
    for rows in (X, sparse):
        engine_for(HINGE).learn(rows, targets, weights)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(sparse.data, copies[1].data)
    np.testing.assert_array_equal(targets, copies[2])
    np.testing.assert_array_equal(weights, copies[3])


# ---- chunks ----------------------------------------------------------------------------------


@FORMS
@given(cuts=st.lists(st.integers(0, 150), max_size=12))
@settings(max_examples=40)
def test_any_split_into_chunks_is_the_same_bit_for_bit(form, cuts):
    X, y = stream()
    rows, targets = form(X), column(y)
    weights = np.linspace(0.0, 2.0, 150)
    whole = engine_for(HINGE)
    expected = whole.learn(rows, targets, weights)
    split = engine_for(HINGE)
    bounds = [0, *sorted(cuts), 150]  # equal bounds give an empty chunk
    scores = [
        split.learn(rows[start:stop], targets[start:stop], weights[start:stop])
        for start, stop in itertools.pairwise(bounds)
    ]
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    np.testing.assert_array_equal(split.predict(rows), whole.predict(rows))


def test_one_by_one_is_the_same_bit_for_bit():
    X, y = stream()
    weights = np.linspace(0.0, 2.0, 150)
    whole, single = engine_for(HINGE), engine_for(HINGE)
    expected = whole.learn(X, column(y), weights)
    scores = [single.learn_one(*row) for row in zip(X, y, weights, strict=True)]
    np.testing.assert_array_equal(scores, expected[:, 0])
    expected = whole.predict(X)
    np.testing.assert_array_equal([single.predict_one(x) for x in X], expected[:, 0])


def test_the_weight_of_one_row_does_not_stick():
    X, y = stream(3)
    one, whole = engine_for(HINGE), engine_for(HINGE)
    one.learn_one(X[0], y[0], 5.0)
    one.learn_one(X[1], y[1])
    whole.learn(X[:2], column(y[:2]), np.array([5.0, 1.0]))
    assert one.predict_one(X[2]) == whole.predict_one(X[2])


# ---- several outputs -------------------------------------------------------------------------


def test_several_outputs_share_the_points():
    X, _ = stream()
    Y = np.random.default_rng(2).choice([-1.0, 1.0], (150, 3))
    scores = engine_for(LOGISTIC, n_outputs=3).learn(X, Y)
    for o in range(3):  # every round has a loss, so every output keeps every point
        alone = engine_for(LOGISTIC).learn(X, column(Y[:, o]))
        np.testing.assert_array_equal(scores[:, o], alone[:, 0])


def test_outputs_without_loss_are_left_alone():
    X, _ = stream()
    Y = np.random.default_rng(2).choice([-1.0, 1.0], (150, 3))
    engine = engine_for(HINGE, n_outputs=3)
    scores = engine.learn(X, Y)
    lost = np.zeros(150, bool)
    for o in range(3):
        alone = engine_for(HINGE).learn(X, column(Y[:, o]))
        np.testing.assert_allclose(scores[:, o], alone[:, 0], rtol=1e-11, atol=1e-13)
        lost |= alone[:, 0] * Y[:, o] < 1.0
    assert HINGE.stored_points(engine.memory) == np.count_nonzero(lost)


# ---- memory ----------------------------------------------------------------------------------


@FORMS
def test_a_pickled_engine_goes_on_alike(form):
    X, y = stream()
    rows, targets = form(X), column(y)
    engine = engine_for(HINGE)
    engine.learn(rows[:70], targets[:70])
    copy = pickle.loads(pickle.dumps(engine))
    expected = engine.learn(rows[70:], targets[70:])
    np.testing.assert_array_equal(copy.learn(rows[70:], targets[70:]), expected)
    assert copy.learner == engine.learner
    assert copy.learn_one(X[0], y[0]) == engine.learn_one(X[0], y[0])


def test_memory_grows_by_doubling():
    rng = np.random.default_rng(0)
    engine = engine_for(SQUARED, d=2)
    capacities = []
    for _ in range(600):  # every round keeps a point
        engine.learn_one(rng.normal(size=2) * 0.1, rng.normal())
        capacities.append(state_of(engine.memory).alpha.shape[1])
    assert sorted(set(capacities)) == [64, 128, 256, 512, 1024]
    assert capacities.index(128) == 64  # no sooner than needed
    assert SQUARED.stored_points(engine.memory) == 600


def test_a_large_chunk_takes_no_more_room_than_its_points():
    X, y = stream(1000)
    engine = engine_for(HINGE)
    weights = (np.arange(1000) < 100).astype(float)
    engine.learn(X, column(y), weights)
    assert 64 < HINGE.stored_points(engine.memory) <= 100
    assert state_of(engine.memory).alpha.shape[1] == 128


def test_rounds_without_loss_keep_nothing():
    X, y = stream()
    engine = engine_for(HINGE)
    engine.learn(X, column(y), np.zeros(150))
    assert HINGE.stored_points(engine.memory) == 0
    assert (engine.predict(X) == 0.0).all()


def test_an_engine_knows_whether_its_code_is_ready():
    X, y = stream(5)
    engine_for(HINGE).learn(X, column(y))
    engine = engine_for(KOGD(kernel=Linear(), loss=Hinge()))
    assert not engine.compiled
    engine.learn(X, column(y))
    assert engine.compiled


# ---- configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0, -0.1, np.nan, np.inf, True, "0.1", None])
def test_bad_step_sizes_are_named(eta):
    with pytest.raises(ValueError, match="eta"):
        KOGD(eta=eta)


def test_the_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        HINGE.eta = 1.0
    assert KOGD(eta=1).rule() == KOGD(eta=1.0).rule()


def test_another_step_size_from_here_on():
    X, y = stream()
    engine = engine_for(HINGE)
    engine.learn(X[:70], column(y[:70]))
    before = engine.predict(X[:5])
    other = dataclasses.replace(HINGE, eta=1.0)
    engine = type(engine).restored(other, X.shape[1], 1, engine.memory, engine.rounds, None)
    np.testing.assert_array_equal(engine.predict(X[:5]), before)
    lost = engine.learn(X[70:], column(y[70:]))[:, 0] * y[70:] < 1.0
    alpha = state_of(engine.memory).alpha[0, : HINGE.stored_points(engine.memory)]
    assert (np.abs(alpha[-np.count_nonzero(lost) :]) == 1.0).all()
    assert (np.abs(alpha[: -np.count_nonzero(lost)]) == 0.2).all()
