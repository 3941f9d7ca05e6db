"""Labels, classes, probabilities, weights and real targets."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import accuracy_score, r2_score
from small_streams import (
    ROWS,
    assert_same_memory,
    classifier,
    counts,
    labelled,
    regressor,
    rows,
    valued,
)

from forks import (
    FORKSClassifier,
    FORKSRegressor,
    LabelRunsWarning,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.kernels import Gaussian, Polynomial
from forks.learners import FORKS, KOGD, RBP
from forks.losses import Hinge, Logistic, SquaredError

X, Y = labelled()
FRESH, Y_FRESH = labelled(seed=7)
_, TARGETS = valued()
WEIGHTS = np.random.default_rng(3).uniform(0.1, 2.0, ROWS)


def adaptive(effort="balanced", **settings):
    """Return the default classifier; "fast" is a single machine, and compiled in less time."""
    return OnlineKernelClassifier({"name": "adaptive", **settings}, effort=effort)


# ---- labels ------------------------------------------------------------------------------------

LABELS = {
    "strings": ["no", "yes"],
    "bools": [False, True],
    "5 and 7": [5, 7],
    "floats": [-1.0, 1.0],
    "negative": [-3, -2],
    "bytes": [np.uint8(0), np.uint8(255)],
    "objects": np.array(["a", "bcd"], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("as_list", [False, True])
def test_any_two_labels_give_the_same_scores(labels, as_list):
    labels = np.asarray(labels)
    y = labels[Y]
    plain = classifier()
    expected = plain.prequential(X, Y)
    model = classifier()
    np.testing.assert_array_equal(model.prequential(X, list(y) if as_list else y), expected)
    np.testing.assert_array_equal(model.classes_, labels)
    predicted = model.predict(FRESH)
    assert predicted.dtype == model.classes_.dtype
    if not as_list:
        assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, labels[plain.predict(FRESH)])
    assert model.score(FRESH, labels[Y_FRESH]) == plain.score(FRESH, Y_FRESH)


def test_classes_are_sorted_and_the_second_is_positive():
    model = classifier().fit(X, np.where(Y == 1, "apple", "pear"))
    assert model.classes_.tolist() == ["apple", "pear"]
    np.testing.assert_array_equal(
        model.decision_function(FRESH), classifier().fit(X, 1 - Y).decision_function(FRESH)
    )
    first = FRESH[model.decision_function(FRESH) < 0]
    assert len(first) > 0
    assert set(model.predict(first)) == {"apple"}


def test_the_order_of_given_classes_does_not_matter():
    models = [classifier().partial_fit(X, Y, classes=c) for c in ([1, 0], [0, 1, 1], (0, 1), None)]
    for model in models:
        assert model.classes_.tolist() == [0, 1]
        assert_same_memory(model, models[0])


def test_given_classes_allow_a_first_chunk_of_one_class():
    order = np.argsort(Y, kind="stable")
    n = np.count_nonzero(Y == 0)
    with pytest.warns(LabelRunsWarning):
        whole = classifier().partial_fit(X[order], Y[order])
    model = classifier()
    model.partial_fit(X[order[:n]], Y[order[:n]], classes=[0, 1])
    assert set(model.predict(X[order[:n]])) == {0}
    model.partial_fit(X[order[n:]], Y[order[n:]])
    assert_same_memory(model, whole)


def test_given_classes_may_be_repeated_later():
    model = classifier().partial_fit(X[:50], Y[:50], classes=[0, 1])
    model.partial_fit(X[50:], Y[50:], classes=[1, 0])
    assert_same_memory(model, classifier().partial_fit(X, Y))


def test_labels_of_another_type_but_equal_value():
    model = classifier().partial_fit(X[:50], Y[:50])
    model.partial_fit(X[50:], Y[50:].astype(float))
    assert_same_memory(model, classifier().partial_fit(X, Y))
    assert model.classes_.dtype == Y.dtype


def test_a_score_of_zero_answers_the_second_class():
    # With a linear kernel the row of zeros has score 0 whatever was learned.
    model = OnlineKernelClassifier(RBP(kernel=Polynomial(1, 1.0, 0.0)), random_state=0)
    model.fit(X, np.array(["a", "b"])[Y])
    zero = np.zeros((1, 4))
    assert model.decision_function(zero)[0] == 0.0
    assert model.predict(zero)[0] == "b"
    labels = model.labels_of(np.array([0.0, -0.0, -1e-300, 1e-300]))
    assert labels.tolist() == ["b", "b", "a", "b"]


# ---- three classes -----------------------------------------------------------------------------

BLOBS, BLOB = make_blobs(
    600, n_features=3, centers=[[0, 0, 0], [4, 0, 0], [0, 4, 4]], random_state=0
)
NAMES = np.array(["red", "green", "blue"])


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ("logistic", "fast"),
        # half a minute of compilation each
        pytest.param("logistic", "balanced", marks=pytest.mark.slow),
        pytest.param("hinge", "balanced", marks=pytest.mark.slow),
        ("logistic", "sketched"),
        ("hinge", "sketched"),
    ],
)
def test_three_blobs_are_learned(loss, name):
    if name == "sketched":
        model = FORKSClassifier(loss=loss, budget=20, n_landmarks=20, random_state=0)
    else:
        model = adaptive(name, loss=loss, budget=20)
    scores = model.prequential(BLOBS, NAMES[BLOB])
    assert scores.shape == (600, 3)
    assert np.ptp(scores[0]) == 0.0  # nothing is known of the first row
    assert model.classes_.tolist() == ["blue", "green", "red"]
    if name == "sketched":
        assert counts(model)["stage"] == 2
    mistakes = model.labels_of(scores) != NAMES[BLOB]
    assert mistakes[100:].mean() < 0.05
    assert model.decision_function(BLOBS).shape == (600, 3)
    assert set(model.predict(BLOBS)) == set(NAMES)
    np.testing.assert_array_equal(
        model.predict(BLOBS), model.classes_[np.argmax(model.decision_function(BLOBS), axis=1)]
    )
    assert model.score(BLOBS, NAMES[BLOB]) > 0.95


def test_classes_share_one_map():
    model = classifier(bandwidth="median").fit(BLOBS, BLOB)
    assert model.engine_.n_outputs == 3
    assert counts(model)["stage"] == 2
    assert model.n_points_ <= model.learner_.sizes().max_points
    no_updates = classifier(update_cycle=0).fit(BLOBS, BLOB)
    assert no_updates.n_points_ == 20  # the buffer, once, not three times
    two = classifier(update_cycle=0).fit(BLOBS, BLOB == 1)
    # w, the inverse of A and stage one's coefficients are all that two more classes cost
    extra = no_updates.engine_.memory.nbytes - two.engine_.memory.nbytes
    assert extra < two.engine_.memory.nbytes


def test_each_class_has_the_score_of_its_own_question_on_the_shared_points():
    model = OnlineKernelClassifier(KOGD(kernel=Gaussian(2.0))).fit(BLOBS[:100], BLOB[:100])
    for label in range(3):
        alone = OnlineKernelClassifier(KOGD(kernel=Gaussian(2.0)))
        alone.fit(BLOBS[:100], BLOB[:100] == label)
        np.testing.assert_allclose(
            model.decision_function(BLOBS)[:, label],
            alone.decision_function(BLOBS),
            rtol=1e-9,
            atol=1e-12,
        )


def test_a_class_may_come_late():
    late = np.argsort(BLOB == 2, kind="stable")  # the third class last
    model = adaptive(budget=20)
    for part in np.array_split(late, 7):
        model.partial_fit(BLOBS[part], BLOB[part], classes=[0, 1, 2])
    assert model.score(BLOBS, BLOB) > 0.9


def test_two_classes_in_the_first_chunk_of_three():
    two = BLOB < 2
    model = classifier().partial_fit(BLOBS[two], BLOB[two], classes=[0, 1, 2])
    assert model.decision_function(BLOBS).shape == (600, 3)
    assert set(model.predict(BLOBS[two])) == {0, 1}


# ---- weights of classes ------------------------------------------------------------------------


def imbalanced(n=3000):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    rare = rng.random(n) < 0.05
    rows[rare] += 1.2
    return rows, np.where(rare, "rare", "usual")


def test_balanced_classes_are_found_more_often():
    rows, labels = imbalanced()
    plain = OnlineKernelClassifier().fit(rows, labels)
    balanced = OnlineKernelClassifier(class_weight="balanced").fit(rows, labels)
    is_rare = labels == "rare"
    found = [(model.predict(rows)[is_rare] == "rare").mean() for model in (plain, balanced)]
    assert found[1] > 0.6 > 0.3 > found[0]


@pytest.mark.parametrize("learner", ["adaptive", "kogd", KOGD()])
def test_balanced_weights_are_those_of_the_rows_so_far(learner):
    rows, labels = imbalanced(400)
    is_rare = labels == "rare"
    seen = np.cumsum(np.stack([is_rare, ~is_rare], axis=1), axis=0)
    own = np.where(is_rare, seen[:, 0], seen[:, 1])
    weights = np.arange(1, 401) / (2 * own)
    by_hand = OnlineKernelClassifier(learner).partial_fit(
        rows, labels, classes=["rare", "usual"], sample_weight=weights
    )
    balanced = OnlineKernelClassifier(learner, class_weight="balanced")
    for part in np.array_split(np.arange(400), 7):
        balanced.partial_fit(rows[part], labels[part], classes=["rare", "usual"])
    for ours, theirs in zip(balanced.engine_.memory, by_hand.engine_.memory, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_given_weights_of_classes():
    rows, labels = imbalanced(300)
    given = OnlineKernelClassifier(class_weight={"rare": 3.0}).fit(rows, labels)
    weights = np.where(labels == "rare", 3.0, 1.0)
    by_hand = OnlineKernelClassifier().fit(rows, labels, sample_weight=weights)
    for ours, theirs in zip(given.engine_.memory, by_hand.engine_.memory, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    three = OnlineKernelClassifier(class_weight="balanced").fit(BLOBS, BLOB)
    assert three.score(BLOBS, BLOB) > 0.95


def test_huge_weights_of_classes():
    rows, labels = imbalanced(50)
    model = OnlineKernelClassifier(class_weight={"rare": 2**64 + Fraction(1, 3), "usual": 1e300})
    scores = model.prequential(rows, labels, classes=["rare", "usual"], sample_weight=[1e300] * 50)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "given",
    ["even", 3.0, {"blue": 1.0}, {"rare": -1.0}, {"rare": "much"}, {"rare": 10**400}],
)
def test_bad_weights_of_classes(given):
    rows, labels = imbalanced(50)
    with pytest.raises(ValueError, match="class_weight"):
        OnlineKernelClassifier(class_weight=given).fit(rows, labels)
    with pytest.raises(ValueError, match="class_weight"):
        FORKSClassifier(class_weight=given).fit(rows, labels)


# ---- probabilities -----------------------------------------------------------------------------


def test_probabilities_of_two_classes():
    model = FORKSClassifier(loss="logistic", n_landmarks=50, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(FRESH)
    assert probabilities.shape == (ROWS, 2)
    assert (probabilities >= 0.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    scores = model.decision_function(FRESH)
    np.testing.assert_allclose(probabilities[:, 1], 1.0 / (1.0 + np.exp(-scores)), rtol=1e-12)
    assert (np.diff(probabilities[np.argsort(scores), 1]) >= 0.0).all()
    np.testing.assert_array_equal(probabilities[:, 1] >= 0.5, model.predict(FRESH) == 1)


@pytest.mark.parametrize(
    "loss", ["squared_hinge", pytest.param("logistic", marks=pytest.mark.slow)]
)
def test_probabilities_of_the_default_learner(loss):
    model = adaptive(loss=loss).fit(X, Y)
    probabilities = model.predict_proba(FRESH)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert ((probabilities > 0.0) & (probabilities < 1.0)).all()
    scores = model.decision_function(FRESH)
    np.testing.assert_allclose(probabilities[:, 1], 0.5 * (1.0 + scores), rtol=1e-12)
    np.testing.assert_array_equal(probabilities[:, 1] >= 0.5, model.predict(FRESH) == 1)


@pytest.mark.parametrize("name", ["default", "logistic", "sketched"])
def test_probabilities_mean_something(name):
    coin = np.random.default_rng(0).random(4000) < 0.8  # whatever the row
    model = adaptive() if name == "default" else adaptive("fast", loss="logistic")
    if name == "sketched":
        model = FORKSClassifier(loss="logistic", n_landmarks=100, random_state=0)
    noise = np.random.default_rng(1).normal(size=(4000, 2))
    model.fit(noise, coin)
    assert abs(model.predict_proba(noise)[:, 1].mean() - 0.8) < 0.05


def test_probabilities_of_three_classes():
    model = adaptive("fast", loss="logistic", budget=20).fit(BLOBS, BLOB)
    far = np.vstack([BLOBS, 100.0 + BLOBS[:10], np.zeros((1, 3))])
    probabilities = model.predict_proba(far)
    assert probabilities.shape == (611, 3)
    assert (probabilities >= 0.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(probabilities[:600].argmax(axis=1), model.predict(BLOBS))


@pytest.mark.parametrize(
    ("model", "gives"),
    [
        (FORKSClassifier(), False),
        (FORKSClassifier(loss="hinge"), False),
        (FORKSClassifier(rank=5), False),
        (FORKSClassifier(rank=5, loss="logistic"), True),
        (FORKSClassifier(rank=5, loss=Logistic()), True),
        (FORKSClassifier(rank=5, loss=Hinge()), False),
        (OnlineKernelClassifier(), True),
        (OnlineKernelClassifier(None), True),
        (OnlineKernelClassifier({"name": "adaptive", "loss": "hinge"}), True),
        (OnlineKernelClassifier({"name": "kogd", "loss": "logistic"}), True),
        (OnlineKernelClassifier("kogd"), False),
        (OnlineKernelClassifier(FORKS(loss=Logistic())), True),
        (OnlineKernelClassifier(KOGD(loss=Logistic())), True),
        (OnlineKernelClassifier(KOGD()), False),
        (OnlineKernelClassifier("nonsense"), False),
        (FORKSClassifier(loss="nonsense"), False),
        (FORKSRegressor(), False),
    ],
)
def test_who_gives_probabilities(model, gives):
    assert hasattr(model, "predict_proba") == gives
    if not gives:
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)


# ---- weights -----------------------------------------------------------------------------------


def some_zero():
    weights = WEIGHTS.copy()
    weights[np.random.default_rng(4).random(ROWS) < 0.3] = 0.0
    return weights


@pytest.mark.parametrize("make", [classifier, regressor])
def test_rows_without_weight_teach_nothing(make):
    y = Y if make is classifier else TARGETS
    weights = some_zero()
    kept = weights > 0
    model, without = make(), make()
    scores = model.prequential(X, y, sample_weight=weights)
    expected = without.prequential(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(scores[kept], expected)
    assert counts(model)["updates"] > 0
    np.testing.assert_array_equal(
        getattr(model, "decision_function", model.predict)(FRESH),
        getattr(without, "decision_function", without.predict)(FRESH),
    )


@pytest.mark.parametrize("make", [classifier, regressor])
def test_weights_of_one_are_no_weights(make):
    y = Y if make is classifier else TARGETS
    plain = make().fit(X, y)
    for ones in (np.ones(ROWS), np.ones(ROWS, int), [1] * ROWS, np.ones(ROWS, np.float32), 1.0):
        assert_same_memory(make().fit(X, y, sample_weight=ones), plain)
    assert_same_memory(make().fit(X, y, sample_weight=None), plain)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_weight_of_two_is_not_one(make):
    y = Y if make is classifier else TARGETS
    plain, heavy = make(), make()
    scores = plain.prequential(X[:10], y[:10])
    twice = heavy.prequential(X[:10], y[:10], sample_weight=np.full(10, 2.0))
    assert twice[0] == scores[0] == 0.0
    assert not np.array_equal(twice, scores)


def test_in_stage_one_a_score_is_proportional_to_the_weight():
    first, second = (
        classifier().partial_fit(X[:1], [1], classes=[0, 1], sample_weight=[weight])
        for weight in (1.0, 2.0)
    )
    np.testing.assert_array_equal(second.decision_function(X), 2.0 * first.decision_function(X))
    assert first.decision_function(X).all()


def test_weights_move_the_decision():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)  # nothing to learn but the weights
    blank = rng.normal(size=(1000, 2))
    model = adaptive("fast", loss="logistic")
    model.fit(blank, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert model.predict(blank).mean() > 0.9


def test_score_takes_weights():
    model = classifier().fit(X, Y)
    expected = accuracy_score(Y_FRESH, model.predict(FRESH), sample_weight=WEIGHTS)
    assert model.score(FRESH, Y_FRESH, sample_weight=WEIGHTS) == expected


def test_a_label_of_rows_without_weight_is_no_error():
    y = np.where(np.arange(ROWS) == 3, 2, Y)
    weights = np.where(np.arange(ROWS) == 3, 0.0, 1.0)
    model = classifier().fit(X, y, sample_weight=weights)
    assert set(model.predict(FRESH)) == {0, 1}


# ---- real targets ------------------------------------------------------------------------------


def sine(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, 1))
    return x, np.sin(2.0 * x[:, 0]) + 0.05 * rng.normal(size=n)


def test_a_sine_is_learned():
    model = OnlineKernelRegressor().fit(*sine(3000, 0))
    x, y = sine(500, 1)
    assert model.predict(x).shape == (500,)
    assert model.score(x, y) > 0.95
    assert model.score(x, y) == r2_score(y, model.predict(x))
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("loss", "kernel", "effort"),
    [
        ("squared_error", "rbf", "balanced"),
        ("epsilon_insensitive", "rbf", "fast"),
        pytest.param("epsilon_insensitive", "laplacian", "balanced", marks=pytest.mark.slow),
        pytest.param("huber", "poly", "balanced", marks=pytest.mark.slow),
    ],
)
def test_every_loss_of_regression_learns(loss, kernel, effort):
    model = OnlineKernelRegressor(
        {"name": "adaptive", "loss": loss, "kernel": kernel}, effort=effort
    )
    x, _ = sine(3000, 0)
    scores = model.prequential(x, np.sin(x[:, 0]))
    assert r2_score(np.sin(x[1000:, 0]), scores[1000:]) > 0.9
    assert model.score(x, np.sin(x[:, 0])) > 0.9


def test_targets_of_other_types():
    whole = np.round(5.0 * TARGETS)
    expected = regressor().prequential(X, whole)
    for form in (whole.astype(int), whole.astype(np.float32), whole.astype(int).tolist()):
        np.testing.assert_array_equal(regressor().prequential(X, form), expected)
    labels = [str(int(value)) for value in whole]  # numbers as text, as scikit-learn takes them
    np.testing.assert_array_equal(
        regressor().prequential(X, np.array(labels, dtype=object)), expected
    )


def test_regressors_over_a_learner():
    x, y = sine(600, 0)
    learner = KOGD(kernel=Gaussian(0.5), loss=SquaredError())
    assert OnlineKernelRegressor(learner).fit(x, y).score(*sine(200, 1)) > 0.9


def test_scores_of_a_regressor_are_predictions():
    wide = rows(40, seed=9)
    model = regressor().fit(X, TARGETS)
    expected = model.predict(wide[:1])
    np.testing.assert_array_equal(model.prequential(wide[:1], [0.0]), expected)


def test_probabilities_are_those_of_the_learner_at_work():
    """Parameters that are set after a fit are for the next one."""
    X, y = labelled()
    model = classifier(loss="hinge").fit(X, y)
    model.set_params(loss="logistic")
    assert not hasattr(model, "predict_proba")
    model.fit(X, y)
    model.set_params(loss="hinge")
    assert model.predict_proba(X).shape == (len(y), 2)
    assert not hasattr(model.fit(X, y), "predict_proba")
