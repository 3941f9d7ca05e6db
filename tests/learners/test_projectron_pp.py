"""Projectron++ against its oracle and against the counts of the LSOKL code."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.kernels import Gaussian, Polynomial
from forks.learners import Projectron, ProjectronPP
from forks.parts.expansion import POINTS
from forks.parts.projection import CUT
from forks_against_oracle import engine_run, oracle_kernel
from perceptrons import (
    assert_scores,
    german,
    german_mistakes,
    spambase,
    stream,
    svmguide3_rate,
    weights_for,
)

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array])
SMALL = ProjectronPP(kernel=Gaussian(1.5), budget=13)
POLYNOMIAL = ProjectronPP(kernel=Polynomial(2), budget=13)


def oracle_run(learner, X, y, weights=None):
    kernel = oracle_kernel(learner.kernel)
    return oracles.projectron(X, y, kernel, learner.budget, CUT, margin=True, weights=weights)


@FORMS
@pytest.mark.parametrize("learner", [SMALL, POLYNOMIAL], ids=["gaussian", "polynomial"])
def test_every_score_is_the_oracles(form, learner):
    X, y = stream()
    for weights in (None, weights_for(y)):
        expected, points = oracle_run(learner, X, y, weights)
        scores, engine = engine_run(learner, form(X), y, weights=weights)
        assert_scores(scores, expected)
        view = learner.view(engine.memory)
        np.testing.assert_array_equal(view.points.columns[:, : view.counts[POINTS]].T, points)


@pytest.mark.needs_data
def test_every_score_on_real_rows_is_the_oracles():
    learner = ProjectronPP(kernel=Gaussian(8), budget=50)
    for X, y in (german(), spambase()):
        expected = oracle_run(learner, X, y)[0]
        for form in (np.asarray, csr_array):
            assert_scores(engine_run(learner, form(X), y)[0], expected)


def test_a_round_without_a_mistake_stores_nothing():
    X, y = stream()
    learner = ProjectronPP(kernel=Gaussian(1.5), budget=200)
    engine = engine_run(learner, X[:0], y[:0])[1]
    changed = 0
    for x, label in zip(X, y, strict=True):
        stored = learner.stored_points(engine.memory)
        alpha = learner.view(engine.memory).alpha.copy()
        score = engine.learn_one(x, label)
        changed += label * score > 0.0 and (alpha != learner.view(engine.memory).alpha).any()
        if label * score > 0.0:
            assert learner.stored_points(engine.memory) == stored
    assert changed > 5


def test_rounds_with_a_small_margin_make_the_difference():
    X, y = stream()
    plain = Projectron(kernel=Gaussian(1.5), budget=13)
    assert (engine_run(SMALL, X, y)[0] != engine_run(plain, X, y)[0]).any()


@pytest.mark.needs_data
def test_german_counts_are_those_of_lsokl():
    counts = german_mistakes(ProjectronPP(kernel=Gaussian(8), budget=50))
    assert counts[:5] == [362, 315, 374, 348, 330]
    assert np.mean(counts) / 10 == pytest.approx(34.74, abs=0.006)


@pytest.mark.needs_data
def test_svmguide3_rate_is_that_of_lsokl():
    assert abs(svmguide3_rate(ProjectronPP(kernel=Gaussian(8), budget=50)) - 29.16) <= 0.5
