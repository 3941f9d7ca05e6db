"""Bad input: a clear error, and a model that is exactly as it was."""

import pickle
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from small_streams import (
    ROWS,
    assert_same_memory,
    classifier,
    frozen,
    labelled,
    regressor,
    scores_of,
    valued,
)

from forks import FORKSClassifier, FORKSRegressor, OnlineKernelClassifier, OnlineKernelRegressor
from forks.kernels import Gaussian, Polynomial
from forks.learners import FORKS, KOGD
from forks.losses import EpsilonInsensitive, Hinge, Logistic, SquaredError

X, Y = labelled()
_, TARGETS = valued()
HALF = 75


@cache
def _trained(make, rows):
    model = make(bandwidth="median")
    if make is classifier:
        return pickle.dumps(model.partial_fit(X[:rows], Y[:rows], classes=[0, 1]))
    return pickle.dumps(model.partial_fit(X[:rows], TARGETS[:rows]))


def half_trained(make):
    """In stage two, after updates."""
    return pickle.loads(_trained(make, HALF))


def barely_trained(make):
    """The median rule is not settled yet."""
    return pickle.loads(_trained(make, 5))


def assert_refused(model, call, match, error=ValueError):
    """The call raises, its message matches, and the model is as before."""
    before = frozen(model)
    with pytest.raises(error, match=match):
        call()
    assert frozen(model) == before


def with_entry(value, dtype=float):
    rows = X[:10].astype(dtype)
    rows[3, 1] = value
    return rows


def with_target(value):
    y = Y[:10].astype(float)
    y[4] = value
    return y


class Anything:
    """Of no use as an argument."""

    def __repr__(self):
        return "Anything()"


# ---- data --------------------------------------------------------------------------------------

# name: (X, y, sample_weight, pattern of the message); scikit-learn words most of them
BAD_ROWS = {
    "infinity in X": (with_entry(np.inf), Y[:10], None, "X contains infinity"),
    "minus infinity in X": (with_entry(-np.inf), Y[:10], None, "X contains infinity"),
    "sparse infinity": (sparse.csr_array(with_entry(np.inf)), Y[:10], None, "X contains infinity"),
    "1-d X": (X[0], Y[:4], None, "Expected 2D array, got 1D"),
    "3-d X": (X[:8].reshape(2, 4, 4), Y[:2], None, "dim 3"),
    "complex X": (X[:10] + 1j, Y[:10], None, "[Cc]omplex"),
    "words in X": (np.array([["a", "b", "c", "d"]]), Y[:1], None, "convert string to float"),
    "too few labels": (X[:10], Y[:9], None, r"inconsistent.*\[10, 9\]"),
    "too many labels": (X[:10], Y[:11], None, r"inconsistent.*\[10, 11\]"),
    "no labels": (X[:10], None, None, "y"),
    "NaN in y": (X[:10], with_target(np.nan), None, "y contains NaN"),
    "infinity in y": (X[:10], with_target(np.inf), None, "y contains infinity"),
    "minus infinity in y": (X[:10], with_target(-np.inf), None, "y contains infinity"),
    "a negative weight": (X[:10], Y[:10], np.r_[np.ones(9), -0.5], "[Nn]egative.*sample_weight"),
    "too few weights": (X[:10], Y[:10], np.ones(9), r"sample_weight.*\(9,\).*\(10,\)"),
    "too many weights": (X[:10], Y[:10], np.ones(11), r"sample_weight.*\(11,\).*\(10,\)"),
    "a table of weights": (X[:10], Y[:10], np.ones((10, 2)), "[Ss]ample weights must be 1D"),
    "NaN weight": (X[:10], Y[:10], np.r_[np.ones(9), np.nan], "sample_weight contains NaN"),
    "infinite weight": (
        X[:10],
        Y[:10],
        np.r_[np.ones(9), np.inf],
        "sample_weight contains infinity",
    ),
}
each_bad_chunk = pytest.mark.parametrize(
    ("rows", "y", "weights", "match"), BAD_ROWS.values(), ids=BAD_ROWS.keys()
)
each_face = pytest.mark.parametrize("make", [classifier, regressor])
each_age = pytest.mark.parametrize("trained", [barely_trained, half_trained])


@each_face
@each_bad_chunk
def test_bad_data_for_a_fresh_model(make, rows, y, weights, match):
    model = make()
    for call in (model.fit, model.partial_fit, model.prequential):
        assert_refused(model, lambda call=call: call(rows, y, sample_weight=weights), match)
    assert set(vars(model)) == set(model.get_params())


