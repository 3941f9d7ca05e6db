"""SkeGD against its oracle, its presets, and the figures of the authors' code."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.engine.random import choose
from forks.kernels import Gaussian
from forks.learners import SkeGD
from forks.linalg import SJLT
from forks.losses import Hinge, SquaredError
from forks.parts.stage_one import COUNT
from forks_against_oracle import engine_run, oracle_kernel, oracle_loss
from oracle_streams import made_up, mistakes, real

SMALL = SkeGD(kernel=Gaussian(2.0), budget=20, rank=4, update_cycle=15)


def oracle_run(learner, X, y, weights=None, seed=0):
    memory = learner.init(X.shape[1], 1, np.random.default_rng(seed))
    random = learner.view(memory).random.copy()
    sizes = learner.sizes()
    return oracles.skegd(
        X,
        y,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        buffer=sizes.buffer,
        n_landmarks=sizes.n_landmarks,
        rank=sizes.rank,
        update_cycle=sizes.update_cycle,
        eta=learner.eta,
        step_size=learner.eta if learner.step_size is None else learner.step_size,
        on_update=learner.on_update,
        sketch_points=learner.sketch_points,
        cut=learner.cut,
        sjlt_row=SJLT(sizes.sketch_size, learner.n_blocks, int(random[1])).row,
        choose_landmarks=lambda n, size: choose(random[:1], n, size),
        weights=weights,
    )


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"on_update": "keep", "sketch_points": "buffer"},
        {"on_update": "keep", "n_blocks": 2},
        {"step_size": 0.05, "update_cycle": 40},
        {"update_cycle": 0, "rank": 1},
    ],
    ids=str,
)
def test_every_score_is_the_oracles(form, changes):
    learner = dataclasses.replace(SMALL, **changes)
    X, y = made_up(500, 4)
    weights = np.random.default_rng(1).exponential(size=len(y))
    weights[::7] = 0.0
    expected, updates = oracle_run(learner, X, y, weights)
    scores, engine = engine_run(learner, form(X), y, weights=weights)
    assert (len(updates) >= 3) == (learner.update_cycle > 0)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-8)
    assert learner.view(engine.memory).hot.counts[COUNT.updates] == len(updates)


def test_regression_scores_are_the_oracles():
    X, _ = made_up(500, 4)
    y = np.sin(X[:, 0]) + X[:, 1]
    learner = dataclasses.replace(SMALL, loss=SquaredError(), update_cycle=100)
    expected, updates = oracle_run(learner, X, y)
    scores, _ = engine_run(learner, X, y)
    assert len(updates) >= 2
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-8)
    assert np.mean((scores[300:] - y[300:]) ** 2) < 0.8 * np.var(y)


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("name", "bandwidth", "rows"), [("german", 8, 1000), ("spambase", 50, 900)]
)
def test_real_streams_are_the_oracles(name, bandwidth, rows):
    X, y = real(name, rows)
    learner = SkeGD.as_published(kernel=Gaussian(bandwidth), budget=50, n_rounds=rows // 5)
    expected, updates = oracle_run(learner, X, y)
    scores, _ = engine_run(learner, X, y)
    assert len(updates) >= 3
    assert np.mean((scores >= 0.0) != (expected >= 0.0)) <= 0.002
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_an_update_keeps_the_score_of_its_point():
    X, y = made_up(500, 4)
    learner = dataclasses.replace(SMALL, step_size=1e-12)
    _, updates = oracle_run(learner, X, y)
    t = updates[0]
    scores, engine = engine_run(learner, X[: t + 1], y[: t + 1])
    assert abs(scores[t]) > 1e-3
    np.testing.assert_allclose(engine.predict(X[t : t + 1])[0, 0], scores[t], rtol=1e-8)


@pytest.mark.parametrize("decomposition", ["tisvd", "randomized"])
def test_other_decompositions_do_nearly_as_well(decomposition):
    X, y = made_up(3000, 4)
    learner = SkeGD(kernel=Gaussian(2.0), budget=50, n_landmarks=25, rank=15, update_cycle=500)
    exact, _ = engine_run(learner, X, y)
    other, engine = engine_run(dataclasses.replace(learner, decomposition=decomposition), X, y)
    assert (exact != other).any()
    assert np.isfinite(engine.memory.floats).all()
    errors = [np.mean((scores >= 0.0) != (y > 0.0)) for scores in (exact, other)]
    assert abs(errors[1] - errors[0]) < 0.05
    assert errors[1] < 0.45


def test_presets():
    published = SkeGD.as_published(budget=100, n_rounds=1000)
    assert published.sizes()[:5] == (200, 100, 20, 10, 300)
    assert published.on_update == "point"
    released = SkeGD.as_released()
    assert released.sizes()[:5] == (200, 150, 100, 15, 17860)
    assert (released.on_update, released.sketch_points) == ("keep", "buffer")
    assert SkeGD.as_released(rank=5, loss=Hinge()).rank == 5
    with pytest.raises(ValueError, match="on_update"):
        SkeGD(on_update="carry")
    with pytest.raises(ValueError, match="step_size"):
        SkeGD(step_size=0.0)


@pytest.mark.needs_data
def test_as_released_is_the_authors_code():
    learner = SkeGD.as_released(
        kernel=Gaussian(64),
        buffer=100,
        sketch_size=50,
        n_landmarks=10,
        rank=5,
        update_cycle=300,
    )
    rates = []
    for order in range(20):
        X, y = real("german", order=order)
        rates.append(100.0 * mistakes(engine_run(learner, X, y, order)[0], y) / len(y))
    assert abs(np.mean(rates) - 30.09) < 0.45
