"""Scaling against the plain formula, and what it promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from compiled import njit
from forks import oracles
from forks.engine import rows_from, shapes_of, take
from forks.features.scaling import (
    Scale,
    apply_scale,
    divided,
    fit_scale,
    no_scale,
    scaled_value,
    write_scaled,
)


@njit
def _write_all(X, scale, out):
    for t in range(out.shape[0]):
        write_scaled(take(X, t), scale, out[t])


@njit
def _one_value(scale, j, value):
    return scaled_value(scale, j, value)


def written(scale, X):
    """Rows, dense or CSR, as compiled code scales them."""
    out = np.full(X.shape, np.nan)
    _write_all(rows_from(X), scale, out)
    return out


def fitted(X):
    return fit_scale(X, np.ones(len(X)))


def features(n=200, seed=0):
    """Normal, uniform, two-valued, of heavy tails, mostly zero, and constant."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(3.0, 2.0, n),
        rng.uniform(-1e-5, 1e5, n),
        rng.choice([0.0, 1.0], n),
        rng.lognormal(0.0, 2.0, n),
        rng.standard_cauchy(n),
        rng.poisson(3.0, n) * (rng.random(n) < 0.2),
        np.full(n, 7.0),
    ]
    return np.column_stack(columns)


NORMAL, UNIFORM, TWO, HEAVY, CAUCHY, SPARSE, CONSTANT = range(7)


def test_values_are_those_of_the_formula():
    X, other = features(), features(seed=1)
    other[::2, CONSTANT] = -40.0
    scale, plain = fitted(X), oracles.PlainScale(X)
    for rows in (X, other, 1e3 * other):
        np.testing.assert_allclose(apply_scale(scale, rows), plain(rows), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(written(scale, rows), plain(rows), rtol=1e-12, atol=1e-13)
    for j in range(X.shape[1]):
        assert _one_value(scale, j, other[0, j]) == written(scale, other[:1])[0, j]


def test_sparse_rows_are_the_dense_ones():
    X = features() * (np.random.default_rng(2).random((200, 7)) < 0.4)
    for rows in (X, X[:0]):
        scale = fitted(X)
        np.testing.assert_array_equal(written(scale, csr_array(rows)), written(scale, rows))
    shifted = fitted(X + 1.0)
    assert shifted.centre.all()
    np.testing.assert_array_equal(written(shifted, csr_array(X)), written(shifted, X))


def test_features_get_a_standard_deviation_of_one():
    Z = apply_scale(fitted(features(5000)), features(5000))
    spread = Z[:, [NORMAL, UNIFORM, TWO]].std(axis=0)
    np.testing.assert_allclose(spread, 1.0, rtol=0.01)  # but for what the bound cuts off
    np.testing.assert_array_less(np.abs(np.median(Z[:, [NORMAL, UNIFORM]], axis=0)), 1e-12)


def test_only_long_tails_are_drawn_in():
    X = features(20_000)
    scale = fitted(X)
    assert scale.tail[UNIFORM] == 0.0
    assert scale.tail[NORMAL] < 0.01
    assert (scale.tail[[HEAVY, CAUCHY]] > 0.1).all()
    Z = apply_scale(scale, X)
    plain = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12)
    for j in (HEAVY, CAUCHY):
        kurtosis = np.mean((Z[:, j] - Z[:, j].mean()) ** 4) / Z[:, j].var() ** 2
        assert kurtosis < 0.2 * np.mean(plain[:, j] ** 4)
        assert np.subtract(*np.percentile(Z[:, j], [75, 25])) > 0.5  # the many are spread out
        assert np.subtract(*np.percentile(plain[:, j], [75, 25])) < 0.5
        order = np.argsort(X[:, j])
        assert (np.diff(Z[order, j]) >= 0.0).all()