@each_age
@each_face
@each_bad_chunk
def test_bad_data_for_a_trained_model(make, trained, rows, y, weights, match):
    model = trained(make)
    for call in (model.fit, model.partial_fit, model.prequential):
        assert_refused(model, lambda call=call: call(rows, y, sample_weight=weights), match)


@each_age
@each_face
def test_a_model_goes_on_as_if_bad_data_had_never_come(make, trained):
    model, untouched = trained(make), trained(make)
    targets = Y if make is classifier else TARGETS
    bad = list(BAD_ROWS.values())
    for part in np.array_split(np.arange(HALF, ROWS), len(bad)):
        rows, y, weights, match = bad.pop()
        assert_refused(
            model,
            lambda chunk=(rows, y), weights=weights: model.partial_fit(
                *chunk, sample_weight=weights
            ),
            match,
        )
        expected = untouched.prequential(X[part], targets[part])
        np.testing.assert_array_equal(model.prequential(X[part], targets[part]), expected)
    assert_same_memory(model, untouched)


@each_age
@each_face
@pytest.mark.parametrize("width", [1, 3, 5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_wrong_width(make, trained, width, form):
    model = trained(make)
    rows = form(np.ones((10, width)))
    match = f"X has {width} features.*expecting 4 features"
    for call in (model.partial_fit, model.prequential):
        assert_refused(model, lambda call=call: call(rows, Y[:10]), match)
    assert_refused(model, lambda: model.predict(rows), match)
    assert_refused(model, lambda: scores_of(model, rows), match)
    assert_refused(model, lambda: model.score(rows, Y[:10]), match)


@each_face
@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (with_entry(np.inf), "X contains infinity"),
        (X[0], "Expected 2D array"),
        (X[:0], "0 sample"),
    ],
)
def test_bad_rows_to_predict(make, rows, match):
    model = half_trained(make)
    assert_refused(model, lambda: model.predict(rows), match)
    assert_refused(model, lambda: scores_of(model, rows), match)


@each_face
@pytest.mark.parametrize("rows", [None, 5, 1.5, np.float64(2.0)])
def test_rows_that_are_no_rows(make, rows):
    for model in (make(), half_trained(make)):
        assert_refused(model, lambda model=model: model.fit(rows, [1]), "2D array|no len|None")
        for call in (model.partial_fit, model.prequential):
            assert_refused(model, lambda call=call: call(rows, [1]), "2D array|None")


@each_face
def test_labels_without_rows(make):
    model = half_trained(make)
    assert_refused(model, lambda: model.partial_fit(X[:0], Y[:5]), r"inconsistent|\b5\b")


def test_repeated_sparse_entries_that_add_up_to_infinity():
    indices, indptr = np.array([0, 0, 1], np.int32), np.array([0, 2, 3], np.int32)
    rows = sparse.csr_array((np.array([1e308, 1e308, 1.0]), indices, indptr), shape=(2, 4))
    for model in (classifier(), half_trained(classifier)):
        assert_refused(model, lambda model=model: model.partial_fit(rows, [0, 1]), "infinity")


@each_face
def test_an_empty_chunk_is_no_bad_input(make):
    y = Y if make is classifier else TARGETS
    model = make(bandwidth="median")
    before = frozen(model)
    model.partial_fit(X[:0], y[:0]).partial_fit([], [])
    assert frozen(model) == before
    model.partial_fit(X[:HALF], y[:HALF])
    before = frozen(model)
    model.partial_fit(X[:0], y[:0]).partial_fit(sparse.csr_array(X[:0]), y[:0])
    assert frozen(model) == before
    assert_same_memory(model, half_trained(make))
    assert_refused(model, lambda: model.fit(X[:0], y[:0]), "0 sample")


@each_face
def test_weights_that_are_all_zero_at_the_start(make):
    model = make()
    zeros = np.zeros(10)
    for call in (model.fit, model.partial_fit):
        assert_refused(
            model, lambda call=call: call(X[:10], Y[:10], sample_weight=zeros), "(?i)weight.*zero"
        )


# ---- labels ------------------------------------------------------------------------------------


