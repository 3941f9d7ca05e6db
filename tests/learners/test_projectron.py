"""The Projectron against its oracles and against the counts of the LSOKL code."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.kernels import Gaussian, Linear, Polynomial
from forks.learners import Projectron
from forks.parts.expansion import POINTS
from forks.parts.projection import CUT
from forks_against_oracle import engine_run, oracle_kernel
from perceptrons import (
    assert_scores,
    german,
    german_mistakes,
    mistakes,
    spambase,
    stream,
    svmguide3_rate,
    weights_for,
)

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array])
SMALL = Projectron(kernel=Gaussian(1.5), budget=13)
POLYNOMIAL = Projectron(kernel=Polynomial(2), budget=13)


def oracle_run(learner, X, y, weights=None):
    kernel = oracle_kernel(learner.kernel)
    return oracles.projectron(X, y, kernel, learner.budget, CUT, weights=weights)


@FORMS
@pytest.mark.parametrize("learner", [SMALL, POLYNOMIAL], ids=["gaussian", "polynomial"])
def test_every_score_is_the_oracles(form, learner):
    X, y = stream(seed=5)  # no score is 0 up to rounding, whose sign differs between machines
    for weights in (None, weights_for(y)):
        expected, points = oracle_run(learner, X, y, weights)
        scores, engine = engine_run(learner, form(X), y, weights=weights)
        assert_scores(scores, expected)
        view = learner.view(engine.memory)
        np.testing.assert_array_equal(view.points.columns[:, : view.counts[POINTS]].T, points)


@pytest.mark.needs_data
def test_every_score_on_real_rows_is_the_oracles():
    learner = Projectron(kernel=Gaussian(8), budget=50)
    for X, y in (german(), spambase()):
        expected = oracle_run(learner, X, y)[0]
        for form in (np.asarray, csr_array):
            assert_scores(engine_run(learner, form(X), y)[0], expected)


def test_with_room_for_all_it_is_the_perceptron():
    X, y = stream()
    expected = oracles.perceptron(X, y, oracles.gaussian(0.5))
    scores, engine = engine_run(Projectron(kernel=Gaussian(0.5), budget=200), X, y)
    assert_scores(scores, expected)
    assert 13 < SMALL.stored_points(engine.memory) < 200


def test_the_projection_is_that_of_least_squares():
    X, y = stream(d=9)
    scores, engine = engine_run(Projectron(kernel=Linear(), budget=6), X, y)
    assert SMALL.stored_points(engine.memory) == 6
    assert_scores(scores, oracles.linear_projectron(X, y, 6))


def test_a_point_of_the_span_is_projected_though_there_is_room():
    X, y = stream(d=9)
    scores, engine = engine_run(Projectron(kernel=Linear(), budget=50), X, y)
    assert SMALL.stored_points(engine.memory) == 9
    assert_scores(scores, oracles.perceptron(X, y, oracles.linear()))


def test_a_row_seen_twice_is_stored_once():
    learner = Projectron(kernel=Gaussian(1.5), budget=13)
    row = np.ones((1, 5))
    _, engine = engine_run(learner, np.repeat(row, 4, axis=0), np.array([-1.0, 1.0, 1.0, -1.0]))
    # the answers are +1, -1, +1 (f = 0) and +1, so the first, second and fourth are mistakes
    assert learner.stored_points(engine.memory) == 1
    assert engine.predict(row)[0, 0] == pytest.approx(-1.0)


def test_overflow_leaves_a_step_out():
    X, y = stream(60)
    for scale in (1e-80, 1e75, 1e160):
        for kernel in (Polynomial(2), Polynomial(2, 1.0, 0.0)):
            learner = Projectron(kernel=kernel, budget=13)
            scores, engine = engine_run(learner, scale * X, y)
            assert np.isfinite(scores).all()
            view = learner.view(engine.memory)
            assert np.isfinite(view.alpha).all()
            assert np.isfinite(view.L).all()


@pytest.mark.needs_data
def test_german_counts_are_those_of_lsokl():
    counts = german_mistakes(Projectron(kernel=Gaussian(8), budget=50))
    assert counts[:5] == [377, 347, 399, 379, 337]
    assert np.mean(counts) / 10 == pytest.approx(36.84, abs=0.006)


@pytest.mark.needs_data
def test_a_wide_kernel_does_not_overflow():
    """The FORKS code ends with coefficients that are not finite here, in 20 of 20 runs."""
    learner = Projectron(kernel=Gaussian(64), budget=50)
    counts = [mistakes(learner, *german(i)) for i in range(5)]
    assert np.mean(counts) / 10 == pytest.approx(38.0, abs=0.1)


@pytest.mark.needs_data
def test_svmguide3_rate_is_that_of_lsokl():
    assert abs(svmguide3_rate(Projectron(kernel=Gaussian(8), budget=50)) - 34.77) <= 0.6