def test_tails_that_are_not_drawn_in_are_linear():
    X = features()
    scale = fit_scale(X, np.ones(len(X)), drawn_in=False)
    expected = oracles.PlainScale(X, bound=50.0, draw_in=0.0)
    np.testing.assert_allclose(written(scale, X), expected(X), rtol=1e-12, atol=1e-12)
    moved = X[0] + np.outer([0.0, 40.0, 80.0, 1e3], np.eye(7)[0])
    z = written(scale, moved)[:, 0]
    np.testing.assert_allclose(z[2] - z[1], z[1] - z[0], rtol=1e-9)
    assert z[3] == 50.0


def test_zero_stays_zero_where_the_median_is_zero():
    scale = fitted(features())
    assert scale.centre[SPARSE] == 0.0
    assert _one_value(scale, SPARSE, 0.0) == 0.0
    assert _one_value(scale, SPARSE, 2.0) == -_one_value(scale, SPARSE, -2.0) > 0.0


@pytest.mark.parametrize("value", [7.0 + 1e-9, 8.0, 1e300])
def test_a_constant_that_is_not_constant_any_more_is_a_surprise(value):
    scale = fitted(features())
    assert _one_value(scale, CONSTANT, 7.0) == 0.0
    assert _one_value(scale, CONSTANT, value) == pytest.approx(3.0, rel=1e-9)
    assert _one_value(scale, CONSTANT, 14.0 - value) == pytest.approx(-3.0, rel=1e-9)
    row = np.full((1, 7), value)
    assert apply_scale(scale, row)[0, CONSTANT] == pytest.approx(3.0, rel=1e-9)


def test_rows_of_weight_zero_have_no_say():
    X = features()
    weights = np.where(np.arange(len(X)) % 3, 2.0, 0.0)
    spoilt = np.where(weights[:, None] > 0.0, X, 1e9)
    for ours, expected in zip(fit_scale(spoilt, weights), fitted(X[weights > 0.0]), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_a_divided_scale_gives_divided_values():
    X = 10.0 * features()
    scale = fitted(X)
    np.testing.assert_allclose(
        apply_scale(divided(scale, 2.5), X), apply_scale(scale, X) / 2.5, rtol=1e-12, atol=1e-14
    )
    X[0, CONSTANT], X[1, NORMAL] = 0.0, 1e9
    expected = apply_scale(scale, X) / 2.5
    assert expected[0, CONSTANT] == pytest.approx(-1.2)
    assert expected[1, NORMAL] == 2.0
    np.testing.assert_allclose(written(divided(scale, 2.5), X), expected, rtol=1e-12, atol=1e-14)


def test_no_scale_leaves_rows_as_they_are():
    X = features()
    np.testing.assert_array_equal(apply_scale(no_scale(7), X), X)
    np.testing.assert_array_equal(written(no_scale(7), X), X)
    np.testing.assert_array_equal(written(no_scale(7), csr_array(X)), X)


def test_the_shapes_of_a_state_are_those_of_a_scale():
    shapes = shapes_of(Scale, {"features": 7})
    for scale in (no_scale(7), fitted(features())):
        assert {name: field.shape for name, field in scale._asdict().items()} == shapes


@pytest.mark.filterwarnings("error::RuntimeWarning")
@given(arrays(np.float64, (9, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_any_rows_give_finite_bounded_values_in_order(X):
    scale = fitted(X[:8])
    for field in scale:
        assert np.isfinite(field).all()
    Z = apply_scale(scale, X)
    np.testing.assert_allclose(written(scale, X), Z, rtol=1e-12, atol=1e-300)
    assert (np.abs(Z) <= 5.0).all()
    for x, z in zip(X.T, Z.T, strict=True):
        assert (np.diff(z[np.argsort(x)]) >= -1e-12).all()
    assert np.isfinite(written(no_scale(3), X)).all()
    assert np.isfinite(written(no_scale(3), X) ** 2).all()


@pytest.mark.parametrize("size", [1e-300, 1e-310, 5e-324])
def test_widths_of_tiny_values_are_those_that_a_file_may_have(size):
    X = size * np.random.default_rng(0).normal(size=(40, 3))
    scale = fit_scale(X, np.ones(40))
    assert (scale.width >= 1e-300).all()
    assert np.isfinite(apply_scale(scale, X)).all()