@each_age
@pytest.mark.parametrize(
    ("y", "match"),
    [
        ([0, 1, 2], r"y\[2\] is .*2.*classes \[0, 1\]"),
        ([-1, 0, 1], r"y\[0\] is .*-1.*classes \[0, 1\]"),
        ([0, 7, 7], r"y\[1\] is .*7.*classes \[0, 1\]"),
        (["no", "yes", "no"], r"y\[0\] is .*no.*classes \[0, 1\]"),
        ([0.5, 1.5, 2.5], "continuous"),
        (["0", "1", "0"], r"y\[0\] is .*0.*classes \[0, 1\]"),
    ],
    ids=str,
)
def test_labels_that_are_new_later(trained, y, match):
    model, untouched = trained(classifier), trained(classifier)
    for call in (model.partial_fit, model.prequential):
        assert_refused(model, lambda call=call: call(X[:3], y), match)
    expected = untouched.prequential(X[HALF:], Y[HALF:])
    np.testing.assert_array_equal(model.prequential(X[HALF:], Y[HALF:]), expected)


def test_a_new_label_at_the_end_of_a_long_chunk():
    model = half_trained(classifier)
    y = Y.copy()
    y[-1] = 5
    assert_refused(model, lambda: model.partial_fit(X, y), rf"y\[{ROWS - 1}\] is .*5")


def test_strings_after_strings():
    model = classifier().partial_fit(X, np.array(["no", "yes"])[Y], classes=["no", "yes"])
    for y in (["no", "perhaps"], ["maybe", "yes"], [0, 1], [True, False]):
        assert_refused(
            model, lambda y=y: model.partial_fit(X[:2], y), r"y\[[01]\] is .*'no', 'yes'"
        )


@pytest.mark.parametrize("model", [FORKSClassifier(), OnlineKernelClassifier()])
def test_continuous_labels(model):
    for call in (model.fit, model.partial_fit, model.prequential):
        assert_refused(model, lambda call=call: call(X, TARGETS), "Unknown label type: continuous")


@pytest.mark.parametrize("model", [FORKSClassifier(), OnlineKernelClassifier()])
def test_two_columns_of_labels(model):
    for call in (model.fit, model.partial_fit, model.prequential):
        assert_refused(
            model, lambda call=call: call(X[:10], Y[:20].reshape(10, 2)), "y should be a 1d array"
        )


@pytest.mark.parametrize("model", [FORKSClassifier(), OnlineKernelClassifier()])
def test_one_class_only(model):
    assert_refused(model, lambda: model.fit(X, np.full(ROWS, 3)), r"class.*\[3\].*classes")
    call = model.partial_fit
    assert_refused(model, lambda: call(X, Y, classes=[0]), "class")
    assert_refused(model, lambda: call(X, Y, classes=[]), "class")


def test_labels_that_are_not_among_the_given_classes():
    model = classifier()
    for classes in ([1, 2], [5, 6, 7], ["a", "b"]):
        assert_refused(
            model,
            lambda classes=classes: model.partial_fit(X, Y, classes=classes),
            r"y\[0\] is .*0",
        )


def test_a_generator_given_as_seed_is_as_before():
    model = classifier(random_state=np.random.RandomState(0))
    assert_refused(model, lambda: model.partial_fit(X, Y, classes=[1, 2]), r"y\[0\]")


@each_age
@pytest.mark.parametrize("classes", [[0, 1, 2], [0], [1, 2], ["a", "b"], [False]])
def test_other_classes_later(trained, classes):
    model = trained(classifier)
    for call in (model.partial_fit, model.prequential):
        assert_refused(
            model, lambda call=call: call(X, Y, classes=classes), r"classes must be .*\[0, 1\].*got"
        )


def test_classes_for_a_regressor():
    model = regressor()
    assert_refused(model, lambda: model.partial_fit(X, TARGETS, classes=[0, 1]), "classes")


def test_classes_for_a_regressor_later():
    model = half_trained(regressor)
    assert_refused(model, lambda: model.partial_fit(X, TARGETS, classes=[0, 1]), "classes")


@pytest.mark.parametrize("make", [OnlineKernelClassifier, OnlineKernelRegressor])
def test_text_in_a_data_frame_names_the_column(make):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "town": ["Oslo", "Rome"]})
    fault = "text in column 'town' .*'Oslo'.*TableEncoder makes numbers"
    with pytest.raises(ValueError, match=fault):
        make("kogd").fit(frame, [0, 1])
    model = make("kogd").fit(frame.assign(town=0.0), [0, 1])
    with pytest.raises(ValueError, match=fault):
        model.predict(frame)


