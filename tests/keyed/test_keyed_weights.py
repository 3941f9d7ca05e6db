"""Rows that count more, less or not at all."""

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks import OnlineKernelClassifier, OnlineKernelRegressor, oracles
from forks.keyed import KeyedClassifier, KeyedRegressor, load

KEYS, X, Y = keyed_stream(650, 6)
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 4.0], 650)
LABELS = np.where(Y > 0.0, "up", "down")


def test_numbers_are_those_of_the_oracle():
    answers = KeyedRegressor(rank=5).prequential(KEYS, X, Y, sample_weight=WEIGHTS)
    common = OnlineKernelRegressor(effort="fast")
    given = common.prequential(X, Y, sample_weight=WEIGHTS)[:, None]
    expected, _ = oracles.KeyedOracle(1, False, 5, 0.002).play(KEYS, X, given, Y[:, None], WEIGHTS)
    np.testing.assert_allclose(answers, expected[:, 0], rtol=1e-6, atol=1e-6)


def test_scores_are_those_of_the_oracle():
    scores = KeyedClassifier(rank=5).prequential(KEYS, X, LABELS, sample_weight=WEIGHTS)
    common = OnlineKernelClassifier(effort="fast")
    given = common.prequential(X, LABELS, sample_weight=WEIGHTS)[:, None]
    oracle, targets = oracles.KeyedOracle(1, True, 5, 0.002), common.targets_of(LABELS)
    expected, _ = oracle.play(KEYS, X, given, targets, WEIGHTS)
    np.testing.assert_allclose(scores, expected[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("most", [None, 4])
def test_rows_without_weight_are_answered_and_not_learned(most, tmp_path):
    """They may come first, too, and be all of a block."""
    counted = np.flatnonzero(WEIGHTS)
    weights = np.concatenate([np.zeros(10), WEIGHTS[10:]])
    counted = counted[counted >= 10]
    model, other = (KeyedRegressor(rank=5, max_keys=most) for _ in range(2))
    answers = model.prequential(KEYS, X, Y, sample_weight=weights)
    rows = [KEYS[i] for i in counted], X[counted], Y[counted]
    expected = other.prequential(*rows, sample_weight=weights[counted])
    np.testing.assert_array_equal(answers[counted], expected)
    np.testing.assert_array_equal(model.predict(KEYS, X), other.predict(KEYS, X))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(KEYS, X), model.predict(KEYS, X))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(5, -1.0), "Negative"),
        (np.full(5, np.nan), "NaN"),
        (np.ones(4), "sample_weight.shape"),
        (np.full(5, "much"), "much"),
    ],
)
def test_bad_weights_change_nothing(weights, message, tmp_path):
    model = KeyedRegressor(rank=3).partial_fit(KEYS[:50], X[:50], Y[:50])
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match=message):
        model.partial_fit(["new", *KEYS[:4]], X[:5], Y[:5], sample_weight=weights)
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    with pytest.raises(ValueError, match="all weights are zero"):
        KeyedRegressor().partial_fit(KEYS[:5], X[:5], Y[:5], sample_weight=0.0)


@pytest.mark.filterwarnings("ignore::forks.MendWarning")
def test_absurd_weights_leave_everything_finite():
    weights = np.where(np.arange(650) % 9 == 3, 1e200, 1.0)
    for model, y in ((KeyedRegressor(rank=3), Y), (KeyedClassifier(rank=3), LABELS)):
        assert np.isfinite(model.prequential(KEYS, X, y, sample_weight=weights)).all()
        assert np.isfinite(model.score_ahead(KEYS, X)).all()
        assert model.n_mends_ > 0
