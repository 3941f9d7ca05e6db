"""Quantile trackers against their oracles, and the coverage that they promise."""

import numpy as np
import pytest
from scipy.stats import norm

from forks import oracles
from forks.engine import entry
from forks.parts.conformal import (
    LEVELS,
    LOWER,
    UPPER,
    Conformal,
    ConformalRule,
    begin_quantiles,
    interval,
    observe_class,
    observe_residual,
    threshold,
)

NUMBERS, CLASSES = ConformalRule(False), ConformalRule(True)


@entry
def _observe_residuals(rule, conformal, residuals, before, sizes):
    for t in range(residuals.shape[0]):
        sizes[t] = conformal.sizes[1, 0]
        for i in range(before.shape[2]):
            before[t, LOWER, i] = conformal.quantiles[1, LOWER, i]
            before[t, UPPER, i] = conformal.quantiles[1, UPPER, i]
        observe_residual(rule, conformal, 1, residuals[t])


@entry
def _observe_classes(rule, conformal, p, before):
    for t in range(p.shape[0]):
        for i in range(before.shape[1]):
            before[t, i] = conformal.quantiles[1, UPPER, i]
        observe_class(rule, conformal, 1, p[t])


def new(rule):
    """Two trackers, of which the second is played."""
    conformal = Conformal(np.zeros((2, 2, len(LEVELS))), np.zeros((2, 2)))
    begin_quantiles(rule, conformal)
    return conformal


def played_residuals(residuals):
    """Return the ends of intervals before each row, for each level, and the tracker."""
    conformal = new(NUMBERS)
    n = len(residuals)
    before, sizes = np.empty((n, 2, len(LEVELS))), np.empty(n)
    _observe_residuals.over()(NUMBERS, conformal, residuals, before, sizes)
    assert not conformal.sizes[0].any()
    return sizes[:, None] * before[:, LOWER], sizes[:, None] * before[:, UPPER], conformal


def played_classes(p):
    """Return the least probabilities before each row, for each level, and the tracker."""
    conformal = new(CLASSES)
    before = np.empty((len(p), len(LEVELS)))
    _observe_classes.over()(CLASSES, conformal, p, before)
    return 1.0 - before, conformal


# ---- oracles ---------------------------------------------------------------------------------


def test_every_interval_is_the_oracles():
    residuals = np.random.default_rng(0).standard_t(2, size=500) + 0.5
    lower, upper, conformal = played_residuals(residuals)
    oracle = oracles.ResidualQuantiles()
    for t, residual in enumerate(residuals):
        expected = [oracle.interval(level) for level in LEVELS]
        ends = np.sort([lower[t], upper[t]], axis=0).T
        np.testing.assert_allclose(ends, expected, rtol=1e-9, atol=1e-12)
        oracle.observe(residual)
    for level in LEVELS:
        np.testing.assert_allclose(interval(conformal, 1, level), oracle.interval(level), rtol=1e-9)


def test_every_set_is_the_oracles():
    p = np.random.default_rng(0).beta(3.0, 1.0, size=500)
    _, conformal = played_classes(p)
    oracle = oracles.ClassQuantiles()
    for each in p:
        oracle.observe(each)
    np.testing.assert_allclose(conformal.quantiles[1, UPPER], oracle.q, rtol=1e-9)
    for level in LEVELS:
        assert threshold(conformal, 1, level) == pytest.approx(oracle.threshold(level), rel=1e-9)


# ---- coverage --------------------------------------------------------------------------------


def _sequences(n=6000):
    """Residuals of all sorts: none of them is independent of what came before."""
    rng = np.random.default_rng(0)
    t = np.arange(n)
    yield "normal", rng.normal(size=n)
    yield "skewed", rng.exponential(size=n) - 0.2
    yield "heavy", rng.standard_t(1.5, size=n)
    yield "growing", rng.normal(size=n) * np.exp(3.0 * t / n)
    yield "jumping", rng.normal(size=n) * np.where(t // 500 % 2, 20.0, 1.0)
    yield "shifting", rng.normal(size=n) + np.sin(t / 300.0) * 3.0
    yield "one side", np.abs(rng.normal(size=n)) + 5.0


SEQUENCES = dict(_sequences())


@pytest.mark.parametrize("name", SEQUENCES)
def test_coverage_holds_on_any_sequence(name):
    """Up to what quantiles can move, 1 / (step n) for each unit."""
    residuals = SEQUENCES[name]
    lower, upper, _ = played_residuals(residuals)
    covered = (lower <= residuals[:, None]) & (residuals[:, None] <= upper)
    np.testing.assert_allclose(covered[200:].mean(axis=0), LEVELS, atol=0.02)


@pytest.mark.parametrize("level", LEVELS)
def test_an_adversary_that_sees_the_sets_cannot_spoil_the_coverage(level):
    """It misses whenever it can: until sets have all classes."""
    conformal, i, missed, n = new(CLASSES), LEVELS.index(level), 0, 3000
    observe = _observe_classes.over()
    for _ in range(n):
        least = 1.0 - conformal.quantiles[1, UPPER, i]
        missed += least > 0.0
        observe(CLASSES, conformal, np.array([max(0.0, 0.999 * least)]), np.empty((1, 5)))
    assert missed > (1.0 - level) * n
    assert missed <= (1.0 - level) * n + (1.02 - level) / 0.02


@pytest.mark.parametrize("level", LEVELS)
def test_misses_are_bounded_by_the_way_of_the_quantile(level):
    """For any sequence: step (misses - rate n) is exactly what the quantile has moved."""
    p = np.random.default_rng(0).random(2000) ** np.linspace(0.1, 8.0, 2000)
    least, conformal = played_classes(p)
    i = LEVELS.index(level)
    missed = np.count_nonzero(1.0 - p > 1.0 - least[:, i])
    moved = conformal.quantiles[1, UPPER, i] - level
    assert 0.02 * (missed - (1.0 - level) * 2000) == pytest.approx(moved, abs=1e-9)
    assert abs(missed / 2000 - (1.0 - level)) < 0.03


# ---- other levels ----------------------------------------------------------------------------


def test_levels_between_are_those_of_a_normal_distribution():
    conformal = new(NUMBERS)
    conformal.sizes[1, 0] = np.sqrt(2.0 / np.pi)  # mean size of a standard normal variable
    for level in (0.1, 0.5, 0.6, 0.85, 0.97, 0.99, 0.999):
        low, high = interval(conformal, 1, level)
        assert high == pytest.approx(norm.ppf(0.5 + 0.5 * level), rel=1e-9)
        assert low == -high


def test_ends_and_sets_are_in_order():
    rng = np.random.default_rng(0)
    _, _, conformal = played_residuals(rng.standard_t(3, size=3000))
    ends = np.array([interval(conformal, 1, level) for level in (0.3, 0.6, 0.9, 0.98, 0.995)])
    assert (np.diff(ends[:, 0]) < 0.0).all()
    assert (np.diff(ends[:, 1]) > 0.0).all()
    _, conformal = played_classes(rng.beta(4.0, 1.0, size=3000))
    least = [threshold(conformal, 1, level) for level in (0.3, 0.6, 0.9, 0.98, 0.995)]
    assert (np.diff(least) <= 0.0).all()


def test_a_residual_that_is_not_finite_is_left_out():
    _, _, plain = played_residuals(np.array([1.0, -2.0, 0.5]))
    _, _, other = played_residuals(np.array([1.0, np.nan, -2.0, np.inf, 0.5]))
    np.testing.assert_array_equal(other.quantiles, plain.quantiles)
    np.testing.assert_array_equal(other.sizes, plain.sizes)
