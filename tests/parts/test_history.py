"""Lines of the history: what they hold, and how they are read."""

import numpy as np
import pytest

from forks.engine import Points, entry
from forks.features.scaling import Scale
from forks.kernels import Gaussian
from forks.parts.history import (
    ALARM,
    CHALLENGE,
    START,
    History,
    differences,
    events,
    follow_leader,
    history_limits,
    write_start,
)
from forks.parts.landmarks import LandmarkMap, fit_map


@entry
def _follow_leader(history, t, weights, born):
    follow_leader(history, t, weights, born)


def new():
    return History(np.zeros(2, np.int64), np.zeros((64, 8)))


def test_lines_are_read_as_events():
    history, born = new(), np.array([0, 40, 90])
    write_start(history, 100, START, 1, 250, (3, 2.0, 5, 0.5))
    _follow_leader.over()(history, 128, np.array([0.3, 0.6, 0.1, 0.0, 0.0]), born)
    write_start(history, 300, CHALLENGE, 1, 300, (0, 1.0, 0, 0.0))
    write_start(history, 310, ALARM, 2, 16, (1, 0.1, 2, 5.0))
    start, lead, challenge, alarm = events(history)
    assert start == {
        "round": 100,
        "event": "start",
        "expert": 1,
        "rows": 250,
        "relevance": {"feature": 3, "ratio": 2.0},
        "shift": {"feature": 5, "deviations": 0.5},
    }
    assert lead == {"round": 128, "event": "lead", "expert": 1, "started": 40, "odds": 2.0}
    assert (challenge["event"], challenge["rows"]) == ("challenge", 300)
    assert (alarm["event"], alarm["shift"]) == ("alarm", {"feature": 2, "deviations": 5.0})


def test_a_leader_has_more_than_half_of_all_weight_and_is_written_once():
    history, born = new(), np.array([0, 40, 90])
    follow = _follow_leader.over()
    follow(history, 1, np.array([0.9, 0.1, 0.0, 0.0, 0.0]), born)  # the first one led already
    follow(history, 2, np.array([0.4, 0.5, 0.1, 0.0, 0.0]), born)
    follow(history, 3, np.array([0.1, 0.1, 0.0, 0.8, 0.0]), born)  # the last label is no learner
    assert events(history) == []
    for t in (4, 5):
        follow(history, t, np.array([0.0, 0.1, 0.9, 0.0, 0.0]), born)
    (lead,) = events(history)
    assert (lead["round"], lead["expert"], lead["started"]) == (4, 2, 90)
    assert np.isfinite(lead["odds"])


def test_the_last_lines_are_kept_oldest_first():
    history = new()
    for t in range(150):
        write_start(history, t, START, 0, 1, (0, 1.0, 0, 0.0))
    assert [event["round"] for event in events(history)] == list(range(86, 150))


def test_differences_name_the_feature_that_matters_now_and_the_one_that_has_moved():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1.0, 10.0, 0.1, 5.0]
    points = Points(np.zeros((4, 200)), np.zeros((2, 200)))
    scale = Scale(*(np.zeros(4) for _ in range(3)), np.zeros(1))
    map = LandmarkMap(np.array([0, 4, 0, 0, 0]), np.zeros(1), np.ones(1), np.ones(4), scale, points)
    fit_map(map, Gaussian(), X, np.ones(200), True, True)
    moved = X.copy()
    moved[:, 2] += 0.3
    feature, ratio, shifted, deviations = differences(map, np.array([1.0, 0.2, 1.1, 1.0]), moved)
    assert (feature, shifted) == (1, 2)
    assert ratio == pytest.approx(0.2, abs=0.01)
    assert deviations == pytest.approx(3.0, rel=0.2)
    _, ratio, _, deviations = differences(map, np.ones(4), X)
    assert ratio == pytest.approx(1.0)
    assert deviations < 0.1


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_differences_of_constant_and_of_huge_features_are_finite():
    X = np.column_stack([np.full(50, 2.0), np.linspace(0.0, 1e300, 50)])
    points = Points(np.zeros((2, 56)), np.zeros((2, 56)))
    scale = Scale(*(np.zeros(2) for _ in range(3)), np.zeros(1))
    map = LandmarkMap(np.array([0, 2, 0, 0, 0]), np.zeros(1), np.ones(1), np.ones(2), scale, points)
    fit_map(map, Gaussian(), X, np.ones(50), True, True)
    for rows in (X, X + 1.0, -X):
        assert np.isfinite(differences(map, np.array([0.0, 1.4]), rows)).all()


def test_limits_refuse_what_events_could_not_read():
    good = new()
    write_start(good, 5, ALARM, 1, 16, (0, 1.0, 0, 0.0))
    assert all(np.all((v >= low) & (v <= high)) for _, v, low, high in history_limits(good, 3))
    for change in ((0, -1), (1, 3), (1, -1)):
        bad = new()
        bad.written[change[0]] = change[1]
        assert any(np.any((v < low) | (v > high)) for _, v, low, high in history_limits(bad, 3))
    bad = new()
    bad.lines[7, 1] = 4.0
    assert any(np.any((v < low) | (v > high)) for _, v, low, high in history_limits(bad, 3))
