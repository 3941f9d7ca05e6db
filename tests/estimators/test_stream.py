"""Estimators on a stream: chunks, copies on the way, forms of input."""

import copy
import io
import itertools
import pickle
import warnings

import joblib
import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_streams import (
    ROWS,
    assert_same_memory,
    classifier,
    counts,
    frozen,
    labelled,
    regressor,
    scores_of,
    valued,
)

from forks import FORKSClassifier, OnlineKernelClassifier, OnlineKernelRegressor
from forks.engine.protocol import run
from forks.kernels import Gaussian, Linear
from forks.learners import FORKS, KOGD
from forks.losses import SquaredError

X, Y = labelled()
_, TARGETS = valued()
FRESH, _ = labelled(seed=7)
THREE = np.digitize(TARGETS, [-0.5, 0.5])
WEIGHTS = np.random.default_rng(3).uniform(0.1, 2.0, ROWS)
SIZES = {"buffer": 20, "sketch_size": 15, "n_landmarks": 10, "rank": 8, "update_cycle": 5}

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def published():
    learner = FORKS.as_published(kernel=Gaussian(1.5), budget=20, n_rounds=ROWS)
    return OnlineKernelClassifier(learner, random_state=0)


def released():
    learner = FORKS.as_released(kernel=Gaussian(1.5), **SIZES)
    return OnlineKernelClassifier(learner, random_state=0)


def gradient_descent():
    return OnlineKernelClassifier(KOGD(kernel=Gaussian(1.5)), random_state=0)


# name: (how to make it, targets, classes)
MODELS = {
    "fixed bandwidth": (classifier, Y, [0, 1]),
    "median bandwidth": (lambda: classifier(bandwidth="median"), Y, [0, 1]),
    "reset": (lambda: classifier(on_update="reset"), Y, [0, 1]),
    "refreshed": (lambda: classifier(landmarks="refreshed", max_points=24), Y, [0, 1]),
    "three classes": (classifier, THREE, [0, 1, 2]),
    "published": (published, Y, [0, 1]),
    "released": (released, Y, [0, 1]),
    "gradient descent": (gradient_descent, Y, [0, 1]),
    "regressor": (regressor, TARGETS, None),
    "regressor, median": (lambda: regressor(bandwidth="median"), TARGETS, None),
}
each_model = pytest.mark.parametrize(("make", "y", "classes"), MODELS.values(), ids=MODELS.keys())


def test_the_streams_here_pass_through_both_stages_and_updates():
    models = [
        (classifier(), Y),
        (classifier(bandwidth="median"), Y),
        (released(), Y),
        (regressor(), TARGETS),
        (regressor(bandwidth="median"), TARGETS),
    ]
    for model, y in models:
        seen = counts(model.partial_fit(X, y))
        assert seen["stage"] == 2
        assert seen["updates"] >= 3
        assert seen["rounds"] > ROWS // 4


# ---- prediction first, then learning -----------------------------------------------------------


@each_model
def test_prequential_is_predict_then_learn(make, y, classes):
    whole = make().prequential(X, y, classes=classes)
    model = make()
    for t in range(ROWS):
        row = slice(t, t + 1)
        if t == 0:
            assert (whole[0] == 0.0).all()
            with pytest.raises(NotFittedError):
                model.predict(X[row])
        else:
            np.testing.assert_array_equal(scores_of(model, X[row])[0], whole[t], err_msg=f"row {t}")
        model.partial_fit(X[row], y[row], classes=classes)


def test_scores_stand_for_labels():
    model = classifier()
    scores = model.prequential(X, Y)
    assert set(model.labels_of(scores)) == {0, 1}
    np.testing.assert_array_equal(model.labels_of(model.decision_function(X)), model.predict(X))
    assert (model.labels_of(scores)[60:] != Y[60:]).mean() < (Y[60:] != 1).mean()


