"""Which experts forks of the default learner have, and how they are judged."""

import pickle

import numpy as np
import pytest

import forks
from forks import OnlineKernelClassifier
from forks.engine import Engine, one_thread
from forks.estimators.saving import as_bytes
from forks.learners import Machine, OverTime
from forks.learners.mixture import CATCHING_UP, COUNT, EMPTY, LIVE
from forks.parts.experts import NEXT, PAIR, SETTLED
from oracle_streams import made_up

D, BUFFER, WINDOW = 5, 40, 500
X, Y = made_up(4000, D)
TRIO = [0, 1, PAIR]


def model_of(rows):
    machine = Machine(buffer=BUFFER)
    learner = OverTime(learner=machine, long=None, experts=4, window=WINDOW)
    return OnlineKernelClassifier(learner).partial_fit(X[:rows], Y[:rows])


def view_of(model):
    return model.learner_.view(model.engine_.memory)


def merged_after(model, rows, told):
    """Return two forks merged that have learned the next rows."""
    parts, begin = model.fork(2, rows=told), model.n_rounds_
    for k, part in enumerate(parts):
        part.partial_fit(X[begin + k : begin + rows : 2], Y[begin + k : begin + rows : 2])
    return forks.merge(parts)


def test_a_challenger_that_is_behind_learns_the_rows_that_are_kept():
    model = model_of(1010)  # the challenger is due after 1,000
    view = view_of(model)
    (e,) = np.flatnonzero(view.places.status[:2] == CATCHING_UP)
    behind = int(view.places.next[e])
    assert 1010 - WINDOW < behind < 1000
    machine, memory = model.learner_.learner, model.learner_.memory_of(view, e)
    alone = Engine.restored(machine, D, 1, memory, 0, None)
    rest = [t for t in range(behind, 1010) if view.picks.marks[t % WINDOW] == 0]
    assert BUFFER / 2 < 1010 - behind - len(rest) < BUFFER  # others were learned first
    alone.learn(X[rest], Y[rest].reshape(-1, 1))
    with one_thread():
        expected = machine.forked(alone.memory)
    fork = model.fork(2)[0]
    assert view_of(fork).places.status[e] == LIVE
    assert view_of(fork).experts.weights[SETTLED, e] > 0.0
    got = fork.learner_.memory_of(view_of(fork), e)
    np.testing.assert_allclose(got.floats, expected.floats, rtol=1e-9, atol=1e-12)
    assert view_of(model).places.status[e] == CATCHING_UP  # the model stays as it was


def test_a_challenger_that_would_come_due_starts_with_the_forks():
    model = model_of(700)
    before = as_bytes(model)
    none = view_of(model.fork(2, rows=300)[0])
    assert none.counts[COUNT.challenges] == 0
    soon = view_of(model.fork(2, rows=301)[0])
    assert soon.counts[COUNT.challenges] == 1
    assert (soon.places.status[:2] == LIVE).all()
    assert as_bytes(model) == before
    merged = view_of(merged_after(model, 400, told=400))
    assert merged.places.born[:2].tolist() == [0, 700]
    assert merged.counts[COUNT.challenge] == 3000
    assert merged.counts[COUNT.challenges] == 1


def test_challengers_that_would_have_come_and_gone_are_counted():
    merged = view_of(merged_after(model_of(700), 3200, told=3200))
    assert merged.counts[COUNT.challenge] == 9000  # 1,000 came with the forks, 3,000 has gone
    assert merged.counts[COUNT.challenges] == 2
    untold = view_of(merged_after(model_of(700), 3200, told=0))
    assert untold.counts[COUNT.challenge] == 1000  # overdue: it starts with the next row
    assert untold.counts[COUNT.challenges] == 0


@pytest.mark.parametrize(("odds", "leaves"), [(9.0, 1), (11.0, 0)])
def test_the_champion_makes_room_for_a_challenger_that_leads(odds, leaves):
    model = model_of(1400)
    weights = view_of(model).experts.weights
    weights[:] = 0.0
    weights[:, :2] = 1.0 / (1.0 + odds), odds / (1.0 + odds)
    fork = view_of(model.fork(2, rows=2000)[0])
    born = fork.places.born[:2] - (2**53 - 1400)
    assert born[leaves] == 1400
    assert born[1 - leaves] == (0, 1000)[1 - leaves]


def test_experts_of_little_weight_leave():
    model = model_of(900)
    view = view_of(model)
    (e,) = np.flatnonzero((view.places.status == LIVE) & (view.places.tracks == 0))[1:]
    for weight, status in ((0.051, LIVE), (0.049, EMPTY)):
        view.experts.weights[:, e] = weight
        assert view_of(model.fork(2)[0]).places.status[e] == status


def test_weighed_anew_the_long_experts_begin_alike():
    fork = model_of(1400).fork(2)[0]
    before, scores = view_of(fork).experts.weights.copy(), fork.score_ahead(X[:50])
    fork._weigh_anew()
    weights = view_of(fork).experts.weights
    np.testing.assert_array_equal(weights[NEXT], before[NEXT])
    np.testing.assert_array_equal(fork.score_ahead(X[:50]), scores)
    np.testing.assert_allclose(weights[SETTLED, TRIO], before[SETTLED, TRIO].mean())
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_what_forks_began_with_is_not_sent():
    model = model_of(700)
    parts = model.fork(2, rows=400)
    sent = pickle.dumps(parts[0])
    assert len(sent) < 2.5 * len(pickle.dumps(model))
    back = [pickle.loads(sent), pickle.loads(pickle.dumps(parts[1]))]
    assert as_bytes(forks.merge(back)) == as_bytes(forks.merge(parts))


def test_merged_the_mean_with_a_new_challenger_enters_again():
    merged = view_of(merged_after(model_of(700), 400, told=400))
    weights = merged.experts.weights
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights[:, PAIR] == weights.max(axis=1)).all()
    parts = model_of(1400).fork(2)  # without a new one weights are the means of those of forks
    for k, part in enumerate(parts):
        part.partial_fit(X[1400 + k : 1700 : 2], Y[1400 + k : 1700 : 2])
    means = np.mean([view_of(part).experts.weights for part in parts], axis=0)
    np.testing.assert_allclose(view_of(forks.merge(parts)).experts.weights, means, rtol=1e-12)


def test_of_a_share_the_second_half_judges():
    from forks.distributed.partitions import learn_share

    fork = model_of(1400).fork(2)[0]
    learned, rest, _, scores = learn_share(0, fork, (X, Y), 1400, 1810, 10)
    assert (len(scores), len(rest)) == (400, 10)
    fork.partial_fit(X[1400:1600], Y[1400:1600])
    fork._weigh_anew()
    fork.partial_fit(X[1600:1800], Y[1600:1800])
    assert as_bytes_of_engine(learned) == as_bytes_of_engine(fork)


def as_bytes_of_engine(model):
    return b"".join(array.tobytes() for array in model.engine_.memory)
