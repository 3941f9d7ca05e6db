"""Experts that sleep until their concept returns, against the oracle."""

import numpy as np
import pytest

from forks.engine import entry
from forks.oracles.recall import RecallOracle
from forks.parts.recall import (
    Recall,
    RecallRule,
    choose,
    follow_weights,
    forget_expert,
    is_asleep,
    is_kept,
    learned,
    recall_limits,
)

RULE = RecallRule()
EXPERTS = 5


@entry
def _play(rule, recall, W, slept, kept):
    for t in range(W.shape[0]):
        for e in range(W.shape[1]):
            slept[t, e] = is_asleep(rule, recall, e, W[t, e])
            kept[t, e] = is_kept(rule, recall, e, t)
            if not slept[t, e]:
                learned(recall, e, t)
        follow_weights(rule, recall, W[t])


def made():
    counts = (np.zeros(EXPERTS, dtype=np.int64) for _ in range(3))
    return Recall(*counts, np.zeros(EXPERTS))


def played(recall, W):
    slept, kept = np.zeros(W.shape, dtype=bool), np.zeros(W.shape, dtype=bool)
    _play.over()(RULE, recall, W, slept, kept)
    return slept, kept


def test_every_round_is_the_oracles():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(EXPERTS, 0.3), size=400)
    W[100:, 3] = 0.0  # sleeps for ever, and loses its place
    recall, oracle = made(), RecallOracle(EXPERTS)
    for e in (3, 1):
        choose(RULE, recall, e)
        oracle.choose(e)
    slept, kept = played(recall, W)
    for t, weights in enumerate(W):
        assert list(kept[t]) == [oracle.stays(e, t) for e in range(EXPERTS)]
        for e, weight in enumerate(weights):
            asleep = oracle.sleeps(e, weight)
            assert slept[t, e] == asleep
            if not asleep:
                oracle.learned[e].append(t)
        oracle.follow(weights)
    np.testing.assert_allclose(recall.usual, oracle.usual, rtol=1e-12)
    assert list(recall.awake) == list(map(len, oracle.learned))
    assert list(recall.last) == list(map(oracle.last, range(EXPERTS)))
    assert slept[:, 3].sum() > 300
    assert kept[150, 3]
    assert kept[20:, 1].all()


def test_a_place_is_kept_for_eight_times_as_long_as_the_expert_has_learned():
    recall = made()
    choose(RULE, recall, 2)
    W = np.zeros((200, EXPERTS))
    W[:10, 2] = 1.0
    _, kept = played(recall, W)
    assert np.flatnonzero(kept[:, 2])[-1] == 9 + 80


def test_of_three_the_one_that_has_slept_longest_is_an_ordinary_one_again():
    recall, oracle = made(), RecallOracle(EXPERTS)
    for e, last in ((0, 50), (4, 20), (2, 70)):
        recall.last[e] = last
        oracle.learned[e].append(last)
        choose(RULE, recall, e)
        oracle.choose(e)
    assert list(np.flatnonzero(recall.chosen)) == oracle.chosen == [0, 2]
    recall.last[1] = 5  # the new one itself stays, however long ago it has learned
    choose(RULE, recall, 1)
    assert list(np.flatnonzero(recall.chosen)) == [1, 2]


def test_a_new_expert_begins_anew():
    recall = made()
    choose(RULE, recall, 1)
    played(recall, np.full((20, EXPERTS), 0.2))
    forget_expert(recall, 1, 20)
    assert [array[1] for array in recall] == [0, 0, 20, 0.0]
    assert recall.chosen.sum() == 0


@pytest.mark.parametrize("field", Recall._fields)
def test_limits(field):
    recall = made()
    assert all(map(_holds, recall_limits(recall)))
    getattr(recall, field)[1] = -1
    assert not all(map(_holds, recall_limits(recall)))


def _holds(limit):
    return np.all(limit.low <= limit.values) and np.all(limit.values <= limit.high)
