"""The names and keywords that are promised to users: they import and construct."""

import inspect
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import forks
from forks import (
    SJLT,
    TISVD,
    FORKSClassifier,
    FORKSRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.kernels import Gaussian, Laplacian, Linear, Polynomial
from forks.learners import (
    BOGD,
    BPAS,
    FOGD,
    FORKS,
    KOGD,
    NOGD,
    PROSNKONS,
    RBP,
    Adaptive,
    Forgetron,
    OverTime,
    Projectron,
    ProjectronPP,
    SkeGD,
    SketchedKONS,
)
from forks.learners.catalogue import CATALOGUE, Setting
from forks.learners.over_time import LARGE, SMALL
from forks.losses import EpsilonInsensitive, Hinge, Huber, Logistic, SquaredError, SquaredHinge

GRADIENT_LEARNERS = [BOGD, FORKS, KOGD, NOGD, SkeGD]  # any kernel, any loss, a step size
BUDGETED = [RBP, Forgetron, BPAS, Projectron, ProjectronPP, BOGD, NOGD, FOGD, SkeGD, FORKS]
LEARNERS = [*BUDGETED, KOGD, PROSNKONS, SketchedKONS]
LOSSES = [Hinge, SquaredHinge, Logistic, SquaredError, EpsilonInsensitive, Huber]
KERNELS = [Gaussian, Laplacian, Polynomial, Linear]

# As the design has them, with their defaults; more may stand beside them.
PROMISED = {
    "budget": 100,
    "sketch_size": None,
    "n_landmarks": None,
    "rank": None,
    "update_cycle": None,
    "kernel": "rbf",
    "bandwidth": "median",
    "random_state": None,
}


def test_names_of_the_package():
    for name in (
        "FORKSClassifier",
        "FORKSRegressor",
        "OnlineKernelClassifier",
        "OnlineKernelRegressor",
        "TISVD",
        "SJLT",
    ):
        assert name in forks.__all__
        assert hasattr(forks, name)
    assert forks.__version__


@pytest.mark.parametrize("part", LEARNERS + LOSSES + KERNELS)
def test_every_argument_has_a_default(part):
    assert part() == part()


@pytest.mark.parametrize("learner", BUDGETED)
def test_budgets_and_kernels_by_keyword(learner):
    made = learner(kernel=Gaussian(bandwidth=8.0), budget=50)
    assert (made.kernel, made.budget) == (Gaussian(8.0), 50)


def test_the_promised_learner():
    made = NOGD(kernel=Gaussian(bandwidth=8.0), loss=Hinge(), budget=50, rank=5, eta=0.2)
    assert (made.rank, made.eta) == (5, 0.2)
    assert PROSNKONS(max_points=100).max_points == 100
    for preset in (RBP, BOGD, SkeGD, PROSNKONS, FORKS):
        assert isinstance(preset.as_released(kernel=Gaussian(bandwidth=8.0)), preset)


@pytest.mark.parametrize("learner", GRADIENT_LEARNERS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_learners_take_every_kernel_and_loss(learner, kernel, loss):
    made = learner(kernel=kernel(), loss=loss(), eta=0.1)
    assert made.kernel == kernel()
    assert made.loss == loss()


@pytest.mark.parametrize("name", ["bandwidth"])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_kernels_by_keyword(kernel, name):
    assert getattr(kernel(**{name: 8.0}), name) == 8.0


def test_the_gaussian_is_the_promised_one():
    model = OnlineKernelRegressor(
        KOGD(kernel=Gaussian(bandwidth=2.0), loss=SquaredError(), eta=1.0)
    )
    model.fit([[0.0, 0.0]], [1.0])
    scores = model.predict([[3.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(scores, np.exp([-9.0 / 8.0, -1.0 / 8.0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("face", "loss"), [(FORKSClassifier, "squared_hinge"), (FORKSRegressor, "squared_error")]
)
def test_flat_parameters(face, loss):
    parameters = inspect.signature(face).parameters
    for name, default in (PROMISED | {"loss": loss}).items():
        assert parameters[name].default == default
    model = face(**PROMISED, loss=loss)
    assert model.get_params() == face().get_params()
    assert face(50).budget == 50


@pytest.mark.parametrize("face", [FORKSClassifier, FORKSRegressor])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"buffer": 50},
        {"sketch_size": 20},
        {"n_landmarks": 10},
        {"rank": 5},
        {"update_cycle": 0},
        {"eta": 0.5},
        {"alpha": 0.1},
        {"curvature": 0.2},
        {"update_cycle": 5, "on_update": "reset"},
        {"update_cycle": 5, "landmarks": "refreshed"},
        {"update_cycle": 5, "max_points": 300},
    ],
    ids=str,
)
def test_the_estimators_of_the_paper_are_forks_and_nothing_else(face, given):
    learner = face(budget=20, **given)._learner()
    assert isinstance(learner, FORKS)
    for name, value in given.items():
        assert getattr(learner, name) == value
    assert learner.on_update == given.get("on_update", "carry")


@pytest.mark.parametrize(
    ("face", "now"),
    [(FORKSClassifier, "OnlineKernelClassifier"), (FORKSRegressor, "OnlineKernelRegressor")],
)
def test_old_use_is_warned_of_once_a_stream(face, now):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = face(budget=20)
    with pytest.warns(FutureWarning, match=rf"FORKS learner of the paper.* {now}\(\)") as seen:
        model.partial_fit(X, y)
    assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)
        face(budget=20, rank=10).fit(X, y)


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
def test_every_name_of_the_catalogue(method):
    effort = "fast" if method.name == "Adaptive" else "balanced"
    plain = method.name.lower().replace(" ", "")
    learner = OnlineKernelClassifier(plain, effort=effort)._learner()
    assert type(learner) is type(method.make(Setting(Gaussian())))
    if hasattr(learner, "loss"):
        assert learner.loss == (SquaredHinge() if method.name == "Adaptive" else Hinge())
    if method.regression:
        assert OnlineKernelRegressor(method.name)._learner().loss == SquaredError()


def test_the_default_learner_and_its_efforts():
    assert OnlineKernelClassifier()._learner() == OverTime()
    machines = [replace(machine, loss=SquaredError()) for machine in (SMALL, LARGE)]
    expected = OverTime(learner=machines[0], long=machines[1])
    assert OnlineKernelRegressor()._learner() == expected
    best = OnlineKernelClassifier(effort="best")._learner()
    assert best.experts > OverTime().experts
    assert best.long.buffer > LARGE.buffer
    settings = {"name": "Adaptive", "experts": 4, "loss": "logistic", "scaling": None}
    learner = OnlineKernelClassifier(settings)._learner()
    assert learner.experts == 4
    for machine in (learner.learner, learner.long):
        assert (machine.loss, machine.scaling) == (Logistic(), "none")
    half = OnlineKernelClassifier({"name": "adaptive", "budget": 50})._learner()
    assert (half.learner.buffer, half.long.buffer) == (SMALL.buffer // 2, LARGE.buffer // 2)
    with pytest.raises(ValueError, match="no 'rank'"):
        OnlineKernelClassifier({"name": "adaptive", "rank": 40})._learner()
    with pytest.raises(ValueError, match="effort"):
        OnlineKernelClassifier("nogd", effort="best")._learner()


def test_the_parameters_of_the_fast_default_learner():
    fast = partial(OnlineKernelClassifier, effort="fast")
    assert fast()._learner() == Adaptive()
    assert OnlineKernelRegressor(effort="fast")._learner() == Adaptive(loss=SquaredError())
    settings = {"budget": 40, "loss": "logistic", "scaling": None, "bandwidth": 0.5}
    learner = fast({"name": "adaptive", **settings})._learner()
    expected = Adaptive(
        kernel=Gaussian(0.5), loss=Logistic(), buffer=100, scaling="none", bandwidth="absolute"
    )
    assert learner == expected
    named = {"name": "adaptive", "budget": 1}
    assert fast(named)._learner().buffer == 16
    assert fast({**named, "buffer": 30})._learner().buffer == 30


def test_settings_of_a_name():
    settings = {"budget": 50, "rank": 7, "loss": Logistic(), "kernel": "poly", "degree": 2}
    learner = OnlineKernelClassifier({"name": "nogd", **settings})._learner()
    assert learner == NOGD(kernel=Polynomial(degree=2), loss=Logistic(), budget=100, rank=7)
    learner = OnlineKernelRegressor({"name": "nogd", "bandwidth": 3, "eta": 0.1})._learner()
    assert learner.kernel == Gaussian(3)
    assert learner.eta == 0.1


@pytest.mark.parametrize("face", [OnlineKernelClassifier, OnlineKernelRegressor])
def test_the_face_over_any_learner(face):
    assert face(learner=KOGD(), random_state=0).get_params()["learner"] == KOGD()
    own = ["class_weight"] if face is OnlineKernelClassifier else []
    assert list(inspect.signature(face).parameters) == [
        "learner",
        "effort",
        *own,
        "random_state",
        "verbose",
    ]
    assert face().learner == "adaptive"


def test_the_promised_calls():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    learner = FORKS(kernel=Gaussian(bandwidth=8.0), loss=Hinge(), budget=10, rank=5, eta=0.2)
    clf = OnlineKernelClassifier(learner=learner, random_state=0)
    assert clf.prequential(X, y).shape == (60,)
    assert clf.prequential(X, y).shape == (60,)
    clf.partial_fit(X, y, classes=[-1, 1])
    assert set(clf.predict(X)) <= {-1, 1}
    assert clf.decision_function(X).shape == (60,)
    assert clf.labels_of(np.zeros(1)).tolist() == [1]
    for name in ("fit", "partial_fit", "predict", "prequential", "score"):
        for face in (
            FORKSClassifier,
            FORKSRegressor,
            OnlineKernelClassifier,
            OnlineKernelRegressor,
        ):
            assert callable(getattr(face, name))


def test_as_published():
    learner = FORKS.as_published(
        kernel=Gaussian(bandwidth=4.0), loss=Logistic(), budget=100, n_rounds=1000
    )
    sizes = learner.sizes()
    assert sizes.buffer == 200
    assert sizes.sketch_size == 100
    assert sizes.n_landmarks == 20
    assert sizes.rank == 10
    assert sizes.update_cycle == 300
    assert learner.kernel == Gaussian(4.0)
    assert learner.loss == Logistic()
    assert learner.on_update == "reset"
    assert FORKS.as_published(n_rounds=10, clip=2.0).clip == 2.0
    with pytest.raises(TypeError, match="n_rounds"):
        FORKS.as_published()
    for budget in (1, 2, 5, 10):
        FORKS.as_published(budget=budget, n_rounds=1)


def test_as_released():
    learner = FORKS.as_released(
        kernel=Gaussian(bandwidth=4.0),
        loss=Hinge(),
        buffer=200,
        sketch_size=150,
        n_landmarks=100,
        rank=15,
        update_cycle=17860,
    )
    assert learner == FORKS.as_released(kernel=Gaussian(4.0))
    assert learner.sizes()[:5] == (200, 150, 100, 15, 17860)
    assert FORKS.as_released(rank=5).rank == 5


@pytest.mark.parametrize(
    "name",
    [
        "budget",
        "buffer",
        "sketch_size",
        "n_landmarks",
        "rank",
        "update_cycle",
        "n_blocks",
        "alpha",
        "curvature",
        "curvature_decay",
        "eta",
        "clip",
        "kernel",
        "loss",
    ],
)
def test_the_names_of_the_symbols(name):
    value = getattr(FORKS(), name)
    assert FORKS(**{name: value}) == FORKS()


def test_linear_algebra():
    matrix = np.random.default_rng(0).normal(size=(12, 9))
    decomposition = TISVD(rank=4).fit(matrix)
    decomposition.update(np.ones((12, 1)), np.ones((9, 1)))
    assert decomposition.U.shape == (12, 4)
    assert decomposition.s.shape == (4,)
    assert decomposition.V.shape == (9, 4)
    assert callable(SJLT)


def test_the_package_is_quick_to_import_and_has_its_names():
    code = (
        "import sys, forks\n"
        "assert not {'numpy', 'numba', 'sklearn'} & set(sys.modules)\n"
        "assert set(forks.__all__) <= set(dir(forks))\n"
        "assert all(getattr(forks, name) is not None for name in forks.__all__)\n"
        "assert forks.kernels.Gaussian() and forks.learners.FORKS() and forks.__version__\n"
        "assert not hasattr(forks, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
