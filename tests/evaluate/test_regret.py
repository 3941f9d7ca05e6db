"""Regret: the comparator is the best one, as oracles for each loss say."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from estimators.small_streams import labelled, valued
from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.evaluate import hindsight, regret
from forks.evaluate.metrics import row_losses
from forks.evaluate.regret import best_weights
from forks.kernels import Gaussian
from forks.learners import FOGD, FORKS, KOGD, NOGD, RBP
from forks.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    SquaredError,
    SquaredHinge,
    slope,
    value,
)

N, K = 300, 6
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(N, K)) @ RNG.normal(size=(K, K))
LABELS = np.sign(FEATURES[:, :1] + 0.3 * FEATURES[:, 1:2] ** 2 + RNG.normal(size=(N, 1)))
NUMBERS = FEATURES @ RNG.normal(size=(K, 1)) + RNG.standard_t(2, size=(N, 1))


def fitted(targets, loss, ridge=1e-3):
    return best_weights(FEATURES, targets, loss, ridge)


def total(w, targets, loss):
    return row_losses(loss, FEATURES @ w, targets).sum()


def test_hinge_is_within_its_tolerance_of_a_bound_by_duality():
    ridge = 1e-3
    w = fitted(LABELS, Hinge(), ridge)
    primal = total(w, LABELS, Hinge()) + 0.5 * ridge * np.sum(w**2)
    margins = LABELS * (FEATURES @ w)
    alpha = np.clip((1.0 - margins) / 0.001, 0.0, 1.0)  # any numbers in [0, 1] give a bound
    dual = alpha.sum() - np.sum((FEATURES.T @ (alpha * LABELS)) ** 2) / (2.0 * ridge)
    assert 0.0 <= primal - dual < 0.00005 * N


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_epsilon_insensitive_is_near_the_linear_programme(epsilon):
    # min sum of xi with |y - F w| <= epsilon + xi
    eye = np.eye(N)
    result = linprog(
        np.concatenate([np.zeros(K), np.ones(N)]),
        A_ub=np.vstack([np.hstack([-FEATURES, -eye]), np.hstack([FEATURES, -eye])]),
        b_ub=np.concatenate([epsilon - NUMBERS[:, 0], epsilon + NUMBERS[:, 0]]),
        bounds=[(None, None)] * K + [(0, None)] * N,
    )
    loss = EpsilonInsensitive(epsilon)
    ours = total(fitted(NUMBERS, loss, ridge=1e-6), NUMBERS, loss)
    assert -1e-9 * N < ours - result.fun < 0.0001 * N


def test_smooth_losses_have_the_solutions_of_scikit_learn():
    ridge = 0.5
    theirs = LogisticRegression(C=1.0 / ridge, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(FEATURES, LABELS[:, 0])
    np.testing.assert_allclose(fitted(LABELS, Logistic(), ridge), theirs.coef_.T, atol=1e-5)
    theirs = Ridge(alpha=ridge, fit_intercept=False).fit(FEATURES, NUMBERS[:, 0])
    ours = fitted(NUMBERS, SquaredError(), ridge)
    np.testing.assert_allclose(ours[:, 0], theirs.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (SquaredHinge(), LABELS),
        (Logistic(), LABELS),
        (SquaredError(), NUMBERS),
        (Huber(0.7), NUMBERS),
        (Huber(0.7), 1e6 * NUMBERS),
    ],
)
def test_the_gradient_vanishes(loss, targets):
    ridge = 1e-3
    w = fitted(targets, loss, ridge)
    slopes = [slope(loss, f, y) for f, y in zip((FEATURES @ w)[:, 0], targets[:, 0], strict=True)]
    gradient = FEATURES.T @ slopes + ridge * w[:, 0]
    assert np.abs(gradient).max() < 1e-6 * np.abs(FEATURES).sum(axis=0).max()


def test_features_that_repeat_each_other_or_are_zero_do_no_harm():
    more = np.hstack([FEATURES, FEATURES[:, :2], np.zeros((N, 3))])
    w = best_weights(more, LABELS, Hinge(), 1e-3)
    assert np.isfinite(w).all()
    ours = row_losses(Hinge(), more @ w, LABELS).sum()
    assert ours == pytest.approx(total(fitted(LABELS, Hinge()), LABELS, Hinge()), rel=1e-3)


def test_regret_is_the_difference_of_the_sums():
    scores = RNG.normal(size=N)
    w = fitted(LABELS, Hinge())
    differences = [
        value(Hinge(), f, y) - value(Hinge(), g, y)
        for f, g, y in zip(scores, (FEATURES @ w)[:, 0], LABELS[:, 0], strict=True)
    ]
    found = regret(scores, LABELS[:, 0], FEATURES, Hinge())
    np.testing.assert_allclose(found, np.cumsum(differences), rtol=1e-10, atol=1e-10)
    some = regret(scores, LABELS[:, 0], FEATURES, Hinge(), rounds=[1, 17, N])
    np.testing.assert_array_equal(some, found[[0, 16, N - 1]])


def test_outputs_are_fitted_one_by_one():
    targets = np.hstack([LABELS, -LABELS[::-1]])
    scores = RNG.normal(size=(N, 2))
    both = regret(scores, targets, FEATURES, Logistic())
    apart = [regret(scores[:, o], targets[:, o], FEATURES, Logistic()) for o in (0, 1)]
    np.testing.assert_allclose(both, sum(apart), rtol=1e-6)


ROWS, Y = labelled(400)


@pytest.mark.parametrize(
    "learner",
    [
        NOGD(kernel=Gaussian(1.5), budget=20),
        FOGD(kernel=Gaussian(1.5), budget=5),
        FORKS(kernel=Gaussian(1.5), budget=10, loss=Logistic()),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_no_fixed_hypothesis_beats_the_one_in_hindsight(learner, form):
    model = OnlineKernelClassifier(learner, random_state=0)
    scores = model.prequential(form(ROWS), Y)
    found = hindsight(model, form(ROWS), Y, scores)
    assert found.shape == (400,)
    # the final weights are fixed, too: they cannot lose less than the best
    targets = model.targets_of(Y)
    final = row_losses(learner.loss, model.decision_function(ROWS).reshape(-1, 1), targets)
    online = row_losses(learner.loss, scores.reshape(-1, 1), targets)
    best = online.sum() - found[-1]
    assert 0.0 < best < final.sum()


def test_more_classes_and_regression_have_regret_too():
    three = np.digitize(valued(400)[1], [-0.5, 0.5])
    model = OnlineKernelClassifier(FOGD(kernel=Gaussian(1.5), budget=5), random_state=0)
    assert hindsight(model, ROWS, three, model.prequential(ROWS, three))[-1] > 0.0
    learner = FOGD(kernel=Gaussian(1.5), budget=5, loss=SquaredError())
    regressor = OnlineKernelRegressor(learner, random_state=0)
    _, numbers = valued(400)
    assert hindsight(regressor, ROWS, numbers, regressor.prequential(ROWS, numbers))[-1] > 0.0


def test_rows_that_do_not_fit_the_model_are_refused():
    model = OnlineKernelClassifier(FOGD(budget=5))
    scores = model.prequential(ROWS, Y)
    with pytest.raises(ValueError, match="2 features"):
        hindsight(model, ROWS[:, :2], Y, scores)
    with pytest.raises(NotFittedError):
        hindsight(OnlineKernelClassifier(), ROWS, Y, scores)


@pytest.mark.parametrize("learner", [KOGD(), RBP(), NOGD(budget=1000)])
@pytest.mark.parametrize("labels", [Y, np.arange(400) % 3])
def test_models_without_explicit_features_are_refused(learner, labels):
    model = OnlineKernelClassifier(learner)
    scores = model.prequential(ROWS, labels)
    with pytest.raises(ValueError, match="model has no explicit features"):
        hindsight(model, ROWS, labels, scores)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scores": np.zeros(3)}, r"scores must have a row for each of the 300 rounds, got \(3,\)"),
        ({"y": np.zeros(5)}, "y must have a row for each"),
        ({"y": np.zeros((N, 2))}, r"y must have the shape of scores, \(300, 1\), got \(300, 2\)"),
        ({"rounds": [0, 3]}, "rounds must be between 1 and 300, got 0 to 3"),
        ({"ridge": 0.0}, "ridge must be a positive number, got 0.0"),
        ({"loss": "hinge"}, "loss"),
    ],
)
def test_bad_arguments_are_named(changes, named):
    arguments = {"scores": np.zeros(N), "y": LABELS[:, 0], "features": FEATURES, "loss": Hinge()}
    with pytest.raises((ValueError, TypeError), match=named):
        regret(**(arguments | changes))