def test_times_in_a_data_frame_name_the_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "day": pandas.date_range("2024-01-01", periods=2)})
    with pytest.raises(ValueError, match=r"times in column 'day'; .*TableEncoder makes numbers"):
        OnlineKernelClassifier("kogd").fit(frame, [0, 1])


def test_a_single_class_that_is_given():
    fault = r"^classes must be at least two, got one class: \['a'\]$"
    assert_refused(classifier(), lambda: classifier().partial_fit(X[:1], ["a"], ["a"]), fault)


def test_words_for_a_regressor():
    model = regressor()
    assert_refused(model, lambda: model.fit(X[:2], ["low", "high"]), "convert string to float")


@pytest.mark.parametrize("dtype", ["string", "category", object])
def test_labels_that_pandas_has_as_missing(dtype):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(["a", "b", None, "a"], dtype=dtype)
    for model in (classifier(), half_trained(classifier)):
        assert_refused(model, lambda model=model: model.fit(X[:4], y), r"^y\[2\] is .*without")


def test_none_among_labels():
    y = np.array(["a", "b", None, "a"], dtype=object)
    for model in (classifier(), half_trained(classifier)):
        # TypeError, as from scikit-learn's own classifiers
        assert_refused(model, lambda model=model: model.fit(X[:4], y), ".", (TypeError, ValueError))


# ---- parameters --------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ({"budget": 0}, r"budget.*\b0"),
    ({"budget": -3}, "budget.*-3"),
    ({"budget": "ten"}, "budget.*'ten'"),
    ({"budget": True}, "budget.*True"),
    ({"budget": 10.5}, "budget.*10.5"),
    ({"budget": None}, "budget.*None"),
    ({"budget": np.nan}, "budget.*nan"),
    ({"buffer": 0}, r"buffer.*\b0"),
    ({"buffer": "ten"}, "buffer.*'ten'"),
    ({"buffer": 7.5}, "buffer.*7.5"),
    ({"sketch_size": 0}, r"sketch_size.*\b0"),
    ({"sketch_size": "ten"}, "sketch_size.*'ten'"),
    ({"n_landmarks": 0}, r"n_landmarks.*\b0"),
    ({"n_landmarks": "ten"}, "n_landmarks.*'ten'"),
    ({"n_landmarks": 21}, r"n_landmarks.*buffer.*20.*21"),
    ({"buffer": 5, "n_landmarks": 6}, r"n_landmarks.*buffer.*5.*6"),
    ({"rank": 0}, r"rank.*\b0"),
    ({"rank": 11}, "rank.*n_landmarks.*10.*11"),
    ({"rank": "full"}, "rank.*'full'"),
    ({"rank": 6, "sketch_size": 5}, "rank.*sketch_size.*5.*6"),
    ({"update_cycle": -1}, "update_cycle.*-1"),
    ({"update_cycle": 2.5}, "update_cycle.*2.5"),
    ({"update_cycle": "never"}, "update_cycle.*'never'"),
    ({"max_points": 19}, "max_points.*20.*19"),
    ({"max_points": "all"}, "max_points.*'all'"),
    ({"bandwidth": 0}, r"bandwidth.*\b0"),
    ({"bandwidth": 0.0}, r"bandwidth.*\b0"),
    ({"bandwidth": -1.5}, "bandwidth.*-1.5"),
    ({"bandwidth": np.nan}, "bandwidth.*nan"),
    ({"bandwidth": np.inf}, "bandwidth.*inf"),
    ({"bandwidth": "mean"}, "bandwidth.*'mean'"),
    ({"bandwidth": None}, "bandwidth.*None"),
    ({"bandwidth": True}, "bandwidth.*True"),
    ({"bandwidth": [1.0]}, r"bandwidth.*\[1.0\]"),
    ({"bandwidth": "wide", "kernel": "laplacian"}, "bandwidth.*'wide'"),
    ({"kernel": "gauss"}, "kernel.*rbf.*'gauss'"),
    ({"kernel": None}, "kernel.*None"),
    ({"kernel": Anything()}, r"kernel.*Anything\(\)"),
    ({"kernel": Gaussian}, "kernel.*Gaussian"),
    ({"kernel": Gaussian(-2.0)}, "bandwidth.*-2.0"),
    ({"kernel": Gaussian("wide")}, "bandwidth.*'wide'"),
    ({"kernel": Gaussian(np.nan)}, "bandwidth.*nan"),
    ({"kernel": Polynomial(degree=0)}, r"degree.*\b0"),
    ({"kernel": Polynomial(degree=2.5)}, "degree.*2.5"),
    ({"loss": "zero_one"}, "loss.*'zero_one'"),
    ({"loss": None}, "loss.*None"),
    ({"loss": Anything()}, r"loss.*Anything\(\)"),
    ({"eta": 0.0}, r"eta.*\b0"),
    ({"eta": -0.2}, "eta.*-0.2"),
    ({"eta": np.nan}, "eta.*nan"),
    ({"eta": np.inf}, "eta.*inf"),
    ({"eta": "fast"}, "eta.*'fast'"),
    ({"alpha": 0.0}, r"alpha.*\b0"),
    ({"alpha": -1.0}, "alpha.*-1"),
    ({"curvature": -0.1}, "curvature.*-0.1"),
    ({"curvature": np.nan}, "curvature.*nan"),
    ({"curvature": "high"}, "curvature.*'high'"),
    ({"on_update": "forget"}, "on_update.*'reset', 'carry'.*'forget'"),
    ({"scaling": "robust"}, "scaling.*robust"),
    ({"landmarks": "moving"}, "landmarks.*'fixed', 'refreshed'.*'moving'"),
    ({"random_state": "seed"}, "'seed'"),
    ({"random_state": -1}, "(?i)seed|random_state|-1"),
]
each_bad_parameter = pytest.mark.parametrize(("changes", "match"), BAD_PARAMETERS, ids=str)


