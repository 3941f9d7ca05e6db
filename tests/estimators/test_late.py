"""`prequential` with labels that come late, against the same done row by row."""

import numpy as np
import pytest

from forks import FORKSClassifier, OnlineKernelClassifier, OnlineKernelRegressor


def rows(n, classes=2):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, y if classes == 2 else y + (X[:, 2] > 0.5)


def by_hand(model, X, y, delay):
    """Return the scores of a fitted model, row by row."""
    model.expect_delay(delay)
    scores = []
    for t in range(len(y)):
        scores.append(model.score_ahead(X[t : t + 1])[0])
        if t >= delay:
            model.partial_fit(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    model.partial_fit(X[max(0, len(y) - delay) :], y[max(0, len(y) - delay) :])
    return np.array(scores)


@pytest.mark.parametrize("delay", [0, 1, 7, 60, 500])
@pytest.mark.parametrize("classes", [2, 3])
def test_each_row_is_scored_before_its_label_comes(delay, classes):
    X, y = rows(300, classes)
    late, one_by_one = (OnlineKernelClassifier().fit(X[:100], y[:100]) for _ in range(2))
    scores = late.prequential(X[100:], y[100:], delay=delay)
    np.testing.assert_array_equal(scores, by_hand(one_by_one, X[100:], y[100:], delay))
    np.testing.assert_array_equal(late.predict_proba(X), one_by_one.predict_proba(X))
    assert late.n_rounds_ == 300


@pytest.mark.parametrize("model", [OnlineKernelClassifier(), FORKSClassifier()])
def test_the_first_rows_are_scored_by_a_model_that_knows_nothing(model):
    X, y = rows(80)
    scores = model.prequential(X, y, delay=20)
    assert scores.shape == (80,)
    np.testing.assert_array_equal(scores[:21], 0.0)
    assert np.any(scores[21:] != 0.0)
    assert model.n_rounds_ == 80


def test_without_a_delay_each_label_comes_before_the_next_row():
    X, y = rows(200)
    scores = OnlineKernelClassifier().prequential(X, y, delay=0)
    plain = OnlineKernelClassifier().prequential(X, y)
    np.testing.assert_allclose(scores, plain, rtol=0, atol=1e-12)


def test_a_class_is_known_when_its_label_comes():
    X, y = rows(200)
    y[150:] = np.where(X[150:, 2] > 0, 2, y[150:])
    new = int(np.flatnonzero(y == 2)[0])
    model = OnlineKernelClassifier().fit(X[:100], y[:100])
    model.expect_others()
    scores = model.prequential(X[100:], y[100:], delay=10)
    assert scores.shape == (100, 3)
    answers = scores.argmax(axis=1)
    assert np.all(answers[: new + 11 - 100] != 2)
    assert model.classes_.tolist() == [0, 1, 2]


def test_regression_with_weights_and_gaps():
    X, _ = rows(200)
    y = X[:, 0] + X[:, 1] ** 2
    X[::7, 2] = np.nan
    weights = np.ones(200)
    weights[50:60] = 0.0
    model = OnlineKernelRegressor()
    answers = model.prequential(X, y, sample_weight=weights, delay=5)
    assert answers.shape == (200,)
    assert model.n_rounds_ == 200
    assert np.mean((answers[150:] - y[150:]) ** 2) < 0.5 * np.var(y)


def test_an_error_leaves_the_model_as_it_was():
    X, y = rows(100)
    model = OnlineKernelClassifier().fit(X, y)
    before = model.predict_proba(X)
    bad = X.copy()
    bad[70, 1] = np.inf
    with pytest.raises(ValueError, match="X"):
        model.prequential(bad, y, delay=10)
    with pytest.raises(ValueError, match="delay"):
        model.prequential(X, y, delay=-1)
    with pytest.raises(ValueError, match="interval and delay"):
        OnlineKernelRegressor().prequential(X, y, delay=1, interval=0.9)
    np.testing.assert_array_equal(model.predict_proba(X), before)
