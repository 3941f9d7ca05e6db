"""River models that threads share, and that interrupts cut."""

import copy
import pickle
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("river", reason="the River models need River")
pytest.importorskip("pandas", reason="mini-batches are data frames")

import pandas as pd

from forks.compat.river import KernelClassifier, KernelMulticlassClassifier, KernelRegressor
from forks.learners import BPAS, KOGD, Adaptive
from forks.losses import SquaredError
from interrupts import Alarm, Cutter

rng = np.random.default_rng(0)
VALUES = rng.standard_normal((110, 6))
# names that come late, labels that come late
DICTS = [
    {f"x{j}": value for j, value in enumerate(row[: 2 + min(4, i // 20)].tolist())}
    for i, row in enumerate(VALUES)
]
TWO = (VALUES[:, 0] * VALUES[:, 1] > 0.0).tolist()
THREE = [
    ("a", "b", "c", "d")[min(i // 10, int(2 + v))] for i, v in enumerate(np.sign(VALUES[:, 0]))
]
NUMBERS = (VALUES[:, 0] * VALUES[:, 1]).tolist()
KINDS = {
    "two classes": (lambda: KernelClassifier(KOGD()), TWO),
    "default": (lambda: KernelClassifier(Adaptive(buffer=32)), TWO),
    "many classes": (lambda: KernelMulticlassClassifier(Adaptive(buffer=32)), THREE),
    "group": (lambda: KernelMulticlassClassifier(BPAS(budget=10)), THREE),
    "regression": (lambda: KernelRegressor(KOGD(loss=SquaredError())), NUMBERS),
    "by name": (lambda: KernelClassifier("nogd", seed=0), TWO),
    "group by name": (lambda: KernelMulticlassClassifier("bpa-s", seed=0), THREE),
}


def rounds(model):
    return 0 if model._engine is None else model._engine.rounds


def one_by_one(model, targets, stop=110):
    while (r := rounds(model)) < stop:
        model.predict_one(DICTS[r])
        model.learn_one(DICTS[r], targets[r])


def frames(model, targets, stop=110):
    while (r := rounds(model)) < stop:
        rows = slice(r, min(r + 30, stop))
        model.learn_many(pd.DataFrame(DICTS[rows]).fillna(0.0), pd.Series(targets[rows]))


def state(model):
    """All that predictions depend on."""
    engines = getattr(model._engine, "engines", [model._engine])
    arrays = [array.tobytes() for each in engines for array in each.memory]
    return arrays, model._index.columns, model._index.width, model._known, rounds(model)


def check(model, expected, learn, targets):
    """Ask that a model can be used, copied, and goes on as one that was never interrupted."""
    model.predict_one(DICTS[-1])
    model.predict_many(pd.DataFrame(DICTS[:3]).fillna(0.0))
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again, copy.deepcopy(model)):
        learn(each, targets)
        assert state(each) == expected


@pytest.mark.parametrize("learn", [one_by_one, frames])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_may_be_cut_anywhere(kind, learn):
    make, targets = KINDS[kind]
    learn(make(), targets)  # compiles
    whole, counter = make(), Cutter()
    counter(lambda: learn(whole, targets, 60))
    learn(whole, targets)
    expected = state(whole)
    most = 30 if learn is one_by_one else 12
    for k in sorted(random.Random(0).sample(range(1, counter.seen + 1), most)):
        model = make()
        with pytest.raises(KeyboardInterrupt):
            Cutter(k)(lambda model=model: learn(model, targets, 60))
        if learn is frames:  # the rows after the cut make up other frames
            one_by_one(model, targets)
            assert rounds(model) == 110
        else:
            check(model, expected, learn, targets)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_real_interrupts(kind):
    make, targets = KINDS[kind]
    whole = make()
    one_by_one(whole, targets)
    start = time.perf_counter()
    one_by_one(make(), targets)
    seconds, cut = time.perf_counter() - start, 0
    with Alarm(0) as alarm:
        while cut < 20:
            model = make()
            if alarm.cuts(lambda model=model: one_by_one(model, targets), seconds):
                cut += 1
                check(model, state(whole), one_by_one, targets)


def shared_model():
    model = KernelRegressor(KOGD(loss=SquaredError()))
    for x, y in zip(DICTS, NUMBERS, strict=True):
        model.learn_one(x, y)
    return model


def wrong_answers(n, threads=8):
    """Predictions of several threads, of which another learns rows of weight zero."""
    model = shared_model()
    expected = [model.predict_one(x) for x in DICTS]
    done = threading.Event()

    def ask(seed):
        order = np.random.default_rng(seed).integers(len(DICTS), size=n // threads).tolist()
        return sum(model.predict_one(DICTS[i]) != expected[i] for i in order)

    def learn():
        while not done.is_set():
            model.learn_one(DICTS[-1], 5.0, 0.0)

    with ThreadPoolExecutor(threads + 1) as pool:
        learning = pool.submit(learn)
        wrong = sum(pool.map(ask, range(threads)))
        done.set()
        learning.result()
    return wrong


def test_threads_never_see_the_answer_of_another_row():
    assert wrong_answers(40_000) == 0


@pytest.mark.slow
def test_a_million_predictions_of_eight_threads():
    assert wrong_answers(1_000_000) == 0


def test_locks_are_not_copied():
    model = shared_model()
    with model._lock:
        for again in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
            assert again._lock is not model._lock
            with ThreadPoolExecutor(1) as pool:
                answer = pool.submit(again.predict_one, DICTS[0]).result(timeout=20)
            assert answer == model.predict_one(DICTS[0])


def test_a_copy_is_another_model():
    model = shared_model()
    before, other = model.predict_one(DICTS[0]), copy.copy(model)
    other.learn_one({"new": 1.0, **DICTS[0]}, 100.0)
    assert model.predict_one(DICTS[0]) == before
    assert "new" not in model._index.columns
