"""The unit of targets: mean 0 and standard deviation 1, whatever their size."""

import numpy as np
import pytest

from forks.engine import entry
from forks.parts.targets import Targets, restored, set_unit, standardise, standardised

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@entry
def _there_and_back(targets, y, there, back):
    for i in range(y.shape[0]):
        there[i] = standardised(targets, y[i])
        back[i] = restored(targets, there[i])


def unit_of(y, weights=None):
    y = np.asarray(y, float)
    y = y if y.ndim == 2 else y.reshape(-1, 1)
    targets = Targets(np.full(2, np.nan))
    set_unit(targets, y, np.ones(len(y)) if weights is None else np.asarray(weights, float))
    return targets


def there_and_back(targets, y):
    """Return targets in their unit, and back in that of the stream, by compiled code."""
    y = np.asarray(y, float)
    there, back = np.empty_like(y), np.empty_like(y)
    with np.errstate(over="ignore"):  # said only where nothing is compiled
        _there_and_back.over()(targets, y, there, back)
    return there, back


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_unit_is_mean_and_standard_deviation_of_all_outputs(n_outputs):
    y = np.random.default_rng(0).normal(50.0, 7.0, (40, n_outputs))
    targets = unit_of(y)
    np.testing.assert_allclose(targets.levels, [y.mean(), y.std()], rtol=1e-12)
    z = standardise(targets, y)
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0)
    there, back = there_and_back(targets, y[:, 0])
    np.testing.assert_allclose(there, z[:, 0], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(back, y[:, 0], rtol=1e-13)


def test_rows_of_weight_zero_have_no_say():
    targets = unit_of([1.0, 1e300, 3.0, -1e300], [1.0, 0.0, 0.1, 0.0])  # and weights no more
    np.testing.assert_allclose(targets.levels, [2.0, 1.0])


@pytest.mark.parametrize("value", [0.0, 7.0, -0.1, 1e-310, 1.7e308])
def test_constant_targets_have_a_spread_of_one(value):
    targets = unit_of([value] * 9)
    np.testing.assert_array_equal(targets.levels, [value, 1.0])
    there, back = there_and_back(targets, [value])
    assert there[0] == 0.0
    assert back[0] == value


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e200, 1.7e308])
def test_any_size_has_a_unit(size):
    y = size * np.array([1.0, -1.0, 0.5, 0.0])
    targets = unit_of(y)
    assert np.isfinite(targets.levels).all()
    assert targets.levels[1] > 0.0
    if size > 1e-300:
        z = y / size
        np.testing.assert_allclose(targets.levels / size, [z.mean(), z.std()], rtol=1e-12)
    assert np.isfinite(standardise(targets, y[:, None])).all()


def test_targets_far_out_are_clipped_where_their_square_is_finite():
    targets = unit_of([0.0, 1e-10])
    y = [1.0, 1e89, 1e300, -1e300, 1.7e308, np.inf, -np.inf]
    there, _ = there_and_back(targets, y)
    expected = [2e10, 2e99, 1e100, -1e100, 1e100, 1e100, -1e100]
    np.testing.assert_allclose(there, expected, rtol=1e-9)
    np.testing.assert_allclose(
        standardise(targets, np.array(y)[:, None])[:, 0], expected, rtol=1e-9
    )
