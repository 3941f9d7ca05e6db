"""Models as files: what is saved is all there is, and goes on bit for bit."""

import copy
import io
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

import forks
from forks import (
    FORKSClassifier,
    FORKSRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.estimators.labels import Labels
from forks.estimators.saving import as_bytes, from_bytes
from forks.kernels import Gaussian, Laplacian
from forks.learners import BPAS, KOGD, RBP, Adaptive
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import Huber, SquaredError
from oracle_streams import made_up

METHODS = pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
ROWS, WIDTH = 240, 5
SETTING = Setting(Gaussian(1.5), 12, ROWS)


def stream(n=ROWS, seed=0):
    return made_up(n, WIDTH, seed)


def scores_of(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def assert_goes_on_alike(model, again, X, y):
    """Two models are the same now, and stay so."""
    assert as_bytes(again) == as_bytes(model)
    np.testing.assert_array_equal(scores_of(again, X), scores_of(model, X))
    np.testing.assert_array_equal(again.prequential(X, y), model.prequential(X, y))
    assert as_bytes(again) == as_bytes(model)


@METHODS
@pytest.mark.parametrize("learned", [3, 130])
def test_every_learner_goes_on_bit_for_bit(method, learned, tmp_path):
    X, y = stream()
    model = OnlineKernelClassifier(method.make(SETTING), random_state=1)
    model.partial_fit(X[:learned], y[:learned], classes=[-1, 1])
    model.save(tmp_path / "model")
    again = forks.load(tmp_path / "model")
    assert again.learner_ == model.learner_
    assert again.n_rounds_ == learned
    assert_goes_on_alike(model, again, X[learned:], y[learned:])


def test_learners_of_one_output_with_several_classes(tmp_path):
    X, _ = stream()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for learner in (BPAS(budget=9), Adaptive(buffer=20)):  # an engine each, and one for all
        model = OnlineKernelClassifier(learner, random_state=0).fit(X[:100], y[:100])
        model.save(tmp_path / "model")
        assert_goes_on_alike(model, forks.load(tmp_path / "model"), X[100:], y[100:])


ESTIMATORS = [
    OnlineKernelClassifier(class_weight="balanced"),
    FORKSClassifier(
        budget=20, rank=5, kernel=Laplacian(2.0), class_weight="balanced", random_state=0
    ),
    FORKSClassifier(
        rank=4, budget=10, update_cycle=5, random_state=3, class_weight={1: 2.0, -1: 0.5}
    ),
    FORKSRegressor(rank=50, scaling=None, random_state=1),
    FORKSRegressor(rank=4, budget=10, kernel="laplacian", loss=Huber(), random_state=3),
    OnlineKernelClassifier(),
    OnlineKernelClassifier("fogd", random_state=3),
    OnlineKernelRegressor({"name": "nogd", "loss": SquaredError(), "eta": 0.1}, random_state=3),
    OnlineKernelRegressor(KOGD(loss=Huber())),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("make", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_every_estimator_goes_on_bit_for_bit(estimator, make, tmp_path):
    X, y = stream()
    X = make(X)
    for learned in (0, 1, 16, 21, 90, 200):  # before, at and after looks at the first rows
        model = clone(estimator)
        if learned:
            known = {"classes": [-1, 1]} if hasattr(model, "decision_function") else {}
            model.partial_fit(X[:learned], y[:learned], **known)
        model.save(tmp_path / "model")
        again = forks.load(tmp_path / "model")
        assert type(again) is type(model)
        assert again.get_params() == model.get_params()
        if learned:
            assert_goes_on_alike(model, again, X[learned:], y[learned:])
        else:
            assert_goes_on_alike(model.fit(X, y), again.fit(X, y), X, y)


def test_rows_of_both_forms_may_come_while_the_bandwidth_is_set(tmp_path):
    X, y = stream()
    model = FORKSClassifier(rank=4, budget=50, random_state=0)
    model.partial_fit(csr_array(X[:5]), y[:5], classes=[-1, 1]).partial_fit(X[5:11], y[5:11])
    again = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    for copied in (again, forks.load(tmp_path / "model")):
        assert_goes_on_alike(copy.deepcopy(model), copied, X[11:], y[11:])


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [False, True],
        [-1.0, 2.0],
        ["no", "ja"],
        np.array([1, 2], np.uint8),
        np.array([1.0, 2.0], np.float32),
        np.array(["a", "bb"], object),
        ["x", "y", "zzz"],
        [3, 1, 2, 0],
    ],
    ids=lambda labels: f"{np.asarray(labels).dtype}-{len(labels)}",
)
def test_labels_of_any_plain_type(labels, tmp_path):
    X, _ = stream(60)
    labels = np.asarray(labels)
    y = labels[np.arange(60) % len(labels)]
    model = OnlineKernelClassifier(RBP(budget=5), random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    again = forks.load(tmp_path / "model")
    assert again.classes_.dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype


def test_feature_names_and_generators_are_kept(tmp_path):
    X, y = stream(60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    random = np.random.RandomState(5)
    random.standard_normal()  # of which the second of a pair waits
    model = OnlineKernelClassifier(RBP(budget=5), random_state=random).fit(frame, y)
    model.save(tmp_path / "model")
    again = forks.load(tmp_path / "model")
    assert list(again.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[list("edcba")])
    np.testing.assert_array_equal(again.random_state.normal(size=700), random.normal(size=700))
    assert_goes_on_alike(model.fit(frame, y), again.fit(frame, y), frame, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_pickle_joblib_and_copies(estimator):
    X, y = stream()
    model = clone(estimator).fit(X[:40], y[:40])
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(buffer), copy.deepcopy(model)):
        assert_goes_on_alike(copy.copy(model), again, X[40:], y[40:])


def test_what_is_not_of_the_package_is_refused_at_save(tmp_path):
    class Wide(Gaussian):
        pass

    class Mine(FORKSClassifier):
        pass

    path = tmp_path / "model"
    with pytest.raises(ValueError, match=r"kernel cannot be written.*pickle"):
        FORKSClassifier(kernel=Wide(2.0)).save(path)
    with pytest.raises(ValueError, match="own estimators"):
        Mine().save(path)
    X, y = stream(20)
    model = OnlineKernelClassifier().fit(X, y)
    model.remark = "mine"
    with pytest.raises(ValueError, match="'remark'"):
        model.save(path)
    dated = OnlineKernelClassifier(RBP()).fit(X, y)
    dated._labels = Labels(np.array(["2020", "2021"], "datetime64[Y]"))
    with pytest.raises(ValueError, match="labels of type"):
        dated.save(path)
    assert not list(tmp_path.iterdir())


def test_the_header_tells_what_the_file_is(tmp_path):
    X, y = stream(60)
    OnlineKernelClassifier(random_state=7).fit(X, y).save(tmp_path / "model.forks")
    with safetensors.safe_open(tmp_path / "model.forks", framework="np") as file:
        header = json.loads(file.metadata()["forks"])
        assert sorted(file.keys()) == ["engine.0.floats", "engine.0.ints", "means"]
    assert (header["format"], header["version"]) == ("forks-model", 4)
    assert header["library"] == forks.__version__
    assert header["estimator"] == "OnlineKernelClassifier"
    assert header["parameters"]["learner"] == "adaptive"
    assert header["parameters"]["random_state"] == 7
    assert header["fitted"]["engine_"]["learner"]["kind"] == "OverTime"
    assert header["fitted"]["engine_"]["rounds"] == 60
    assert header["fitted"]["_labels"]["values"] == [-1, 1]


def test_notes_stand_beside_a_model():
    model = FORKSClassifier()
    data = as_bytes(model, {"rows": 5}, {"recent": np.arange(3)})
    saved = from_bytes("here", data)
    assert saved.note == {"rows": 5}
    np.testing.assert_array_equal(saved.arrays["recent"], [0, 1, 2])


def test_rows_whose_squares_overflow_can_be_saved(tmp_path):
    X, y = np.array([[1.7e308, 1.0], [0.0, 1.0], [1.0, 0.0]]), [0, 1, 0]
    model = OnlineKernelClassifier(KOGD(), random_state=0).fit(X, y)
    model.save(tmp_path / "model.forks")
    again = forks.load(tmp_path / "model.forks")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
