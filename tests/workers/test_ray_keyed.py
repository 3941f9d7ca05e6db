"""One model per key on Ray's actors: what keys learn without Ray, whatever is killed."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from forks.compat.ray import KeyedActors
from forks.distributed import WorkerLostError
from forks.keyed import KeyedClassifier, KeyedRegressor
from forks.keyed.apart import ApartLearner

sys.path.append(str(Path(__file__).parents[1] / "keyed"))
from keyed_streams import keyed_stream

pytestmark = pytest.mark.slow
N_KEYS, FIRST, ROWS, BATCH = 200, 1000, 3000, 250
KEYS, X, Y = keyed_stream(FIRST + ROWS, N_KEYS)
KEYS = np.array(KEYS, dtype=object)
Y[FIRST + 7 :: 50] = np.nan  # no label: answered, not learned


@pytest.fixture(scope="module")
def model():
    return KeyedRegressor().partial_fit(KEYS[:FIRST], X[:FIRST], Y[:FIRST])


@pytest.fixture(scope="module")
def alone(model):
    """The answers to the rows after the first, and what each key keeps, without Ray."""
    learner, kept, answers = ApartLearner(model), {}, np.empty(ROWS)
    for key in np.unique(KEYS[FIRST:]):
        own = np.flatnonzero(KEYS[FIRST:] == key)
        answers[own], kept[key] = learner.play(key, None, X[FIRST:][own], Y[FIRST:][own])
    return answers, kept


def batches(start=0, stop=ROWS):
    for low in range(FIRST + start, FIRST + stop, BATCH):
        part = slice(low, min(low + BATCH, FIRST + stop))
        yield KEYS[part], X[part], Y[part]


def played(actors, start=0, stop=ROWS):
    return np.concatenate([actors.prequential(*batch) for batch in batches(start, stop)])


def records(model):
    table = model.corrections_.table
    return dict(zip(table.numbers, table.copies(np.arange(len(table))), strict=True))


def assert_kept(model, kept):
    found = records(model)
    for key, expected in kept.items():
        assert found[key].tobytes() == expected[8:]  # without the mark of the map


def saved(model, path):
    model.save(path)
    return path.read_bytes()


def kill(actors, k):
    """End the process of an actor."""
    import ray

    pid = ray.get(actors._actors[k].__ray_call__.remote(lambda share: os.getpid()))
    os.kill(pid, signal.SIGKILL)


def test_actors_learn_what_keys_learn_without_ray(ray, model, alone, tmp_path):
    before = saved(model, tmp_path / "before")
    files = []
    for n in (1, 3):
        with KeyedActors(model, tmp_path / f"{n}", actors=n, every=900) as actors:
            np.testing.assert_array_equal(played(actors), alone[0])
            gathered = actors.model()
        assert_kept(gathered, alone[1])
        files.append(saved(gathered, tmp_path / "gathered"))
        assert len(list((tmp_path / f"{n}").iterdir())) == n + 1  # no old files
    assert files[0] == files[1]
    assert saved(model, tmp_path / "after") == before


def test_an_actor_that_is_killed_begins_again_and_rows_count_once(ray, model, alone, tmp_path):
    actors = KeyedActors(model, tmp_path / "a", actors=2, every=1000)
    answers = []
    for number, batch in enumerate(batches()):
        answers.append(actors.prequential(*batch))
        if number in (0, 5, 6):  # before the first checkpoint, and after it
            kill(actors, number % 2)
    np.testing.assert_array_equal(np.concatenate(answers), alone[0])
    kill(actors, 0)
    gathered = actors.model()  # which makes a checkpoint
    assert_kept(gathered, alone[1])
    actors.close()
    whole = KeyedActors(model, tmp_path / "b", actors=2)
    played(whole)
    whole.close()
    for path in (tmp_path / "b").glob("share-*"):
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()


def test_a_restart_goes_on_from_the_checkpoint(ray, model, alone, tmp_path):
    with KeyedActors(model, tmp_path / "whole", actors=2) as whole:
        played(whole)
    first = KeyedActors(model, tmp_path / "cut", actors=2)
    played(first, 0, 1250)
    first.checkpoint()
    played(first, 1250, 2000)  # which are lost with this process
    (tmp_path / "cut" / "share-0-of-2-after-1750.forks").touch()  # it was killed while it wrote
    with KeyedActors(model, tmp_path / "cut") as again:
        assert (again.n_rows_, again.n_actors) == (1250, 2)
        np.testing.assert_array_equal(played(again, again.n_rows_), alone[0][1250:])
        assert_kept(again.model(), alone[1])
    names = [path.name for path in (tmp_path / "whole").iterdir()]
    assert sorted(names) == sorted(path.name for path in (tmp_path / "cut").iterdir())
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()
    first._end([0, 1])


def test_few_keys_in_memory_and_classes_with_names(ray, tmp_path):
    words = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 1] > 0.0, "middle", "low")).astype(object)
    known = KeyedClassifier(max_keys=60).partial_fit(KEYS[:FIRST], X[:FIRST], words[:FIRST])
    words[FIRST + 3 :: 40] = None
    with KeyedActors(known, tmp_path, actors=2) as actors:
        parts = np.array_split(np.arange(FIRST, FIRST + ROWS), 4)
        answers = [actors.prequential(KEYS[part], X[part], words[part]) for part in parts]
    learner, expected = ApartLearner(known), np.empty((ROWS, 3))
    for key in np.unique(KEYS[FIRST:]):
        own = np.flatnonzero(KEYS[FIRST:] == key)
        expected[own], _ = learner.play(key, None, X[FIRST:][own], words[FIRST:][own])
    np.testing.assert_array_equal(np.concatenate(answers), expected)


def test_bad_rows_change_nothing(ray, model, alone, tmp_path):
    some = slice(FIRST, FIRST + 100)
    far = X[some].copy()
    far[70, 1] = np.inf
    with KeyedActors(model, tmp_path, actors=2) as actors:
        for wrong, reason in (
            (([*KEYS[some][:-1], None], X[some], Y[some]), r"keys\[99\] is missing"),
            ((KEYS[some], far, Y[some]), "infinity"),
            ((KEYS[some], X[some], Y[some][:-1]), "y has 99 entries"),
            ((KEYS[some][:-1], X[some], Y[some]), "keys has 99 entries"),
        ):
            with pytest.raises(ValueError, match=reason):
                actors.prequential(*wrong)
        assert actors.n_rows_ == 0
        np.testing.assert_array_equal(played(actors, 0, 500), alone[0][:500])


def test_bad_arguments_and_folders(ray, model, tmp_path):
    cold = KeyedRegressor().partial_fit(KEYS[:100], X[:100], Y[:100])
    for wrong, given, reason in (
        (cold, {}, "let it learn 512 at least"),
        (KeyedRegressor(), {}, "has learned rows"),
        (model, {"actors": 0}, "actors must be"),
        (model, {"every": 0}, "every must be"),
        (model, {"tries": 0}, "tries must be"),
    ):
        with pytest.raises(ValueError, match=reason):
            KeyedActors(wrong, tmp_path / "none", **given)
    KeyedActors(model, tmp_path / "a", actors=2)
    with pytest.raises(ValueError, match=r"actors is 3, and the checkpoint .* has 2"):
        KeyedActors(model, tmp_path / "a", actors=3)
    other = KeyedRegressor().partial_fit(KEYS[:900], X[:900], np.nan_to_num(Y[:900]))
    with pytest.raises(ValueError, match="that of another model"):
        KeyedActors(other, tmp_path / "a")
    (tmp_path / "a" / "checkpoint.json").write_text('{"rows": 1}')
    with pytest.raises(ValueError, match="no checkpoint"):
        KeyedActors(model, tmp_path / "a")


def test_actors_that_always_die_or_whose_file_is_damaged_end_it(ray, model, tmp_path, monkeypatch):
    actors = KeyedActors(model, tmp_path, actors=1, tries=2)
    batch = KEYS[FIRST : FIRST + 9], X[FIRST : FIRST + 9], Y[FIRST : FIRST + 9]
    begun = actors._begun
    monkeypatch.setattr(actors, "_begun", lambda k, ask: begun(k, lambda k, a: dying(a)))
    with pytest.raises(WorkerLostError, match="1 of 1 tasks were lost 2 times"):
        actors.prequential(*batch)
    monkeypatch.undo()
    (path,) = tmp_path.glob("share-*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match="share-0-of-1"):
        actors.prequential(*batch)
    assert actors.n_rows_ == 0
    path.write_bytes(whole)
    assert np.isfinite(actors.prequential(*batch)).all()
    actors.close()


def dying(actor):
    return actor.__ray_call__.remote(lambda share: os.kill(os.getpid(), signal.SIGKILL))
