"""NaN in rows: filled with means of the rows before, however they are cut, saved or interrupted."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.saving import as_bytes, from_bytes
from forks.features.means import Means
from forks.files import pack, unpack
from interrupts import Cutter


def gappy(n=300, d=4, seed=0):
    """Return rows with gaps, the first row among them, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 12.0).astype(int)
    X[rng.random((n, d)) < 0.15] = np.nan
    X[0, 0] = np.nan
    return X, y


def imputed(X, counted=None):
    """Return rows with gaps filled, by plain loops."""
    filled = X.copy()
    for j in range(X.shape[1]):
        total, n = 0.0, 0
        for i in range(len(X)):
            if np.isnan(X[i, j]):
                filled[i, j] = total / n if n else 0.0
            elif counted is None or counted[i]:
                total, n = total + X[i, j], n + 1
    return filled


X, Y = gappy()
FULL = imputed(X)
MODELS = {
    "KOGD": lambda: OnlineKernelClassifier("kogd", random_state=0),
    "fast": lambda: OnlineKernelRegressor(effort="fast"),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@each_model
@pytest.mark.parametrize("size", [1, 7, 300])
def test_gaps_are_the_means_of_the_rows_before(make, size):
    model, other = make(), make()
    first = model.prequential(X[:20], Y[:20])
    np.testing.assert_array_equal(first, other.prequential(FULL[:20], Y[:20]))
    for start in range(20, 300, size):
        part = slice(start, start + size)
        scores = model.prequential(X[part], Y[part])
        np.testing.assert_array_equal(scores, other.prequential(FULL[part], Y[part]))


@each_model
def test_predictions_take_the_means_of_all_rows(make):
    model = make().partial_fit(X, Y)
    row, means = np.array([[np.nan, 3.0, np.nan, 2.0]]), np.nanmean(X, axis=0)
    np.testing.assert_allclose(
        model.predict(row), model.predict([[means[0], 3.0, means[2], 2.0]]), rtol=1e-9
    )
    before = model.predict(X[:5])
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[i : i + 1]) for i in range(5)]), before
    )
    assert np.isnan(row[0, 0])  # the caller's rows are left alone


@each_model
def test_rows_without_weight_do_not_count(make):
    weights = (np.random.default_rng(5).random(300) < 0.7).astype(float)
    model, other = make(), make()
    filled = imputed(X, weights > 0)
    scores = model.prequential(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(scores, other.prequential(filled, Y, sample_weight=weights))


def test_late_labels():
    model, other = MODELS["KOGD"](), MODELS["KOGD"]()
    for chosen, rows in ((model, X), (other, FULL)):
        chosen.partial_fit(rows[:50], Y[:50])
    scores = model.score_then_learn(X[60:300], X[50:290], Y[50:290])
    one_by_one = []
    for i in range(50, 290):
        one_by_one.append(other.score_ahead(_with_means(X[i + 10], X[:i]))[0])
        other.partial_fit(FULL[i : i + 1], Y[i : i + 1])
    np.testing.assert_allclose(scores, one_by_one, rtol=1e-9)


def _with_means(row, before):
    return np.where(np.isnan(row), np.nanmean(before, axis=0), row)[None]


def test_intervals_take_gaps():
    model, other = OnlineKernelRegressor(), OnlineKernelRegressor()
    ours = model.prequential(X[:40], Y[:40], interval=0.9)
    for mine, theirs in zip(ours, other.prequential(FULL[:40], Y[:40], interval=0.9), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@each_model
def test_a_saved_model_knows_the_means(make):
    model = make().partial_fit(X[:100], Y[:100])
    again = from_bytes("here", as_bytes(model)).model
    np.testing.assert_array_equal(
        again.prequential(X[100:], Y[100:]), model.prequential(X[100:], Y[100:])
    )
    assert as_bytes(again) == as_bytes(model)


def test_files_of_before_have_no_means():
    model = MODELS["KOGD"]().partial_fit(FULL[:100], Y[:100])
    header, arrays = unpack("here", as_bytes(model))
    del header["fitted"]["_gaps"], arrays["means"]
    for name in ("format", "version", "digest"):
        header.pop(name, None)
    library = header.pop("library")
    again = from_bytes("old", pack(header, arrays, library)).model
    np.testing.assert_array_equal(
        again.prequential(FULL[100:], Y[100:]), model.prequential(FULL[100:], Y[100:])
    )


def test_an_interrupted_call_has_learned_the_means_of_its_rows():
    for moment in (1, 5, 9, 13):
        model = MODELS["KOGD"]().partial_fit(X[:100], Y[:100])
        with pytest.raises(KeyboardInterrupt):
            Cutter(moment)(lambda model=model: model.partial_fit(X[100:], Y[100:]))
        learned = model.n_rounds_
        other = MODELS["KOGD"]().partial_fit(X[:learned], Y[:learned])
        np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_frames_and_sparse_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = MODELS["KOGD"]().partial_fit(frame, Y)
    expected = MODELS["KOGD"]().partial_fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.predict(frame), expected)
    rows = sparse.csr_array(X)
    zeros = sparse.csr_array(np.nan_to_num(X))
    model, other = (MODELS["KOGD"]().partial_fit(part, Y) for part in (rows, zeros))
    np.testing.assert_array_equal(model.decision_function(rows), other.decision_function(zeros))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_means_of_huge_numbers_are_finite():
    X = np.full((3000, 1), 1.7e308)
    assert np.isfinite(Means.of_none(1).after(X).now).all()
    model = MODELS["KOGD"]().partial_fit(X, np.arange(3000) % 2)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_sums_do_not_depend_on_chunks(d):
    rows = np.random.default_rng(d).normal(size=(5000, d)) * 1e5
    whole = Means.of_none(d).after(rows)
    cut = Means.of_none(d)
    for start in range(0, 5000, 617):
        cut = cut.after(rows[start : start + 617])
    np.testing.assert_array_equal(whole.sums, cut.sums)
    one = Means.of_none(d)
    for row in rows[:300]:
        one = one.after(row[None])
    np.testing.assert_array_equal(one.sums, Means.of_none(d).after(rows[:300]).sums)
