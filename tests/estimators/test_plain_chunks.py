"""Chunks that are as compiled code takes them are not looked at by scikit-learn, which is slow."""

import numpy as np
import pytest

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators import inputs

X = np.random.default_rng(0).normal(size=(60, 3))
LABELS = {
    "text": np.where(X[:, 0] > 0.0, "yes", "no"),
    "whole": (X[:, 0] > 0.0).astype(int),
    "bool": X[:, 0] > 0.0,
    "floats": np.sign(X[:, 0]),
}


def begun(kind):
    make = OnlineKernelRegressor if kind == "numbers" else OnlineKernelClassifier
    y = X[:, 0] if kind == "numbers" else LABELS[kind]
    return make(effort="fast").partial_fit(X[:40], y[:40]), y


@pytest.fixture
def asked(monkeypatch):
    """Return the list of chunks that scikit-learn was asked to check."""
    chunks, validate = [], inputs.validate_data

    def noting(estimator, X, *more, **options):
        chunks.append(X)
        return validate(estimator, X, *more, **options)

    monkeypatch.setattr(inputs, "validate_data", noting)
    return chunks


@pytest.mark.parametrize("kind", [*LABELS, "numbers"])
def test_plain_chunks_go_straight_on_and_give_the_same(kind, asked):
    (plain, y), (other, _) = begun(kind), begun(kind)
    asked.clear()
    scores = plain.prequential(X[40:], y[40:])
    answers = plain.predict(X)
    assert not asked
    np.testing.assert_array_equal(other.prequential(X[40:].tolist(), y[40:].tolist()), scores)
    np.testing.assert_array_equal(other.predict(np.asfortranarray(X)), answers)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("rows", "y", "fault"),
    [
        (X[:5, :2], LABELS["whole"][:5], "X has 2 features"),
        (X[:5], LABELS["whole"][:4], "inconsistent numbers of samples"),
        (X[:5], np.full(5, np.nan), "contains NaN"),
        (np.where(X[:5] > 9.0, 0.0, np.inf), LABELS["whole"][:5], "infinity"),
        (X[:5], X[:5, 0], "continuous"),
        (X[:5, 0], LABELS["whole"][:5], "Expected 2D array"),
    ],
)
def test_what_is_wrong_is_said_as_before(rows, y, fault):
    model, _ = begun("whole")
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=fault):
        model.partial_fit(np.ascontiguousarray(rows), y)
    np.testing.assert_array_equal(model.decision_function(X), before)
