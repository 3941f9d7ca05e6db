"""A learner from outside the package: one file (`norma.py`) and one line that registers it."""

import inspect
import itertools

import numpy as np
import pytest
import test_catalogue
from norma import METHOD, NORMA
from sklearn.datasets import dump_svmlight_file

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.experiments.compare import run_compare
from forks.kernels import Gaussian
from forks.learners import catalogue
from forks.losses import SquaredError
from oracle_streams import made_up


@pytest.fixture(scope="module", autouse=True)
def registered():
    catalogue.register(METHOD)
    yield
    catalogue.CATALOGUE.remove(METHOD)


def checks():
    """What every method of the catalogue must do, with all parameters but the method."""
    for name, check in vars(test_catalogue).items():
        marks = getattr(check, "pytestmark", [])
        parameters = {mark.args[0]: mark.args[1] for mark in marks if mark.name == "parametrize"}
        if "method" not in parameters or any(mark.name == "needs_data" for mark in marks):
            continue
        del parameters["method"]
        assert set(inspect.signature(check).parameters) == {"method", *parameters}
        for values in itertools.product(*parameters.values()):
            yield pytest.param(
                check, dict(zip(parameters, values, strict=True)), id="-".join([name, *values])
            )


@pytest.mark.parametrize(("check", "parameters"), list(checks()))
def test_it_passes_the_checks_of_the_catalogue(check, parameters):
    check(METHOD, **parameters)


def plain(X, y, kernel, budget, eta, regularisation, weights):
    """NORMA in plain NumPy."""
    points, alpha, scores = [], [], []
    for x, target, weight in zip(X, y, weights, strict=True):
        distances = ((np.array(points).reshape(-1, len(x)) - x) ** 2).sum(axis=1)
        score = float(np.array(alpha) @ np.exp(-0.5 * distances / kernel.bandwidth**2))
        scores.append(score)
        if weight == 0.0:
            continue
        alpha = [(1.0 - eta * regularisation) * value for value in alpha]
        if target * score < 1.0:
            points, alpha = [*points, x][-budget:], [*alpha, eta * weight * target][-budget:]
    return np.array(scores)


def test_every_score_is_that_of_plain_numpy():
    X, y = made_up(300)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=300)
    learner = NORMA(kernel=Gaussian(1.5), budget=20)
    model = OnlineKernelClassifier(learner)
    scores = model.prequential(X, y, sample_weight=weights)
    expected = plain(X, y, learner.kernel, 20, 0.2, 0.01, weights)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_estimators_take_it():
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = np.where(X[:, 0] > X[:, 1], "more", "less")
    model = OnlineKernelClassifier(NORMA(budget=50)).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.n_points_ == 50
    target = np.sin(X[:, 0])
    model = OnlineKernelRegressor(NORMA(loss=SquaredError(), budget=50))
    assert np.mean((model.prequential(X, target) - target)[100:] ** 2) < 0.5 * np.var(target)
    with pytest.raises(ValueError, match="budget must be at least 1"):
        NORMA(budget=0)


@pytest.fixture
def file(tmp_path):
    X, y = made_up(200, 3)
    path = tmp_path / "rows.libsvm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return str(path)


def test_it_stands_beside_the_others_in_a_comparison(file):
    runs = run_compare(file, methods=["norma", "RBP"], n_permutations=1, jobs=1)
    assert [run.method for run in runs] == ["NORMA", "RBP"]
    assert not any(run.failure for run in runs)
    assert 0.0 < runs[0].mistakes < 0.5


def test_it_cannot_be_written_to_a_file_and_says_so(tmp_path):
    X, y = made_up(50)
    model = OnlineKernelClassifier(NORMA(budget=10)).fit(X, y)
    with pytest.raises(ValueError, match="learner cannot be written to a model file"):
        model.save(tmp_path / "model.forks")
