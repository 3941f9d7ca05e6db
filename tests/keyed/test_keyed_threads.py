"""Threads that share a keyed model, and the thread that it uses itself."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks.keyed import KeyedClassifier, KeyedRegressor, base, load

KEYS, X, Y = keyed_stream(3000, 40)
LABELS = np.where(Y > 1.0, "high", np.where(Y > -0.5, "mid", "low"))


@pytest.mark.parametrize("block", [1, 100, 1000])
def test_two_threads_give_the_bits_of_one(block, monkeypatch, tmp_path):
    """Whatever the blocks are that one thread has while the other is at the next."""
    rows = 300 if block == 1 else 3000
    part = slice(0, rows)
    for kind, y in ((KeyedRegressor, Y), (KeyedClassifier, LABELS)):
        plain, model = kind(rank=5), kind(rank=5)
        with monkeypatch.context() as patch:
            patch.setattr(base, "in_two_steps", _in_one_thread)
            expected = plain.prequential(KEYS[part], X[part], y[part])
            answers = plain.predict(KEYS, X)
        with monkeypatch.context() as patch:
            patch.setattr("forks.keyed.corrections.BLOCK", block)
            patch.setattr(base, "BLOCK", block)
            scores = model.prequential(KEYS[part], X[part], y[part])
            np.testing.assert_array_equal(model.predict(KEYS, X), answers)
        np.testing.assert_array_equal(scores, expected)
        for each, name in ((plain, "a"), (model, "b")):
            each.save(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def _in_one_thread(blocks, first, second):
    for block in blocks:
        second(block, first(block))


def test_an_error_in_the_other_thread_is_raised(monkeypatch):
    model = KeyedRegressor(rank=3).partial_fit(KEYS[:600], X[:600], Y[:600])

    def play(*rows):
        raise MemoryError("no room for records")

    monkeypatch.setattr("forks.keyed.corrections.BLOCK", 100)
    monkeypatch.setattr(model.corrections_, "play", play)
    with pytest.raises(MemoryError, match="no room"):
        model.partial_fit(KEYS[600:], X[600:], Y[600:])
    assert not [t for t in threading.enumerate() if t.name.startswith("forks-keyed")]


@pytest.mark.parametrize("most", [None, 8])
def test_rows_of_several_threads_are_each_learned_once(most, tmp_path):
    """Each thread has keys of its own; the rows of a call stay together."""
    model = KeyedRegressor(rank=5, max_keys=most, folder=tmp_path)

    def learn(start):
        model.partial_fit(KEYS[start : start + 50], X[start : start + 50], Y[start : start + 50])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn, range(0, 3000, 50)))
    assert model.n_rounds_ == 3000
    records = np.concatenate(list(model.corrections_.table.blocks()))
    assert records[:, 0].sum() == 3000
    assert model.n_keys_ == len(set(KEYS))


@pytest.mark.parametrize("kind", [KeyedRegressor, KeyedClassifier])
def test_answers_are_those_between_two_calls(kind, tmp_path):
    """A class that comes late, too, is there for a whole answer or not at all; so are files."""
    y = Y if kind is KeyedRegressor else np.where(np.arange(3000) > 1500, LABELS, "mid")
    starts = range(600, 3000, 200)
    model, plain = (kind(rank=5, max_keys=10, folder=tmp_path) for _ in range(2))
    some = [KEYS[i] for i in range(0, 3000, 100)], X[::100]
    expected = []
    for each in (model, plain):
        each.partial_fit(KEYS[:600], X[:600], y[:600])
    expected.append(plain.predict(*some).tolist())
    for start in starts:
        part = slice(start, start + 200)
        plain.partial_fit(KEYS[part], X[part], y[part])
        expected.append(plain.predict(*some).tolist())
    found, files, done = [], [], threading.Event()

    def ask(number):
        while not done.is_set():
            found.append(model.predict(*some).tolist())
            if number == 0:
                model.save(tmp_path / f"{len(files)}.forks")
                files.append(tmp_path / f"{len(files)}.forks")

    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(ask, number) for number in range(3)]
        try:
            for start in starts:
                part = slice(start, start + 200)
                model.partial_fit(KEYS[part], X[part], y[part])
        finally:
            done.set()
        for each in asking:
            each.result()
    assert len(found) >= 3
    assert all(answers in expected for answers in found)
    for file in (files[0], files[-1]):
        assert load(file).predict(*some).tolist() in expected


def test_threads_that_come_first():
    """None of their rows is lost."""
    for _ in range(5):
        model, go = KeyedRegressor(rank=3), threading.Barrier(4)

        def learn(start, model=model, go=go):
            go.wait()
            model.partial_fit(KEYS[start::60], X[start::60], Y[start::60])

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(learn, range(4)))
        assert model.n_rounds_ == 200
