"""Rows that wait for their labels."""

import pytest

from forks.serve.pending import Fate, Pending


@pytest.fixture
def pending(tmp_path):
    base = Pending(tmp_path / "pending.sqlite", most=3, age=100.0)
    yield base
    base.close()


def ids(pending):
    where = "taken IS NULL AND dropped IS NULL"
    rows = pending._base.execute(f"SELECT id FROM pending WHERE {where} ORDER BY asked, id")
    return [id for (id,) in rows]


def test_a_label_is_taken_once(pending):
    assert pending.ask(1, "a", b"row", 0.0, 7)
    fate, waited = pending.take(2, "a", 1.0)
    assert (fate, waited.row, waited.rounds) == (Fate.LEARNED, b"row", 7)
    assert pending.take(3, "a", 1.0) == (Fate.TWICE, None)
    assert pending.take(3, "b", 1.0) == (Fate.UNKNOWN, None)
    assert pending.n == 0


def test_the_first_row_of_an_id_stays(pending):
    assert pending.ask(1, "a", b"first", 0.0, 0)
    assert not pending.ask(2, "a", b"second", 0.0, 0)
    assert pending.take(3, "a", 0.0)[1].row == b"first"


def test_the_oldest_go_if_there_are_too_many_or_if_they_are_too_old(pending):
    for number, id in enumerate("abcd", 1):
        pending.ask(number, id, b"", float(number), 0)
    assert ids(pending) == ["b", "c", "d"]
    assert pending.n == 3
    assert pending.take(5, "a", 5.0) == (Fate.LATE, None)
    pending.ask(6, "e", b"", 103.5, 0)
    assert ids(pending) == ["d", "e"]
    assert pending.take(7, "d", 104.5) == (Fate.LATE, None)  # nobody has asked meanwhile


@pytest.mark.parametrize("after", range(8))
def test_rewound_it_is_as_it_was(pending, after):
    steps = [
        lambda n: pending.ask(n, "a", b"", 1.0, 0),
        lambda n: pending.ask(n, "b", b"", 2.0, 0),
        lambda n: pending.take(n, "a", 3.0),
        lambda n: pending.ask(n, "c", b"", 4.0, 0),
        lambda n: pending.ask(n, "d", b"", 5.0, 0),  # and one goes
        lambda n: pending.take(n, "c", 6.0),
        lambda n: pending.ask(n, "e", b"", 150.0, 0),  # and all others go
    ]
    states = [(ids(pending), pending.n)]
    for number, step in enumerate(steps, 1):
        step(number)
        states.append((ids(pending), pending.n))
    pending.rewind(after)
    assert (ids(pending), pending.n) == states[after]
    for number, step in enumerate(steps[after:], after + 1):
        step(number)
        assert (ids(pending), pending.n) == states[number]


def test_what_a_checkpoint_has_no_need_of_goes(pending):
    pending.ask(1, "a", b"row", 0.0, 0)
    pending.take(2, "a", 0.0)
    pending.clean(2)
    assert pending._base.execute("SELECT row FROM pending").fetchall() == [(None,)]
    assert pending.take(3, "a", 1.0) == (Fate.TWICE, None)
