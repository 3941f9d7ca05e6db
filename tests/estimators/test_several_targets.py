"""Regression with several targets: a model each."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_regressor_multioutput

from forks import OnlineKernelRegressor
from forks.estimators.saving import as_bytes, from_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.stack([np.sin(X[:, 0]), 1000.0 * X[:, 1] * X[:, 2]], axis=1)


@pytest.mark.parametrize(
    "make", [lambda: OnlineKernelRegressor("kogd"), lambda: OnlineKernelRegressor(effort="fast")]
)
def test_each_target_has_a_model(make):
    model = make().partial_fit(X[:200], Y[:200])
    scores = model.prequential(X[200:], Y[200:])
    assert scores.shape == (100, 2)
    for k in range(2):
        one = make().partial_fit(X[:200], Y[:200, k])
        np.testing.assert_array_equal(one.prequential(X[200:], Y[200:, k]), scores[:, k])
        np.testing.assert_array_equal(one.predict(X), model.predict(X)[:, k])
    again = from_bytes("here", as_bytes(model)).model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.score(X, Y) == model.score(X, Y)


def test_scikit_learn():
    check_regressor_multioutput("OnlineKernelRegressor", OnlineKernelRegressor("kogd"))


def test_targets_must_stay_as_many():
    model = OnlineKernelRegressor("kogd").partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has 1 targets, but the first rows had 2"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="no prediction intervals"):
        OnlineKernelRegressor(effort="fast").partial_fit(X, Y).predict(X, interval=0.9)
