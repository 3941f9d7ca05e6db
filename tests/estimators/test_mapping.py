"""The feature map of a learner as a transformer."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from forks import KernelFeatures, OnlineKernelClassifier
from forks.learners import FOGD, NOGD
from forks.losses import SquaredError


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("learner", ["fogd", "nogd", "skegd", "forks", "pros-n-kons"])
def test_the_features_are_those_of_the_model(learner):
    X, y = rows()
    made = KernelFeatures(learner, random_state=0).fit(X, y)
    model = OnlineKernelClassifier(learner, random_state=0).partial_fit(X, y)
    np.testing.assert_array_equal(made.transform(X), model.features_of(X))
    assert len(made.get_feature_names_out()) == made.transform(X[:1]).shape[1]


def test_features_make_a_linear_model_a_kernel_machine():
    X, y = rows(1200)
    kernel = make_pipeline(KernelFeatures(random_state=0), LogisticRegression(C=10.0))
    assert kernel.fit(X[:800], y[:800]).score(X[800:], y[800:]) > 0.9
    assert LogisticRegression().fit(X[:800], y[:800]).score(X[800:], y[800:]) < 0.6


def test_frequencies_do_not_depend_on_labels_and_chunks_do_not_matter():
    X, y = rows()
    learner = FOGD(budget=5)
    whole = KernelFeatures(learner, random_state=0).fit(X)
    parts = KernelFeatures(learner, random_state=0)
    for start in range(0, 600, 150):
        parts.partial_fit(X[start : start + 150])
    np.testing.assert_array_equal(whole.transform(X), parts.transform(X))
    labelled = KernelFeatures(learner, random_state=0).fit(csr_array(X), y)
    np.testing.assert_array_equal(whole.transform(X), labelled.transform(csr_array(X)))
    assert whole.fit(X[:100, :2]).transform(X[:3, :2]).shape[0] == 3  # all is forgotten


def test_numbers_are_learned_by_a_regression():
    X, _ = rows()
    made = KernelFeatures(NOGD(budget=20, loss=SquaredError()), random_state=0).fit(
        X, X[:, 0] ** 2 + 0.5
    )
    assert type(made.model_).__name__ == "OnlineKernelRegressor"
    assert made.transform(X).shape[0] == 600
    assert KernelFeatures(made.learner).fit(X).transform(X).shape[0] == 600


@pytest.mark.parametrize("learner", ["adaptive", "kogd", "nogd"])
def test_what_has_no_features_is_said(learner):
    X, y = rows(30)
    made = KernelFeatures(learner).fit(X, y)
    with pytest.raises(ValueError, match=f"learner '{learner}' has no explicit features"):
        made.transform(X)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="X has 0 rows"):
        KernelFeatures().fit(np.empty((0, 3)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("learner", ["fogd", "nogd"])
def test_features_as_a_data_frame(learner):
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    plain = KernelFeatures(learner, random_state=0).fit_transform(X, y)
    made = KernelFeatures(learner, random_state=0).set_output(transform="pandas").fit(frame, y)
    features = made.transform(frame)
    assert features.columns.tolist() == made.get_feature_names_out().tolist()
    np.testing.assert_array_equal(features, plain)
