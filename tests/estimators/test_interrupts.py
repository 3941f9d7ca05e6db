"""Interrupts: whatever they cut, a model is as after a whole row, and goes on as if alone."""

import copy
import random
import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone

from forks import OnlineKernelClassifier
from forks.engine import one_thread
from forks.engine.locks import ReadWriteLock
from forks.engine.threads import _inside, _libraries
from forks.estimators.saving import as_bytes
from forks.learners import KOGD
from interrupts import FIRST, MODELS, Cutter, X, course, labels, random_interrupts, started

ROWS = 110


def moments(work, most):
    """The moments at which a call can be cut: all, or a sample."""
    counter = Cutter()
    counter(work)
    every = range(1, counter.seen + 1)
    return every if most is None else sorted(random.Random(0).sample(every, min(most, len(every))))


def cut_everywhere(name, most):
    """Cut a call that learns, fits and grows; then look at the model and go on."""
    expected, y = course(name, ROWS), labels(name)
    chunk = X[FIRST:ROWS], y[FIRST:ROWS]
    rows = set()
    whole = copy.deepcopy(started(name))
    for k in moments(lambda: whole.partial_fit(*chunk), most):
        model, cutter = copy.deepcopy(started(name)), Cutter(k)
        with pytest.raises(KeyboardInterrupt):
            cutter(lambda model=model: model.partial_fit(*chunk))
        try:
            rows.add(expected.check(model))
        except AssertionError as error:
            error.add_note(f"cut at moment {k}, in {cutter.place}")
            raise
    assert len(rows) > 1


@pytest.mark.parametrize("name", MODELS)
def test_a_later_call_may_be_cut_anywhere(name):
    cut_everywhere(name, 60 if name == "group by name" else 15)  # where the rows are replayed


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_later_call_may_be_cut_everywhere(name):
    cut_everywhere(name, None)


@pytest.mark.parametrize("name", ["KOGD", "default", "first rows", "group by name"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interrupted_first_call_is_as_if_not_made(name, method):
    """Or, at its very end, as if the interrupt had come after it."""
    y = labels(name)[:60]

    def call(model):
        return getattr(model, method)(X[:60], y)

    whole = as_bytes(call(clone(MODELS[name])))  # what is made once is made here
    n_undone = 0
    counted = clone(MODELS[name])
    for k in moments(lambda: call(counted), 20):
        model = clone(MODELS[name])
        before = vars(model).copy()
        with pytest.raises(KeyboardInterrupt):
            Cutter(k)(lambda model=model: call(model))
        if vars(model) == before:
            n_undone += 1
        else:
            assert as_bytes(model) == whole
    assert n_undone >= 18
    if method == "fit":  # and what was fitted is there still
        model = copy.deepcopy(started(name))
        before = vars(model).copy()
        with pytest.raises(KeyboardInterrupt):
            Cutter(k // 2)(lambda: model.fit(X[:60], y))
        assert vars(model) == before
        course(name, ROWS).check(model)


def test_an_interrupt_and_another_while_it_is_repaired():
    """The second one leaves the event to the next call, of whatever kind."""
    expected, y = course("KOGD", ROWS), labels("KOGD")
    model = copy.deepcopy(started("KOGD"))
    handle, calls = KOGD.handle, []

    def interrupted(*_):
        calls.append(1)
        raise KeyboardInterrupt

    KOGD.handle = interrupted
    try:
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[FIRST:ROWS], y[FIRST:ROWS])
    finally:
        KOGD.handle = handle
    assert len(calls) > 1
    assert model.engine_._call is not None
    twin = copy.deepcopy(model)
    assert twin.n_rounds_ == model.n_rounds_
    expected.check(twin)
    model.predict(X[:2])
    expected.check(model)


def test_an_event_that_fails_is_asked_for_again(monkeypatch):
    """Out of memory, say: the model is as after the last whole row, and can be used."""
    expected, y = course("KOGD", ROWS), labels("KOGD")
    model = copy.deepcopy(started("KOGD"))

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(KOGD, "handle", fail)
        with pytest.raises(MemoryError):
            model.partial_fit(X[FIRST:ROWS], y[FIRST:ROWS])
        model.predict(X[:2])
    assert FIRST < model.n_rounds_ < ROWS
    expected.check(model)


def test_one_row_at_a_time_may_be_cut_anywhere():
    """The scratch that one row needs is that of the memory, also after it has grown."""
    engine = OnlineKernelClassifier(KOGD()).fit(X[:60], labels("KOGD")[:60]).engine_
    whole, play = copy.deepcopy(engine), labels("KOGD")[60:80]

    def learn(engine):
        return [engine.learn_one(x, y) for x, y in zip(X[60:80], play, strict=True)]

    expected, other = learn(whole), copy.deepcopy(engine)
    for k in moments(lambda: learn(other), 60):
        again = copy.deepcopy(engine)
        with pytest.raises(KeyboardInterrupt):
            Cutter(k)(lambda again=again: learn(again))
        r = again.rounds - 60
        rest = [again.learn_one(x, y) for x, y in zip(X[60 + r : 80], play[r:], strict=True)]
        assert rest == expected[r:]
        assert again.rounds == 80


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_real_interrupts():
    figures, places = random_interrupts(150)
    assert sum(figures.values()) == 150
    assert len(figures) > 15
    assert max(places.values()) > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_many_real_interrupts():
    figures, _ = random_interrupts(3000, seed=1, rows=250)
    assert sum(figures.values()) == 3000


def test_the_number_of_threads_of_blas_is_put_back():
    """An interrupt may come before, in and after the code that sets it."""
    before = [library.get_num_threads() for library in _libraries()]

    def work():
        with one_thread():
            assert {library.get_num_threads() for library in _libraries()} <= {1}

    for k in moments(work, None):
        with pytest.raises(KeyboardInterrupt):
            Cutter(k)(work)
        work()  # the next to come repairs it
        assert [library.get_num_threads() for library in _libraries()] == before
        assert _inside.entries == ()


def test_a_lock_is_never_left_held():
    """By a call that a real signal has cut: another thread gets it."""
    lock = ReadWriteLock()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in np.linspace(1e-5, 2e-3, 100):
            with pytest.raises(KeyboardInterrupt):
                _use_for_ever(lock, delay)
            got = threading.Thread(target=_use, args=[lock], daemon=True)
            got.start()
            got.join(20)
            assert not got.is_alive()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _use(lock):
    with lock.alone:
        lock.claim()
    with lock.lane():
        lock.readable()
    with lock.alone:
        lock.open()


def _use_for_ever(lock, delay):
    signal.setitimer(signal.ITIMER_REAL, delay)
    while True:
        _use(lock)
