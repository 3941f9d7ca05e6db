"""The learner for wide sparse rows against its oracle, and what it costs."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from forks import OnlineKernelClassifier, OnlineKernelRegressor, load, oracles
from forks.engine import Engine, one_thread
from forks.evaluate import player_for
from forks.kernels import Gaussian, Polynomial
from forks.learners import OverTime, Wide
from forks.losses import Hinge, Logistic, SquaredError
from forks_against_oracle import oracle_loss

ROWS, WIDTH = 400, 3000


def words(n=ROWS, d=WIDTH, seed=0, per_row=12):
    """Rows of counts: few words are common and most are rare; the label is that of some."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, d + 1)
    draws = rng.choice(d, size=(n, 2 * per_row), p=share / share.sum())
    X = np.zeros((n, d))
    np.add.at(X, (np.repeat(np.arange(n), 2 * per_row), draws.ravel()), 1.0)
    X *= np.exp(rng.normal(size=d))
    w = rng.normal(size=d)
    f = np.sign(X) @ w + 2.0 * (X[:, 0] > 1.0) * (X[:, 1] > 0.0)
    return X, f + 0.3 * rng.normal(size=n)


def weights_for(n=ROWS):
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


def engine_for(learner, d, n_outputs=1):
    return Engine(learner, d, n_outputs, np.random.default_rng(0))


def oracle_run(learner, X, Y, weights=None, **numbers):
    weights = np.ones(len(X)) if weights is None else weights
    oracle = oracles.WideOracle(
        Y.shape[1],
        oracle_loss(learner.loss),
        bandwidth=learner.kernel.bandwidth,
        landmarks=learner.landmarks,
        hash_bits=learner.hash_bits,
        **{"most_places": 2**learner.table_bits, **numbers},
    )
    with one_thread():
        return np.array([oracle.play(*row) for row in zip(X, Y, weights, strict=True)]), oracle


