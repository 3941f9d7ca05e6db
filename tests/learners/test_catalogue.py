"""What every method of the catalogue must do: a method is tested by being listed."""

import importlib
import itertools
import pickle
import pkgutil

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import OnlineKernelClassifier, OnlineKernelRegressor, learners
from forks.datasets import read
from forks.datasets.benchmarks import BENCHMARKS
from forks.engine import Engine, Learner
from forks.kernels import Gaussian, Polynomial
from forks.learners.apart import Apart
from forks.learners.catalogue import CATALOGUE, Method, Setting, find, of, register
from forks.learners.earlier import Earlier
from forks.learners.starting import Starting
from forks.losses import SquaredError
from oracle_streams import made_up

METHODS = pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
ROWS, WIDTH, BUDGET = 400, 5, 12
SETTING = Setting(Gaussian(1.5), BUDGET, ROWS)


def stream(n=ROWS, seed=0):
    X, y = made_up(n, WIDTH, seed)
    return X, y.reshape(-1, 1)


def engine_for(learner, seed=0):
    return Engine(learner, WIDTH, 1, np.random.default_rng(seed))


def assert_same_state(ours, theirs):
    np.testing.assert_array_equal(ours.memory.floats, theirs.memory.floats)
    np.testing.assert_array_equal(ours.memory.ints, theirs.memory.ints)


def test_every_learner_is_listed_and_exported():
    listed = {type(method.make(SETTING)) for method in CATALOGUE}
    defined = set()
    for info in pkgutil.iter_modules(learners.__path__):
        module = importlib.import_module(f"forks.learners.{info.name}")
        classes = [item for item in vars(module).values() if isinstance(item, type)]
        own = [item for item in classes if item.__module__ == module.__name__]
        defined |= {item for item in own if issubclass(item, Learner)}
    unlisted = {learners.Machine, learners.OverTime}  # what the default estimators are made of
    defined -= {Starting, Apart, Earlier}  # base classes
    listed = {learner for learner in listed if learner.__module__.startswith("forks.")}
    assert listed == defined - unlisted
    assert {getattr(learners, name) for name in learners.__all__} == defined
    assert len({method.name for method in CATALOGUE}) == len(CATALOGUE)


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="there is a method 'pros n kons' already"):
        register(Method("pros n kons", of(learners.RBP)))


def test_methods_are_found_by_name():
    assert find("pros n kons").name == "PROS-N-KONS"
    assert find("projectron++").name == "Projectron++"
    assert find("projectron").name == "Projectron"
    with pytest.raises(ValueError, match="KOGD, RBP"):
        find("perceptron")


@METHODS
def test_any_split_into_chunks_is_the_same_bit_for_bit(method):
    X, y = stream()
    weights = np.random.default_rng(1).exponential(size=ROWS)
    weights[::9] = 0.0
    whole = engine_for(method.make(SETTING))
    expected = whole.learn(X, y, weights)
    assert (expected[1:] != 0.0).any()
    rng = np.random.default_rng(2)
    for _ in range(3):
        split = engine_for(method.make(SETTING))
        bounds = [0, *np.sort(rng.integers(0, ROWS, 9)), ROWS]
        scores = [split.learn(X[a:b], y[a:b], weights[a:b]) for a, b in itertools.pairwise(bounds)]
        np.testing.assert_array_equal(np.concatenate(scores), expected)
        assert_same_state(split, whole)
    single = engine_for(method.make(SETTING))
    scores = [single.learn_one(x, t[0], w) for x, t, w in zip(X, y, weights, strict=True)]
    np.testing.assert_array_equal(scores, expected[:, 0])
    np.testing.assert_array_equal([single.predict_one(x) for x in X], whole.predict(X)[:, 0])


@METHODS
def test_prediction_changes_nothing_and_is_the_next_score(method):
    X, y = stream()
    engine = engine_for(method.make(SETTING))
    assert (engine.predict(X) == 0.0).all()
    for t in range(0, ROWS, 20):
        before = engine.memory.copy()
        predicted = engine.predict(X[t : t + 1])
        np.testing.assert_array_equal(engine.memory.floats, before.floats)
        np.testing.assert_array_equal(engine.memory.ints, before.ints)
        learned = engine.learn(X[t : t + 20], y[t : t + 20])[:1]
        np.testing.assert_allclose(learned, predicted, rtol=1e-10, atol=1e-12)


