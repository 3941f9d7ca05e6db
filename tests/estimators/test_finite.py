"""Nothing ends non-finite, whatever finite numbers come in."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from small_streams import SMALL, counts, scores_of

import forks
from forks import (
    FORKSClassifier,
    FORKSRegressor,
    MendWarning,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.kernels import Gaussian, Linear
from forks.learners import FORKS, KOGD
from forks.losses import SquaredError

ROWS, WIDTH = 120, 4
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(ROWS, WIDTH))
COIN = RNG.integers(0, 2, ROWS)  # labels that cannot be learned, so that losses go on
EXPONENTS = RNG.integers(-300, 151, (ROWS, WIDTH))

STREAMS = {
    "huge": 1e150 * NORMAL,
    "tiny": 1e-300 * NORMAL,
    "subnormal": 1e-310 * NORMAL,
    "distances whose squares vanish": 1e-160 * NORMAL,
    "columns of all sizes": NORMAL * [1e150, 1.0, 1e-150, 1e-300],
    "entries of all sizes": NORMAL * 10.0**EXPONENTS,
    "tiny, then huge": NORMAL * np.where(np.arange(ROWS) < 60, 1e-300, 1e150)[:, None],
    "huge, then tiny": NORMAL * np.where(np.arange(ROWS) < 60, 1e150, 1e-300)[:, None],
    "huge, then plain": NORMAL * np.where(np.arange(ROWS) < 60, 1e150, 1.0)[:, None],
    "one huge row": NORMAL * np.where(np.arange(ROWS) == 50, 1e150, 1.0)[:, None],
    "huge and close together": 1e150 + NORMAL,
    "constant": np.full((ROWS, WIDTH), 3.7),
    "constant and huge": np.full((ROWS, WIDTH), 1e150),
    "one constant column": np.c_[NORMAL[:, :3], np.full(ROWS, 5.0)],
    "zeros": np.zeros((ROWS, WIDTH)),
    "each row twice": np.repeat(NORMAL[: ROWS // 2], 2, axis=0),
    "three rows for ever": NORMAL[np.arange(ROWS) % 3],
    "nearly the same row": 1.0 + 1e-15 * NORMAL,
}

# Others than those that are slow are pairs of kernel and loss that other tests compile, too.
CLASSIFIERS = [
    pytest.param({"kernel": "rbf"}, id="rbf"),
    pytest.param({"kernel": "poly", "loss": "hinge"}, id="poly"),
    pytest.param({"kernel": "linear"}, id="linear", marks=pytest.mark.slow),
]
REGRESSORS = [
    pytest.param({"kernel": "rbf", "loss": "squared_error"}, id="rbf"),
    pytest.param({"kernel": "laplacian", "loss": "huber"}, id="laplacian"),
    pytest.param({"kernel": "poly", "loss": "huber"}, id="poly", marks=pytest.mark.slow),
    pytest.param(
        {"kernel": "laplacian", "loss": "epsilon_insensitive"},
        id="epsilon",
        marks=pytest.mark.slow,
    ),
]

each_stream = pytest.mark.parametrize("rows", STREAMS.values(), ids=STREAMS.keys())


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    """Nothing is warned about, except by scikit-learn in its own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
        warnings.filterwarnings("ignore", category=MendWarning)
        yield


def assert_finite(model, rows, y, **more):
    """Learn in chunks; every score and everything that is kept is finite."""
    for part in np.array_split(np.arange(len(y)), 4):
        weights = {name: value[part] for name, value in more.items() if name == "sample_weight"}
        classes = {"classes": [0, 1]} if hasattr(model, "labels_of") else {}
        scores = model.prequential(rows[part], y[part], **classes, **weights)
        assert np.isfinite(scores).all()
    fresh = [rows, NORMAL, 1e150 * NORMAL, 1e-300 * NORMAL, np.zeros((1, WIDTH))]
    for more_rows in fresh:
        assert np.isfinite(scores_of(model, more_rows)).all()
        assert np.isfinite(model.predict(more_rows)).all()
    assert np.isfinite(model.engine_.memory.floats).all()


@each_stream
@pytest.mark.parametrize("changes", CLASSIFIERS)
def test_classifiers(changes, rows):
    assert_finite(FORKSClassifier(**(SMALL | changes)), rows, COIN)


@each_stream
@pytest.mark.parametrize("changes", REGRESSORS)
def test_regressors(changes, rows):
    assert_finite(FORKSRegressor(**(SMALL | changes)), rows, NORMAL[:, 0])


@pytest.mark.parametrize("size", [1e100, 1e300, 1e-300])
@pytest.mark.parametrize("changes", REGRESSORS)
def test_targets_of_any_size(changes, size):
    model = FORKSRegressor(**(SMALL | changes))
    assert_finite(model, NORMAL, size * NORMAL[:, 0])
    model = FORKSRegressor(**(SMALL | changes))
    mixed = NORMAL[:, 0] * np.where(np.arange(ROWS) % 10 == 7, size, 1.0)
    assert_finite(model, NORMAL, mixed)


@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("later", [1.0, 1e150, 1e300])
def test_targets_far_beyond_those_so_far(later, weight):
    """The unit of the targets is that of the first ones that had a weight."""
    model = OnlineKernelRegressor({"name": "adaptive", "budget": 8})
    model.partial_fit(NORMAL[:40], 1e-300 * NORMAL[:40, 0], sample_weight=np.arange(40) % 2)
    for row in range(8):
        one = NORMAL[row : row + 1]
        model.partial_fit(one, later * one[:, 0], sample_weight=[weight])
        assert np.isfinite(model.predict(NORMAL)).all()
        assert np.isfinite(model.engine_.memory.floats).all()