def test_prequential_and_partial_fit_learn_the_same():
    one, other = classifier(), classifier()
    one.prequential(X, Y)
    assert other.partial_fit(X, Y) is other
    assert_same_memory(one, other)


def test_fit_in_order_learns_the_same_as_partial_fit():
    in_order = classifier().partial_fit(X, Y)
    assert_same_memory(classifier().fit(X, Y, shuffle=False), in_order)


# ---- chunks ------------------------------------------------------------------------------------

cuts = st.lists(st.integers(0, ROWS), max_size=10) | st.lists(st.integers(0, 12), max_size=10)


def play(model, bounds, X, y, classes, weights=None):
    """Learn chunk by chunk; equal bounds give an empty chunk."""
    scores = [np.empty(0)]
    for start, stop in itertools.pairwise(bounds):
        part = slice(start, stop)
        chunk = None if weights is None else weights[part]
        got = model.prequential(X[part], y[part], classes=classes, sample_weight=chunk)
        assert len(got) == stop - start
        if stop > start:
            scores.append(got)
    return np.concatenate(scores[1:])


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, np.asarray) for name in MODELS]
    + [(name, sparse.csr_array) for name in ("fixed bandwidth", "median bandwidth")],
)
@given(cuts=cuts)
@settings(max_examples=12)
def test_any_split_into_chunks_is_the_same_bit_for_bit(name, form, cuts):
    make, y, classes = MODELS[name]
    rows = form(X)
    whole, split = make(), make()
    expected = whole.prequential(rows, y, classes=classes)
    scores = play(split, [0, *sorted(cuts), ROWS], rows, y, classes)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(scores_of(split, form(FRESH)), scores_of(whole, form(FRESH)))
    if make is not gradient_descent:  # whose memory grows by doubling
        assert_same_memory(split, whole)


@given(cuts=cuts)
@settings(max_examples=12)
def test_weighted_chunks_are_the_same_bit_for_bit(cuts):
    whole, split = classifier(), classifier()
    expected = whole.prequential(X, Y, sample_weight=WEIGHTS)
    scores = play(split, [0, *sorted(cuts), ROWS], X, Y, [0, 1], WEIGHTS)
    np.testing.assert_array_equal(scores, expected)
    assert_same_memory(split, whole)


def test_a_later_chunk_may_have_no_weight_at_all():
    weights = np.where(np.arange(ROWS) % 3 == 2, 0.0, 1.0)
    whole, split = classifier(), classifier()
    expected = whole.prequential(X, Y, sample_weight=weights)
    scores = play(split, range(ROWS + 1), X, Y, [0, 1], weights)
    np.testing.assert_array_equal(scores, expected)


@FORMS
def test_the_default_classifier_in_any_split(form):
    rows, y = labelled(600)
    rows = form(rows)
    whole = FORKSClassifier(update_cycle=40, random_state=0)
    expected = whole.prequential(rows, y)
    assert counts(whole)["updates"] >= 2
    for bounds in ([0, 1, 1, 2, 600], [0, 3, 100, 101, 127, 129, 300, 600], [0, 5, 599, 600, 600]):
        split = FORKSClassifier(update_cycle=40, random_state=0)
        np.testing.assert_array_equal(play(split, bounds, rows, y, [0, 1]), expected)
        assert_same_memory(split, whole)


def test_an_empty_chunk_does_nothing():
    model = classifier()
    before = frozen(model)
    for nothing in (X[:0], X[:0].tolist(), sparse.csr_array(X[:0]), pd.DataFrame(X[:0])):
        assert model.partial_fit(nothing, Y[:0]) is model
        assert model.prequential(nothing, Y[:0], classes=[0, 1]).shape == (0,)
    assert frozen(model) == before
    model.partial_fit(X[:70], Y[:70])
    before = frozen(model)
    assert model.partial_fit(X[:0], Y[:0]) is model
    assert model.prequential(X[:0], Y[:0], sample_weight=WEIGHTS[:0]).shape == (0,)
    assert frozen(model) == before


