"""What the default learner of the River models knows: relevance, events, intervals, late labels."""

import copy
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="the River models need River")
pytest.importorskip("pandas", reason="mini-batches are data frames")

import pandas as pd

from forks import OnlineKernelRegressor
from forks.compat._late import LateLabels
from forks.compat.river import KernelClassifier, KernelMulticlassClassifier, KernelRegressor
from forks.learners import KOGD, OverTime
from forks.losses import SquaredError

N = 800
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
TARGETS = X[:, 1] + np.abs(X[:, 3]) + 0.1 * RNG.normal(size=N)
NAMES = ["p", "q", "r", "s"]
DICTS = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]


@pytest.fixture(scope="module")
def model():
    made = KernelRegressor()
    for x, y in zip(DICTS, TARGETS, strict=True):
        made.predict_one(x)
        made.learn_one(x, y)
    return made


@pytest.mark.parametrize("kind", [KernelClassifier, KernelMulticlassClassifier, KernelRegressor])
def test_effort_is_that_of_the_estimators(kind):
    assert isinstance(kind()._configured.learner, OverTime)
    best = kind(effort="best")
    assert best._configured.learner.experts == 10
    assert best.clone().effort == "best"
    assert not isinstance(kind(effort="fast")._configured.learner, OverTime)
    with pytest.raises(ValueError, match="effort must be one of"):
        kind(effort="most")


def test_relevance_and_events_by_name(model):
    relevance = model.feature_relevance_
    assert list(relevance) == NAMES
    assert sorted(relevance, key=relevance.get)[2:] in (["q", "s"], ["s", "q"])
    assert sum(relevance.values()) == pytest.approx(1.0)
    started = [event for event in model.events_ if "relevance" in event]
    assert started
    for event in started:
        assert event["relevance"]["name"] == NAMES[event["relevance"]["feature"]]
    again = pickle.loads(pickle.dumps(model))
    assert again.feature_relevance_ == relevance
    assert again.events_ == model.events_


def test_a_model_that_has_learned_nothing_knows_nothing():
    young = KernelRegressor()
    assert young.feature_relevance_ == {}
    assert young.events_ == []
    assert young.predict_interval_one({"a": 1.0}) == (-math.inf, math.inf)
    young.learn_one({"a": 1.0}, 2.0)
    assert young.feature_relevance_ == {}


def test_other_learners_know_neither():
    other = KernelRegressor(KOGD(loss=SquaredError()))
    for attribute in ("feature_relevance_", "events_"):
        assert not hasattr(other, attribute)
    with pytest.raises(ValueError, match="KOGD has no prediction intervals"):
        other.predict_interval_one({"a": 1.0})


# ---- intervals ---------------------------------------------------------------------------------


def test_intervals_are_those_of_the_array_regressor():
    model, plain = KernelRegressor(), OnlineKernelRegressor()
    scores, ends = plain.prequential(X[:400], TARGETS[:400], interval=0.8)
    for t in range(400):
        low, high = model.predict_interval_one(DICTS[t], coverage=0.8)
        if t > 0:
            np.testing.assert_array_equal([low, high], ends[t])
            assert low <= model.predict_one(DICTS[t]) == scores[t] <= high
        model.learn_one(DICTS[t], TARGETS[t])
    inside = (ends[:, 0] <= TARGETS[:400]) & (TARGETS[:400] <= ends[:, 1])
    assert inside[200:].mean() == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 2, "all"])
def test_coverage_is_between_0_and_1(coverage, model):
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_interval_one(DICTS[0], coverage)


def test_frames_are_answered_as_their_rows_are(model):
    frame = pd.DataFrame(DICTS[:50])
    same = copy.deepcopy(model)
    assert same.predict_many(frame).tolist() == [model.predict_one(x) for x in DICTS[:50]]


# ---- labels that come late ---------------------------------------------------------------------


class Told:
    """An engine that keeps what it is told."""

    def __init__(self):
        self.delays = []

    def expect_delay(self, n):
        self.delays.append(n)


def played(late, engine, steps):
    """Predict or learn rows: ("p", 3) and ("l", 3)."""
    for what, row in steps:
        if what == "p":
            late.predict_one([float(row)])
        elif late.predicted:
            late.learn_one([float(row)], engine)
    return engine.delays


@pytest.mark.parametrize("delay", [0, 1, 20])
def test_a_constant_delay_is_told_once(delay):
    steps = []
    for t in range(100):
        steps.append(("p", t))
        if t >= delay:
            steps.append(("l", t - delay))
    assert played(LateLabels(), Told(), steps) == ([delay] if delay else [])


def test_rows_predicted_again_or_never_learned_are_no_delay():
    again = [(what, t) for t in range(50) for what in "pppl"]
    assert played(LateLabels(), Told(), again) == []
    tested = [("p", 1000 + t) for t in range(30)]
    loop = [(what, t) for t in range(50) for what in "pl"]
    assert played(LateLabels(), Told(), tested + loop) == []
    skipped = [(what, t) for t in range(50) for what in ("pl" if t % 3 == 0 else "p")]
    assert played(LateLabels(), Told(), skipped) == []


def test_labels_that_come_all_at_once():
    steps = []
    for start in range(0, 60, 20):
        steps += [("p", t) for t in range(start, start + 20)]
        steps += [("l", t) for t in range(start, start + 20)]
    assert played(LateLabels(), Told(), steps) == [19]


def test_small_changes_of_the_delay_are_not_told():
    late, engine = LateLabels(), Told()
    played(late, engine, [("p", t) for t in range(41)])
    for t in range(41, 60):
        played(late, engine, [("l", t - 41), ("p", t), ("p", t + 0.5), ("l", 1e6 + t)])
    assert engine.delays[0] == 40
    assert len(engine.delays) <= 2
    late.predict_many(10)
    late.learn_many(10, engine)
    assert engine.delays[-1] == 9


def test_the_delay_reaches_the_engine():
    late, plain = KernelRegressor(), KernelRegressor()
    delay = 7
    for t in range(300):
        late.predict_one(DICTS[t])
        if t >= delay:
            late.learn_one(DICTS[t - delay], TARGETS[t - delay])
    assert late._late.delay == delay
    expected = OnlineKernelRegressor().partial_fit(X[:1], TARGETS[:1])
    before = expected.engine_.memory.ints.copy()
    expected.expect_delay(delay)
    (place,) = np.flatnonzero(expected.engine_.memory.ints != before)
    assert late._engine.memory.ints[place] == delay
    for t in range(100):
        plain.predict_one(DICTS[t])
        plain.learn_one(DICTS[t], TARGETS[t])
    assert plain._late.delay == 0
