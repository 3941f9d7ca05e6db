"""Rows that become landmarks, against the oracle."""

import numpy as np
import pytest

from forks.engine import entry
from forks.oracles.picks import RowsInTurn, doubt
from forks.parts.picks import (
    OWNER,
    Picks,
    leave_picks,
    next_row,
    note_doubt,
    pick,
    picks_limits,
)

SIZE = 40  # rows kept
EXPERT = 3


@entry
def _note(picks, Q, start):
    for i in range(Q.shape[0]):
        note_doubt(picks, start + i, Q[i])


@entry
def _catch_up(picks, e, begin, start, Q, pace, learned):
    """Learn `pace` rows a round, while each round brings a row; return how many."""
    t, n = begin, 0
    for i in range(Q.shape[0]):
        note_doubt(picks, start + i, Q[i])
        rounds = start + i + 1
        for _ in range(pace):
            t = next_row(picks, e, t, rounds)
            if t >= rounds:
                return n
            learned[n] = t
            t, n = t + 1, n + 1
    return n


def made():
    return Picks(np.zeros(SIZE), np.zeros(SIZE, dtype=np.int64), np.zeros(4, dtype=np.int64))


def probabilities(n, n_outputs, seed=0):
    """Of +1, or of each class."""
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, 1)) if n_outputs == 1 else rng.dirichlet(np.ones(n_outputs), size=n)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("begin", "n", "pace"), [(70, 12, 3), (57, 12, 2), (75, 5, 1)])
def test_rows_come_in_the_order_of_the_oracle(n_outputs, begin, n, pace):
    """Slow experts lose rows, picked ones too, that leave the ring before their turn."""
    rounds, more = 96, 60
    Q = probabilities(rounds + more, n_outputs)
    doubts = [doubt(q) for q in Q]
    picks, rows = made(), RowsInTurn(begin)
    _note.over()(picks, Q[:rounds], 0)
    np.testing.assert_allclose(picks.doubts[np.arange(56, 96) % SIZE], doubts[56:96], rtol=1e-12)
    rows.pick(doubts[:rounds], n)
    if rows.picked:
        pick(picks, EXPERT, begin, rounds, n)
    learned = np.zeros(1000, dtype=np.int64)
    count = _catch_up.over()(picks, EXPERT, begin, rounds, Q[rounds:], pace, learned)
    expected = []
    for now in range(rounds + 1, rounds + more + 1):
        for _ in range(pace):
            t = rows.first(now - SIZE)
            if t < now:
                expected.append(t)
                rows.learned(t)
    assert list(learned[:count]) == expected[:count]
    if pace == 3:  # nothing is lost
        assert expected[:n] == rows.picked
        assert sorted(expected[:count]) == list(range(begin, begin + count))


def test_other_experts_learn_the_rows_as_they_came():
    picks, Q = made(), probabilities(80, 1)
    _note.over()(picks, Q[:30], 0)
    pick(picks, EXPERT, 0, 30, 8)
    learned = np.zeros(100, dtype=np.int64)
    count = _catch_up.over()(picks, EXPERT + 1, 4, 30, Q[30:], 4, learned)
    assert list(learned[:count]) == list(range(4, 4 + count))
    leave_picks(picks, EXPERT + 1)
    assert picks.turn[OWNER] == EXPERT + 1
    leave_picks(picks, EXPERT)
    assert not picks.marks.any()
    assert not picks.turn.any()


def test_rows_near_the_border_are_picked():
    picks, x = made(), np.linspace(-3.0, 3.0, SIZE)
    _note.over()(picks, 1.0 / (1.0 + np.exp(-4.0 * x[:, None])), 0)
    pick(picks, EXPERT, 0, SIZE, 10)
    assert np.abs(x[picks.marks == 1]).max() < np.abs(x[picks.marks == 0]).min()


@pytest.mark.parametrize("field", Picks._fields)
def test_limits(field):
    picks = made()
    assert all(map(_holds, picks_limits(picks, 7, 100)))
    getattr(picks, field)[2] = -1
    assert not all(map(_holds, picks_limits(picks, 7, 100)))


def _holds(limit):
    return np.all(limit.low <= limit.values) and np.all(limit.values <= limit.high)
