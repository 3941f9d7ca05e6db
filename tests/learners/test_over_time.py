"""Experts over time against their oracle, and what they promise."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import OnlineKernelClassifier, OnlineKernelRegressor, oracles
from forks import load as load_model
from forks.engine import Engine
from forks.kernels import Gaussian, Laplacian
from forks.learners import FORKS, KOGD, NOGD, Machine, OverTime, Projectron, starting
from forks.learners.mixture import CATCHING_UP, COUNT, EMPTY, LIVE
from forks.losses import SquaredError, SquaredHinge
from forks.parts.experts import NEXT, SETTLED
from forks.streams import changing
from oracle_streams import engine_for, made_up_weights, mistakes
from over_time_against_oracle import machine_oracle, oracle_run

# Experts of few landmarks: machine code does not depend on sizes.
SMALL, LARGE = Machine(buffer=24), Machine(buffer=40)
CLASSES = OverTime(learner=SMALL, long=LARGE)
NUMBERS = OverTime(
    learner=replace(SMALL, loss=SquaredError()), long=replace(LARGE, loss=SquaredError())
)
TURN = 1200  # the round at which streams change


def stream(kind, n=1600, d=6, seed=0):
    """Rows on different scales; what the target depends on changes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    turn = np.where(np.arange(n) < TURN, 1.0, -1.0)
    values = X[:, 0] * X[:, 1] + turn * X[:, 3] + 0.2 * rng.normal(size=n)
    X = X * np.logspace(-1, 1, d) + np.linspace(0.0, 5.0, d)
    if kind == "numbers":
        return X, 100.0 * values[:, None] + 7.0
    if kind == "three classes":
        classes = np.digitize(values, [-0.8, 0.8])
        return X, np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    return X, np.where(values > 0.0, 1.0, -1.0)[:, None]


def learner_for(kind):
    return NUMBERS if kind == "numbers" else CLASSES


KINDS = pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])


def view_of(engine):
    return engine.learner.view(engine.memory)


def assert_same_state(ours, theirs):
    np.testing.assert_array_equal(ours.memory.floats, theirs.memory.floats)
    np.testing.assert_array_equal(ours.memory.ints, theirs.memory.ints)


# ---- the oracle ------------------------------------------------------------------------------


