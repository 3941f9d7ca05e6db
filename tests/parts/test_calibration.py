"""Calibration against its oracle, and lines that it is to find."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.parts.calibration import (
    H_AA,
    H_BB,
    A,
    B,
    Calibration,
    CalibrationRule,
    begin_line,
    calibrate,
    calibration_limits,
    write_calibrated,
    write_log_odds,
)

RULE = CalibrationRule()


@entry
def _play(rule, line, F, Y, powers, P, lines):
    for t in range(F.shape[0]):
        write_calibrated(rule, line, F[t], P[t])
        calibrate(rule, line, F[t], P[t], Y[t], powers[t])
        lines[t] = line


@entry
def _write_all_log_odds(P, F):
    for t in range(P.shape[0]):
        write_log_odds(P[t], F[t])


def play(F, Y, slope=1.0, powers=None):
    """Return the probabilities of all rows, and the line after each."""
    calibration = Calibration(np.zeros((2, 5)))
    begin_line(RULE, calibration, 1, slope)
    powers = np.ones(len(F)) if powers is None else powers
    P, lines = np.empty_like(F), np.empty((len(F), 5))
    _play.over()(RULE, calibration.lines[1], F, Y, powers, P, lines)
    assert not calibration.lines[0].any()
    return P, lines


def labelled(F, a, b=0.0, seed=1):
    """Labels that have the probabilities of a line."""
    rng = np.random.default_rng(seed)
    if F.shape[1] == 1:
        p = 1.0 / (1.0 + np.exp(-(a * F + b)))
        return np.where(rng.random(F.shape) < p, 1.0, -1.0)
    classes = np.argmax(a * F + rng.gumbel(size=F.shape), axis=1)
    return np.where(classes[:, None] == np.arange(F.shape[1]), 1.0, -1.0)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("size", [0.3, 1.0, 40.0])
def test_every_row_is_the_oracles(n_outputs, size):
    rng = np.random.default_rng(0)
    F = size * rng.standard_t(3, size=(600, n_outputs))
    Y, powers = labelled(F, 2.0, -0.5), rng.random(600)
    P, lines = play(F, Y, 3.0, powers)
    oracle = oracles.CalibrationLine(3.0)
    for t in range(len(F)):
        np.testing.assert_allclose(P[t], oracle.probabilities(F[t]), rtol=1e-9)
        oracle.learn(F[t], Y[t], powers[t])
        np.testing.assert_allclose(lines[t, [A, B]], [oracle.a, oracle.b], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(lines[t, [H_AA, H_BB]], oracle.H.diagonal(), rtol=1e-9)


def test_log_odds_are_the_oracles_and_go_back():
    rng = np.random.default_rng(0)
    one, several = rng.uniform(0.01, 0.99, size=(50, 1)), rng.dirichlet(np.ones(4), size=50)
    for P in (one, several):
        F = np.empty_like(P)
        _write_all_log_odds.over()(P, F)
        np.testing.assert_allclose(F, [oracles.log_odds(p) for p in P], rtol=1e-12)
        np.testing.assert_allclose(play(F, P)[0][0], np.maximum(P[0], 1e-4), rtol=1e-3)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.0), (4.0, 1.0), (1.0, -2.0)])
def test_a_known_line_is_found(a, b):
    F = np.random.default_rng(0).normal(size=(20_000, 1))
    _, lines = play(F, labelled(F, a, b))
    late = lines[4000:].mean(axis=0)
    assert late[A] == pytest.approx(a, rel=0.1)
    assert late[B] == pytest.approx(b, abs=0.1)


def test_a_known_factor_of_several_scores_is_found():
    F = np.random.default_rng(0).normal(size=(20_000, 3))
    _, lines = play(F, labelled(F, 2.5))
    assert lines[4000:, A].mean() == pytest.approx(2.5, rel=0.1)
    assert not lines[:, B].any()


def test_probabilities_are_those_that_labels_have():
    F = np.random.default_rng(0).normal(size=(20_000, 1))
    Y = labelled(F, 3.0, 0.5)
    P, _ = play(F, Y)
    p, right = P[2000:, 0], Y[2000:, 0] > 0.0
    for low in np.arange(0.0, 1.0, 0.2):
        bin = (p >= low) & (p < low + 0.2)
        assert right[bin].mean() == pytest.approx(p[bin].mean(), abs=0.03)


def test_scores_that_turn_round_keep_their_order():
    F = np.random.default_rng(0).normal(size=(3000, 1))
    P, lines = play(F, labelled(F, -5.0))
    assert (lines[:, A] >= RULE.least).all()
    assert np.abs(P[2000:] - 0.5).max() < 0.25


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e154, 1.7e308])
def test_scores_of_any_size_leave_everything_finite_and_within_limits(n_outputs, size):
    F = size * np.sign(np.random.default_rng(0).normal(size=(300, n_outputs)))
    Y = labelled(np.sign(F), 1.0)
    P, lines = play(F, Y)
    assert np.isfinite(lines).all()
    assert ((P > 0.0) & (P < 1.0)).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0 if n_outputs > 1 else P[:, 0])
    for _, values, low, high in calibration_limits(Calibration(lines)):
        assert ((values >= low) & (values <= high)).all()


def test_a_row_of_no_power_only_lets_time_go_by():
    F = np.ones((50, 1))
    _, lines = play(F, np.ones((50, 1)), powers=np.zeros(50))
    np.testing.assert_array_equal(lines[:, [A, B]], [[1.0, 0.0]] * 50)
    np.testing.assert_allclose(lines[:, H_AA], 1000.0 * 0.999 ** np.arange(1, 51))