@pytest.mark.parametrize("far", [1e150, 1e300])
def test_targets_of_weight_zero_have_no_say(far):
    model = OnlineKernelRegressor({"name": "adaptive", "budget": 8})
    targets = np.where(np.arange(20) % 2, 1e-300, far) * NORMAL[:20, 0]
    model.partial_fit(NORMAL[:20], targets, sample_weight=np.arange(20) % 2)
    assert np.abs(model.predict(NORMAL)).max() < 1e-290
    assert np.isfinite(model.engine_.memory.floats).all()


@each_stream
@pytest.mark.parametrize("size", [1e100, 1e-300])
def test_targets_and_rows_of_any_size(rows, size):
    assert_finite(FORKSRegressor(**SMALL), rows, size * NORMAL[:, 0])


@pytest.mark.parametrize("size", [1e100, 1e300, 1e-300])
@pytest.mark.parametrize("face", [FORKSClassifier, FORKSRegressor])
def test_weights_of_any_size(face, size):
    y = COIN if face is FORKSClassifier else NORMAL[:, 0]
    assert_finite(face(**SMALL), NORMAL, y, sample_weight=np.full(ROWS, size))
    mixed = np.where(np.arange(ROWS) % 10 == 7, size, 1.0)
    assert_finite(face(**SMALL), NORMAL, y, sample_weight=mixed)


def test_a_root_of_zero_is_carried_over():
    """A few rows of huge weight, then one point for ever: some direction is beyond all doubt."""
    model = FORKSClassifier(budget=6, update_cycle=5, landmarks="refreshed", random_state=0)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(8, 3))
    weights = np.where(rng.random(8) < 0.3, 1e100, 1.0)
    model.partial_fit(rows, rows[:, 0] > 0.0, classes=[False, True], sample_weight=weights)
    rows = np.random.default_rng(0).normal(size=(300, 3))
    scores = model.prequential(1e-300 * rows, rows[:, 0] > 0.0)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.engine_.memory.floats).all()
    assert counts(model)["updates"] > 30


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-150, 2.0**-5, 2.0**7, 1e150, 1e300])
def test_bandwidths_of_any_size(bandwidth):
    model = FORKSClassifier(**SMALL, bandwidth=bandwidth)
    assert_finite(model, NORMAL, COIN)
    assert_finite(FORKSRegressor(**SMALL, bandwidth=bandwidth), 1e-200 * NORMAL, NORMAL[:, 0])


@each_stream
@pytest.mark.parametrize(
    "changes",
    [{"on_update": "reset"}, {"landmarks": "refreshed", "max_points": 24}, {"update_cycle": 1}],
    ids=["reset", "refreshed", "always"],
)
def test_ways_of_updating(changes, rows):
    assert_finite(FORKSClassifier(**(SMALL | changes)), rows, COIN)


@each_stream
def test_sparse_rows(rows):
    model = FORKSClassifier(**SMALL)
    scores = model.prequential(sparse.csr_array(rows), COIN)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.decision_function(sparse.csr_array(rows))).all()
    assert np.isfinite(model.engine_.memory.floats).all()


@each_stream
def test_presets(rows):
    published = FORKS.as_published(kernel=Gaussian(2.0), budget=20, n_rounds=ROWS)
    assert_finite(OnlineKernelClassifier(published, random_state=0), rows, COIN)
    sizes = {"buffer": 20, "sketch_size": 15, "n_landmarks": 10, "rank": 8, "update_cycle": 5}
    released = FORKS.as_released(kernel=Gaussian(2.0), **sizes)
    assert_finite(OnlineKernelClassifier(released, random_state=0), rows, COIN)


@each_stream
def test_probabilities(rows):
    model = FORKSClassifier(**SMALL, loss="logistic").fit(rows, COIN)
    for more_rows in (rows, 1e150 * NORMAL, np.zeros((1, WIDTH))):
        probabilities = model.predict_proba(more_rows)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("rows", [NORMAL, 1e150 * NORMAL], ids=["plain", "huge"])
@pytest.mark.parametrize("size", [1.0, 1e100])
def test_gradient_descent(rows, size):
    learner = KOGD(kernel=Linear(), loss=SquaredError(), eta=0.2)
    assert_finite(OnlineKernelRegressor(learner), rows, size * NORMAL[:, 0])


def test_contradictions():
    rows = np.repeat(NORMAL[:20], 30, axis=0)
    model = FORKSClassifier(**SMALL)
    assert_finite(model, rows, np.arange(600) % 2)
    assert counts(model)["stage"] == 2
    assert_finite(FORKSRegressor(**SMALL), rows, 1e6 * (np.arange(600) % 2))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_class_for_a_long_time(loss):
    rows = RNG.normal(size=(5000, WIDTH))
    y = (np.arange(5000) >= 4500).astype(int)
    rows[4500:] += 6.0
    model = FORKSClassifier(**SMALL, loss=loss)
    with pytest.warns(forks.LabelRunsWarning):
        scores = model.prequential(rows, y, classes=[0, 1])
    assert np.isfinite(scores).all()
    assert (scores[100:4500] < 0).mean() > 0.9
    assert model.predict(rows[4500:]).any()


def test_one_class_only_but_two_declared():
    model = FORKSClassifier(**SMALL, loss="hinge")
    model.partial_fit(NORMAL, np.ones(ROWS, int), classes=[0, 1])
    assert (model.predict(NORMAL) == 1).all()


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e3, 1e50, 1e100])
def test_the_unit_of_the_targets_does_not_matter(unit):
    x = np.random.default_rng(1).uniform(-2.0, 2.0, (2000, 1))
    y = unit * np.sin(x[:, 0])
    model = OnlineKernelRegressor()
    scores = model.prequential(x, y)
    assert np.abs(scores).max() < 10.0 * unit
    assert model.score(x, y) > 0.9