@KINDS
def test_every_score_is_the_oracles(kind):
    learner, (X, Y) = learner_for(kind), stream(kind, 2000)
    weights = made_up_weights(2000) if kind == "two classes" else np.ones(2000)
    truth, oracle = oracle_run(learner, X, Y, weights)
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    scores = engine.learn(X, Y, weights)
    np.testing.assert_allclose(scores, truth, rtol=1e-6, atol=1e-6 * np.abs(truth).max())
    events = [event for event in learner.events(engine.memory) if event["event"] != "lead"]
    assert [(e["round"], e["event"], e["expert"]) for e in events] == oracle.events
    assert {kind for _, kind, _ in oracle.events} == {"start", "challenge", "alarm"}
    assert engine.mends == 0
    view = view_of(engine)
    np.testing.assert_allclose(view.experts.weights, oracle.weights, rtol=1e-5, atol=1e-9)
    assert view.counts[COUNT.due] == oracle.due
    for e, expert in enumerate(oracle.places):
        status = EMPTY if expert is None else LIVE if expert.live else CATCHING_UP
        assert view.places.status[e] == status
    others = stream(kind, 20, seed=1)[0]
    expected = np.array([oracle.score(x) for x in others])
    np.testing.assert_allclose(
        engine.predict(others), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max()
    )
    if Y.shape[1] == 1:
        for question, ahead in ((NEXT, True), (SETTLED, False)):
            if kind == "numbers":
                got = learner.interval(engine.memory, 0.9, ahead)
                np.testing.assert_allclose(got, oracle.quantiles[question].interval(0.9), rtol=1e-5)
            else:
                got = learner.least_probability(engine.memory, 0.9, ahead)
                assert got == pytest.approx(oracle.quantiles[question].threshold(0.9), rel=1e-5)


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_concepts_that_return_match_the_oracle(kind):
    """The experts that knew them sleep meanwhile."""
    learner, rng, n = learner_for(kind), np.random.default_rng(1), 2600
    X = rng.normal(size=(n, 4))
    turn = np.where(np.arange(n) // 400 % 2 == 0, 1.0, -1.0)
    values = turn * X[:, 0] + X[:, 1] * X[:, 2]
    Y = values[:, None] if kind == "numbers" else np.where(values > 0.0, 1.0, -1.0)[:, None]
    truth, oracle = oracle_run(learner, X, Y)
    engine = engine_for(learner, X.shape[1])
    scores = engine.learn(X, Y)
    np.testing.assert_allclose(scores, truth, rtol=1e-6, atol=1e-6 * np.abs(truth).max())
    recall = view_of(engine).recall
    assert list(np.flatnonzero(recall.chosen)) == oracle.recall.chosen != []
    assert list(recall.awake) == [len(rounds) for rounds in oracle.recall.learned]
    asleep = oracle.recall.chosen[0]
    assert len(oracle.recall.learned[asleep]) < n - 100 - oracle.born[asleep]


@pytest.mark.parametrize(
    "choices",
    [{"experts": 3}, {"window": 500}, {"relevance": False}, {"restart": False}, {"repeat": False}],
    ids=str,
)
def test_choices_match_the_oracle(choices):
    learner, (X, Y) = replace(CLASSES, **choices), stream("two classes", 1260)
    truth, oracle = oracle_run(learner, X, Y)
    scores = engine_for(learner, X.shape[1]).learn(X, Y)
    np.testing.assert_allclose(scores, truth, rtol=1e-6, atol=1e-6)
    assert len(oracle.events) >= 2


def test_mistakes_that_rise_slowly_match_the_oracle():
    """More and more labels are wrong: experts are started every 250 rounds, though in vain."""
    rng, n = np.random.default_rng(3), 2600
    X = rng.normal(size=(n, 3))
    wrong = rng.random(n) < np.clip((np.arange(n) - 700) / 12_000, 0.0, 0.3)
    Y = np.where((X[:, 0] + X[:, 1] > 0.0) ^ wrong, 1.0, -1.0)[:, None]
    truth, oracle = oracle_run(CLASSES, X, Y)
    engine = engine_for(CLASSES, X.shape[1])
    np.testing.assert_allclose(engine.learn(X, Y), truth, rtol=1e-6, atol=1e-6)
    view = view_of(engine)
    np.testing.assert_allclose(view.rise.levels, [oracle.rise.low, oracle.rise.looked], rtol=1e-12)
    assert view.counts[COUNT.period] == oracle.period == starting.FIRST
    assert oracle.watch.rate > 1.25 * oracle.rise.low + 0.03


def test_a_laplacian_challenger_matches_the_oracle(monkeypatch):
    """Which usually comes second, after 3,000 rows."""
    for module in (starting, oracles.over_time):
        monkeypatch.setattr(module, "CHOICES", module.CHOICES[1:])
    X, Y = stream("two classes", TURN)
    truth, oracle = oracle_run(CLASSES, X, Y)
    engine = engine_for(CLASSES, X.shape[1])
    np.testing.assert_allclose(engine.learn(X, Y), truth, rtol=1e-6, atol=1e-6)
    challenger = oracle.places[1].machine
    assert challenger.choices["laplacian"]
    assert challenger.map is not None
    assert oracle.weights[0][-3] > 0.0


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian()])
def test_a_kernel_that_was_chosen_stays(kernel):
    machine = replace(SMALL, kernel=kernel)
    learner = replace(CLASSES, learner=machine, long=machine)
    assert CLASSES._may_change_kernel
    assert not learner._may_change_kernel


