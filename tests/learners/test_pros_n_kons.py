"""PROS-N-KONS against its oracle, its limits and the figures of public code."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.datasets import load, permutations
from forks.engine import Engine, one_thread
from forks.kernels import Gaussian, Polynomial
from forks.learners import PROSNKONS
from forks.losses import Hinge, SquaredError
from forks.streams import adversarial
from forks_against_oracle import oracle_kernel, oracle_loss
from oracle_streams import column, draws_of, engine_for, repeating

NAMES = (
    "alpha",
    "beta",
    "epsilon",
    "gamma",
    "curvature",
    "clip",
    "damping",
    "max_points",
    "weighting",
    "blind_resets",
    "single_precision",
)

LINEAR = Polynomial(1, 1.0, 0.0)  # `Linear` would be compiled for one test alone

state_of = PROSNKONS().view


def stream(n=200, d=4, seed=0):
    return repeating(n, d, seed)


def oracle_run(learner, X, y, weights=None):
    """Play the oracle with the draws that an engine of `engine_for` makes."""
    with one_thread():  # small matrices: more threads only wait for each other
        return oracles.pros_n_kons(
            X,
            y,
            oracle_kernel(learner.kernel),
            oracle_loss(learner.loss),
            draws_of(learner, X.shape[1]),
            weights=weights,
            **{name: getattr(learner, name) for name in NAMES},
        )


def compare(learner, X, y, weights=None, form=np.asarray, rtol=1e-9):
    """Compare all scores, and the number of points after each tenth of the stream."""
    expected, sizes = oracle_run(learner, X, y, weights)
    engine = engine_for(learner, X.shape[1])
    n, part = len(y), max(1, len(y) // 10)
    w = np.ones(n) if weights is None else weights
    for start in range(0, n, part):
        assert learner.stored_points(engine.memory) == sizes[start]
        rows = slice(start, start + part)
        scores = engine.learn(form(X[rows]), column(y[rows]), w[rows])[:, 0]
        np.testing.assert_allclose(
            scores, expected[rows], rtol=rtol, atol=rtol * np.abs(expected).max()
        )
    return expected, sizes


# ---- the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gamma": 0.3, "alpha": 0.2, "curvature": 0.7, "clip": 0.4},
        {"max_points": 17, "beta": 0.5, "epsilon": 0.0, "clip": np.inf},
        {"weighting": "inverse", "damping": 0.01, "clip": 0.6},
        {"curvature": 0.0, "clip": 0.3},
    ],
)
def test_every_score_is_the_oracles(form, changes):
    X, y = stream()
    scores, sizes = compare(PROSNKONS(kernel=Gaussian(1.5), **changes), X, y, form=form)
    assert sizes[-1] > 8
    if changes.get("clip", 1.0) < 0.5:
        assert np.count_nonzero(np.isclose(np.abs(scores), changes["clip"], rtol=1e-12)) > 5


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_weights_scale_gradients_and_zero_weights_leave_no_trace(form):
    X, y = stream()
    weights = np.random.default_rng(1).exponential(size=len(y))
    weights[::4] = 0.0
    learner = PROSNKONS(kernel=Gaussian(1.5), clip=0.7)
    weighted, sizes = compare(learner, X, y, weights, form)
    kept = weights != 0.0
    alone, sizes_alone = oracle_run(learner, X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(alone, weighted[kept], rtol=1e-9)
    np.testing.assert_array_equal(sizes_alone, sizes[kept])


def test_regression_follows_the_oracle():
    X, _ = stream()
    y = 2.0 * np.sin(X[:, 0]) + X[:, 1]
    compare(PROSNKONS(kernel=Gaussian(1.5), loss=SquaredError(), clip=3.0), X, y)


def test_as_released_follows_the_oracle():
    X, y = stream(400)
    learner = PROSNKONS.as_released(kernel=Gaussian(1.5), max_points=30)
    scores, sizes = compare(learner, X, y)
    resets = np.flatnonzero(np.diff(sizes))
    assert (scores[resets] == -1e-300).all()
    # a reset leaves w = 0, and zero answers -1
    assert (scores[resets[resets < 398] + 1] == -1e-300).all()
    assert not np.any(scores == 0.0)
    assert sizes[-1] == 30


@pytest.mark.needs_data
def test_german_is_the_oracles_round_by_round():
    X, y = load("german")
    order = permutations("german")[0]
    X, y = np.ascontiguousarray(X[order]), y[order]
    # Few points, wide kernel: the oracle's eigenvalues span seven decades, whence the tolerance.
    compare(PROSNKONS(kernel=Gaussian(64.0)), X[:300], y[:300], rtol=1e-7)
    compare(PROSNKONS.as_released(kernel=Gaussian(8.0)), X[:200], y[:200])


@pytest.mark.needs_data
def test_spambase_is_the_oracles_round_by_round():
    X, y = load("spambase")
    order = permutations("spambase")[0][:300]
    X, y = np.ascontiguousarray(X[order]), y[order]
    compare(PROSNKONS(kernel=Gaussian(8.0), max_points=60), X, y)
    compare(PROSNKONS(kernel=Gaussian(8.0), max_points=60), X, y, form=csr_array)


# ---- limits ----------------------------------------------------------------------------------


def test_a_dictionary_that_spans_all_features_is_the_dense_newton_step():
    rng = np.random.default_rng(3)
    d, n = 5, 150
    X = rng.normal(size=(n, d)) * [3.0, 1.0, 0.5, 0.3, 0.2]
    y = np.sign(X @ rng.normal(size=d) + 0.2 * rng.normal(size=n))
    learner = PROSNKONS(
        kernel=LINEAR, max_points=d, gamma=2.0, alpha=0.5, curvature=0.3, clip=np.inf
    )
    engine = engine_for(learner, d)
    scores, full = np.zeros(n), None
    for t in range(n):
        scores[t] = engine.learn_one(X[t], y[t])
        if full is None and learner.stored_points(engine.memory) == d:
            full = t  # the last reset: this row is learned from in R^d, with the score 0
    assert d <= full < n // 2
    expected = oracles.dense_ons(X[full:], y[full:], oracles.Hinge(), 0.5, 0.3, 1.0, True)
    np.testing.assert_allclose(scores[full + 1 :], expected[1:], rtol=1e-9, atol=1e-11)
    earlier = oracles.dense_ons(X[full - 1 :], y[full - 1 :], oracles.Hinge(), 0.5, 0.3, 1.0, True)
    assert np.abs(scores[full + 1 :] - earlier[2:]).max() > 1e-3


def test_the_dictionary_is_bounded_and_room_grows_by_doubling():
    rng = np.random.default_rng(0)
    X, y = 10.0 * rng.normal(size=(300, 3)), rng.choice([-1.0, 1.0], 300)
    engine = engine_for(PROSNKONS(kernel=Gaussian(0.1), max_points=70), 3)
    rooms = []
    for row, target in zip(X, y, strict=True):
        engine.learn_one(row, target)
        rooms.append(state_of(engine.memory).newton.shape[1])
    assert sorted(set(rooms)) == [32, 64, 70]
    assert engine.learner.stored_points(engine.memory) == 70
    free = engine_for(PROSNKONS(kernel=Gaussian(0.1)), 3)
    free.learn(X, column(y))
    # rows that nothing explains join with p = 1.5 / 2
    assert 200 < free.learner.stored_points(free.memory) < 250


def test_rows_that_are_explained_do_not_join():
    x = np.ones((500, 3))
    engine = engine_for(PROSNKONS(kernel=Gaussian(1.0), gamma=0.1), 3)
    engine.learn(x, np.ones((500, 1)))
    # Each further copy has a leverage below 1.5 / (1 + number of copies): their number grows as a
    # logarithm or a root, and all copies but the first are dependent.
    j = engine.learner.stored_points(engine.memory)
    assert 2 <= j <= 60
    triangle = state_of(engine.memory).triangle[:j, :j]
    assert triangle[0, 0] == 1.0
    assert np.count_nonzero(triangle) == 1
    assert engine.predict(x[:1])[0, 0] > 0.5


def test_outputs_share_the_dictionary_and_are_otherwise_alone():
    X, _ = stream()
    Y = np.random.default_rng(2).choice([-1.0, 1.0], (len(X), 3))
    learner = PROSNKONS(kernel=Gaussian(1.5), clip=0.5)
    scores = engine_for(learner, 4, 3).learn(X, Y)
    for o in range(3):
        alone = engine_for(learner, 4).learn(X, column(Y[:, o]))
        np.testing.assert_allclose(scores[:, o], alone[:, 0], rtol=1e-11, atol=1e-13)


def test_points_beyond_all_bounds_change_nothing():
    X, y = stream(120)
    X[::7] *= 1e120
    engine = engine_for(PROSNKONS(kernel=Polynomial(3), loss=Hinge()), 4)
    scores = engine.learn(X, column(y))
    assert np.isfinite(scores).all()
    assert np.isfinite(engine.memory.floats[:]).all()
    bounded = X[np.abs(X).max(axis=1) < 1e100]
    assert np.abs(engine.predict(bounded)).max() > 0.1


@pytest.mark.needs_data
def test_every_bandwidth_stays_finite():
    X, y = load("german")
    order = permutations("german")[0][:300]
    X, y = np.ascontiguousarray(X[order]), y[order]
    for power in range(-5, 8):
        engine = engine_for(PROSNKONS(kernel=Gaussian(2.0**power), gamma=0.01, alpha=1e-3), 24)
        assert np.isfinite(engine.learn(X, column(y))).all()
        assert np.isfinite(engine.memory.floats).all()


# ---- figures of the authors' code, every round counted ---------------------------------------


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("bandwidth", "expected", "within", "points"),
    [(8.0, 31.20, 0.66, (101, 101)), (64.0, 33.14, 0.66, (22, 38))],
)
def test_german_as_released(bandwidth, expected, within, points):
    X, y = load("german")
    learner = PROSNKONS.as_released(kernel=Gaussian(bandwidth))
    rates, sizes = [], []
    for seed, order in enumerate(permutations("german")):
        engine = Engine(learner, 24, 1, np.random.default_rng(seed))
        scores = engine.learn(np.ascontiguousarray(X[order]), column(y[order]))[:, 0]
        rates.append(100.0 * np.mean((scores >= 0.0) != (y[order] > 0.0)))
        sizes.append(learner.stored_points(engine.memory))
    assert abs(np.mean(rates) - expected) < within
    assert points[0] <= min(sizes)
    assert max(sizes) <= points[1]


@pytest.mark.needs_data
def test_the_adversarial_game_as_released():
    # The authors' code gives 17.1 % (deviation 1.4), in which single precision has its share: a
    # score that the projection leaves at the margin is a loss again. Without that it would be 13 %.
    X, y = load("german")
    learner = PROSNKONS.as_released(kernel=Gaussian(50.0))
    rates = []
    for seed, order in enumerate(permutations("german")[:8]):
        rows, labels = adversarial(np.ascontiguousarray(X[:, :23]), y, 500, 10, order[:500])
        engine = Engine(learner, 23, 1, np.random.default_rng(seed))
        scores = engine.learn(np.ascontiguousarray(rows), column(labels))[:, 0]
        rates.append(100.0 * np.mean((scores >= 0.0) != (labels > 0.0)))
    assert abs(np.mean(rates) - 17.1) < 1.8


# ---- configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("alpha", 0.0),
        ("beta", -1.0),
        ("epsilon", -0.1),
        ("gamma", 0.0),
        ("curvature", np.nan),
        ("clip", 0.0),
        ("damping", -1.0),
        ("max_points", 0),
        ("weighting", "none"),
    ],
)
def test_bad_arguments_are_named(name, bad):
    with pytest.raises(ValueError, match=name):
        PROSNKONS(**{name: bad})


def test_rules_of_one_kind_share_compiled_code():
    assert PROSNKONS(alpha=1, gamma=2).rule() == PROSNKONS(alpha=1.0, gamma=2.0).rule()
    kinds = [tuple(map(type, learner.rule())) for learner in (PROSNKONS(), PROSNKONS.as_released())]
    assert kinds[0] == kinds[1]
