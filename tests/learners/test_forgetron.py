"""The Forgetron against its oracle and against the counts of the LSOKL code."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.kernels import Gaussian, Polynomial
from forks.learners import Forgetron
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
PUBLISHED = Forgetron(kernel=Gaussian(1.5), budget=13)
LSOKL = dataclasses.replace(PUBLISHED, root="lsokl")
POLYNOMIAL = Forgetron(kernel=Polynomial(2), budget=13)


def oracle_run(learner, X, y, weights=None):
    kernel = oracle_kernel(learner.kernel)
    return oracles.forgetron(X, y, kernel, learner.budget, learner.root, weights)


@FORMS
@pytest.mark.parametrize("learner", [PUBLISHED, LSOKL, POLYNOMIAL], ids=["published", "lsokl", "p"])
def test_every_score_is_the_oracles(form, learner):
    X, y = stream()
    for weights in (None, weights_for(y)):
        expected, shrinkings, spent = oracle_run(learner, X, y, weights)
        scores, engine = engine_run(learner, form(X), y, weights=weights)
        assert_scores(scores, expected)
        assert len(shrinkings) > 13  # the ring has gone round
        assert learner.view(engine.memory).spent[0] == pytest.approx(spent, rel=1e-9)


@pytest.mark.needs_data
def test_every_score_on_real_rows_is_the_oracles():
    learner = Forgetron(kernel=Gaussian(8), budget=50)
    for X, y in (german(), spambase()):
        expected = oracle_run(learner, X, y)[0]
        for form in (np.asarray, csr_array):
            assert_scores(engine_run(learner, form(X), y)[0], expected)


def test_the_roots_differ_where_the_quadratic_opens_downwards():
    X, y = stream()
    assert (oracle_run(PUBLISHED, X, y)[1] <= 1.0).all()
    assert (oracle_run(LSOKL, X, y)[1] > 1.0).any()
    assert (engine_run(PUBLISHED, X, y)[0] != engine_run(LSOKL, X, y)[0]).any()


def test_with_room_for_all_it_is_the_perceptron():
    X, y = stream()
    expected = oracles.perceptron(X, y, oracles.gaussian(1.5), zero_is_wrong=True)
    assert_scores(engine_run(Forgetron(kernel=Gaussian(1.5), budget=200), X, y)[0], expected)


def test_the_oldest_point_leaves():
    learner = Forgetron(kernel=Gaussian(0.01), budget=4)  # all scores are 0
    X, y = np.arange(30.0).reshape(-1, 1), np.full(30, -1.0)
    _, engine = engine_run(learner, X, y)
    view = learner.view(engine.memory)
    assert sorted(view.points.columns[0, :4]) == [26.0, 27.0, 28.0, 29.0]
    newest_first = np.argsort(-view.points.columns[0, :4])
    sizes = np.abs(view.alpha[newest_first])  # older points have shrunk more often
    assert sizes[0] > sizes[-1] > 0.0
    assert (np.diff(sizes) <= 0.0).all()


def test_the_damage_stays_within_its_bound():
    X, y = stream(400)
    for weights in (None, 100.0 * weights_for(y)):
        view = PUBLISHED.view(engine_run(PUBLISHED, X, y, weights=weights)[1].memory)
        assert view.spent[0] <= 15.0 / 32.0 * view.counts[4] + 1e-9


def test_overflow_leaves_a_step_out():
    """Features of this size square to 1e320; coefficients of LSOKL's root grow without bound."""
    X, y = stream(60)
    for learner, scale in ((POLYNOMIAL, 1e160), (POLYNOMIAL, 1e75), (LSOKL, 1.0)):
        weights = np.full(60, 1e300 if learner is LSOKL else 1.0)
        scores, engine = engine_run(learner, scale * X, y, weights=weights)
        assert np.isfinite(scores).all()
        view = learner.view(engine.memory)
        assert np.isfinite(view.alpha).all()
        assert np.isfinite(view.spent).all()


def test_a_bad_root_is_named():
    with pytest.raises(ValueError, match="root must be one of 'published', 'lsokl', got 'dogma'"):
        Forgetron(root="dogma")


@pytest.mark.needs_data
def test_german_counts_are_those_of_lsokl():
    counts = german_mistakes(Forgetron(kernel=Gaussian(8), budget=50, root="lsokl"))
    assert counts[:5] == [403, 412, 407, 399, 410]
    assert np.mean(counts) / 10 == pytest.approx(40.05, abs=0.006)


@pytest.mark.needs_data
def test_svmguide3_rate_is_that_of_lsokl():
    learner = Forgetron(kernel=Gaussian(8), budget=50, root="lsokl")
    assert abs(svmguide3_rate(learner) - 35.48) <= 0.6
