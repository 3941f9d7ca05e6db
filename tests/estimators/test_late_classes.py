"""Classes that come late: what was learned stays, and it does not matter how the stream is cut."""

import numpy as np
import pytest
from scipy import sparse

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.engine.outputs import combinations, targets_for
from forks.estimators.labels import Labels, UnknownLabelError
from forks.estimators.saving import as_bytes, from_bytes
from forks.evaluate import prequential
from interrupts import Cutter

MODELS = {
    "fast": lambda: OnlineKernelClassifier(effort="fast"),
    "default": lambda: OnlineKernelClassifier({"name": "adaptive", "budget": 20}),
    "kogd": lambda: OnlineKernelClassifier("kogd", random_state=0),
    "nogd": lambda: OnlineKernelClassifier({"name": "nogd", "budget": 20}, random_state=0),
    "forks": lambda: OnlineKernelClassifier({"name": "forks", "budget": 10}, random_state=0),
    "an engine per class": lambda: OnlineKernelClassifier("bpa-s", class_weight="balanced"),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def stream(n=400, seed=0):
    """Return rows of four classes in four quarters of a plane; "a" and "d" come late."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["c", "b", "d", "a"])[2 * (X[:, 0] > 0) + (X[:, 1] > 0)]
    t = np.arange(n)
    early = ((y == "a") & (t < n // 2)) | ((y == "d") & (t < n // 4))
    y[early] = np.where(X[early, 2] > 0, "b", "c")
    return X, y


X, Y = stream()


@each_model
def test_chunks_files_and_the_end(make):
    whole = make().partial_fit(X[:60], Y[:60])
    assert whole.classes_.tolist() == ["b", "c"]
    scores = whole.prequential(X[60:], Y[60:])
    assert whole.classes_.tolist() == ["a", "b", "c", "d"]
    assert scores.shape == (340, 4)
    cut = make().partial_fit(X[:60], Y[:60])
    parts = []
    for start in range(60, 400):
        known = Labels(cut.classes_)
        part = cut.prequential(X[start : start + 1], Y[start : start + 1])
        assert set(known.classes) <= set(cut.classes_)
        parts.append(whole._labels.expanded(part, cut._labels))
        if start in (100, 250):
            cut = from_bytes("here", as_bytes(cut)).model
    np.testing.assert_array_equal(np.concatenate(parts), scores)
    assert as_bytes(cut) == as_bytes(whole)


@each_model
def test_a_class_that_came_late_is_learned(make):
    model = make().partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:])
    told = make().partial_fit(X[:60], Y[:60], classes=list("abcd")).partial_fit(X[60:], Y[60:])
    rows, labels = stream(800, seed=1)
    rows, labels = rows[400:], labels[400:]
    late, known = (np.mean(each.predict(rows) == labels) for each in (model, told))
    assert late > known - 0.08
    assert {"a", "d"} & set(model.predict(rows))


def widened(model, label):
    """Return a copy that has met a class, in a row of no weight."""
    model = from_bytes("here", as_bytes(model)).model
    return model.partial_fit(X[:1], np.array([label]), sample_weight=[0.0])


@each_model
def test_what_was_learned_of_two_classes_stays(make):
    model = make().partial_fit(X[:60], Y[:60])
    if "bpa" in str(model.learner):
        pytest.skip("learners with an engine per class keep that of the second class only")
    after = widened(model, "x")
    before, scores = model.decision_function(X), after.decision_function(X)
    changed = np.count_nonzero(after.predict(X) != model.predict(X))
    if "adaptive" in str(model.learner):
        # Its experts have lines from scores to probabilities, whose constants go.
        assert changed <= 4
        assert np.corrcoef(before, scores[:, 1] - scores[:, 0])[0, 1] > 0.999
        return
    assert changed == 0
    if model.learner == "kogd":
        np.testing.assert_array_equal(scores, np.stack([-before, before, 0 * before], axis=1))
    else:
        order = np.argsort(before)
        assert np.all(np.diff((scores[:, 1] - scores[:, 0])[order]) >= -1e-9)


@each_model
def test_what_was_learned_of_three_classes_stays(make):
    model = make().partial_fit(X[:200], Y[:200])
    assert len(model.classes_) == 3
    after = widened(model, "bb")
    assert after.classes_.tolist() == ["b", "bb", "c", "d"]
    old = after.decision_function(X)[:, [0, 2, 3]]
    answers = model.decision_function(X)
    np.testing.assert_array_equal(old.argmax(axis=1), answers.argmax(axis=1))
    if "adaptive" not in str(model.learner):
        np.testing.assert_allclose(old, answers, atol=1e-12)


def test_a_new_class_is_unlikely_at_first():
    for make in (MODELS["fast"], MODELS["default"]):
        model = make().partial_fit(X[:200], Y[:200])
        assert widened(model, "x").predict_proba(X)[:, -1].mean() < 0.1
        model = make().partial_fit(X[:60], Y[:60])
        assert widened(model, "x").predict_proba(X)[:, -1].mean() < 0.2


@pytest.mark.parametrize("labels", [["b", "a"], ["a", "b"]])
def test_a_stream_may_begin_with_one_class(labels):
    first = labels[0]
    y = np.where(X[:, 0] > 0, "b", "a")
    y[:30] = first
    model = OnlineKernelClassifier(effort="fast").partial_fit(X[:30], y[:30])
    assert model.predict(X[:5]).tolist() == [first] * 5
    np.testing.assert_array_equal(model.predict_proba(X[:5]), np.ones((5, 1)))
    again = from_bytes("here", as_bytes(model)).model
    for each in (model, again):
        each.partial_fit(X[30:], y[30:])
    assert as_bytes(again) == as_bytes(model)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.score(X[30:], y[30:]) > 0.9


def test_fit_wants_two_classes():
    with pytest.raises(ValueError, match="at least two classes"):
        OnlineKernelClassifier().fit(X[:30], np.zeros(30))


def test_classes_that_were_given_are_all():
    model = MODELS["kogd"]().partial_fit(X[:60], Y[:60], classes=["b", "c"])
    before = as_bytes(model)
    with pytest.raises(UnknownLabelError, match=r"y\[\d+\] is 'd', which is not among the classes"):
        model.partial_fit(X[60:], Y[60:])
    assert as_bytes(model) == before


def test_labels_of_another_type():
    model = MODELS["kogd"]().partial_fit(X[:60], (Y[:60] == "b").astype(int))
    before = as_bytes(model)
    with pytest.raises(ValueError, match=r"y\[0\] is 'b', which is not among the classes \[0, 1\]"):
        model.partial_fit(X[:3], np.array(["b", "c", "b"]))
    assert as_bytes(model) == before


def test_a_missing_label_is_told():
    for model in (MODELS["kogd"](), MODELS["kogd"]().partial_fit(X[:60], Y[:60].astype(object))):
        with pytest.raises(ValueError, match=r"y\[2\] is None: rows without a label"):
            model.partial_fit(X[:3], np.array(["b", "c", None], dtype=object))


def test_interrupts():
    whole = MODELS["kogd"]().partial_fit(X[:60], Y[:60])
    counter = Cutter()
    counter(lambda: whole.partial_fit(X[60:], Y[60:]))
    for moment in range(1, counter.seen + 1, max(1, counter.seen // 40)):
        model = MODELS["kogd"]().partial_fit(X[:60], Y[:60])
        with pytest.raises(KeyboardInterrupt):
            Cutter(moment)(lambda model=model: model.partial_fit(X[60:], Y[60:]))
        learned = model.n_rounds_
        model.partial_fit(X[learned:], Y[learned:])
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_sparse_rows():
    rows = sparse.csr_array(X * (np.abs(X) > 0.5))
    model = MODELS["kogd"]().partial_fit(rows[:60], Y[:60])
    scores = model.prequential(rows[60:], Y[60:])
    one = MODELS["kogd"]().partial_fit(rows[:60], Y[:60])
    for t in range(60, 400):
        one.partial_fit(rows[[t]], Y[t : t + 1])
    assert scores.shape == (340, 4)
    np.testing.assert_array_equal(one.decision_function(rows), model.decision_function(rows))


@pytest.mark.parametrize("delay", [0, 7])
def test_evaluation(delay):
    chunks = [(X[:50], Y[:50]), (X[50:130], Y[50:130]), (X[130:], Y[130:])]
    model = MODELS["kogd"]()
    *_, last = prequential(model, chunks, every=40, delay=delay)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert 0 < last.mistakes < 250
    again = MODELS["kogd"]()
    *_, other = prequential(again, [(X[:50], Y[:50]), (X[50:], Y[50:])], every=400, delay=delay)
    assert other.mistakes == last.mistakes


def test_outputs():
    two = np.array([[1.0], [-1.0], [1.0]])
    np.testing.assert_array_equal(
        targets_for(two, (0, -1, 1)), [[-1, -1, 1], [1, -1, -1], [-1, -1, 1]]
    )
    np.testing.assert_array_equal(combinations(1, (-1, 0)), [[-1]])
    np.testing.assert_array_equal(combinations(1, (0, -1)), [[1]])
    three = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]])
    np.testing.assert_array_equal(three @ combinations(3, (0, 1, -1, 2)).T[:, 2], [-1, -1])


def test_scores_of_another_shape_stand_for_no_labels():
    model = MODELS["kogd"]().partial_fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match=r"scores must be of the shape \(n_rows,\), got \(3, 2\)"):
        model.labels_of(np.zeros((3, 2)))
    model.partial_fit(X[60:], Y[60:])
    with pytest.raises(ValueError, match=r"shape \(n_rows, 4\), got \(3,\)"):
        model.labels_of(np.zeros(3))


def test_regression_has_no_classes():
    with pytest.raises(ValueError, match="classes is for classifiers"):
        OnlineKernelRegressor().partial_fit(X, X[:, 0], classes=[0, 1])
