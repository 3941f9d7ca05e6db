"""Bare learners and River's models play as estimators do."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from estimators.small_streams import labelled, valued
from forks.engine import Engine
from forks.engine.group import engine_for
from forks.estimators.labels import UnknownLabelError
from forks.evaluate import LearnerPlayer, is_mistake, play, prequential
from forks.evaluate.clock import Clock, warm_up
from forks.kernels import Gaussian
from forks.learners import KOGD, NOGD, RBP
from forks.losses import SquaredError

ROWS = 150
X, LABELS = labelled(ROWS)
Y = np.where(LABELS == 1, 1.0, -1.0)
_, VALUES = valued(ROWS)
LEARNER = NOGD(kernel=Gaussian(1.5), budget=8)


def chunks(y, size=40):
    return [(X[a : a + size], y[a : a + size]) for a in range(0, ROWS, size)]


def test_a_score_of_zero_answers_plus_one():
    wrong = is_mistake([0.0, -0.0, -1.0, 2.0, -3.0], [1.0, -1.0, 1.0, 1.0, -1.0])
    assert wrong.tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_learner_plays_as_its_engine(form):
    engine = Engine(LEARNER, X.shape[1], 1, np.random.default_rng(3))
    scores = engine.learn(form(X), Y.reshape(-1, 1))[:, 0]
    player = LearnerPlayer("mine", LEARNER, seed=3)
    played = [player.play(form(rows), y).scores for rows, y in chunks(Y)]
    np.testing.assert_array_equal(np.concatenate(played), scores)
    at = player.checkpoint()
    wrong = is_mistake(scores, Y)
    assert (at.model, at.rounds, at.mistakes) == ("mine", ROWS, wrong.sum())
    after = wrong[ROWS - engine.rounds_since_switch :]
    assert at.mistakes_as_published == after.sum() < at.mistakes
    assert at.stored_points == engine.stored_points
    np.testing.assert_array_equal(player.engine.memory.floats, engine.memory.floats)
    assert play(LEARNER, chunks(Y), seed=3).mistakes == at.mistakes


@pytest.mark.parametrize("learner", [LEARNER, RBP(budget=9)], ids=["one", "a group"])
def test_a_learner_plays_labels_of_any_kind(learner):
    names = np.array(["a", "b", "c"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.3)]
    targets = np.where(names[:, None] == ["a", "b", "c"], 1.0, -1.0)
    engine = engine_for(learner, X.shape[1], 3, np.random.default_rng(0))
    scores = engine.learn(X, targets)
    player = LearnerPlayer("mine", learner, classes=["a", "b", "c"])
    np.testing.assert_array_equal(player.play(X, names).scores, scores)
    wrong = np.array(["a", "b", "c"])[scores.argmax(axis=1)] != names
    assert player.checkpoint().mistakes == wrong.sum()
    with pytest.raises(UnknownLabelError, match=r"'d'.*not among the classes"):
        player.play(X[:1], np.array(["d"]))


def test_an_engine_goes_on():
    engine = Engine(LEARNER, X.shape[1], 1, np.random.default_rng(0))
    engine.learn(X[:100], Y[:100].reshape(-1, 1))
    at = play(engine, [(X[100:], Y[100:])])
    assert at.rounds == 50
    assert engine.rounds == 150
    assert at.mistakes_as_published == at.mistakes


def test_a_learner_for_numbers_has_errors():
    learner = KOGD(kernel=Gaussian(1.5), loss=SquaredError())
    engine = Engine(learner, X.shape[1], 1, np.random.default_rng(0))
    scores = engine.learn(X, VALUES.reshape(-1, 1))[:, 0]
    at = play(learner, chunks(VALUES))
    assert at.squared_error == pytest.approx(np.mean((scores - VALUES) ** 2))


@pytest.mark.parametrize("delay", [0, 7])
def test_learners_and_players_are_models_of_prequential(delay):
    models = {"a": RBP(budget=9), "b": LearnerPlayer("b", RBP(budget=9), delay=delay)}
    found = list(prequential(models, chunks(Y), every=100, delay=delay))
    assert [(c.model, c.rounds) for c in found] == [(n, t) for t in (100, 150) for n in "ab"]
    for a, b in zip(found[::2], found[1::2], strict=True):
        assert (a.mistakes, a.loss, a.stored_points) == (b.mistakes, b.loss, b.stored_points)


def test_a_stream_without_rows_is_an_error():
    with pytest.raises(ValueError, match="no rows"):
        play(LEARNER, [])


@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("form", ["array", "frame", "sparse"])
def test_models_of_river_are_played_row_by_row(form, delay):
    linear_model = pytest.importorskip("river.linear_model")
    expected, wrong = linear_model.Perceptron(), []
    names = list("abcd") if form == "frame" else [f"x{j}" for j in range(4)]
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    for t, row in enumerate(rows):
        wrong.append(expected.predict_one(row) != (LABELS[t] == 1))
        if t >= delay:
            expected.learn_one(rows[t - delay], bool(LABELS[t - delay]))
    make = {"array": np.asarray, "frame": lambda X: pd.DataFrame(X, columns=names)}
    stream = [(make.get(form, csr_array)(rows), y) for rows, y in chunks(LABELS == 1)]
    (at,) = prequential(linear_model.Perceptron(), stream, delay=delay)
    assert at.mistakes == sum(wrong)
    assert np.isnan(at.loss)


def test_regressors_of_river_have_errors_and_no_weights():
    linear_model = pytest.importorskip("river.linear_model")
    (at,) = prequential(linear_model.LinearRegression(), chunks(VALUES))
    assert 0.0 < at.squared_error < 10.0
    with pytest.raises(ValueError, match="LinearRegression cannot learn with weights"):
        list(prequential(linear_model.LinearRegression(), [(X, VALUES, np.ones(ROWS))]))


def test_the_clock_counts_what_is_asked_for_only():
    clock, other = Clock(), Clock()
    assert list(clock.over(iter(range(3)))) == [0, 1, 2]
    spent = clock.seconds
    with other.running():
        sum(range(200_000))
    assert other.seconds > 0.0
    assert clock.seconds == spent


def test_the_warm_up_comes_once_for_each_kind():
    warm_up(RBP(budget=7), sparse=False, late=False)
    assert warm_up(RBP(budget=70), sparse=False, late=False) == 0.0


def test_models_of_others_have_probabilities_off_the_clock():
    river = pytest.importorskip("river.linear_model")
    last = {}
    for name, y in (("bool", LABELS == 1), ("signs", Y)):
        (last[name],) = prequential(river.LogisticRegression(), [(X, y)])
    p, model = [], river.LogisticRegression()
    for x, label in zip(X.tolist(), (LABELS == 1).tolist(), strict=True):
        row = {f"x{j}": value for j, value in enumerate(x)}
        p.append(model.predict_proba_one(row).get(True, 0.5))
        model.learn_one(row, label)
    assert last["bool"].figures["log_loss"] == pytest.approx(log_loss(LABELS == 1, p))
    assert np.isnan(last["signs"].figures["log_loss"])  # River speaks of False and True
    models = {"NB": GaussianNB(), "SGD": SGDClassifier(random_state=0)}
    last = {at.model: at for at in prequential(models, chunks(Y, 10), every=ROWS)}
    assert 0.0 < last["NB"].figures["brier_score"] < 1.0
    assert 0.5 < last["NB"].figures["auc"] <= 1.0
    assert np.isnan(last["SGD"].figures["brier_score"])
    assert 0.0 < last["SGD"].figures["auc"] <= 1.0  # of its scores


def test_a_clock_can_be_paused():
    clock = Clock()
    with clock.running():
        begun = time.process_time()
        with clock.paused():
            while time.process_time() < begun + 0.05:
                pass
    assert clock.seconds < 0.04
