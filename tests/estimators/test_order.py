"""A batch has no order; a stream has, and one that is sorted by its labels brings a warning."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from small_streams import assert_same_memory, classifier, labelled, regressor, valued

from forks import LabelRunsWarning, OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.order import expected_changes, random_order

X, Y = labelled()
_, TARGETS = valued()
SORTED = np.argsort(Y, kind="stable")


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_iris, 0.95), (load_wine, 0.97), (load_breast_cancer, 0.97), (load_digits, 0.95)],
)
def test_a_batch_sorted_by_its_labels_is_learned(load, least):
    rows, y = load(return_X_y=True)
    order = np.argsort(y, kind="stable")
    assert cross_val_score(OnlineKernelClassifier(), rows[order], y[order], cv=5).mean() >= least


def test_a_batch_of_numbers_is_learned():
    rows, y = load_diabetes(return_X_y=True)
    assert cross_val_score(OnlineKernelRegressor(), rows, y, cv=5).mean() >= 0.48


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_fit_is_one_pass_over_permuted_rows(make, form):
    y = Y if make is classifier else TARGETS
    weights = np.linspace(0.5, 1.5, len(y))
    seed = np.random.RandomState(0).randint(2**31 - 1)
    order = np.random.default_rng(seed).permutation(len(y))
    by_hand = make().partial_fit(form(X[order]), y[order], sample_weight=weights[order])
    assert_same_memory(make().fit(form(X), y, weights), by_hand)
    in_order = make().partial_fit(form(X), y, sample_weight=weights)
    assert_same_memory(make().fit(form(X), y, weights, shuffle=False), in_order)
    assert not np.array_equal(in_order.engine_.memory.floats, by_hand.engine_.memory.floats)


def test_one_seed_one_order():
    def scores(seed):
        return OnlineKernelClassifier(random_state=seed).fit(X, Y).decision_function(X)

    np.testing.assert_array_equal(scores(None), scores(None))
    np.testing.assert_array_equal(scores(3), scores(3))
    assert not np.array_equal(scores(3), scores(4))


def test_rows_of_weight_zero_do_not_affect_the_order_of_others():
    weights = np.where(np.arange(20) % 4 == 0, 0.0, 2.0)
    order = random_order(20, weights, 7)
    counted = np.flatnonzero(weights)
    np.testing.assert_array_equal(order[:15], counted[random_order(15, None, 7)])
    assert sorted(order.tolist()) == list(range(20))
    kept = np.arange(len(Y)) % 3 > 0
    with_zeros = classifier().fit(X, Y, sample_weight=kept.astype(float))
    assert_same_memory(with_zeros, classifier().fit(X[kept], Y[kept]))


@pytest.mark.parametrize("shuffle", ["yes", 1, None])
def test_shuffle_is_true_or_false(shuffle):
    with pytest.raises(ValueError, match="shuffle must be True or False"):
        classifier().fit(X, Y, shuffle=shuffle)


# ---- labels in long runs -----------------------------------------------------------------------


def test_the_changes_that_shuffled_labels_have():
    y = np.repeat(["a", "b", "c"], [50, 30, 20])
    rng = np.random.default_rng(0)
    shuffled = [rng.permutation(y) for _ in range(2000)]
    mean = np.mean([np.count_nonzero(z[1:] != z[:-1]) for z in shuffled])
    assert expected_changes(y) == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize("call", ["partial_fit", "prequential"])
def test_long_runs_bring_one_warning(call):
    model = classifier()
    with pytest.warns(LabelRunsWarning, match="1 in 150 rows") as caught:
        getattr(model, call)(X[SORTED], Y[SORTED])
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(model, call)(X[SORTED], Y[SORTED])


def test_late_labels_in_long_runs():
    with pytest.warns(LabelRunsWarning):
        classifier().score_then_learn(X, X[SORTED], Y[SORTED])


def test_no_warning_without_need():
    half = np.repeat(np.arange(len(Y) // 5), 5) % 2  # changes each five rows: a fifth of the rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(X[SORTED], Y[SORTED])
        classifier().fit(X[SORTED], Y[SORTED], shuffle=False)  # as asked for
        classifier().partial_fit(X, Y)
        classifier().partial_fit(X, half)
        classifier().partial_fit(X[SORTED][:99], Y[SORTED][:99], classes=[0, 1])  # too few rows
        classifier().partial_fit(X, np.zeros(len(Y)), classes=[0, 1])  # one label so far
        rare = np.zeros(len(Y), int)
        rare[-5:] = 1  # may be chance
        classifier().partial_fit(X, rare)
        regressor().partial_fit(X, np.sort(TARGETS))


def test_short_chunks_are_passed_over():
    model = classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:20], Y[:20])
    with pytest.warns(LabelRunsWarning):
        model.partial_fit(X[SORTED], Y[SORTED])


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    model = classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LabelRunsWarning):
            model.partial_fit(X[SORTED], Y[SORTED])
    assert not hasattr(model, "engine_")