def test_an_empty_chunk_has_the_width_of_the_scores():
    model = classifier().partial_fit(X[:70], THREE[:70])
    assert model.prequential(X[:0], THREE[:0]).shape == (0, 3)


# ---- seeds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [classifier, regressor])
def test_one_seed_one_result(make):
    y = Y if make is classifier else TARGETS
    first, again = make().partial_fit(X, y), make().partial_fit(X, y)
    assert_same_memory(first, again)
    other = make(random_state=1)
    scores = other.prequential(X, y)
    expected = make().prequential(X, y)
    first_difference = np.flatnonzero(scores != expected)[0]
    assert first_difference >= 20  # stage one has no randomness
    assert not np.array_equal(scores_of(other, FRESH), scores_of(first, FRESH))


def test_seeds_may_be_generators_and_none():
    from_generator = [
        classifier(random_state=np.random.RandomState(5)).fit(X, Y).decision_function(FRESH)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*from_generator)
    unseeded = [classifier(random_state=None).fit(X, Y).decision_function(FRESH) for _ in range(2)]
    assert not np.array_equal(*unseeded)


# ---- copies ------------------------------------------------------------------------------------


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("copied", [by_pickle, by_joblib, copy.deepcopy])
@pytest.mark.parametrize("at", [5, 16, 40, 100])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_copy_goes_on_alike(make, at, copied):
    y = Y if make is classifier else TARGETS
    model = make(bandwidth="median").partial_fit(X[:at], y[:at])
    twin = copied(model)
    before = frozen(twin)
    expected = model.prequential(X[at:], y[at:])
    assert frozen(twin) == before  # nothing is shared
    np.testing.assert_array_equal(twin.prequential(X[at:], y[at:]), expected)
    assert_same_memory(twin, model)


