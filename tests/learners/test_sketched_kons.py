"""SKETCHED-KONS and KONS against their oracles and their limits."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.datasets import load, permutations
from forks.engine import one_thread
from forks.kernels import Gaussian, Polynomial
from forks.learners import SketchedKONS
from forks.losses import SquaredError
from forks_against_oracle import oracle_kernel, oracle_loss
from oracle_streams import column, draws_of, engine_for, repeating

SKETCH = ("beta", "epsilon", "gamma")
NEWTON = ("alpha", "curvature", "clip")

LINEAR = Polynomial(1, 1.0, 0.0)  # `Linear` would be compiled for one test alone

state_of = SketchedKONS().view


def stream(n=120, d=4, seed=0):
    return repeating(n, d, seed)


def oracle_run(learner, X, y, weights=None):
    """Play the oracle with the draws that an engine of `engine_for` makes."""
    with one_thread():  # small matrices: more threads only wait for each other
        return oracles.sketched_kons(
            X,
            y,
            oracle_kernel(learner.kernel),
            oracle_loss(learner.loss),
            draws_of(learner, X.shape[1]),
            weights=weights,
            **{name: getattr(learner, name) for name in SKETCH + NEWTON},
        )


def compare(learner, X, y, weights=None, form=np.asarray, rtol=1e-9):
    """Compare all scores, and the points of the rounds in A."""
    expected, members = oracle_run(learner, X, y, weights)
    engine = engine_for(learner, X.shape[1])
    scores = engine.learn(form(X), column(y), weights)[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    state = state_of(engine.memory)
    columns = state.points.columns[:, state.members[: state.counts[3]]]
    np.testing.assert_array_equal(columns.T, X[members])
    return expected, members, engine


# ---- the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "changes",
    [
        {"curvature": 1.0, "alpha": 0.3},
        {"gamma": 0.02, "beta": 0.3, "epsilon": 0.0, "curvature": 2.0, "clip": 0.4},
        {"gamma": 0.3, "beta": 0.0, "clip": np.inf, "curvature": 0.5},
    ],
)
def test_every_score_is_the_oracles(form, changes):
    X, y = stream()
    learner = SketchedKONS(kernel=Gaussian(1.5), **changes)
    scores, members, engine = compare(learner, X, y, form=form)
    lost = np.count_nonzero(scores * y < 1.0)
    assert 8 < len(members) < 0.9 * lost
    assert lost <= learner.stored_points(engine.memory) <= len(y)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_weights_scale_gradients_and_zero_weights_leave_no_trace(form):
    X, y = stream()
    weights = np.random.default_rng(1).exponential(size=len(y))
    weights[::4] = 0.0
    learner = SketchedKONS(kernel=Gaussian(1.5), curvature=0.5, clip=0.7)
    weighted, _, _ = compare(learner, X, y, weights, form)
    kept = weights != 0.0
    alone, _ = oracle_run(learner, X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(alone, weighted[kept], rtol=1e-9, atol=1e-12)


def test_regression_follows_the_oracle():
    X, _ = stream()
    y = 2.0 * np.sin(X[:, 0]) + X[:, 1]
    learner = SketchedKONS(kernel=Gaussian(1.5), loss=SquaredError(), curvature=0.5, clip=3.0)
    compare(learner, X, y)


@pytest.mark.needs_data
@pytest.mark.parametrize(("name", "bandwidth"), [("german", 8.0), ("spambase", 64.0)])
def test_real_streams_are_the_oracles_round_by_round(name, bandwidth):
    X, y = load(name)
    order = permutations(name)[0][:200]
    learner = SketchedKONS(kernel=Gaussian(bandwidth), curvature=1.0)
    compare(learner, np.ascontiguousarray(X[order]), y[order])


# ---- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [0.5, 1.0])
def test_with_gamma_one_it_is_kons(clip):
    X, y = stream()
    learner = SketchedKONS(kernel=Gaussian(1.5), gamma=1.0, alpha=0.3, curvature=0.8, clip=clip)
    options = {name: getattr(learner, name) for name in NEWTON}
    expected = oracles.kons(X, y, oracles.gaussian(1.5), oracles.Hinge(), **options)
    engine = engine_for(learner, 4)
    scores = engine.learn(X, column(y))[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-11)
    assert np.count_nonzero(np.abs(scores) == clip) > 5
    assert state_of(engine.memory).counts[3] == np.count_nonzero(scores * y < 1.0)


def test_kons_on_a_linear_kernel_is_the_dense_newton_step():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 5))
    y = np.sign(X @ rng.normal(size=5) + 0.2 * rng.normal(size=150))
    learner = SketchedKONS(kernel=LINEAR, gamma=1.0, alpha=0.5, curvature=0.3, clip=np.inf)
    scores = engine_for(learner, 5).learn(X, column(y))[:, 0]
    expected = oracles.dense_ons(X, y, oracles.Hinge(), 0.5, 0.3, 1.0, True)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-11)


def test_without_curvature_it_is_gradient_descent():
    X, y = stream()
    learner = SketchedKONS(kernel=Gaussian(1.5), alpha=4.0, curvature=0.0, clip=np.inf)
    engine = engine_for(learner, 4)
    scores = engine.learn(X, column(y))[:, 0]
    expected = oracles.kogd(X, y, oracles.gaussian(1.5), oracles.Hinge(), 0.25)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12)
    assert state_of(engine.memory).counts[3] == 0


def test_rooms_grow_apart_by_doubling():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.choice([-1.0, 1.0], 300)
    learner = SketchedKONS(kernel=Gaussian(1.0), gamma=0.05, beta=0.1)
    engine = engine_for(learner, 3)
    rooms = []
    for row, target in zip(X, y, strict=True):
        engine.learn_one(row, target)
        state = state_of(engine.memory)
        rooms.append((state.alpha.shape[0], state.triangle.shape[0]))
        assert state.counts[2] <= rooms[-1][0]
        assert state.counts[3] <= rooms[-1][1]
    points, members = map(set, zip(*rooms, strict=True))
    assert points == {64, 128, 256, 512}
    assert members <= {32, 64}
    np.testing.assert_array_equal(engine.predict(X)[:, 0], [engine.predict_one(row) for row in X])


def test_rounds_without_loss_that_are_not_projected_keep_nothing():
    x, y = np.ones((50, 3)), np.ones((50, 1))
    learner = SketchedKONS(kernel=Gaussian(1.0), clip=1.0, alpha=0.1)
    engine = engine_for(learner, 3)
    # One step from 0 overshoots 1, the second round projects, and then there is nothing to do.
    assert engine.learn(x, y)[-1, 0] == pytest.approx(1.0)
    assert learner.stored_points(engine.memory) <= 4


def test_rows_beyond_all_bounds_teach_nothing():
    X, y = stream(120)
    X[::7] *= 1e120
    engine = engine_for(SketchedKONS(kernel=Polynomial(3)), 4)
    assert np.isfinite(engine.learn(X, column(y))).all()
    state = state_of(engine.memory)
    for part in (state.alpha, state.c, state.weighted, state.triangle, state.leverage):
        assert np.isfinite(part).all()
    bounded = X[np.abs(X).max(axis=1) < 1e100]
    assert np.abs(engine.predict(bounded)).max() > 0.1


@pytest.mark.needs_data
def test_every_bandwidth_stays_finite():
    X, y = load("german")
    order = permutations("german")[0][:300]
    X, y = np.ascontiguousarray(X[order]), y[order]
    for power in range(-5, 8):
        learner = SketchedKONS(kernel=Gaussian(2.0**power), alpha=1e-3, curvature=1.0)
        engine = engine_for(learner, 24)
        assert np.isfinite(engine.learn(X, column(y))).all()
        assert np.isfinite(engine.memory.floats).all()


# ---- configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("alpha", 0.0),
        ("beta", -1.0),
        ("epsilon", -0.1),
        ("gamma", 0.0),
        ("gamma", 1.5),
        ("curvature", np.nan),
        ("clip", 0.0),
    ],
)
def test_bad_arguments_are_named(name, bad):
    with pytest.raises(ValueError, match=name):
        SketchedKONS(**{name: bad})


def test_rules_of_one_kind_share_compiled_code():
    kinds = [
        tuple(map(type, learner.rule()))
        for learner in (SketchedKONS(), SketchedKONS(alpha=1, curvature=0, gamma=1))
    ]
    assert kinds[0] == kinds[1]
