"""Learners must learn for ever: finite, no worse with time, and mending themselves."""

import numpy as np
import pytest

pytest.importorskip("forks.experiments.bench", reason="the benchmark needs matplotlib")

from forks.engine import MENDS, Engine
from forks.experiments.bench.stationary import SOURCES, TASKS, learners, play, rows_of
from forks.kernels import Gaussian, Linear, Polynomial
from forks.learners import (
    BOGD,
    BPAS,
    FOGD,
    FORKS,
    KOGD,
    NOGD,
    PROSNKONS,
    Forgetron,
    Projectron,
    SkeGD,
    SketchedKONS,
)
from forks.losses import SquaredError

SCALED, _, UNSCALED, WEIGHTED = SOURCES
FIRST_ORDER = (KOGD, NOGD, SkeGD)
# A has the squares of the weights: after some rows of weight 1,000 w hardly moves any more, and
# what an update of the map loses is not learned again.
FROZEN = ("FORKS with updates", "classification", WEIGHTED)


def counts_of(engine):
    view = engine.learner.view(engine.memory)
    return getattr(view, "hot", view).counts


def new_engine(learner, d=4):
    return Engine(learner, d, 1, np.random.default_rng(0))


def signs(y):
    return np.where(y, 1.0, -1.0).reshape(-1, 1)


# ---- gradient steps --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow if kind is SkeGD else [])  # compiled for it
        for kind in FIRST_ORDER
    ],
)
def test_unscaled_rows_are_learned_where_plain_steps_diverge(kind):
    X = 1e3 * np.random.default_rng(0).normal(size=(4_000, 4))
    y = X @ np.array([1.0, -2.0, 0.0, 3.0])
    engine = new_engine(kind(kernel=Linear(), loss=SquaredError()))
    scores = engine.learn(X, y.reshape(-1, 1))[:, 0]
    assert np.isfinite(engine.memory.floats).all()
    assert np.abs(scores - y)[-100:].max() < 1e-3 * np.abs(y).max()
    assert counts_of(engine)[MENDS] == 0


@pytest.mark.parametrize("kind", [*FIRST_ORDER, FOGD, BOGD, FORKS])
def test_large_weights_do_not_make_gradient_steps_diverge(kind):
    played = play(kind(loss=SquaredError()), "regression", WEIGHTED, 4_000, n_clean=1_000)
    assert played.finite
    assert played.loaded
    assert played.mends == 0
    assert max(played.middle, played.end) < 6.0  # the targets' standard deviation is 1.2


def test_steps_that_do_not_diverge_are_as_published():
    X, y, _ = rows_of("regression", SCALED, 300, (0,))
    held, plain = (
        new_engine(KOGD(kernel=Gaussian(1.0), loss=SquaredError(), eta=eta)).learn(
            X, y.reshape(-1, 1), np.full(300, weight)
        )
        for eta, weight in ((1.9, 1.0), (0.19, 10.0))
    )
    np.testing.assert_allclose(held, plain, rtol=1e-9)
    alpha, K = np.zeros(300), np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for t in range(300):
        np.testing.assert_allclose(plain[t, 0], K[t] @ alpha, rtol=1e-6, atol=1e-6)
        alpha[t] = 1.9 * (y[t] - plain[t, 0])


# ---- matrices that are updated for ever ------------------------------------------------------


@pytest.mark.parametrize("source", [SCALED, UNSCALED], ids=lambda source: source.name)
def test_the_root_of_forks_is_that_of_exact_arithmetic(source):
    """S S' = A^-1, so S'A S = I, with A summed up in extended precision."""
    learner = FORKS(kernel=source.kernel, budget=20)
    engine = new_engine(learner)
    X, y, _ = rows_of("classification", source, 60_000, (0,))
    targets, start = signs(y), 0
    while engine.features(X[:1]) is None:
        engine.learn(X[start : start + 1], targets[start : start + 1])
        start += 1
    view = learner.view(engine.memory).hot
    k = learner.sizes().rank
    root = view.roots[0, :, :k].astype(np.longdouble)
    A = np.linalg.inv((root @ root.T).astype(float)).astype(np.longdouble)
    scores = engine.learn(X[start:], targets[start:])
    lost = (scores * targets[start:] < 1.0)[:, 0]
    phi = engine.features(X[start:][lost]).astype(np.longdouble)
    A += learner.curvature * phi.T @ phi
    root = view.roots[0, :, :k].astype(np.longdouble)
    error = np.abs((root.T @ A @ root).astype(float) - np.eye(k)).max()
    assert error < (1e-11 if source is SCALED else 1e-4)


def test_carried_curvature_stays_what_it_was():
    """Its trace is a sum of squared lengths of features, of about 1, whatever the map."""
    learner = FORKS(budget=50, update_cycle=50, landmarks="refreshed")
    engine = new_engine(learner)
    X, y, _ = rows_of("classification", SCALED, 40_000, (0,))
    engine.learn(X, signs(y))
    view = learner.view(engine.memory).hot
    assert learner.map_updates(engine.memory) > 300
    sizes = np.linalg.svd(view.roots[0, :, :50], compute_uv=False)
    assert sizes[-1] ** -2.0 < learner.alpha + 2.0 * learner.curvature * len(y)
    clean, truth, _ = rows_of("classification", SCALED, 5_000, (1,), clean=True)
    answers = engine.predict(clean)[:, 0] >= 0.0
    assert np.mean(answers != truth) < 0.2  # at chance, were A to grow


