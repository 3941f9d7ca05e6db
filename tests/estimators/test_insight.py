"""What a model knows beside its scores: relevance, events, intervals, prediction sets."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from forks import LabelRunsWarning, OnlineKernelClassifier, OnlineKernelRegressor, load
from forks.engine import EngineGroup
from forks.estimators.explaining import strongest
from forks.estimators.insight import events_of, relevance_of, weights_of
from forks.kernels import Linear
from forks.learners import KOGD
from forks.losses import SquaredError

D, ROWS = 6, 3000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, D))
NOISE = 0.3 * RNG.normal(size=ROWS)
SCORE = X[:, 1] * X[:, 4] + 0.5 * X[:, 1]
Y = np.where(SCORE + NOISE > 0.0, "yes", "no")
THREE = np.digitize(SCORE + NOISE, [-0.5, 0.5])
TARGETS = SCORE + NOISE
NAMES = list("abcdef")


@pytest.fixture(scope="module")
def two():
    return OnlineKernelClassifier().partial_fit(X, Y)


@pytest.fixture(scope="module")
def three():
    return OnlineKernelClassifier().partial_fit(X, THREE)


@pytest.fixture(scope="module")
def numbers():
    return OnlineKernelRegressor().partial_fit(X, TARGETS)


@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_features_that_matter(name, request):
    model = request.getfixturevalue(name)
    relevance = model.feature_relevance_
    assert relevance.shape == (D,)
    assert relevance.sum() == pytest.approx(1.0)
    assert set(np.argsort(relevance)[-2:]) == {1, 4}
    assert relevance[[1, 4]].sum() > 0.8
    np.testing.assert_array_equal(model.feature_importances_, relevance)


def test_tools_of_scikit_learn_find_the_importances(two):
    chosen = SelectFromModel(two, prefit=True, threshold=0.1).transform(X)
    np.testing.assert_array_equal(chosen, X[:, [1, 4]])


def test_events_are_data(two):
    events = two.events_
    assert events
    rounds = [event["round"] for event in events]
    assert rounds == sorted(rounds)
    assert 0 < rounds[0] <= rounds[-1] <= ROWS
    assert {event["event"] for event in events} <= {"start", "challenge", "alarm", "lead"}
    started = [event for event in events if event["event"] != "lead"]
    assert all(0 <= event["relevance"]["feature"] < D for event in started)
    assert all("name" not in event["relevance"] for event in started)


@pytest.mark.parametrize(("name", "y"), [("two", Y), ("three", THREE), ("numbers", TARGETS)])
def test_experts_have_weights(name, y, request):
    model = copy.deepcopy(request.getfixturevalue(name))
    more = -(ROWS - 1) % 64  # who leads is looked at after 1, 65, 129, ... rows
    model.partial_fit(X[:more], y[:more])
    weights = model.expert_weights_
    assert weights.shape == (model.learner_.experts + 3,)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    leads = [event["expert"] for event in model.events_ if event["event"] == "lead"]
    assert np.argmax(weights) == leads[-1] or weights[: model.learner_.experts].max() <= 0.5
    kept = weights.copy()
    weights[:] = 0.0  # a copy: the model is as it was
    np.testing.assert_array_equal(model.expert_weights_, kept)


def test_events_have_the_names_of_features(two):
    named = OnlineKernelClassifier().partial_fit(pd.DataFrame(X, columns=NAMES), Y)
    for ours, plain in zip(named.events_, two.events_, strict=True):
        for part in ("relevance", "shift"):
            if part in plain:
                assert ours[part] == {**plain[part], "name": NAMES[plain[part]["feature"]]}


def test_saved_models_know_all_of_it(two, numbers, tmp_path):
    for model in (two, numbers):
        model.save(tmp_path / "m")
        for again in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.feature_relevance_, model.feature_relevance_)
            assert again.events_ == model.events_
            np.testing.assert_array_equal(again.expert_weights_, model.expert_weights_)
    np.testing.assert_array_equal(
        load(tmp_path / "m").predict(X, 0.8)[1], numbers.predict(X, 0.8)[1]
    )


@pytest.mark.parametrize(
    "attribute", ["feature_relevance_", "feature_importances_", "events_", "expert_weights_"]
)
def test_other_learners_have_none(attribute):
    for model in (OnlineKernelClassifier(effort="fast"), OnlineKernelClassifier(KOGD())):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)
        model.partial_fit(X[:50], Y[:50])
        assert not hasattr(model, attribute)
    young = OnlineKernelRegressor().partial_fit(X[:3], TARGETS[:3])
    assert hasattr(young, attribute) == (attribute in ("events_", "expert_weights_"))


def test_a_group_of_engines_has_the_mean_relevance(two, numbers):
    """Learners of one output have an engine for each class."""
    group = EngineGroup.restored([two.engine_, numbers.engine_])
    mean = (two.feature_relevance_ + numbers.feature_relevance_) / 2.0
    np.testing.assert_allclose(relevance_of(group), mean)
    mean = (two.expert_weights_ + numbers.expert_weights_) / 2.0
    np.testing.assert_allclose(weights_of(group), mean)
    events = events_of(group, NAMES)
    assert [event["round"] for event in events] == sorted(event["round"] for event in events)
    counts = [sum(event["output"] == o for event in events) for o in (0, 1)]
    assert counts == [len(two.events_), len(numbers.events_)]


# ---- intervals ---------------------------------------------------------------------------------


def covered(ends, y):
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


def test_intervals_of_rows(numbers):
    rng = np.random.default_rng(1)
    fresh = rng.normal(size=(2000, D))
    y = fresh[:, 1] * fresh[:, 4] + 0.5 * fresh[:, 1] + 0.3 * rng.normal(size=2000)
    widths = []
    for level, least in ((0.5, 0.3), (0.9, 0.8), (0.99, 0.95)):
        predictions, ends = numbers.predict(fresh, interval=level)
        np.testing.assert_array_equal(predictions, numbers.predict(fresh))
        assert ends.shape == (2000, 2)
        assert least < covered(ends, y).mean() < level + 0.2
        widths.append(np.ptp(ends, axis=1).mean())
    assert sorted(widths) == widths
    same = numbers.predict(sparse.csr_array(fresh), interval=0.99)
    np.testing.assert_allclose(same[1], ends)


def test_intervals_while_learning():
    n = 1500
    model, plain = OnlineKernelRegressor(), OnlineKernelRegressor()
    first, ends = model.prequential(X[:700], TARGETS[:700], interval=0.9)
    second, more = model.prequential(X[700:n], TARGETS[700:n], interval=0.9)
    np.testing.assert_array_equal(np.hstack([first, second]), plain.prequential(X[:n], TARGETS[:n]))
    ends = np.vstack([ends, more])
    assert covered(ends, TARGETS[:n])[300:].mean() == pytest.approx(0.9, abs=0.02)
    assert pickle.dumps(model.engine_.memory) == pickle.dumps(plain.engine_.memory)
    nothing = model.prequential(X[:0], TARGETS[:0], interval=0.9)
    assert [part.shape for part in nothing] == [(0,), (0, 2)]


def test_intervals_with_weights():
    weights = np.where(np.arange(200) % 2, 0.0, 1.0)
    model, plain = OnlineKernelRegressor(), OnlineKernelRegressor()
    model.prequential(X[:200], TARGETS[:200], sample_weight=weights, interval=0.9)
    plain.partial_fit(X[:200], TARGETS[:200], sample_weight=weights)
    np.testing.assert_array_equal(model.engine_.memory.floats, plain.engine_.memory.floats)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 90, "most", True, np.nan])
def test_levels_are_between_0_and_1(level, two, numbers):
    with pytest.raises(ValueError, match="interval must be"):
        numbers.predict(X, interval=level)
    with pytest.raises(ValueError, match="interval must be"):
        numbers.prequential(X, TARGETS, interval=level)
    with pytest.raises(ValueError, match="coverage must be"):
        two.predict_set(X, coverage=level)
    assert numbers.n_rounds_ == ROWS


def test_other_learners_have_no_intervals():
    model = OnlineKernelRegressor(effort="fast")
    with pytest.raises(ValueError, match="interval: Adaptive has no prediction intervals"):
        model.prequential(X[:50], TARGETS[:50], interval=0.9)
    assert not hasattr(model, "engine_")
    model.fit(X[:50], TARGETS[:50])
    with pytest.raises(ValueError, match="interval: Adaptive has no prediction intervals"):
        model.predict(X[:5], interval=0.9)
    model = OnlineKernelClassifier(KOGD()).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="predict_set: KOGD has no prediction"):
        model.predict_set(X[:5])
    with pytest.raises(NotFittedError):
        OnlineKernelClassifier().predict_set(X)


# ---- prediction sets ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "y"), [("two", Y), ("three", THREE)])
def test_prediction_sets(name, y, request):
    model = request.getfixturevalue(name)
    codes = np.searchsorted(model.classes_, y)
    answers = np.searchsorted(model.classes_, model.predict(X))
    sizes = []
    for coverage in (0.3, 0.9, 0.999):
        sets = model.predict_set(X, coverage)
        assert sets.dtype == bool
        assert sets.shape == (ROWS, len(model.classes_))
        assert sets[np.arange(ROWS), answers].all()  # so that none is empty
        assert sets[np.arange(ROWS), codes].mean() > coverage - 0.06
        sizes.append(sets.sum(axis=1).mean())
    assert sizes[0] <= sizes[1] < sizes[2]
    np.testing.assert_array_equal(model.predict_set(X), model.predict_set(X, 0.9))


# ---- rows ahead --------------------------------------------------------------------------------


def test_the_next_rows_may_lean_on_the_last_labels():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 2))
    y = np.repeat(rng.random(40) < 0.3, 20).astype(int)  # in runs, and nothing in the features
    y[-20:] = 1
    with pytest.warns(LabelRunsWarning):
        model = OnlineKernelClassifier().partial_fit(rows, y)
    np.testing.assert_array_equal(
        model.score_ahead(rows), model.engine_.predict(rows, ahead=True)[:, 0]
    )
    assert (model.labels_of(model.score_ahead(rows)) == 1).all()
    assert (model.predict(rows) == 0).mean() > 0.8
    again = copy.deepcopy(model)
    scores = again.score_then_learn(rows[:5], rows[:5], y[:5])
    assert scores[0] == model.score_ahead(rows[:1])[0]


def test_the_delay_is_told_to_the_engine():
    model = OnlineKernelRegressor()
    with pytest.raises(NotFittedError):
        model.expect_delay(3)
    model.partial_fit(X[:20], TARGETS[:20])
    with pytest.raises(ValueError, match="n must be at least 0"):
        model.expect_delay(-1)
    before = model.engine_.memory.copy()
    model.expect_delay(3)
    now = model.engine_.memory
    np.testing.assert_array_equal(now.floats, before.floats)
    assert (now.ints != before.ints).sum() == 1


# ---- what moved an answer ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_effects_are_changes_between_the_mean_of_a_feature_and_its_value(name, request):
    model = request.getfixturevalue(name)
    rows = X[:40]
    effects = model.explain(rows)
    assert effects.shape == rows.shape
    score = model.predict if name == "numbers" else model.decision_function
    scores = score(rows)
    mean = X[-2000:].mean(axis=0)  # of the rows that the learner keeps
    for j in (1, 5):
        without, alone = rows.copy(), np.tile(mean, (len(rows), 1))
        without[:, j], alone[:, j] = mean[j], rows[:, j]
        changed = (scores - score(without) + score(alone) - score(mean[None])) / 2
        if name == "three":
            changed = changed[np.arange(len(rows)), scores.argmax(axis=1)]
        np.testing.assert_allclose(effects[:, j], changed, atol=1e-9)
    assert set(np.argsort(np.abs(effects).mean(axis=0))[-2:]) == {1, 4}


def test_effects_of_a_linear_score_are_slopes_times_distances():
    model = OnlineKernelRegressor(KOGD(kernel=Linear(), loss=SquaredError(), eta=0.01))
    model.partial_fit(X[:200], X[:200] @ np.arange(D))
    slopes = model.predict(np.eye(D)) - model.predict(np.zeros((1, D)))
    rows = X[:7]
    expected = slopes * (rows - rows.mean(axis=0))  # KOGD keeps no mean: it is that of the rows
    np.testing.assert_allclose(model.explain(rows), expected, atol=1e-10)


def test_effects_of_sparse_rows_are_those_of_their_entries(two):
    rows = X[:10].copy()
    rows[:, ::2] = 0.0
    effects = two.explain(sparse.csr_array(rows))
    assert (effects.toarray()[:, ::2] == 0.0).all()
    score, without, alone = two.decision_function, rows.copy(), np.zeros(rows.shape)
    without[:, 3], alone[:, 3] = 0.0, rows[:, 3]
    changed = score(rows) - score(without) + score(alone) - score(np.zeros((1, D)))
    np.testing.assert_allclose(effects.toarray()[:, 3], changed / 2, atol=1e-12)
    names, values = strongest(effects, 4)
    assert (names[:, 3] == -1).all()
    assert (np.diff(np.abs(values), axis=1) <= 0.0).all()
    first = np.take_along_axis(effects.toarray(), names[:, :1], axis=1)
    np.testing.assert_array_equal(values[:, :1], first)


def test_effects_in_many_batches_are_the_same(two, monkeypatch):
    whole = two.explain(X[:9])
    monkeypatch.setattr("forks.estimators.explaining._NUMBERS", 10)
    np.testing.assert_array_equal(two.explain(X[:9]), whole)
    np.testing.assert_array_equal(two.explain(sparse.csr_array(X[:9])).toarray().shape, whole.shape)


def test_an_explanation_needs_a_fitted_model_and_its_features(two):
    with pytest.raises(NotFittedError):
        OnlineKernelClassifier().explain(X)
    with pytest.raises(ValueError, match="2 features"):
        two.explain(X[:, :2])
