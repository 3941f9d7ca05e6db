"""Which tails stay, against lines that leave out one row at a time."""

import numpy as np
import pytest

from forks.features.scaling import apply_scale, fit_scale
from forks.oracles.scaling import FollowedScale
from forks.oracles.scaling import errors_left_out as left_out_one_by_one
from forks.parts.tails import TailRule, errors_left_out, with_tails

RULE = TailRule()


def rows(n=300, seed=0):
    """Delays, most short and some huge; others of no consequence; an indicator; a constant."""
    rng = np.random.default_rng(seed)
    delay, other = rng.lognormal(1.0, 1.8, size=(2, n))
    X = np.column_stack([delay, other, np.arange(n) == 7, np.full(n, 3.0), rng.normal(size=n)])
    return X, (delay + rng.normal(size=n))[:, None]


def scales(X, y, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    drawn_in = fit_scale(X, weights)
    return drawn_in, with_tails(RULE, drawn_in, X, y, weights)


def test_errors_are_those_of_lines_that_leave_out_a_row():
    X, y = rows(60)
    y = np.column_stack([y, X[:, 1] ** 2])
    counted = np.ones(X.shape, bool)
    counted[5, 1] = False
    errors = errors_left_out(X, y, counted)
    assert errors[5, 1] == 0.0
    for j, rows_of_j in enumerate(counted.T):
        expected = left_out_one_by_one(X[rows_of_j, j], y[rows_of_j])
        assert errors[:, j].sum() == pytest.approx(expected, rel=1e-10)


def test_a_feature_that_the_target_follows_keeps_its_tail_and_the_others_do_not():
    X, y = rows()
    drawn_in, scale = scales(X, y)
    assert (drawn_in.tail[:2] > 0.0).all()
    assert list(scale.tail < 0.0) == [True, False, False, False, False]
    for ours, before in zip(scale, drawn_in, strict=True):
        np.testing.assert_array_equal(ours[1:], before[1:])
    np.testing.assert_allclose(apply_scale(scale, X), FollowedScale(X, y, np.ones(300))(X))
    far = np.repeat(X[:1], 3, axis=0)
    far[:, 0] = 0.0, 1000.0, 2000.0
    z = apply_scale(scale, far)[:, 0]
    assert z[2] - z[1] == pytest.approx(z[1] - z[0])
    assert np.abs(apply_scale(drawn_in, far)[:, 0]).max() <= 5.0


def test_targets_that_level_off_leave_the_tail_drawn_in():
    X, y = rows()
    _, scale = scales(X, y / (20.0 + y))
    assert (scale.tail >= 0.0).all()


def test_one_huge_value_proves_nothing():
    X, _ = rows()
    y = np.random.default_rng(1).normal(size=(300, 1))
    for size in (-300.0, 300.0):
        X[50, 1], y[50] = 1e5, size
        assert (scales(X, y)[1].tail >= 0.0).all()


def test_rows_without_weight_and_too_few_rows_have_no_say():
    X, y = rows()
    some = np.ones(300)
    some[RULE.least - 1 :] = 0.0
    drawn_in, scale = scales(X, y, some)
    assert scale is drawn_in
    some[:200] = 1.0
    y[200:] = 0.0
    assert list(scales(X, y, some)[1].tail < 0.0) == [True, False, False, False, False]


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_numbers_of_any_size(size):
    X, y = rows()
    _, usual = scales(X, y)
    _, scale = scales(X, y * size)
    np.testing.assert_array_equal(usual.tail < 0.0, scale.tail < 0.0)
    X[3, 0] = X[4, 1] = size
    assert np.isfinite(apply_scale(scales(X, y)[1], X)).all()


def test_targets_that_are_all_the_same_are_followed_by_nothing():
    X, _ = rows()
    assert (scales(X, np.full((300, 1), 0.1))[1].tail >= 0.0).all()
