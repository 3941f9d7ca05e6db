"""`forks.evaluate.learn`: outputs and checkpoints from Python."""

import json
import math
import signal
import threading

import numpy as np
import pytest

import forks
from forks import ModelFileError, OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators import saving
from forks.estimators.saving import as_bytes
from forks.evaluate import ClassificationMeasures, learn
from forks.evaluate._curve import Curve
from forks.evaluate._interrupts import uninterrupted
from forks.learners import RBP
from oracle_streams import made_up

X, Y = made_up(500, 5, 0)


def chunks(size=90, n=500):
    return [(X[a : min(a + size, n)], Y[a : min(a + size, n)]) for a in range(0, n, size)]


def small():
    return OnlineKernelClassifier(RBP(budget=10), random_state=0)


def outputs(folder):
    folder.mkdir(exist_ok=True)
    return {
        "predictions": folder / "p.csv",
        "metrics": folder / "m.jsonl",
        "checkpoint": folder / "c",
    }


def test_records_and_predictions_are_those_of_the_model(tmp_path):
    end = learn(small(), chunks(), every=200, **outputs(tmp_path))
    plain = small()
    scores = plain.prequential(X, Y)
    wrong = plain.labels_of(scores) != Y
    assert as_bytes(end.model) == as_bytes(plain)
    records = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [record["rows"] for record in records] == [200, 400, 500]
    assert [record["mistakes"] for record in records] == [wrong[:n].sum() for n in (200, 400, 500)]
    assert end.figures == records[-1]
    assert end.records.tolist() == [200, 400, 500]
    rows = end.curve["rows"].astype(int)
    assert rows.tolist() == [*range(4, 501, 4)]
    np.testing.assert_allclose(end.curve["rate"], [wrong[:n].mean() for n in rows])
    assert end.curve["recent"].tolist() == end.curve["rate"].tolist()  # all rows are recent
    measures = ClassificationMeasures([-1, 1])
    measures.update(Y, plain.labels_of(scores), scores)
    for name, value in measures.figures().items():
        assert end.figures[name] == (None if math.isnan(value) else value), name
    assert end.figures["classes"] == ["-1", "1"]
    assert end.figures["confusion"] == measures.confusion.tolist()
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "row,prediction,score,label"
    table = np.loadtxt(lines[1:], delimiter=",")
    np.testing.assert_array_equal(table[:, 0], np.arange(1, 501))
    np.testing.assert_array_equal(table[:, 2], scores)
    np.testing.assert_array_equal(table[:, 3], Y)
    assert forks.load(tmp_path / "c" / "checkpoint.forks").n_rounds_ == 500


def test_records_tell_what_mattered(tmp_path):
    end = learn(OnlineKernelClassifier(), chunks(), every=200, **outputs(tmp_path))
    assert set(end.relevance) == set(range(X.shape[1]))
    table = np.array([*end.relevance.values()])
    assert table.shape == (X.shape[1], 3)
    np.testing.assert_allclose(table.sum(axis=0), 1.0)
    assert (np.diff(table.sum(axis=1)) <= 0.0).all()
    last = [end.relevance[j][-1] for j in range(X.shape[1])]
    np.testing.assert_array_equal(last, end.model.feature_relevance_)
    again = learn(OnlineKernelClassifier(), chunks(), every=200, resume=True, **outputs(tmp_path))
    for feature, values in end.relevance.items():
        np.testing.assert_array_equal(again.relevance[feature], values)
    assert learn(small(), chunks(), every=200).relevance == {}


