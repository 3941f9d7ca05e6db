"""Classes that are first seen later, for all keys or for one."""

from itertools import pairwise

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks.keyed import KeyedClassifier, load

KEYS, X, Y = keyed_stream(1500, 12)
NAMES = np.array(KEYS)


def labels_of(late):
    """Return labels of two classes, and of a third for some rows."""
    return np.where(late & (X[:, 0] > 0.5), "another", np.where(Y > 0.0, "up", "down"))


LATE = labels_of(np.arange(1500) > 600)


def mistakes(model, y, sizes):
    """Return which rows were wrong, each answered before it was learned, in chunks."""
    wrong, start = [], 0
    for size in [*sizes, len(y)]:
        part = slice(start, min(start + size, len(y)))
        scores = model.prequential(KEYS[part], X[part], y[part])
        wrong.append(model.labels_of(scores) != y[part])
        start = part.stop
    return np.concatenate(wrong)


def mistakes_if_known(y):
    """Return which rows are wrong if all classes are known from the first row on."""
    model = KeyedClassifier()
    return model.labels_of(model.prequential(KEYS, X, y)) != y


def test_a_class_for_all_keys():
    model = KeyedClassifier()
    late = mistakes(model, LATE, [400, 150])[1000:].mean()
    assert late < 1.15 * mistakes_if_known(LATE)[1000:].mean()
    assert model.classes_.tolist() == ["another", "down", "up"]
    assert model.predict_proba(KEYS, X).shape == (1500, 3)


def test_a_class_for_one_key():
    own = NAMES == "key 3"
    y = labels_of((np.arange(1500) > 600) & own)
    model = KeyedClassifier()
    mistakes(model, y, [400])
    far = X[:, 0] > 1.0
    assert (model.predict(NAMES[own & far], X[own & far]) == "another").mean() > 0.6
    assert (model.predict(NAMES[~own & far], X[~own & far]) == "another").mean() < 0.1


@pytest.mark.parametrize("rows", [20, 300, 560])
def test_chunks_files_and_disk_do_not_matter(rows, tmp_path):
    """The third class comes before, between or after the starts of the map."""
    y = labels_of(np.arange(1500) > rows)
    cuts = [0, 15, 40, 41, 130, 700, 1500]
    first = KeyedClassifier(rank=5)
    first.partial_fit(KEYS[:15], X[:15], y[:15])
    first.partial_fit(KEYS[15:], X[15:], y[15:])
    model = KeyedClassifier(rank=5, max_keys=5, folder=tmp_path)
    for a, b in pairwise(cuts):
        model.partial_fit(KEYS[a:b], X[a:b], y[a:b])
        model.save(tmp_path / "m")
        model = load(tmp_path / "m", folder=tmp_path)
    np.testing.assert_array_equal(
        model.decision_function(KEYS, X), first.decision_function(KEYS, X)
    )


def test_what_was_learned_of_the_others_stays():
    """The odds of two classes are those of before, when a third one has just come."""
    two = np.where(Y > 0.0, "m", "n")
    for third in ("a", "z"):
        model = KeyedClassifier().partial_fit(KEYS, X, two)
        before = model.predict(KEYS, X)
        model.partial_fit(["a key of its own"], [[9.0] * 4], [third])
        assert (model.predict(KEYS, X) == before).mean() > 0.97


def test_one_class_at_first():
    """The second may come before or after the first in the order of the labels."""
    for first, second in (("a", "b"), ("b", "a")):
        y = np.where((Y > 0.0) & (np.arange(1500) > 100), second, first)
        model = KeyedClassifier()
        wrong = mistakes(model, y, [90])
        assert wrong[:100].sum() == 0
        assert wrong[800:].mean() < 1.15 * mistakes_if_known(y)[800:].mean()
        alone = KeyedClassifier().partial_fit(KEYS[:90], X[:90], y[:90])
        np.testing.assert_array_equal(alone.predict_proba(KEYS[:3], X[:3]), np.ones((3, 1)))


def test_others_are_refused_only_if_the_classes_were_given(tmp_path):
    y = np.where(Y > 0.0, "up", "down")
    model = KeyedClassifier(rank=3).partial_fit(KEYS[:99], X[:99], y[:99], classes=["down", "up"])
    model.save(tmp_path / "m")
    for each in (model, load(tmp_path / "m")):
        with pytest.raises(ValueError, match=r"y\[0\] is 'another'"):
            each.partial_fit(KEYS[:1], X[:1], ["another"])
        each.expect_others()
        each.partial_fit(KEYS[:1], X[:1], ["another"])
        with pytest.raises(ValueError, match=r"y\[0\] is 3"):
            each.partial_fit(KEYS[:1], X[:1], [3])
        assert each.n_rounds_ == 100


def test_a_full_disk_leaves_everything_as_it_was(tmp_path, monkeypatch):
    model = KeyedClassifier(rank=3, max_keys=4, folder=tmp_path)
    model.partial_fit(KEYS[:99], X[:99], np.where(Y[:99] > 0.0, "up", "down"))
    before = model.decision_function(KEYS, X)

    def write(self, numbers, records):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("forks.keyed.store.Store.write", write)
        with pytest.raises(OSError, match="No space left"):
            model.partial_fit(KEYS[:1], X[:1], ["another"])
    np.testing.assert_array_equal(model.decision_function(KEYS, X), before)
