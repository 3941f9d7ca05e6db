"""The search for relevant features against its oracle, and what it finds."""

import numpy as np
import pytest

from forks import oracles
from forks.parts.relevance import (
    RelevanceRule,
    mean_squared_slopes,
    next_relevance,
    normalised,
    quadratic_slopes,
    sample_of,
    scores,
    search,
    tried,
)

RULE = RelevanceRule()


def rows(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    units = np.logspace(-2, 2, d)
    return rng.normal(size=(n, d)) * units + units, rng.choice([0.5, 1.0, 2.0], size=n)


def targets(X, classifies, seed=1):
    """Two outputs, which depend on the first three features, the second only jointly."""
    rng = np.random.default_rng(seed)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    f = np.column_stack([np.sin(2.0 * Z[:, 0]) + Z[:, 1] * Z[:, 2], Z[:, 2]])
    f += 0.2 * rng.normal(size=f.shape)
    return np.where(f > 0.0, 1.0, -1.0) if classifies else 1e3 * f + 7.0


# ---- the oracle ------------------------------------------------------------------------------

KINDS = pytest.mark.parametrize("classifies", [True, False], ids=["classes", "numbers"])


@KINDS
@pytest.mark.parametrize("d", [6, 70])
def test_a_trial_is_the_oracles(classifies, d):
    """Beyond 64 features there is no linear part."""
    X, weights = rows(d=d)
    Y = targets(X, classifies)
    sample = sample_of(X, Y, weights, 40, classifies)
    oracle = oracles.RelevanceSearch(X, Y, weights, 40, classifies)
    assert list(sample.landmarks) == oracle.landmarks
    np.testing.assert_allclose(sample.Z, oracle.Z, rtol=1e-9, atol=1e-12)
    for relevance in (np.ones(d), np.linspace(0.1, 2.0, d)):
        trial, (losses, squares, f) = tried(RULE, sample, relevance), oracle.trial(relevance)
        np.testing.assert_allclose(trial.losses, losses, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(scores(trial.f), f, rtol=1e-6, atol=1e-8)
        slopes = mean_squared_slopes(RULE, trial.f)
        np.testing.assert_allclose(slopes / slopes.sum(), squares / squares.sum(), rtol=1e-6)
        got = next_relevance(RULE, relevance, slopes, 300)
        np.testing.assert_allclose(got, oracle.next_relevance(relevance, squares), rtol=1e-6)
    np.testing.assert_allclose(
        quadratic_slopes(sample, sample.y), oracle.quadratic_slopes(oracle.y), rtol=1e-9, atol=1e-12
    )


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_the_search_is_the_oracles(classifies, seed):
    X, weights = rows(400, 10, seed)
    Y = targets(X, classifies, seed)
    candidates = [np.linspace(2.0, 0.1, 10)]
    sample = sample_of(X, Y, weights, 50, classifies)
    got = search(RULE, sample, candidates, 2).relevance
    expected = oracles.RelevanceSearch(X, Y, weights, 50, classifies).search(candidates)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert np.ptp(got) > 0.0


# ---- what is found ---------------------------------------------------------------------------


def found(f, n=500, d=20, seed=0, noise=0.1, rounds=2, candidates=()):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(f(X) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)[:, None]
    sample = sample_of(X, y, np.ones(n), 64, True)
    return search(RULE, sample, list(candidates), rounds), sample


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_features_that_matter_are_found(seed, power):
    trial, sample = found(lambda X: X[:, 0] + X[:, 1] ** power - (power == 2), seed=seed)
    assert trial.relevance[:2].min() > 8.0 * trial.relevance[2:].max()
    assert trial.loss < 0.7 * tried(RULE, sample, np.ones(20)).loss


@pytest.mark.parametrize("seed", range(3))
def test_two_that_matter_only_jointly_are_found_by_the_quadratic_slopes(seed):
    trial, sample = found(lambda X: X[:, 3] * X[:, 7], seed=seed, d=40, n=1000)
    slopes = quadratic_slopes(sample, sample.y)
    assert set(np.argsort(slopes)[-2:]) == {3, 7}
    assert set(np.argsort(trial.relevance)[-2:]) == {3, 7}
    assert trial.loss < 0.8 * tried(RULE, sample, np.ones(40)).loss


@pytest.mark.parametrize("seed", range(5))
def test_what_one_feature_leaves_is_not_lost_for_good(seed):
    """The relevance known so far is that of the feature that explains most by itself."""
    known = normalised(np.where(np.arange(50) == 0, 1.0, 1e-3))
    trial, sample = found(
        lambda X: np.sin(2.0 * X[:, 0]) + X[:, 3] * X[:, 7],
        n=1000, d=50, seed=seed, candidates=[known],
    )  # fmt: skip
    assert set(np.argsort(trial.relevance)[-3:]) == {0, 3, 7}
    assert trial.loss < 0.9 * tried(RULE, sample, known).loss


def test_labels_by_chance_mostly_leave_all_features_alike():
    alike = 0
    for seed in range(10):
        trial, _ = found(lambda X: 0.0 * X[:, 0], seed=seed, noise=1.0)
        alike += np.ptp(trial.relevance) == 0.0
    assert alike >= 6


def test_where_all_features_matter_alike_none_is_lost():
    trial, _ = found(lambda X: X.sum(axis=1), d=8)
    assert trial.relevance.min() > 0.5


def test_chance_is_taken_off_the_quadratic_slopes():
    none = [found(lambda X: 0.0 * X[:, 0], seed=s, noise=1.0, rounds=0)[1] for s in range(10)]
    means = [quadratic_slopes(sample, sample.y) for sample in none]
    sample = found(lambda X: X[:, 0])[1]
    slopes = quadratic_slopes(sample, sample.y)
    assert np.mean(means) < 0.05 * slopes[0]


# ---- edges -----------------------------------------------------------------------------------


def test_slopes_of_zero_change_nothing():
    relevance = np.array([0.5, 1.5])
    assert next_relevance(RULE, relevance, np.zeros(2), 100) is relevance
    assert next_relevance(RULE, relevance, np.array([np.inf, 1.0]), 100) is relevance
    np.testing.assert_allclose(np.mean(normalised(np.array([1e-3, 5.0])) ** 2), 1.0)


@KINDS
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "kind",
    ["constant", "huge", "tiny", "one label", "mostly alike", "wide", "weights", "one huge row"],
)
def test_a_search_ends_with_a_finite_relevance(classifies, kind):
    X, weights = rows(100, 300 if kind == "wide" else 6)
    Y = targets(X, classifies)
    if kind == "constant":
        X = np.full_like(X, 3.7)
    elif kind in ("huge", "tiny"):
        X = X * (1e150 if kind == "huge" else 1e-300)
        Y = Y if classifies else Y * (1e150 if kind == "huge" else 1e-300)
    elif kind == "one label":
        Y = np.ones_like(Y)
    elif kind == "weights":
        weights = weights * np.logspace(-150, 300, 100)
    elif kind == "mostly alike":
        X[np.arange(100) % 5 != 0] = X[0]
    elif kind == "one huge row":  # beside which the distances of others are next to nothing
        X[1] = 1e160
    trial = search(RULE, sample_of(X, Y, weights, 40, classifies), [], 2)
    assert np.isfinite(trial.relevance).all()
    assert np.mean(trial.relevance**2) == pytest.approx(1.0)
    assert np.isfinite(trial.loss) == (kind != "weights")


def test_rows_that_are_mostly_alike_are_compared_by_their_mean_distance():
    """Rounding errors of equal rows are no distances."""
    rng = np.random.default_rng(0)
    X, weights = rows(200, 13)
    X[rng.random(200) < 0.9] = X[0]
    Y = np.where(X[:, :1] > X[0, 0], 1.0, -1.0)
    trial = tried(RULE, sample_of(X, Y, weights, 60, True), np.ones(13))
    losses, _, _ = oracles.RelevanceSearch(X, Y, weights, 60, True).trial(np.ones(13))
    np.testing.assert_allclose(trial.losses, losses, rtol=1e-6, atol=1e-9)