@METHODS
def test_rows_can_be_scored_in_turn_with_learning_others(method):
    X, y = stream(200)
    ahead = X[40:]
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0], size=160)
    engine, plain = engine_for(method.make(SETTING)), engine_for(method.make(SETTING))
    expected = []
    for t in range(160):
        expected.append(plain.predict(ahead[t : t + 1])[0])
        plain.learn(X[t : t + 1], y[t : t + 1], weights[t : t + 1])
    scores = [
        engine.score_then_learn(ahead[a:b], X[a:b], y[a:b], weights[a:b])
        for a, b in itertools.pairwise([0, 0, 1, 90, 160])
    ]
    np.testing.assert_allclose(np.concatenate(scores), expected, rtol=1e-9, atol=1e-12)
    assert_same_state(engine, plain)


@METHODS
def test_sparse_rows_are_the_dense_ones(method):
    X, y = stream()
    dense, sparse = engine_for(method.make(SETTING)), engine_for(method.make(SETTING))
    # rounding differs: a tie may fall otherwise, rarely
    close = np.isclose(sparse.learn(csr_array(X), y), dense.learn(X, y), rtol=1e-6, atol=1e-8)
    assert close.mean() > 0.99
    np.testing.assert_allclose(sparse.predict(csr_array(X)), sparse.predict(X), atol=1e-9)


@METHODS
def test_a_pickled_engine_goes_on_alike(method):
    X, y = stream()
    engine = engine_for(method.make(SETTING))
    engine.learn(X[:150], y[:150])
    copy = pickle.loads(pickle.dumps(engine))
    np.testing.assert_array_equal(copy.learn(X[150:], y[150:]), engine.learn(X[150:], y[150:]))
    assert_same_state(copy, engine)


@METHODS
def test_a_row_of_weight_zero_is_scored_and_not_learned(method):
    X, y = stream()
    engine = engine_for(method.make(SETTING))
    engine.learn(X[:200], y[:200])
    before = engine.predict(X)
    scores = engine.learn(X[200:], y[200:], np.zeros(200))
    np.testing.assert_allclose(scores, before[200:], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(engine.predict(X), before)


@METHODS
def test_inputs_are_left_alone(method):
    X, y = stream(100)
    weights = np.full(100, 0.5)
    copies = X.copy(), y.copy(), weights.copy()
    engine_for(method.make(SETTING)).learn(X, y, weights)
    for ours, theirs in zip((X, y, weights), copies, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@METHODS
def test_memory_is_bounded_if_it_says_so(method):
    X, y = stream(3000)
    engine = engine_for(method.make(SETTING))
    engine.learn(X[:1500], y[:1500])
    size, points = engine.state_bytes, engine.stored_points
    engine.learn(X[1500:], y[1500:])
    grew = engine.state_bytes > size or engine.stored_points > points
    if method.bounded:
        assert engine.state_bytes == size
        assert engine.stored_points <= 4 * BUDGET  # two buffers of 2 B
    else:
        assert grew


@METHODS
def test_a_switch_is_known(method):
    X, y = stream()
    engine = engine_for(method.make(SETTING))
    assert engine.learner.rounds_since_switch(engine.memory) in (None, 0)
    two_stages = engine.learner.rounds_since_switch(engine.memory) is not None
    assert two_stages == method.two_stages
    if two_stages:
        rounds = []
        for t in range(ROWS):
            engine.learn(X[t : t + 1], y[t : t + 1])
            rounds.append(engine.learner.rounds_since_switch(engine.memory))
        switch = rounds.index(1) - 1  # the round that ends stage one does not count
        assert switch >= 2 * BUDGET
        assert rounds == [max(0, t - switch) for t in range(ROWS)]
        engine.learn(X[:5], y[:5], np.array([0.0, 1.0, 0.0, 0.0, 2.0]))
        assert engine.rounds_since_switch == rounds[-1] + 2


@METHODS
def test_scores_are_linear_in_the_features(method):
    X, y = stream()
    engine = engine_for(method.make(SETTING))
    assert method.has_features or engine.features(X) is None
    engine.learn(X, y)
    rows, more = stream(1000, seed=1)[0], stream(1000, seed=2)[0]
    features = engine.features(rows)
    assert (features is not None) == method.has_features
    if not method.has_features:
        return
    np.testing.assert_array_equal(engine.features(csr_array(rows)), features)
    scores, clip = engine.predict(rows)[:, 0], getattr(engine.rule, "clip", np.inf)
    free = np.abs(scores) < clip
    w = np.linalg.lstsq(features[free], scores[free], rcond=None)[0]
    expected = engine.predict(more)[:, 0]
    found = np.clip(engine.features(more) @ w, -clip, clip)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.std(expected) > 0.01


@METHODS
def test_one_seed_one_result(method):
    X, y = stream()
    first, second = (engine_for(method.make(SETTING), seed=3).learn(X, y) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@METHODS
@pytest.mark.parametrize("kind", ["huge", "tiny", "constant", "repeated", "weights"])
def test_nothing_ends_non_finite(method, kind):
    X, y = stream(300)
    weights = np.ones(300)
    if kind == "huge":
        X = X * np.logspace(0, 150, 300)[:, None]
    elif kind == "tiny":
        X = X * 1e-160
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "repeated":
        X, y = np.repeat(X[:10], 30, axis=0), np.where(np.arange(300) % 2, 1.0, -1.0)[:, None]
    else:
        weights = np.logspace(-150, 300, 300)
    engine = engine_for(method.make(SETTING))
    scores = engine.learn(np.ascontiguousarray(X), np.ascontiguousarray(y), weights)
    assert np.isfinite(scores).all()
    assert np.isfinite(engine.memory.floats).all()
    assert np.isfinite(engine.predict(stream(50, seed=1)[0])).all()


# Another kernel is another compilation: one method of each kind is enough for every day.
# `test_lasting.py` has one of the adaptive learner.
EVERY_DAY = ("FORKS", "NOGD", "Projectron++", "FOGD")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[] if method.name in EVERY_DAY else pytest.mark.slow)
        for method in CATALOGUE
    ],
    ids=lambda method: method.name,
)
def test_a_polynomial_of_huge_rows_stays_finite(method):
    setting = SETTING._replace(kernel=Polynomial(degree=3))
    if not method.any_kernel:
        with pytest.raises(ValueError, match="kernel must be"):
            method.make(setting)
        return
    X, y = stream(200)
    X = X * np.logspace(0, 60, 200)[:, None]
    engine = engine_for(method.make(setting))
    scores = engine.learn(X, y)
    assert np.isfinite(scores).all()
    assert np.isfinite(engine.memory.floats).all()