@pytest.mark.parametrize("forgetting", [0.0, 0.005])
@pytest.mark.parametrize("learner", [SMALL, replace(SMALL, loss=SquaredError())], ids=repr)
def test_a_machine_is_its_oracle(learner, forgetting):
    X, Y = stream("numbers" if learner.tasks == ("regression",) else "two classes", 500)
    relevance = np.linspace(0.2, 1.5, X.shape[1])
    choices = {"relevance": relevance, "width": 0.6, "alpha_rounds": 32.0}
    oracle = machine_oracle(learner, forgetting=forgetting, **choices)
    engine = engine_for(learner, X.shape[1])
    learner.adopt(view_of(engine), relevance, 0, forgetting, 0.6, 0.25)
    weights = made_up_weights(500)
    truth = [oracle.play(*row) for row in zip(X, Y, weights, strict=True)]
    scores = engine.learn(X, Y, weights)
    np.testing.assert_allclose(scores, truth, rtol=1e-7, atol=1e-7 * np.abs(truth).max())
    np.testing.assert_allclose(engine.predict(X[:9]), [oracle.score(x) for x in X[:9]], rtol=1e-7)


def test_a_machine_follows_long_tails_as_its_oracle_does():
    learner, rng = replace(SMALL, loss=SquaredError()), np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] = rng.lognormal(1.0, 1.2, size=300)
    Y = (X[:, 1] + np.sin(X[:, 0]) + 0.1 * rng.normal(size=300))[:, None]
    oracle, engine = machine_oracle(learner), engine_for(learner, 4)
    truth = [oracle.play(*row) for row in zip(X, Y, strict=True)]
    np.testing.assert_allclose(engine.learn(X, Y), truth, rtol=1e-6, atol=1e-6)
    assert list(view_of(engine).map.scale.tail < 0.0) == [False, True, False, False]
    far = np.array([[0.0, 1.5 * X[:, 1].max(), 0.0, 0.0]])
    assert engine.predict(far)[0, 0] > 1.3 * Y.max()


def test_a_machine_that_forgets_rows_of_long_ago_is_its_oracle():
    """Which directions they had is forgotten up to a bound, or else the last rows are absurd."""
    learner = replace(SMALL, loss=SquaredError())
    X, Y = stream("numbers", 600)
    X[100:500] = X[100] + 0.1 * (X[100:500] - X[100])
    oracle = machine_oracle(learner, forgetting=0.03)
    engine = engine_for(learner, X.shape[1])
    learner.adopt(view_of(engine), np.ones(X.shape[1]), 0, 0.03, 1.0, 1.0)
    truth = np.array([oracle.play(*row) for row in zip(X, Y, np.ones(600), strict=True)])
    scores = engine.learn(X, Y)
    np.testing.assert_allclose(scores, truth, rtol=1e-6, atol=1e-6 * np.abs(truth).max())
    assert np.abs(truth).max() < 30.0 * np.abs(Y).max()


@pytest.mark.parametrize("learner", [SMALL, replace(SMALL, loss=SquaredError())], ids=repr)
def test_a_machine_that_forgets_no_more_is_its_oracle(learner):
    X, Y = stream("numbers" if learner.tasks == ("regression",) else "two classes", 1200)
    oracle, engine = machine_oracle(learner, forgetting=0.01), engine_for(learner, X.shape[1])
    learner.adopt(view_of(engine), np.ones(X.shape[1]), 0, 0.01, 1.0, 1.0)
    truth = [oracle.play(*row, 1.0) for row in zip(X[:300], Y[:300], strict=True)]
    scores = [*engine.learn(X[:300], Y[:300])]
    oracle.forget_no_more()
    learner.forget_no_more(view_of(engine))
    truth += [oracle.play(*row, 1.0) for row in zip(X[300:], Y[300:], strict=True)]
    scores += [*engine.learn(X[300:], Y[300:])]
    np.testing.assert_allclose(scores, truth, rtol=1e-6, atol=1e-6 * np.abs(truth).max())
    assert engine.mends == 0


# ---- one stream, many ways ---------------------------------------------------------------------


