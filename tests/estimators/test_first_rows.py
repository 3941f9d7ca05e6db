"""The first rows: what is set from them, when, and that everything kept goes by it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from small_streams import assert_same_memory, labelled, valued

from forks import FORKSClassifier, FORKSRegressor, OnlineKernelClassifier, OnlineKernelRegressor
from forks.engine import Engine
from forks.estimators.first_rows import median_distance, scale_rows
from forks.estimators.saving import as_bytes
from forks.evaluate import prequential
from forks.features.scaling import apply_scale, fit_scale
from forks.kernels import Gaussian, Laplacian
from forks.learners.catalogue import CATALOGUE

ROWS = 300
X, Y = labelled(ROWS)
X = X * [1.0, 100.0, 0.01, 3.0] + [0.0, 50.0, 0.0, 0.0]
_, TARGETS = valued(ROWS)
SIZES = {"budget": 15, "rank": 10, "update_cycle": 20, "random_state": 0}


def by_hand(model, n, scaling=True, metric="euclidean", y=Y, rows=X):
    """The engine that a model must have after n rows: all of them learned with the last scale."""
    look = max(look for look in (16, 64, 256) if look <= n)
    scale = fit_scale(rows[:look], np.ones(look))
    Z = apply_scale(scale, rows[:n]) if scaling else rows[:n]
    learner = model._learner()
    if metric is not None:
        distances = np.linalg.norm(
            Z[:look, None] - Z[None, :look], ord=1 if metric == "manhattan" else 2, axis=2
        )[np.triu_indices(look, 1)]
        bandwidth = model.learner_.kernel.bandwidth
        assert bandwidth == pytest.approx(np.median(distances[distances > 0.0]))
        learner = replace(learner, kernel=model.learner_.kernel)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    engine = Engine(learner, rows.shape[1], 1, np.random.default_rng(seed))
    targets = np.where(y[:n] > 0, 1.0, -1.0) if model._task == "classification" else y[:n]
    engine.learn(np.ascontiguousarray(Z), targets.reshape(-1, 1).astype(float))
    return engine


@pytest.mark.parametrize("n", [16, 17, 64, 100, 256, 300])
@pytest.mark.parametrize("scaling", ["standard", None])
@pytest.mark.parametrize("bandwidth", ["median", 1.5])
def test_all_that_is_kept_goes_by_one_scale_and_bandwidth(n, scaling, bandwidth):
    model = FORKSClassifier(**SIZES, scaling=scaling, bandwidth=bandwidth).partial_fit(X[:n], Y[:n])
    metric = "euclidean" if bandwidth == "median" else None
    engine = by_hand(model, n, scaling is not None, metric)
    for ours, theirs in zip(model.engine_.memory, engine.memory, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.n_rounds_ == n


def test_other_kernels_and_numbers():
    model = FORKSClassifier(**SIZES, kernel="laplacian").partial_fit(X, Y)
    assert isinstance(model.learner_.kernel, Laplacian)
    by_hand(model, ROWS, metric="manhattan")
    model = FORKSRegressor(**SIZES).partial_fit(X, TARGETS)
    engine = by_hand(model, ROWS, y=TARGETS)
    np.testing.assert_array_equal(model.engine_.memory.floats, engine.memory.floats)
    model = FORKSClassifier(**SIZES, kernel=Gaussian(2.0)).partial_fit(X, Y)
    assert model.learner_.kernel == Gaussian(2.0)
    engine = by_hand(model, ROWS, metric=None)
    np.testing.assert_array_equal(model.engine_.memory.floats, engine.memory.floats)


def test_scaling_really_scales():
    unit = FORKSClassifier(**SIZES).prequential(X, Y)
    other = FORKSClassifier(**SIZES).prequential(X * [1e3, 1e-3, 1e5, 1.0] - [5.0, 0, 0, 9], Y)
    np.testing.assert_allclose(other[16:], unit[16:], rtol=1e-6, atol=1e-6)
    plain = FORKSClassifier(**SIZES, scaling=None).prequential(X, Y)
    assert np.mean((plain >= 0) != Y) > np.mean((unit >= 0) != Y)


@pytest.mark.parametrize("n", [15, 16, 40, 255, 256])
def test_rows_are_kept_until_the_last_look(n):
    model = FORKSClassifier(**SIZES).partial_fit(X[:n], Y[:n])
    rows = model._first_rows.rows
    if n == 256:
        assert rows is None
    else:
        np.testing.assert_array_equal(rows, X[:n])
    assert (model._first_rows.scale is None) == (n < 16)
    named = OnlineKernelClassifier("kogd").partial_fit(X[:n], Y[:n])
    assert (named._first_rows is None) == (n == 256)
    assert OnlineKernelClassifier().partial_fit(X[:n], Y[:n])._first_rows is None


def test_rows_of_weight_zero_neither_count_nor_stay():
    weights = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    kept = weights > 0.0
    model, without = FORKSClassifier(**SIZES), FORKSClassifier(**SIZES)
    scores = model.prequential(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(scores[kept], without.prequential(X[kept], Y[kept]))
    assert_same_memory(model, without)
    assert len(model._first_rows.rows) == kept.sum()
    assert model.n_rounds_ == ROWS


def test_sparse_rows_stay_sparse_and_are_not_centred():
    rows = np.maximum(X[:, [0, 2, 3]], 0.0)
    rows[:, 2] += 4.0
    model = FORKSClassifier(**SIZES).partial_fit(sparse.csr_array(rows), Y)
    scale = model._first_rows.scale
    assert not scale.centre.any()
    scaled = scale_rows(scale, sparse.csr_array(rows))
    assert sparse.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), apply_scale(scale, rows))
    np.testing.assert_allclose(
        model.decision_function(rows), model.decision_function(sparse.csr_array(rows)), rtol=1e-9
    )
    dense = FORKSClassifier(**SIZES).fit(rows, Y)  # centred: sparse rows are made dense for it
    assert dense._first_rows.scale.centre.any()
    np.testing.assert_array_equal(
        dense.decision_function(sparse.csr_array(rows)), dense.decision_function(rows)
    )


def test_dense_and_sparse_chunks_in_turns():
    model = FORKSClassifier(**SIZES)
    for number, part in enumerate(np.array_split(np.arange(ROWS), 9)):
        rows = sparse.csr_array(X[part]) if number % 2 else X[part]
        model.partial_fit(rows, Y[part], classes=[0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    assert model.n_rounds_ == ROWS


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
def test_names_in_any_split(method):
    whole = OnlineKernelClassifier(method.name, random_state=0)
    expected = whole.prequential(X, Y, classes=[0, 1])
    split = OnlineKernelClassifier(method.name, random_state=0)
    parts = np.split(np.arange(ROWS), [1, 15, 16, 17, 60, 257])
    scores = [split.prequential(X[part], Y[part], classes=[0, 1]) for part in parts]
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    assert as_bytes(split) == as_bytes(whole)
    if method.name != "Adaptive":
        assert whole.learner_.kernel == Gaussian(median_distance(X[:256], "euclidean"))


def test_several_classes_and_numbers_by_name():
    three = np.digitize(TARGETS, [-0.5, 0.5])
    for name in ("bpa-s", "nogd"):
        model = OnlineKernelClassifier(name, random_state=0)
        assert model.prequential(X, three).shape == (ROWS, 3)
        assert model.learner_.kernel.bandwidth == median_distance(X[:256], "euclidean")
    model = OnlineKernelRegressor("fogd", random_state=0).partial_fit(X, TARGETS)
    assert model.learner_.kernel.bandwidth == median_distance(X[:256], "euclidean")


@pytest.mark.parametrize("n", [10, 30, 200])
def test_labels_that_come_late(n):
    late, plain = FORKSClassifier(**SIZES), FORKSClassifier(**SIZES)
    expected = []
    for t in range(n, ROWS):
        row = slice(t - n, t - n + 1)
        ahead = X[t : t + 1]
        expected.append(plain.decision_function(ahead)[0] if t > n else 0.0)
        plain.partial_fit(X[row], Y[row], classes=[0, 1])
    scores = late.score_then_learn(X[n:], X[: ROWS - n], Y[: ROWS - n], classes=[0, 1])
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
    assert_same_memory(late, plain)


@pytest.mark.parametrize("chunk", [1, 50, 300])
def test_rounds_after_the_switch_are_told_though_the_learner_starts_anew(chunk):
    """With the scale of 256 rows the switch may come at another row than it did."""
    parts = [(X[i : i + chunk], Y[i : i + chunk]) for i in range(0, ROWS, chunk)]
    model = FORKSClassifier(budget=55, rank=20, random_state=0)
    (end,) = prequential(model, parts, every=ROWS, classes=[0, 1])
    assert 0 < end.mistakes_as_published <= end.mistakes