@each_face
@each_bad_parameter
def test_bad_parameters(make, changes, match):
    y = Y if make is classifier else TARGETS
    good = {"rank": None, "bandwidth": 1.5}
    fresh = make(**(good | changes))
    for call in (fresh.fit, fresh.partial_fit, fresh.prequential):
        assert_refused(fresh, lambda call=call: call(X, y), match)

    trained = half_trained(make)
    before, kept = frozen(trained), trained.get_params()
    trained.set_params(**(good | changes))
    assert_refused(trained, lambda: trained.fit(X, y), match)
    trained.set_params(**kept)
    assert pickle.loads(frozen(trained)).keys() == pickle.loads(before).keys()
    assert_same_memory(trained, half_trained(make))


@pytest.mark.parametrize("loss", ["squared_error", "huber", SquaredError(), EpsilonInsensitive()])
def test_a_loss_of_regression_in_a_classifier(loss):
    model = FORKSClassifier(loss=loss)
    assert_refused(model, lambda: model.fit(X, Y), "loss.*(squared|Squared|huber|Epsilon)")


@pytest.mark.parametrize("loss", ["hinge", "logistic", Hinge(), Logistic()])
def test_a_loss_of_classification_in_a_regressor(loss):
    model = FORKSRegressor(loss=loss)
    assert_refused(model, lambda: model.fit(X, TARGETS), "loss.*([hH]inge|[lL]ogistic)")


def test_the_wrong_kind_of_learner():
    model = OnlineKernelClassifier(KOGD(loss=SquaredError()))
    assert_refused(model, lambda: model.fit(X, Y), "loss.*SquaredError")
    model = OnlineKernelRegressor(FORKS(loss=Logistic()))
    assert_refused(model, lambda: model.fit(X, TARGETS), "loss.*Logistic")


@pytest.mark.parametrize(
    "learner", [5, FORKS, Anything(), FORKSClassifier(), {}, {"budget": 5}, {"name": 3}]
)
@pytest.mark.parametrize("face", [OnlineKernelClassifier, OnlineKernelRegressor])
def test_a_learner_that_is_none(face, learner):
    model = face(learner)
    assert_refused(model, lambda: model.fit(X, Y), "learner")
    assert_refused(model, lambda: model.partial_fit(X, Y), "learner")


