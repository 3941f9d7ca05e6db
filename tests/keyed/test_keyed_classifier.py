"""Classes by key: against the oracle in every round, in any chunks, and what it gains."""

from itertools import pairwise

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks import OnlineKernelClassifier, oracles
from forks.keyed import KeyedClassifier


def classes_stream(n_rows, n_keys, n_classes):
    keys, X, y = keyed_stream(n_rows, n_keys, noise=0.1)
    cuts = np.quantile(y, np.linspace(0.0, 1.0, n_classes + 1)[1:-1])
    return keys, X, np.array(["a", "b", "c"])[np.searchsorted(cuts, y)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_the_oracle(n_classes):
    keys, X, y = classes_stream(600, 5, n_classes)
    model = KeyedClassifier(rank=7, forgetting=0.01)
    scores = model.prequential(keys, X, y).reshape(600, -1)
    common = OnlineKernelClassifier(effort="fast")
    given = common.prequential(X, y, classes=np.unique(y)).reshape(600, -1)
    oracle = oracles.KeyedOracle(given.shape[1], True, 7, 0.01)
    expected, settled = oracle.play(keys, X, given, common.targets_of(y))
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(expected, settled)
    assert np.abs(scores - given).max() > 0.1  # corrections do something


def test_chunks_do_not_matter():
    keys, X, y = classes_stream(900, 20, 3)
    whole = KeyedClassifier().prequential(keys, X, y)
    model = KeyedClassifier()
    cuts = [0, 40, 41, 130, 512, 900]
    parts = [
        model.prequential(keys[a:b], X[a:b], y[a:b], classes=["a", "b", "c"] if a == 0 else None)
        for a, b in pairwise(cuts)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_better_than_one_model_and_than_separate_ones(n_classes):
    keys, X, y = classes_stream(4000, 40, n_classes)
    of, late = np.unique(keys, return_inverse=True)[1], slice(1000, None)
    model = KeyedClassifier()
    ours = model.labels_of(model.prequential(keys, X, y))
    one = OnlineKernelClassifier(effort="fast")
    together = one.labels_of(one.prequential(np.hstack([X, np.eye(40)[of]]), y))
    apart = np.empty_like(y)
    for number in range(40):
        own, alone = of == number, OnlineKernelClassifier(effort="fast")
        apart[own] = alone.labels_of(alone.prequential(X[own], y[own], classes=np.unique(y)))
    mistakes = [float(np.mean((answers != y)[late])) for answers in (ours, together, apart)]
    assert mistakes[0] < 0.9 * min(mistakes[1:]), mistakes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_agree_with_the_labels(n_classes):
    keys, X, y = classes_stream(600, 5, n_classes)
    model = KeyedClassifier().partial_fit(keys, X, y)
    p = model.predict_proba(keys, X)
    assert p.shape == (600, n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(keys, X))


def test_other_labels_are_refused():
    keys, X, y = classes_stream(100, 5, 2)
    model = KeyedClassifier().partial_fit(keys, X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match=r"y\[1\] is 'z'"):
        model.partial_fit(keys[:2], X[:2], ["a", "z"])
    assert model.n_rounds_ == 100
    with pytest.raises(ValueError, match="classes must be at least two"):
        KeyedClassifier().partial_fit(keys[:2], X[:2], ["a", "a"], classes=["a"])