def test_a_broken_matrix_of_sketched_kons_is_made_anew():
    """A of condition 1e20 cannot be factorised in floats: once it fails it must not fail on."""
    learner = SketchedKONS(kernel=Polynomial(3), loss=SquaredError())
    engine = new_engine(learner)
    X, y, _ = rows_of("regression", UNSCALED, 2_000, (0,))
    engine.learn(X, y.reshape(-1, 1))
    assert np.isfinite(engine.memory.floats).all()
    assert counts_of(engine)[MENDS] < 100
    assert learner.stored_points(engine.memory) > 1_900


# ---- mends -----------------------------------------------------------------------------------

SPOILED = {
    "KOGD": (KOGD(loss=SquaredError()), lambda view: view.alpha),
    "FOGD": (FOGD(loss=SquaredError()), lambda view: view.w),
    "NOGD": (NOGD(loss=SquaredError(), budget=20, rank=20), lambda view: view.w),
    "SkeGD": (SkeGD(loss=SquaredError(), budget=20, rank=4), lambda view: view.hot.w),
    "FORKS": (FORKS(loss=SquaredError(), budget=20), lambda view: view.hot.w),
    "PROS-N-KONS": (
        PROSNKONS(loss=SquaredError(), clip=np.inf, max_points=20),
        lambda view: view.alpha,
    ),
    "SKETCHED-KONS": (SketchedKONS(loss=SquaredError(), clip=np.inf), lambda view: view.alpha),
}


@pytest.mark.parametrize("name", SPOILED)
def test_weights_beyond_all_bounds_start_anew(name):
    learner, weights = SPOILED[name]
    engine = new_engine(learner)
    X, y, _ = rows_of("regression", SCALED, 1_000, (0,))
    engine.learn(X[:500], y[:500].reshape(-1, 1))
    spoiled = weights(learner.view(engine.memory))
    spoiled[spoiled != 0.0] = 1e200
    scores = engine.learn(X[500:], y[500:].reshape(-1, 1))[:, 0]
    assert counts_of(engine)[MENDS] > 0
    assert np.isfinite(engine.memory.floats).all()
    assert np.abs(scores[-100:]).max() < 100.0


def test_points_whose_cost_overflows_leave_the_forgetron():
    learner = Forgetron(budget=20)
    engine = new_engine(learner)
    X, y, _ = rows_of("classification", SCALED, 2_000, (0,))
    engine.learn(X[:100], signs(y[:100]), np.full(100, 1e200))
    engine.learn(X[100:], signs(y[100:]))
    assert counts_of(engine)[MENDS] > 0
    assert np.abs(learner.view(engine.memory).alpha).max() <= 1.0


def test_coefficients_that_overflow_leave_the_projectron():
    learner = Projectron(budget=20)
    engine = new_engine(learner)
    X, y, _ = rows_of("classification", SCALED, 500, (0,))
    engine.learn(X[:100], signs(y[:100]))
    learner.view(engine.memory).alpha[:20] = 1.7e308
    engine.learn(X[100:], signs(y[100:]))
    assert counts_of(engine)[MENDS] == 1
    assert np.abs(learner.view(engine.memory).alpha).max() < 1e6


def test_a_share_that_overflows_leaves_bpa_s():
    learner = BPAS(kernel=Polynomial(2), budget=20)
    engine = new_engine(learner)
    X, y, _ = rows_of("classification", SCALED, 500, (0,))
    engine.learn(X[:100], signs(y[:100]))
    learner.view(engine.memory).alpha[:20] = 1.7e308
    engine.learn(X[100:], signs(y[100:]))
    assert counts_of(engine)[MENDS] > 0
    assert np.abs(learner.view(engine.memory).alpha).max() < 1e6


def test_a_gradient_that_overflows_is_counted_by_bogd():
    engine = new_engine(BOGD(loss=SquaredError()))
    engine.learn(np.ones((1, 4)), np.full((1, 1), 1e308), np.full(1, 1e10))
    assert counts_of(engine)[MENDS] == 1


# ---- every learner, every stream -------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [pytest.param(UNSCALED, marks=pytest.mark.slow), WEIGHTED],
    ids=lambda source: source.name,
)
def test_regression_is_finite_saved_and_loaded(source):
    for name, learner, _ in learners("regression", source):
        played = play(learner, "regression", source, 2_000, n_clean=100)
        assert played.finite, name
        assert played.loaded, name


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@pytest.mark.parametrize("task", TASKS)
def test_five_million_rows(task, source):
    for name, learner, bounded in learners(task, source):
        played = play(learner, task, source, 5_000_000 if bounded else 4_000)
        assert played.finite, name
        assert played.loaded, name
        if (name, task, source) != FROZEN:
            assert not played.is_worse, (name, played)