LEARNERS = {
    "usual": Wide(landmarks=40),
    "logistic": Wide(landmarks=40, loss=Logistic(), kernel=Gaussian(0.7)),
    "hinge": Wide(landmarks=20, loss=Hinge()),
    "no landmarks": Wide(landmarks=0),
    "hashed": Wide(landmarks=40, hash_bits=7),
    "a full table": Wide(landmarks=40, table_bits=8),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "logistic" else [])  # compiled for it
        for name in LEARNERS
    ],
)
def test_every_score_is_that_of_the_oracle(name):
    learner = LEARNERS[name]
    X, f = words()
    Y, weights = np.sign(f).reshape(-1, 1), weights_for()
    expected, oracle = oracle_run(learner, X, Y, weights)
    engine = engine_for(learner, WIDTH)
    found = engine.learn(csr_array(X), Y, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert np.std(expected) > 0.1
    assert (oracle.kernel is None) == (learner.landmarks == 0)
    used = int(learner.view(engine.memory).seen.used[0])
    assert used == len(oracle.linear.places.known) + 1
    if name == "a full table":
        assert used == 2**8


def test_several_outputs_are_those_of_the_oracle():
    X, f = words()
    Y = np.column_stack([f < -1.0, np.abs(f) <= 1.0, f > 1.0]) * 2.0 - 1.0
    learner = Wide(landmarks=30)
    expected, _ = oracle_run(learner, X, Y, weights_for())
    found = engine_for(learner, WIDTH, 3).learn(csr_array(X), Y, weights_for())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_numbers_are_those_of_the_oracle():
    X, f = words()
    Y = (1000.0 + 5.0 * f).reshape(-1, 1)
    Y[::50] += 300.0
    learner = Wide(landmarks=30, loss=SquaredError())
    expected, _ = oracle_run(learner, X, Y, weights_for())
    found = engine_for(learner, WIDTH).learn(csr_array(X), Y, weights_for())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.median(np.abs(found - Y)[200:]) < np.std(5.0 * f)


def test_kept_rows_end_when_there_is_no_room():
    rng = np.random.default_rng(0)
    X = random_array((60, 20_000), density=0.1, format="csr", random_state=rng)
    y = np.where(rng.random(60) < 0.5, -1.0, 1.0).reshape(-1, 1)
    engine = engine_for(Wide(landmarks=50), 20_000)
    engine.learn(X, y)
    assert engine.stored_points == np.searchsorted(np.cumsum(np.diff(X.indptr)), 2**16, "right")
    none = engine_for(Wide(landmarks=50), 20_000)
    dense = csr_array(rng.normal(size=(5, 20_000)))
    none.learn(dense, y[:5])
    assert none.stored_points == 0
    assert np.isfinite(none.predict(dense)).all()


def test_memory_goes_with_the_features_seen_and_not_with_those_there_might_be():
    rng = np.random.default_rng(0)
    X = random_array((300, 1_000_000), density=2e-4, format="csr", random_state=rng)
    y = np.where(rng.random(300) < 0.5, -1.0, 1.0).reshape(-1, 1)
    engine = engine_for(Wide(), 1_000_000)
    engine.learn(X, y)
    seen = len(np.unique(X.indices))
    assert seen > 50_000
    assert engine.state_bytes < 2 * 200 * seen + 3e6
    few = engine_for(Wide(), 1_000_000)
    few.learn(X[:5], y[:5])
    assert few.state_bytes < 2e6
    full = engine_for(Wide(table_bits=10), 1_000_000)
    full.learn(X, y)
    assert full.state_bytes < 3.5e6
    hashed = Wide(hash_bits=9)
    engine = engine_for(hashed, 1_000_000)
    engine.learn(X, y)
    assert hashed.view(engine.memory).seen.used[0] <= 2**9 + 1
    assert engine.state_bytes < 3.5e6


def test_more_outputs_have_fewer_places():
    X, f = words(300, d=6000, per_row=40)
    Y = np.where(np.arange(20) == (np.abs(f) * 3.0 % 20).astype(int)[:, None], 1.0, -1.0)
    learner = Wide(landmarks=0, table_bits=12)
    engine = engine_for(learner, 6000, 20)
    engine.learn(csr_array(X), Y)
    assert learner.view(engine.memory).seen.used[0] == 2**10
    one = engine_for(learner, 6000)
    one.learn(csr_array(X), Y[:, :1].copy())
    assert learner.view(one.memory).seen.used[0] > 2**11


def test_any_split_is_the_same_while_the_memory_grows():
    X, f = words(250, d=6000, per_row=40)
    X, Y = csr_array(X), np.sign(f).reshape(-1, 1)
    whole, split = engine_for(Wide(landmarks=50), 6000), engine_for(Wide(landmarks=50), 6000)
    expected = whole.learn(X, Y)
    parts = [split.learn(X[a:b], Y[a:b]) for a, b in itertools.pairwise([0, 1, 17, 60, 61, 250])]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    np.testing.assert_array_equal(split.memory.floats, whole.memory.floats)
    np.testing.assert_array_equal(split.memory.ints, whole.memory.ints)
    assert len(Wide().view(whole.memory).diagonal.sizes) > 2**10


def test_units_of_features_do_not_matter():
    X, f = words()
    Y = np.sign(f).reshape(-1, 1)
    units = np.exp(5.0 * np.random.default_rng(3).normal(size=WIDTH))
    ours = engine_for(Wide(), WIDTH).learn(csr_array(X), Y)
    theirs = engine_for(Wide(), WIDTH).learn(csr_array(X * units), Y)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_it_is_the_default_of_wide_sparse_rows_alone():
    X, f = words(60, d=600)
    y = f > 0.0
    for effort, landmarks in {"fast": 0, "balanced": 512, "best": 1024}.items():
        model = OnlineKernelClassifier(effort=effort).partial_fit(csr_array(X), y)
        assert model.learner_ == Wide(landmarks=landmarks)
    model = OnlineKernelRegressor().partial_fit(csr_array(X), f)
    assert model.learner_ == Wide(loss=SquaredError())
    narrow = csr_array(X[:, :512])
    for rows, learner in (
        (narrow, "adaptive"),
        (X, "adaptive"),
        (csr_array(X), {"name": "adaptive"}),
    ):
        model = OnlineKernelClassifier(learner, effort="balanced").partial_fit(rows, y)
        assert isinstance(model.learner_, OverTime)


def test_it_is_compiled_before_the_clock_of_an_evaluation_runs():
    X, f = words(60, d=600)
    player = player_for("ours", OnlineKernelClassifier(), classes=[-1.0, 1.0])
    warmed = []
    player.warm_up = lambda rows: warmed.append(player.learner)
    player.play(csr_array(X), np.sign(f))
    assert warmed == [player.engine.learner] == [Wide()]


def test_a_saved_model_goes_on_alike(tmp_path):
    X, f = words(300, d=6000)
    X, y = csr_array(X), np.where(f > 0.0, "up", "down")
    model = OnlineKernelClassifier(Wide(landmarks=40)).partial_fit(X[:200], y[:200])
    model.save(tmp_path / "model.forks")
    again = load(tmp_path / "model.forks")
    np.testing.assert_array_equal(
        again.prequential(X[200:], y[200:]), model.prequential(X[200:], y[200:])
    )
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    sets = model.predict_set(X, coverage=0.9)
    assert 1.0 <= sets.sum(axis=1).mean() < 2.0


@pytest.mark.parametrize("name", ["where", "rows", "places", "starts", "used"])
def test_a_damaged_memory_is_refused(name):
    X, f = words()
    learner = Wide(landmarks=20)
    engine = engine_for(learner, WIDTH)
    engine.learn(csr_array(X), np.sign(f).reshape(-1, 1))
    memory = engine.memory.copy()
    learner.check_memory(memory, WIDTH, 1)
    view = learner.view(memory)
    array = getattr(view.seen if name in ("where", "used") else view.landmarks, name)
    array[0] = 10**6
    with pytest.raises(ValueError, match="out of its bounds"):
        learner.check_memory(memory, WIDTH, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": Polynomial()}, "kernel must be Gaussian"),
        ({"landmarks": -1}, "landmarks must be at least 0"),
        ({"table_bits": 40}, "table_bits must be at most"),
        ({"hash_bits": 2.5}, "hash_bits must be a whole number"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Wide(**changes)


def test_features_and_outputs_may_come_later():
    X, f = words(200, d=600)
    Y = np.column_stack([np.sign(f), -np.sign(f)])
    learner = Wide(landmarks=30)
    engine = engine_for(learner, 600, 2)
    engine.learn(csr_array(X), Y)
    before = engine.predict(csr_array(X))
    engine.widen(900)
    wider = csr_array(np.hstack([X, np.zeros((200, 300))]))
    np.testing.assert_array_equal(engine.predict(wider), before)
    engine.add_outputs(3)
    after = engine.predict(wider)
    np.testing.assert_array_equal(after, before[:, [0, 1, 1]])
    more, g = words(100, d=900, seed=1)
    scores = engine.learn(csr_array(more), np.sign(np.column_stack([g, -g, g - 1.0])))
    assert np.isfinite(scores).all()
    learner.check_memory(engine.memory, 900, 3)
