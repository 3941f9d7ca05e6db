"""What the benchmark of probabilities, intervals and saved models counts."""

import numpy as np
import pytest

from forks.experiments.bench import trust

RNG = np.random.default_rng(3)  # another one than the benchmark draws from


def test_true_probabilities_have_no_calibration_error_and_others_have():
    p = RNG.random(200_000)
    y = RNG.random(200_000) < p
    assert trust.calibration_error(p, y) < 0.005
    assert trust.error_by_chance(p) < 0.005 < 0.03 < trust.error_by_chance(p[:100]) < 0.2
    assert trust.calibration_error(np.clip(p + 0.1, 0.0, 1.0), y) == pytest.approx(0.095, abs=0.01)
    assert trust.calibration_error(np.ones(4), np.array([1, 1, 1, 0])) == pytest.approx(0.25)


def test_the_best_line_mends_odds_that_are_too_large():
    odds = RNG.normal(size=50_000)
    y = RNG.random(50_000) < 1.0 / (1.0 + np.exp(-odds))
    sure = 1.0 / (1.0 + np.exp(-(3.0 * odds + 1.0)))
    assert trust.calibration_error(sure, y) > 0.1
    assert trust.calibration_error(trust.recalibrated(sure, y), y) < 0.01


def test_coverage_is_that_of_the_worst_tenths():
    X = RNG.normal(size=(1500, 2))
    least, most = trust._coverage("made up", X, X[:, 0] + 0.3 * RNG.normal(size=1500))
    assert 75.0 < least.value < 90.0 < most.value <= 100.0
    assert (least.at_least, most.at_most) == (88.0, 92.0)


def test_a_saved_model_is_compared_with_a_constant():
    X = RNG.normal(size=(1500, 2))
    number = trust._saved("made up", X, (X[:, 0] > 0).astype(int), "classification")
    assert -60.0 < number.value < -40.0
    assert number.met
    ratio = trust._saved("made up", X, X[:, 0] ** 2, "regression")
    assert 0.0 < ratio.value < 0.5