@KINDS
def test_any_split_into_chunks_is_the_same_bit_for_bit(kind):
    learner, (X, Y) = learner_for(kind), stream(kind)
    weights = made_up_weights(len(X))
    whole = engine_for(learner, X.shape[1], Y.shape[1])
    expected = whole.learn(X, Y, weights)
    split = engine_for(learner, X.shape[1], Y.shape[1])
    bounds = [0, *np.sort(np.random.default_rng(2).integers(0, len(X), 30)), len(X)]
    scores = [split.learn(X[a:b], Y[a:b], weights[a:b]) for a, b in itertools.pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    assert_same_state(split, whole)
    single = engine_for(learner, X.shape[1], Y.shape[1])
    for t in range(len(X)):
        y = Y[t, 0] if Y.shape[1] == 1 else Y[t]
        score = single.one_row(X[t : t + 1], y, weights[t])
        np.testing.assert_array_equal(np.ravel(score), expected[t])
    assert_same_state(single, whole)


@KINDS
def test_the_next_score_is_known_ahead(kind):
    learner, (X, Y) = learner_for(kind), stream(kind)
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    for t in range(0, len(X), 100):
        before = engine.memory.copy()
        ahead = engine.predict(X[t : t + 1], ahead=True)
        engine.predict(X[:5])
        np.testing.assert_array_equal(engine.memory.floats, before.floats)
        np.testing.assert_array_equal(engine.memory.ints, before.ints)
        scores = engine.learn(X[t : t + 100], Y[t : t + 100])
        np.testing.assert_allclose(scores[:1], ahead, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
def test_sparse_rows_are_the_dense_ones(kind):
    learner, (X, Y) = learner_for(kind), stream(kind)
    X[np.random.default_rng(3).random(X.shape) < 0.4] = 0.0
    dense, sparse = (engine_for(learner, X.shape[1], Y.shape[1]) for _ in range(2))
    expected = dense.learn(X, Y)
    close = np.isclose(sparse.learn(csr_array(X), Y), expected, rtol=1e-6, atol=1e-6)
    assert close.mean() > 0.99
    np.testing.assert_allclose(sparse.predict(csr_array(X)), sparse.predict(X), rtol=1e-9)


@KINDS
def test_rows_of_weight_zero_are_scored_and_change_nothing(kind):
    learner, (X, Y) = learner_for(kind), stream(kind)
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    engine.learn(X[:1010], Y[:1010])  # a challenger is catching up
    assert CATCHING_UP in view_of(engine).places.status
    expected = engine.predict(X, ahead=True), engine.predict(X)
    floats = engine.memory.floats.copy()
    scores = engine.learn(X, Y, np.zeros(len(X)))
    np.testing.assert_allclose(scores, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(engine.predict(X), expected[1])
    np.testing.assert_array_equal(engine.predict(X, ahead=True), expected[0])
    changed = np.count_nonzero(engine.memory.floats != floats)
    view = view_of(engine)  # the last answers alone, and those of what was kept
    assert changed <= view.experts.answers.size + view.horizon.earlier.size


def test_rows_without_weight_in_between_leave_the_others_as_they_are():
    X, Y = stream("two classes")
    kept = np.arange(len(X)) % 3 != 1
    plain = engine_for(CLASSES, X.shape[1]).learn(X[kept], Y[kept])
    scores = engine_for(CLASSES, X.shape[1]).learn(X, Y, kept.astype(float))
    np.testing.assert_array_equal(scores[kept], plain)


# ---- saved in the middle -----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("learned", [7, 303, 1003, 1300])
def test_a_copy_of_the_memory_goes_on_bit_for_bit(kind, learned):
    """After 303 and 1,003 rounds experts are catching up."""
    learner, (X, Y) = learner_for(kind), stream(kind)
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    engine.learn(X[:learned], Y[:learned])
    assert (CATCHING_UP in view_of(engine).places.status) == (learned in (303, 1003))
    learner.check_memory(engine.memory, X.shape[1], Y.shape[1])
    sizes = X.shape[1], Y.shape[1]
    again = Engine.restored(learner, *sizes, engine.memory.copy(), learned, None)
    pickled = pickle.loads(pickle.dumps(engine))
    expected = engine.learn(X[learned:], Y[learned:])
    for copy in (again, pickled):
        np.testing.assert_array_equal(copy.learn(X[learned:], Y[learned:]), expected)
        assert_same_state(copy, engine)


@pytest.mark.parametrize("make", [OnlineKernelClassifier, OnlineKernelRegressor])
def test_a_saved_estimator_goes_on_bit_for_bit(make, tmp_path):
    X, Y = stream("numbers")
    y = Y[:, 0] if make is OnlineKernelRegressor else np.digitize(Y[:, 0], [0.0])
    model = make({"name": "adaptive", "experts": 4})
    model.partial_fit(X[:505], y[:505])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.prequential(X[505:], y[505:]),
                                  model.prequential(X[505:], y[505:]))  # fmt: skip
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def forged():
    """Changes of a memory that must be refused, by name; compiled code relies on what they hit."""

    def changes(where, value):
        def change(learner, memory):
            where(learner.view(memory))[...] = value

        return change

    return {
        "rounds below zero": changes(lambda v: v.counts[COUNT.rounds :][:1], -1),
        "a stage": changes(lambda v: v.counts[COUNT.stage :][:1], 3),
        "a delay below zero": changes(lambda v: v.counts[COUNT.delay :][:1], -5),
        "a delay beyond the ring": changes(lambda v: v.counts[COUNT.delay :][:1], 10**6),
        "a status": changes(lambda v: v.places.status[:1], 3),
        "a next row to come": changes(lambda v: v.places.next[:1], 10**9),
        "a next row below zero": changes(lambda v: v.places.next[:1], -1),
        "a place of floats": changes(lambda v: v.places.floats[1:2], 10**7),
        "a place of integers": changes(lambda v: v.places.ints[1:2], -8),
        "a mark": changes(lambda v: v.places.tracks[:1], 2),
        "a weight above one": changes(lambda v: v.experts.weights[0, :1], 2.0),
        "no weight at all": changes(lambda v: v.experts.weights[0], 0.0),
        "a slope of a line": changes(lambda v: v.experts.calibration.lines[0, :1], -1.0),
        "a curvature of a line": changes(lambda v: v.calibration.lines[0, 2:3], 0.0),
        "a trust": changes(lambda v: v.horizon.trust, 0.0),
        "a weight that was kept": changes(lambda v: v.horizon.weights[:1], -1.0),
        "a period": changes(lambda v: v.horizon.period[:1], -1),
        "a size of residuals": changes(lambda v: v.conformal.sizes[:1], -1.0),
        "a count of repeats": changes(lambda v: v.persistence.counts[0], -1.0),
        "a leader": changes(lambda v: v.history.written[1:], 7),
        "a kind of event": changes(lambda v: v.history.lines[0, 1:2], 9.0),
        "a watch": changes(lambda v: v.watch.levels[:1], 1e9),
        "a mark of who may sleep": changes(lambda v: v.recall.chosen[:1], 2),
        "rounds of one who may sleep": changes(lambda v: v.recall.awake[:1], -1),
        "a usual weight": changes(lambda v: v.recall.usual[:1], 2.0),
        "a number that is none": changes(lambda v: v.ring.rows[0], np.nan),
        "landmarks of an expert": _change_expert(lambda v: v.map.sizes[:1], 10**6),
        "an event of an expert": _change_expert(lambda v: v.counts[:1], 1),
        "forgetting of an expert": _change_expert(lambda v: v.forgetting, 5.0),
        "a table of an expert": _change_table,
    }


def _change_expert(where, value):
    def change(learner, memory):
        view = learner.view(memory)
        where(learner._learner(2).view(learner.memory_of(view, 2)))[...] = value

    return change


def _change_table(learner, memory):
    learner.memory_of(learner.view(memory), 2).ints[1] += 8


FORGED = forged()


@pytest.fixture(scope="module")
def learned_engine():
    X, Y = stream("two classes")
    engine = engine_for(CLASSES, X.shape[1])
    engine.learn(X[:1010], Y[:1010])
    return engine


@pytest.mark.parametrize("name", FORGED)
def test_forged_memories_are_refused(name, learned_engine):
    memory = learned_engine.memory.copy()
    CLASSES.check_memory(memory, 6, 1)
    FORGED[name](CLASSES, memory)
    with pytest.raises(ValueError, match=r"\w"):
        CLASSES.check_memory(memory, 6, 1)


def test_experts_that_claim_more_than_there_is_are_refused_before_it_is_reserved(learned_engine):
    engine = learned_engine
    large = replace(engine.learner, long=replace(engine.learner.long, buffer=2**22))
    view = engine.learner.view(engine.memory)
    width, outputs = view.ring.rows.shape[1], view.ring.targets.shape[1]
    with pytest.raises(ValueError, match=r"the memory has \d+ numbers, and its experts \d+"):
        large.check_memory(engine.memory, width, outputs)


@pytest.mark.parametrize("seed", range(3))
def test_any_integer_is_refused_or_does_no_harm(seed, learned_engine):
    X, Y = stream("two classes")
    rng, accepted = np.random.default_rng(seed), 0
    for at in rng.integers(len(learned_engine.memory.ints), size=60):
        for value in (-1, 2**31, 2**62):
            memory = learned_engine.memory.copy()
            memory.ints[at] = value
            try:
                CLASSES.check_memory(memory, 6, 1)
            except ValueError:
                continue
            accepted += 1
            again = Engine.restored(CLASSES, 6, 1, memory, 1010, None)
            assert np.isfinite(again.learn(X[1010:1060], Y[1010:1060])).all()
            assert np.isfinite(again.predict(X[:5])).all()
    assert accepted < 90


# ---- wider rows, more outputs ------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("learned", [300, 1005])
def test_features_that_come_later(kind, learned):
    learner, (X, Y) = learner_for(kind), stream(kind)
    wide = np.hstack([X, np.zeros((len(X), 2))])
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    engine.learn(X[:learned], Y[:learned])
    before = engine.predict(X[:50]), engine.predict(X[:50], ahead=True)
    engine.widen(8)
    learner.check_memory(engine.memory, 8, Y.shape[1])
    np.testing.assert_allclose(engine.predict(wide[:50]), before[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(engine.predict(wide[:50], ahead=True), before[1], rtol=1e-9)
    wide[learned:, 7] = np.random.default_rng(5).normal(size=len(X) - learned)
    scores = engine.learn(wide[learned:], Y[learned:])
    assert np.isfinite(scores).all()
    assert len(learner.feature_relevance(engine.memory)) == 8
    learner.check_memory(engine.memory, 8, Y.shape[1])


def test_outputs_that_come_later():
    X, Y = stream("three classes")
    two = np.ascontiguousarray(Y[:, :2])
    engine = engine_for(CLASSES, X.shape[1], 2)
    engine.learn(X[:1005], two[:1005])
    engine.add_outputs(3)
    CLASSES.check_memory(engine.memory, X.shape[1], 3)
    scores = engine.learn(X[1005:], Y[1005:])
    late = np.argmax(scores[295:], axis=1) == np.argmax(Y[1300:], axis=1)
    assert late.mean() > 0.6
    CLASSES.check_memory(engine.memory, X.shape[1], 3)


# ---- any learner -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner",
    [
        FORKS(kernel=Gaussian(1.5), loss=SquaredHinge(), buffer=40, update_cycle=100),
        # compiled for this test alone
        pytest.param(
            NOGD(kernel=Gaussian(1.5), loss=SquaredHinge(), budget=60, rank=30),
            marks=pytest.mark.slow,
        ),
        pytest.param(Projectron(kernel=Gaussian(1.5), budget=60), marks=pytest.mark.slow),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_learner_is_started_again_and_recovers(learner):
    n = 3000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    turn = np.where(np.arange(n) < 1500, 1.0, -1.0)[:, None]
    Y = np.where(X[:, :1] + 0.5 * X[:, 1:2] > 0.0, 1.0, -1.0) * turn
    over_time = OverTime(learner=learner, long=None, experts=4)
    engine, alone = engine_for(over_time, 3), engine_for(learner, 3)
    scores, plain = engine.learn(X, Y), alone.learn(X, Y)
    assert view_of(engine).counts[COUNT.starts] > 4
    assert np.isfinite(scores).all()
    early, late, changed = slice(500, 1500), slice(2000, n), slice(1500, 2000)
    assert mistakes(scores[early], Y[early]) < 120
    assert mistakes(scores[late], Y[late]) < 120
    assert mistakes(scores[changed], Y[changed]) < 1.3 * mistakes(plain[changed], Y[changed]) + 20
    over_time.check_memory(engine.memory, 3, 1)
    again = Engine.restored(over_time, 3, 1, engine.memory.copy(), n, None)
    np.testing.assert_array_equal(again.learn(X[:700], Y[:700]), engine.learn(X[:700], Y[:700]))


def test_learners_that_cannot_be_experts_are_named():
    with pytest.raises(ValueError, match=r"learner: the memory of KOGD.* grows"):
        OverTime(learner=KOGD(), long=None)
    with pytest.raises(ValueError, match="long must be like learner"):
        OverTime(learner=SMALL, long=replace(LARGE, loss=SquaredError()))
    for bad in (OverTime(), "Machine", None):
        with pytest.raises(ValueError, match="learner must be one of"):
            OverTime(learner=bad, long=None)
    for name, value in (("experts", 2), ("experts", 65), ("window", 499)):
        with pytest.raises(ValueError, match=name):
            OverTime(**{name: value})


# ---- what is promised --------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [CLASSES, OverTime()], ids=["small", "default"])
def test_an_abrupt_change_is_recovered_from(learner):
    rng = np.random.default_rng(0)
    n = 4000
    X = rng.normal(size=(n, 4))
    f = np.where(np.arange(n) < 2000, X[:, 0] + X[:, 1], X[:, 2] - X[:, 0])
    Y = np.where(f > 0.0, 1.0, -1.0)[:, None]
    engine = engine_for(learner, 4)
    scores = engine.learn(X, Y)
    before, after = slice(1000, 2000), slice(2300, n)
    assert mistakes(scores[before], Y[before]) < 0.06 * 1000
    assert mistakes(scores[after], Y[after]) < 0.08 * 1700
    alarms = [e["round"] for e in learner.events(engine.memory) if e["event"] == "alarm"]
    assert 2000 < alarms[0] < 2100
    relevance = learner.feature_relevance(engine.memory)
    assert relevance.sum() == pytest.approx(1.0)
    assert min(relevance[[0, 2]]) > 5.0 * max(relevance[[1, 3]])


def test_a_change_that_takes_long_is_followed():
    X, y = changing("gradual-mix", 30_000, 1)  # the second concept has most rows from 15,000 on
    model = OnlineKernelClassifier()
    wrong = model.labels_of(model.prequential(X, y)) != y
    assert wrong[18_000:20_000].mean() < 0.2
    starts = [event["round"] for event in model.events_ if event["event"] == "start"]
    assert sum(15_000 < start < 20_000 for start in starts) > 4


def test_a_stream_that_does_not_change_is_left_alone():
    X, Y = stream("two classes", 12_000)
    engine = engine_for(CLASSES, X.shape[1])
    calm = slice(0, TURN)
    engine.learn(np.tile(X[calm], (8, 1)), np.tile(Y[calm], (8, 1)))
    events = CLASSES.events(engine.memory)
    assert not [event for event in events if event["event"] == "alarm"]
    starts = [event["round"] for event in events if event["event"] == "start"]
    assert len(starts) < 25


def test_labels_that_repeat_are_repeated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    Y = np.where(np.cumsum(rng.random(1500) < 0.03) % 2, 1.0, -1.0)[:, None]
    for repeat in (True, False):
        engine = engine_for(replace(CLASSES, repeat=repeat), 3)
        scores = engine.learn(X, Y)
        rate = mistakes(scores[500:], Y[500:]) / 1000
        assert rate < 0.06 if repeat else rate > 0.2
    late = engine_for(CLASSES, 3)
    late.expect_delay(20)
    scores = late.learn(X, Y)
    last = np.roll(Y, 21, axis=0)
    assert np.mean(np.sign(scores[800:]) == last[800:]) < 0.97


@KINDS
@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_rows_and_targets_of_any_size_stay_finite(kind, size):
    learner, (X, Y) = learner_for(kind), stream(kind, 1100)
    X = X * size if size < 1e200 else X
    Y = Y * size / 100.0 if kind == "numbers" else Y
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    assert np.isfinite(engine.learn(X, Y)).all()
    assert np.isfinite(engine.memory.floats).all()
    assert np.isfinite(engine.predict(X)).all()
    learner.check_memory(engine.memory, X.shape[1], Y.shape[1])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", ["constant", "repeated", "weights", "one label"])
def test_odd_streams_stay_finite(kind):
    X, Y = stream("two classes", 1100)
    weights = np.logspace(-150, 300, 1100) if kind == "weights" else np.ones(1100)
    if kind == "constant":
        X = np.ones_like(X)
    elif kind == "repeated":
        X = X[np.arange(1100) % 3]
    elif kind == "one label":
        Y = np.ones_like(Y)
    engine = engine_for(CLASSES, X.shape[1])
    assert np.isfinite(engine.learn(X, Y, weights)).all()
    assert np.isfinite(engine.memory.floats).all()
    CLASSES.check_memory(engine.memory, X.shape[1], 1)


def test_the_memory_is_bounded():
    assert engine_for(OverTime(), 20).state_bytes < 4 * 2**20
    kept = [len(view_of(engine_for(OverTime(), d)).ring.rows) for d in (200, 400, 2000)]
    assert kept == [2000, 1000, 500]
    X, Y = stream("two classes")
    engine = engine_for(CLASSES, X.shape[1])
    size = engine.state_bytes
    engine.learn(X, Y)
    assert engine.state_bytes == size
    assert engine.stored_points <= 2 * 40 + 4 * 24


# ---- rows without labels ---------------------------------------------------------------------


def days(n_days, regression, seed):
    """Rows of days, each of which has an effect of its own that no feature tells."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(n_days), 200)
    effect, noise = rng.normal(size=n_days)[day], 0.3 * rng.normal(size=len(day))
    X = np.column_stack([day // 30, day % 30, *rng.normal(size=(2, len(day)))])
    y = (X[:, 2] + effect + noise)[:, None]
    return X, y if regression else np.where(y > 1.0, 1.0, -1.0)


@pytest.mark.parametrize("regression", [False, True])
def test_experts_that_followed_the_last_days_do_not_answer_for_the_next_ones(regression):
    loss = SquaredError() if regression else SMALL.loss
    machine = replace(SMALL, loss=loss, buffer=200)
    learner = OverTime(learner=machine, long=machine)
    X, Y = days(80, regression, seed=2)
    n = 200 * 60
    engine, alone = engine_for(learner, 4), engine_for(machine, 4)
    scores = engine.learn(X[:n], Y[:n])
    alone.learn(X[:n], Y[:n])
    far, of_one = (each.predict(X[n:]) for each in (engine, alone))
    if regression:
        error = [np.sqrt(np.mean((f - Y[n:]) ** 2)) for f in (far, of_one, Y[:n].mean())]
        before = np.sqrt(np.mean((scores - Y[:n]) ** 2))
    else:
        error = [np.mean((f > 0.0) != (Y[n:] > 0.0)) for f in (far, of_one, np.full(1, -1.0))]
        before = np.mean((scores > 0.0) != (Y[:n] > 0.0))
    assert error[0] < 1.05 * min(error[1:])
    assert before < 0.75 * error[0]  # what follows is better for the next row