@pytest.mark.parametrize(
    ("learner", "match"),
    [
        ("perceptron", "no method 'perceptron'; there are KOGD"),
        ({"name": "nogd", "bugdet": 3}, "NOGD has no 'bugdet'; it has kernel, loss"),
        ({"name": "nogd", "budget": 0}, r"budget.*\b0"),
        ({"name": "rbp", "loss": "logistic"}, "RBP has no 'loss'"),
        ({"name": "nogd", "loss": "squared_error"}, "loss must be one of hinge"),
        ({"name": "nogd", "kernel": "gauss"}, "kernel must be one of rbf"),
        ({"name": "nogd", "kernel": "linear", "bandwidth": 2.0}, "bandwidth.*'linear'"),
        ({"name": "nogd", "kernel": Gaussian(1.0), "bandwidth": 2.0}, "bandwidth.*Gaussian"),
        ({"name": "nogd", "bandwidth": "mean"}, "bandwidth.*'mean'"),
        ({"name": "adaptive", "rank": 5}, "the adaptive learner has no 'rank'"),
    ],
    ids=str,
)
def test_names_and_settings_that_are_none(learner, match):
    model = OnlineKernelClassifier(learner)
    assert_refused(model, lambda: model.fit(X, Y), match)


@pytest.mark.parametrize("name", ["RBP", "forgetron", "projectron", "Projectron++", "bpas"])
def test_a_name_that_cannot_do_the_task(name):
    model = OnlineKernelRegressor(name)
    assert_refused(model, lambda: model.fit(X, TARGETS), "is for classification only")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"kernel": Gaussian(2.0), "bandwidth": 1.5}, "bandwidth.*1.5.*Gaussian"),
        ({"kernel": "linear", "bandwidth": 1.5}, "bandwidth.*1.5.*'linear'"),
        ({"kernel": "poly", "bandwidth": 1.5}, "bandwidth.*1.5.*'poly'"),
        ({"update_cycle": 0, "on_update": "reset"}, "on_update.*update_cycle is 0"),
        ({"update_cycle": None, "landmarks": "refreshed"}, "landmarks.*update_cycle is 0"),
        ({"update_cycle": None, "max_points": 50}, "max_points.*update_cycle is 0"),
    ],
    ids=str,
)
@each_face
def test_parameters_that_would_be_ignored(make, changes, match):
    y = Y if make is classifier else TARGETS
    model = make(**({"bandwidth": "median"} | changes))
    assert_refused(model, lambda: model.fit(X, y), match)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"landmarks": "refreshed", "sketch_points": "buffer"}, "landmarks.*sketch_points"),
        ({"cycle_counts": "days"}, "cycle_counts.*'days'"),
        ({"projection": "last"}, "projection.*'last'"),
        ({"weight_start": "one"}, "weight_start.*'one'"),
        ({"sketch_points": "all"}, "sketch_points.*'all'"),
        ({"decomposition": "qr"}, "decomposition.*'qr'"),
        ({"n_blocks": 0}, r"n_blocks.*\b0"),
        ({"n_blocks": 6, "sketch_size": 5, "rank": 5}, "n_blocks.*sketch_size.*5.*6"),
        ({"clip": 0.0}, r"clip.*\b0"),
        ({"clip": np.nan}, "clip.*nan"),
        ({"cut": -1.0}, "cut.*-1"),
        ({"damping": -1.0}, "damping.*-1"),
        ({"damping": np.inf}, "damping.*inf"),
        ({"step_size": 0}, r"step_size.*\b0"),
        ({"curvature_decay": -1}, "curvature_decay.*-1"),
    ],
    ids=str,
)
def test_bad_parameters_of_the_learner(changes, match):
    with pytest.raises(ValueError, match=match):
        FORKS(**changes)


@pytest.mark.parametrize("preset", [FORKS.as_published, FORKS.as_released])
def test_bad_parameters_of_presets(preset):
    rounds = {"n_rounds": 100} if preset == FORKS.as_published else {}
    with pytest.raises(ValueError, match="rank"):
        preset(rank=0, **rounds)
    with pytest.raises(ValueError, match=r"eta.*-1"):
        preset(eta=-1, **rounds)
    with pytest.raises(TypeError, match="budgets"):
        preset(budgets=5, **rounds)
    with pytest.raises(ValueError, match=r"n_rounds.*\b0"):
        FORKS.as_published(n_rounds=0)
    with pytest.raises(ValueError, match=r"budget.*'ten'"):
        FORKS.as_published(budget="ten", n_rounds=10)


def test_infinite_clip_and_no_updates_are_fine():
    assert FORKS(clip=np.inf, update_cycle=0, curvature=0, damping=0).sizes().buffer == 200
    numbers = FORKS(budget=np.int64(10), eta=np.float32(0.5), alpha=1)
    assert numbers.sizes().buffer == 20