def test_a_clone_is_unfitted_and_has_the_same_parameters():
    model = classifier(bandwidth="median", eta=0.3).partial_fit(X, Y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(X)
    assert set(vars(twin)) == set(twin.get_params())
    np.testing.assert_array_equal(
        twin.prequential(X, Y), clone(model).set_params(eta=0.3).prequential(X, Y)
    )


def test_a_clone_with_a_learner():
    model = released().partial_fit(X, Y)
    twin = clone(model)
    assert twin.learner == model.learner
    assert not hasattr(twin, "engine_")
    assert_same_memory(twin.partial_fit(X, Y), model)


def test_fit_forgets():
    model = classifier(bandwidth="median").fit(X, Y)
    model.fit(np.hstack([FRESH, FRESH]), np.where(Y == 1, "yes", "no"))  # other width, other labels
    assert model.n_features_in_ == 8
    model.fit(X, Y)
    assert_same_memory(model, classifier(bandwidth="median").fit(X, Y))
    assert model.classes_.tolist() == [0, 1]


def test_parameters_set_later_take_effect_at_the_next_fit():
    model = classifier().partial_fit(X[:70], Y[:70])
    model.set_params(bandwidth=3.0, budget=9)
    model.partial_fit(X[70:], Y[70:])
    assert_same_memory(model, classifier().partial_fit(X, Y))
    model.fit(X, Y)
    assert_same_memory(model, classifier(bandwidth=3.0, budget=9).fit(X, Y))
    assert model.learner_.kernel == Gaussian(3.0)


# ---- what is left alone ------------------------------------------------------------------------


@FORMS
def test_inputs_are_not_changed(form):
    rows, y, weights = form(X.copy()), Y.copy(), WEIGHTS.copy()
    arrays = [y, weights]
    arrays += [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [rows]
    before = [array.copy() for array in arrays]
    model = classifier(bandwidth="median")
    model.prequential(rows[:40], y[:40], sample_weight=weights[:40])
    model.partial_fit(rows, y, sample_weight=weights)
    model.fit(rows, y, sample_weight=weights)
    model.predict(rows)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


@FORMS
def test_inputs_are_not_kept(form):
    expected = classifier(bandwidth="median").partial_fit(form(X[:5]), Y[:5])
    rows = form(X[:5].copy())
    model = classifier(bandwidth="median").partial_fit(rows, Y[:5])
    if sparse.issparse(rows):
        rows.data[:] = 99.0
    else:
        rows[:] = 99.0
    np.testing.assert_array_equal(
        model.prequential(form(X[5:]), Y[5:]), expected.prequential(form(X[5:]), Y[5:])
    )


@FORMS
@pytest.mark.parametrize("at", [6, 100])
def test_prediction_changes_nothing(form, at):
    model = classifier(bandwidth="median").partial_fit(X[:at], Y[:at])
    before = frozen(model)
    first = model.decision_function(form(FRESH))
    np.testing.assert_array_equal(model.decision_function(form(FRESH)), first)
    model.predict(form(FRESH))
    model.score(form(FRESH), Y)
    assert frozen(model) == before


def test_scores_do_not_depend_on_the_company_of_a_row():
    model = classifier().partial_fit(X, Y)
    together = model.decision_function(FRESH)
    one_by_one = [model.decision_function(x.reshape(1, -1))[0] for x in FRESH]
    np.testing.assert_array_equal(together, one_by_one)
    np.testing.assert_array_equal(model.decision_function(FRESH[::-1])[::-1], together)


# ---- a stream that ends early ------------------------------------------------------------------


def test_a_stream_that_ends_in_stage_one():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    rows = rng.normal(size=(40, 3)) + 6.0 * y[:, None]
    model = FORKSClassifier(n_landmarks=100, random_state=0).fit(rows[:20], y[:20])
    assert counts(model)["stage"] == 0
    assert 0 < model.n_points_ <= 20
    assert model.score(rows[20:], y[20:]) == 1.0


def test_a_stream_of_one_row():
    model = classifier(bandwidth="median").partial_fit(X[:1], Y[:1], classes=[0, 1])
    assert (model.predict(X[:1]) == Y[:1]).all()
    model = regressor(bandwidth="median").fit(X[:1], [3.0])
    assert 0.0 < model.predict(X[:1])[0] <= 3.0


def test_a_stream_that_ends_as_the_buffer_is_full():
    model = regressor().partial_fit(X[:20], TARGETS[:20])  # every row is stored
    assert counts(model)["stage"] == 0
    assert model.n_points_ == 20
    assert np.isfinite(model.predict(FRESH)).all()
    model.partial_fit(X[20:21], TARGETS[20:21])
    assert counts(model)["stage"] == 2


# ---- forms of input ----------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["standard", None])
@pytest.mark.parametrize("bandwidth", ["median", 1.5])
@pytest.mark.parametrize("on_update", ["carry", "reset"])
def test_dense_and_sparse_give_the_same_scores(bandwidth, on_update, scaling):
    changes = {"bandwidth": bandwidth, "on_update": on_update, "scaling": scaling}
    dense, sparse_rows = (classifier(**changes) for _ in range(2))
    few = (labelled(seed=seed)[0] for seed in (0, 7))
    X, FRESH = (rows * (np.abs(rows) > 0.7) for rows in few)  # mostly zeros: nothing is centred
    expected = dense.prequential(X, Y)
    scores = sparse_rows.prequential(sparse.csr_array(X), Y)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        sparse_rows.decision_function(sparse.csr_array(FRESH)),
        dense.decision_function(FRESH),
        rtol=1e-9,
        atol=1e-9,
    )


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    wide = np.zeros((2 * array.shape[0], *array.shape[1:]))
    wide[::2] = array
    return wide[::2]


DENSE_FORMS = {
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "list": np.ndarray.tolist,
    "frame": pd.DataFrame,
    "object": lambda X: X.astype(object),
    "strided": strided,
    "turned": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "read-only frame": lambda X: pd.DataFrame(read_only(X), copy=False),
}


@pytest.mark.parametrize("form", DENSE_FORMS.values(), ids=DENSE_FORMS.keys())
@pytest.mark.parametrize("bandwidth", ["median", 1.5])
def test_dense_forms(form, bandwidth):
    expected = classifier(bandwidth=bandwidth)
    scores = expected.prequential(X, Y)
    model = classifier(bandwidth=bandwidth)
    np.testing.assert_array_equal(model.prequential(form(X), Y), scores)
    np.testing.assert_array_equal(
        model.decision_function(form(FRESH)), expected.decision_function(FRESH)
    )


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float32, np.float16, bool])
def test_types_of_numbers(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = np.abs(3.0 * X).astype(dtype)
    expected = classifier().prequential(rows.astype(np.float64), Y)
    np.testing.assert_array_equal(classifier().prequential(rows, Y), expected)


SPARSE_FORMS = [
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.coo_array,
    sparse.lil_matrix,
]


@pytest.mark.parametrize("form", SPARSE_FORMS)
def test_sparse_forms(form):
    expected = classifier().prequential(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(classifier().prequential(form(X), Y), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_sparse_types_of_numbers(dtype):
    rows = sparse.csr_array((3.0 * X).astype(dtype))
    expected = classifier().prequential(rows.astype(np.float64), Y)
    np.testing.assert_array_equal(classifier().prequential(rows, Y), expected)


def test_read_only_sparse_rows():
    rows = sparse.csr_array(X)
    expected = classifier().prequential(rows, Y)
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    np.testing.assert_array_equal(classifier().prequential(rows, Y), expected)


def scrambled(rows):
    """The same matrix with every entry cut in two (exactly) and the columns out of order."""
    data, indices, indptr = [], [], [0]
    for t in range(rows.shape[0]):
        part = slice(rows.indptr[t], rows.indptr[t + 1])
        halves = np.concatenate([0.5 * rows.data[part], 0.5 * rows.data[part]])
        columns = np.tile(rows.indices[part], 2)
        order = np.random.default_rng(t).permutation(len(halves))
        data.append(halves[order])
        indices.append(columns[order])
        indptr.append(indptr[-1] + len(halves))
    parts = np.concatenate(data), np.concatenate(indices), np.array(indptr, np.int32)
    return sparse.csr_array(parts, shape=rows.shape)


@pytest.mark.parametrize("bandwidth", ["median", 1.5])
def test_sparse_rows_out_of_order_and_with_repeated_entries(bandwidth):
    canonical = sparse.csr_array(X)
    rows = scrambled(canonical)
    assert not rows.has_canonical_format
    before = rows.data.copy(), rows.indices.copy(), rows.indptr.copy()
    expected = classifier(bandwidth=bandwidth)
    scores = expected.prequential(canonical, Y)
    model = classifier(bandwidth=bandwidth)
    np.testing.assert_array_equal(model.prequential(rows, Y), scores)
    np.testing.assert_array_equal(
        model.decision_function(rows), expected.decision_function(canonical)
    )
    for array, old in zip((rows.data, rows.indices, rows.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_stored_zeros_change_nothing():
    rows = sparse.csr_array(X)
    full = sparse.csr_array(np.ones_like(X))
    full.data[:] = X.ravel()
    assert full.nnz == X.size > rows.nnz
    np.testing.assert_allclose(
        classifier().prequential(full, Y), classifier().prequential(rows, Y), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("form", [np.ndarray.tolist, pd.Series, read_only, strided])
def test_forms_of_targets_and_weights(form):
    expected = classifier().prequential(X, Y, sample_weight=WEIGHTS)
    scores = classifier().prequential(X, form(Y), sample_weight=form(WEIGHTS))
    np.testing.assert_array_equal(scores, expected)
    expected = gradient_regressor().prequential(X, TARGETS)
    np.testing.assert_array_equal(gradient_regressor().prequential(X, form(TARGETS)), expected)


def gradient_regressor():
    return OnlineKernelRegressor(KOGD(kernel=Linear(), loss=SquaredError(), eta=0.01))


@pytest.mark.parametrize("form", [pd.Series, read_only])
def test_forms_of_targets_and_weights_are_compiled_once(form):
    model = gradient_regressor()
    model.partial_fit(X, form(TARGETS))
    model.partial_fit(X, TARGETS, sample_weight=form(WEIGHTS))
    kind = numba.typeof(model.engine_.rule)
    for signature in run.over(model.engine_.rule).signatures:
        if signature[0] == kind:
            arrays = [part for part in signature if isinstance(part, numba.types.Array)]
            assert all(array.mutable for array in arrays)


# ---- names of features -------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d"]


def frame(rows):
    return pd.DataFrame(rows, columns=NAMES)


def test_names_of_features_are_kept():
    model = classifier().partial_fit(frame(X), Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(frame(X), Y)
        model.predict(frame(X))
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


@pytest.mark.parametrize(
    "other", [["b", "a", "c", "d"], ["a", "b", "c", "e"]], ids=["order", "name"]
)
def test_other_names_are_refused(other):
    model = classifier().partial_fit(frame(X), Y)
    before = frozen(model)
    renamed = pd.DataFrame(X, columns=other)
    for call in (
        lambda: model.partial_fit(renamed, Y),
        lambda: model.prequential(renamed, Y),
        lambda: model.predict(renamed),
        lambda: model.decision_function(renamed),
    ):
        with pytest.raises(ValueError, match="feature names"):
            call()
    assert frozen(model) == before


def test_missing_names_are_warned_about():
    named, plain = classifier().partial_fit(frame(X), Y), classifier().partial_fit(X, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.partial_fit(X, Y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        plain.partial_fit(frame(X), Y)
    assert_same_memory(named, plain)
    assert named.feature_names_in_.tolist() == NAMES
    assert not hasattr(plain, "feature_names_in_")


def test_a_row_at_a_time_warns_about_nothing():
    model = classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(model, range(41), X, THREE, [0, 1, 2])


@pytest.mark.parametrize("bandwidth", [1.5, "median"])
def test_rows_are_scored_before_the_ones_beside_them_are_learned(bandwidth):
    model, plain = classifier(bandwidth=bandwidth), classifier(bandwidth=bandwidth)
    expected = [0.0]
    for t in range(ROWS - 1):
        plain.partial_fit(X[t : t + 1], Y[t : t + 1], classes=[0, 1])
        expected.append(plain.decision_function(X[t : t + 1])[0])  # ahead: one row behind
    plain.partial_fit(X[-1:], Y[-1:])
    ahead = np.vstack([X[:1], X[:-1]])
    first = model.score_then_learn(ahead[:40], X[:40], Y[:40], classes=[0, 1])
    rest = model.score_then_learn(ahead[40:], X[40:], Y[40:])
    np.testing.assert_allclose(np.concatenate([first, rest]), expected, rtol=1e-9, atol=1e-12)
    assert_same_memory(model, plain)


def test_rows_ahead_that_do_not_fit_change_nothing():
    model = classifier()
    with pytest.raises(ValueError, match="ahead has 3 rows, but X has 5"):
        model.score_then_learn(X[:3], X[:5], Y[:5], classes=[0, 1])
    assert not hasattr(model, "engine_")
    assert not hasattr(model, "n_features_in_")
    model.fit(X, Y)
    before = frozen(model)
    with pytest.raises(ValueError, match="features"):
        model.score_then_learn(X[:5, :2], X[:5], Y[:5])
    with pytest.raises(ValueError, match="classes must be those"):
        model.score_then_learn(X[:5], X[:5], Y[:5], classes=[0, 2])
    assert frozen(model) == before
