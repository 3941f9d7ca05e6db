"""Nystrom online gradient descent against its oracle, its limits and figures of public codes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.datasets import load, permutations
from forks.engine import Engine
from forks.features.nystrom import nystrom_map
from forks.kernels import Gaussian, Laplacian, Polynomial
from forks.learners import NOGD
from forks.losses import EpsilonInsensitive, Hinge, Logistic, SquaredError
from forks.parts.stage_one import COUNT
from forks_against_oracle import engine_run, oracle_kernel, oracle_loss
from kept_points import kept_points
from oracle_streams import made_up, made_up_weights, mistakes, real

EPSILON = np.finfo(float).eps


def oracle_run(learner, X, Y, weights=None):
    return oracles.nogd(
        X,
        Y,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        budget=learner.budget,
        rank=learner.budget // 5 if learner.rank is None else learner.rank,
        eta=learner.eta,
        step_size=learner.eta if learner.step_size is None else learner.step_size,
        cut=learner.budget * EPSILON if learner.cut is None else learner.cut,
        weights=weights,
    )


def assert_agrees(learner, X, y, form=np.asarray, weights=None, rtol=1e-9):
    truth = oracle_run(learner, X, y.reshape(-1, 1), weights)[:, 0]
    scores, engine = engine_run(learner, form(X), y, weights=weights)
    np.testing.assert_allclose(scores, truth, rtol=rtol, atol=0.01 * rtol * np.abs(truth).max())
    return engine


# ---- the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("rank", [None, 1, 40])
def test_every_score_is_the_oracles(form, rank):
    X, y = made_up()
    learner = NOGD(kernel=Gaussian(1.5), budget=40, rank=rank)
    for weights in (None, made_up_weights(len(y))):
        engine = assert_agrees(learner, X, y, form, weights)
        state = learner.view(engine.memory)
        assert state.counts[COUNT.stage] == 2
        assert state.counts[COUNT.mends] == 0
        assert learner.stored_points(engine.memory) == 40


def test_step_sizes_of_both_stages_and_the_cut_match_the_oracle():
    X, y = made_up()
    learner = NOGD(kernel=Gaussian(1.5), budget=30, rank=30, eta=0.5, step_size=0.1, cut=0.01)
    engine = assert_agrees(learner, X, y)
    Z = learner.view(engine.memory).Z[:, :30]
    assert 3 < np.count_nonzero(Z.any(axis=0)) < 30


@pytest.mark.parametrize(
    "kernel", [Polynomial(2), pytest.param(Laplacian(4.0), marks=pytest.mark.slow)]
)
def test_regression_matches_the_oracle(kernel):
    X, _ = made_up()
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    learner = NOGD(kernel=kernel, loss=SquaredError(), budget=30, rank=10, eta=0.002)
    assert_agrees(learner, X, y)  # no step is held: eta k(x, x) < 2


@pytest.mark.needs_data
@pytest.mark.parametrize(("name", "bandwidth"), [("german", 8.0), ("spambase", 64.0)])
def test_real_data_match_the_oracle(name, bandwidth):
    X, y = real(name, 600)
    assert_agrees(NOGD(kernel=Gaussian(bandwidth), budget=50, rank=5), X, y)


@pytest.mark.parametrize(
    "loss", [Hinge(), pytest.param(Logistic(), marks=pytest.mark.slow)], ids=repr
)
def test_several_outputs_share_the_points(loss):
    X, _ = made_up()
    Y = np.random.default_rng(2).choice([-1.0, 1.0], (len(X), 3))
    learner = NOGD(kernel=Gaussian(1.5), loss=loss, budget=40)
    scores = Engine(learner, 5, 3, np.random.default_rng(0)).learn(X, Y)
    truth = oracle_run(learner, X, Y)
    np.testing.assert_allclose(scores, truth, rtol=1e-9, atol=1e-11)


# ---- the switch ------------------------------------------------------------------------------


def test_the_switch_is_made_at_the_first_loss_after_the_buffer_is_full():
    X, y = made_up(60)
    learner = NOGD(kernel=Gaussian(1.5), budget=20)
    engine = Engine(learner, 5, 1, np.random.default_rng(0))
    losses = 0
    for x, label in zip(X, y, strict=True):
        if losses == 20:
            sure = 100.0 * np.sign(engine.predict_one(x))  # a label that makes no loss
            engine.learn_one(x, sure)
            assert learner.view(engine.memory).counts[COUNT.stage] == 0
        losses += engine.learn_one(x, label) * label < 1.0
        assert learner.view(engine.memory).counts[COUNT.stage] == (2 if losses > 20 else 0)
    assert learner.view(engine.memory).counts[COUNT.losses] == losses > 20


def test_the_round_of_the_switch_learns_in_the_new_space():
    X, y = made_up()
    learner = NOGD(kernel=Gaussian(1.5), budget=20, rank=20)
    engine = Engine(learner, 5, 1, np.random.default_rng(0))
    t = 0
    while learner.view(engine.memory).counts[COUNT.stage] == 0:
        before = engine.predict(X)[:, 0]
        engine.learn_one(X[t], y[t])
        t += 1
    after = engine.predict(X)[:, 0]
    points = learner.view(engine.memory).points.columns[:, :20].T
    kernel = oracles.gaussian(1.5)
    K, rows, x = kernel(points, points), kernel(X, points), kernel(X[t - 1 : t], points)[0]
    # w starts as stage one's hypothesis: with all eigenvectors, both are the same function.
    step = 0.2 * y[t - 1] * rows @ np.linalg.solve(K, x)
    np.testing.assert_allclose(after, before + step, rtol=1e-9, atol=1e-11)


def test_an_interrupted_switch_is_made_later(monkeypatch):
    X, y = made_up()
    learner = NOGD(kernel=Gaussian(1.5), budget=20)
    engine = Engine(learner, 5, 1, np.random.default_rng(0))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("forks.learners.nogd.nystrom_map", interrupt)
        with pytest.raises(KeyboardInterrupt):
            engine.learn(X, y.reshape(-1, 1))
    assert learner.view(engine.memory).counts[COUNT.stage] == 0
    scores = engine.learn(X, y.reshape(-1, 1))
    assert learner.view(engine.memory).counts[COUNT.stage] == 2
    assert np.isfinite(scores).all()


def test_what_is_beyond_all_bounds_is_left_out():
    loss = EpsilonInsensitive()
    learner = NOGD(kernel=Polynomial(2), loss=loss, budget=3, rank=3, eta=50.0)
    engine = Engine(learner, 2, 1, np.random.default_rng(0))
    x, z = np.array([1e30, 1.0]), np.array([-2.0, 1e25])
    engine.learn_one(x, 1.0, 1e150)  # 50e150: not stored
    state = learner.view(engine.memory)
    assert (state.counts[COUNT.stored], state.counts[COUNT.mends]) == (0, 1)
    for row in (x, z, x + z):  # coefficients of 5e149, times eigenvalues' roots of 1e60
        engine.learn_one(row, 1e306, 1e148)
    engine.learn_one(x, 1e306)
    state = learner.view(engine.memory)
    assert state.counts[COUNT.stage] == 2
    assert state.counts[COUNT.mends] == 2
    assert 0.0 < np.abs(state.w).max() < 1e150
    assert np.isfinite(engine.predict_one(z))


# ---- limits ----------------------------------------------------------------------------------


def test_all_eigenvectors_give_the_kernel_on_the_points():
    X, _ = made_up(30)
    for kernel in (Gaussian(1.5), Laplacian(2.0)):
        K = oracle_kernel(kernel)(X, X)
        Z, project = nystrom_map(kernel, kept_points(X), 30, 30, 30 * EPSILON)
        np.testing.assert_allclose(K @ Z @ (K @ Z).T, K, rtol=1e-10, atol=1e-12)
        alpha = np.random.default_rng(0).normal(size=30)
        np.testing.assert_allclose(K @ Z @ (project @ alpha), K @ alpha, rtol=1e-9, atol=1e-11)


def test_fewer_eigenvectors_give_the_best_approximation():
    X, _ = made_up(30)
    K = oracles.gaussian(1.5)(X, X)
    Z, _ = nystrom_map(Gaussian(1.5), kept_points(X), 30, 7, 0.0)
    values = np.linalg.eigvalsh(K)
    error = np.linalg.norm(K @ Z @ (K @ Z).T - K, 2)
    assert error == pytest.approx(values[-8], rel=1e-9)


def test_points_that_are_equal_give_features_that_are_zero():
    X = np.repeat(made_up(5)[0], 6, axis=0)
    K = oracles.gaussian(1.5)(X, X)
    Z, project = nystrom_map(Gaussian(1.5), kept_points(X), 30, 12, 30 * EPSILON)
    assert np.isfinite(Z).all()
    assert np.count_nonzero(Z.any(axis=0)) == np.count_nonzero(project.any(axis=1)) == 5
    np.testing.assert_allclose(K @ Z @ (K @ Z).T, K, rtol=1e-10, atol=1e-12)


def test_a_kernel_that_is_zero_everywhere_has_no_features():
    Z, project = nystrom_map(Polynomial(2, 1.0, 0.0), kept_points(np.zeros((4, 3))), 4, 2, 0.0)
    assert (Z == 0.0).all()
    assert (project == 0.0).all()


def test_a_buffer_that_is_never_full_is_kernel_online_gradient_descent():
    X, y = made_up(200)
    learner = NOGD(kernel=Gaussian(1.5), budget=200, rank=3)
    truth = oracles.kogd(X, y, oracles.gaussian(1.5), oracles.Hinge(), 0.2)
    np.testing.assert_allclose(engine_run(learner, X, y)[0], truth, rtol=1e-10, atol=1e-12)


# ---- figures of public codes -----------------------------------------------------------------


def mistakes_on_german(learner):
    X, y = load("german")
    counts = []
    for order in permutations("german"):
        scores, _ = engine_run(learner, np.ascontiguousarray(X[order]), y[order])
        counts.append(mistakes(scores, y[order]))
    return counts


@pytest.mark.needs_data
def test_mistakes_on_german_are_those_of_public_codes():
    """The first in double precision, the second in single, which moves a few mistakes."""
    counts = mistakes_on_german(NOGD(kernel=Gaussian(8.0), budget=50, rank=5))
    assert counts[:5] == [305, 308, 304, 296, 305]
    assert np.mean(counts) == pytest.approx(304.9, abs=1.0)
    counts = mistakes_on_german(NOGD(kernel=Gaussian(8.0), budget=100, rank=5))
    assert np.abs(np.subtract(counts[:5], [305, 308, 295, 287, 294])).max() <= 10


# ---- configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", None),
        ("loss", "hinge"),
        ("budget", 0),
        ("rank", 0),
        ("rank", 101),
        ("eta", 0.0),
        ("step_size", -1.0),
        ("cut", -1.0),
    ],
)
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        NOGD(**{name: value})


def test_sizes_follow_from_the_budget():
    assert NOGD(budget=50).n_components() == 10
    assert NOGD(budget=3).n_components() == 1
    assert NOGD(eta=1).rule() == NOGD(eta=1.0, step_size=1.0).rule()