@pytest.mark.parametrize("n", [3, 255, 1024, 1025, 9001])
def test_a_curve_has_enough_points_and_not_too_many_whatever_the_chunks(n):
    values = np.random.default_rng(0).random(n)
    whole, cut = Curve(100), Curve(100)
    whole.update(values)
    for start in range(0, n, 61):
        cut.update(values[start : start + 61])
        again = Curve(100)
        again.restore(cut.arrays())
        cut = again
    table = whole.table()
    np.testing.assert_array_equal(table, cut.table())
    assert min(n // 4, 128) <= len(table) <= 257
    assert table[-1, 0] == n
    for rows, mean, recent in table[:: max(1, len(table) // 7)]:
        assert mean == pytest.approx(values[: int(rows)].mean())
        assert recent == pytest.approx(values[max(0, int(rows) - 100) : int(rows)].mean())


class Stopped(Exception):
    pass


def named():
    return OnlineKernelClassifier({"name": "forks", "budget": 20}, random_state=0)


def broken(parts, after):
    for number, part in enumerate(parts):
        if number == after:
            raise Stopped
        yield part


@pytest.mark.parametrize("model", [small, OnlineKernelClassifier, OnlineKernelRegressor, named])
@pytest.mark.parametrize("size", [37, 90, 500])
def test_a_broken_run_goes_on(model, size, tmp_path):
    expected = learn(model(), chunks(), every=60, **outputs(tmp_path / "whole"))
    there = outputs(tmp_path / "broken")
    for after in (0, 1, 3, 5, 9):  # the same stream from the beginning, and further each time
        with pytest.raises(Stopped):
            learn(model(), broken(chunks(37), after), every=60, resume=True, **there)
    end = learn(model(), chunks(size), every=60, resume=True, **there)
    assert end.figures == expected.figures
    assert as_bytes(end.model) == as_bytes(expected.model)
    for name in ("p.csv", "m.jsonl", "c/checkpoint.forks"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    again = learn(model(), chunks(size), every=60, resume=True, **there)  # nothing is left to do
    assert again.figures == expected.figures
    assert (tmp_path / "broken/p.csv").read_bytes() == (tmp_path / "whole/p.csv").read_bytes()


def test_an_interrupt_is_noted_at_the_row_that_was_reached(tmp_path):
    there = outputs(tmp_path / "broken")

    def stream():
        yield from chunks(70)[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(small(), stream(), every=1000, **there)
    assert forks.load(there["checkpoint"] / "checkpoint.forks").n_rounds_ == 210
    learn(small(), chunks(), every=1000, resume=True, **there)
    learn(small(), chunks(), every=1000, **outputs(tmp_path / "whole"))
    for name in ("p.csv", "m.jsonl", "c/checkpoint.forks"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_interrupts_wait_for_the_end_of_what_is_uninterrupted():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    thread = threading.Thread(target=lambda: uninterrupted().__enter__())
    thread.start()
    thread.join()


def test_what_cannot_be_resumed(tmp_path):
    there = outputs(tmp_path)
    learn(small(), chunks(n=200), every=100, **there)
    with pytest.raises(ValueError, match="there already"):
        learn(small(), chunks(), every=100, **there)
    with pytest.raises(ValueError, match="another every"):
        learn(small(), chunks(), every=50, resume=True, **there)
    other = OnlineKernelClassifier(RBP(budget=11), random_state=0)
    with pytest.raises(ValueError, match="another model"):
        learn(other, chunks(), every=100, resume=True, **there)
    with pytest.raises(ValueError, match="another note"):
        learn(small(), chunks(), every=100, resume=True, note={"file": "b"}, **there)
    with pytest.raises(ValueError, match="100 rows, but the checkpoint has learned 200"):
        learn(small(), chunks(n=100), every=100, resume=True, **there)
    with pytest.raises(ValueError, match="needs the folder"):
        learn(small(), chunks(), resume=True)
    path = there["checkpoint"] / "checkpoint.forks"
    saved = saving.read(path)
    old = {name: array for name, array in saved.arrays.items() if "curve_" not in name}
    saving.save(path, saved.model, saved.note, old)
    with pytest.raises(ValueError, match="of an earlier version"):
        learn(small(), chunks(), every=100, resume=True, **there)
    saving.save(path, saved.model, saved.note, saved.arrays)
    there["predictions"].write_text("")
    with pytest.raises(ValueError, match="has 0 bytes, but the checkpoint goes on after"):
        learn(small(), chunks(), every=100, resume=True, **there)
    small().save(path)
    with pytest.raises(ModelFileError, match="no checkpoint"):
        learn(small(), chunks(), every=100, resume=True, **there)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelFileError, match="cut short"):
        learn(small(), chunks(), every=100, resume=True, **there)


def test_bad_streams():
    with pytest.raises(ValueError, match="no rows"):
        learn(small(), [])
    with pytest.raises(ValueError, match="row 4: the label 7 is not among the classes -1, 1"):
        learn(small(), [(X[:5], [1, -1, 1, 7, 1])], classes=[-1, 1])
    with pytest.raises(ValueError, match="every"):
        learn(small(), chunks(), every=0)