@METHODS
def test_the_types_of_the_rule_do_not_depend_on_the_values(method):
    ours = method.make(SETTING).rule()
    other = method.make(Setting(Gaussian(2), np.int64(7), 500)).rule()
    assert numba.typeof(ours) == numba.typeof(other)


@METHODS
def test_the_configuration_is_a_value(method):
    learner = method.make(SETTING)
    assert learner == method.make(SETTING)
    assert hash(learner) == hash(method.make(SETTING))
    assert pickle.loads(pickle.dumps(learner)) == learner
    assert type(learner)() == type(learner)()


@METHODS
def test_it_learns_classes_of_any_kind(method):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    labels = rng.integers(3, size=2000)
    X = centres[labels] + rng.normal(size=(2000, 2))
    y = np.array(["a", "b", "c"])[labels]
    setting = Setting(Gaussian(2.0), 40, 2000)
    model = OnlineKernelClassifier(method.make(setting), random_state=0)
    scores = model.prequential(X, y)
    assert scores.shape == (2000, 3)
    assert np.mean(model.labels_of(scores)[500:] != y[500:]) < 0.2
    assert set(model.predict(X)) <= {"a", "b", "c"}
    two = OnlineKernelClassifier(method.make(setting), random_state=0)
    keep = labels < 2
    scores = two.prequential(X[keep], y[keep])
    assert np.mean(two.labels_of(scores)[300:] != y[keep][300:]) < 0.1


@METHODS
def test_regression_where_the_method_defines_it(method):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 1))
    y = np.sin(X[:, 0])
    learner = method.make(Setting(Gaussian(1.0), 60, 3000, SquaredError()))
    model = OnlineKernelRegressor(learner, random_state=0)
    if not method.regression:
        with pytest.raises(ValueError, match="learner must be one for regression"):
            model.fit(X, y)
        return
    errors = (model.prequential(X, y) - y) ** 2
    # the median: at a reset some methods forget all
    assert np.median(errors[1000:]) < (0.7 if method.rough else 0.05) * np.var(y)


@pytest.mark.slow
@pytest.mark.needs_data
@METHODS
@pytest.mark.parametrize("name", [b.name for b in BENCHMARKS if b.task == "classification"])
def test_every_bandwidth_of_the_grid_stays_finite(method, name):
    X, y = read(name)
    rows = np.random.default_rng(0).permutation(len(y))[:1500]
    X, y = X[rows], np.ascontiguousarray(y[rows].reshape(-1, 1))
    for power in np.arange(-5.0, 7.5, 0.5):
        learner = method.make(Setting(Gaussian(2.0**power), 50, len(y)))
        engine = Engine(learner, X.shape[1], 1, np.random.default_rng(0))
        scores = engine.learn(X, y)
        assert np.isfinite(scores).all(), power
        assert np.isfinite(engine.memory.floats).all(), power
