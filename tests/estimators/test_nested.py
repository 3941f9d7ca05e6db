"""Settings of a learner as parameters, hints for names, and logarithms of probabilities."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from small_streams import labelled

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.learners import FOGD, KOGD

X, Y = labelled()


def test_settings_of_a_learner():
    model = OnlineKernelClassifier(FOGD()).set_params(learner__budget=7)
    assert model.learner == FOGD(budget=7)
    assert model.get_params()["learner__budget"] == 7
    assert "learner__budget" not in model.get_params(deep=False)
    model.set_params(learner__kernel__bandwidth=2.5, class_weight="balanced")
    assert model.learner.kernel.bandwidth == 2.5
    assert model.class_weight == "balanced"
    model.set_params(learner=KOGD(), learner__eta=0.5)
    assert model.learner == KOGD(eta=0.5)
    assert clone(model).learner == model.learner


def test_settings_of_a_name():
    model = OnlineKernelClassifier("kogd").set_params(learner__eta=0.5)
    assert model.learner == {"name": "kogd", "eta": 0.5}
    model.set_params(learner__eta=0.25)
    assert model._learner().eta == 0.25
    assert model.get_params()["learner__eta"] == 0.25
    assert OnlineKernelRegressor().set_params(learner__budget=20).learner["budget"] == 20


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"learner__bugdet": 7}, "FOGD has no 'bugdet'; it has kernel, loss, budget"),
        ({"learner__budget__more": 7}, "100 has no 'more' to be set"),
        ({"learner__budget": -1}, "budget"),
        ({"budget": 7}, "Invalid parameter 'budget'"),
    ],
)
def test_wrong_settings(changes, match):
    model = OnlineKernelClassifier(FOGD())
    with pytest.raises(ValueError, match=match):
        model.set_params(**changes)
    assert model.learner == FOGD()


def test_a_search_over_settings():
    search = GridSearchCV(OnlineKernelClassifier("kogd"), {"learner__eta": [0.1, 0.5]}, cv=2)
    assert search.fit(X, Y).best_params_["learner__eta"] in (0.1, 0.5)


@pytest.mark.parametrize(
    ("learner", "match"),
    [
        ({"name": "nogd", "kernel": "gaussian"}, "'rbf' is what that is called here"),
        ({"name": "nogd", "loss": "log_loss"}, "'logistic' is what that is called here"),
        ({"name": "nogd", "loss": "mse"}, "one of hinge, squared_hinge, logistic, got 'mse'$"),
    ],
)
def test_hints(learner, match):
    with pytest.raises(ValueError, match=match):
        OnlineKernelClassifier(learner).fit(X, Y)
    regression = {"name": "nogd", "loss": "mse"}
    with pytest.raises(ValueError, match="'squared_error' is what that is called here"):
        OnlineKernelRegressor(regression).fit(X, Y)


def test_logarithms_of_probabilities():
    model = OnlineKernelClassifier(effort="fast").fit(X, Y)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    with pytest.raises(AttributeError) as caught:
        _ = OnlineKernelClassifier("rbp").predict_log_proba
    assert "scores of RBP stand for no probability" in str(caught.value.__cause__)
