"""Keys that learn apart from a model that stays: the same however rows are cut."""

import pickle

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks.keyed import KeyedClassifier, KeyedRegressor
from forks.keyed.apart import ApartLearner
from forks.keyed.shares import gathered, share_numbers, share_of

ROWS, FIRST, N_KEYS = 3000, 1500, 20
KEYS, X, Y = keyed_stream(ROWS, N_KEYS)
OWN = [row for row in range(FIRST, ROWS) if KEYS[row] == "key 3"]


@pytest.fixture(scope="module")
def learner():
    return ApartLearner(KeyedRegressor().partial_fit(KEYS[:FIRST], X[:FIRST], Y[:FIRST]))


def played(learner, cuts, key="key 3", y=Y):
    """Play the rows of a key in some pieces."""
    kept, answers = None, []
    for part in np.split(np.array(OWN), cuts):
        scores, kept = learner.play(key, kept, X[part], y[part])
        answers.append(scores)
    return np.concatenate(answers), kept


def test_answers_do_not_depend_on_how_rows_are_cut(learner):
    before = pickle.dumps(learner.model)
    whole, kept = played(learner, [])
    cut, same = played(learner, [1, 2, 7, 40])
    np.testing.assert_array_equal(cut, whole)
    assert kept == same
    assert len(kept) == learner.bytes_per_key == 8 + learner.model.bytes_per_key_
    assert pickle.dumps(learner.model) == before


@pytest.mark.parametrize(("n", "max_keys"), [(1, None), (3, None), (3, 5)])
def test_shares_of_the_keys_learn_together_what_keys_learn_alone(n, max_keys):
    some = slice(0, FIRST)
    new = [7, "7", "a new one"]
    keys = [*KEYS[: ROWS - 600], *(new * 200)]
    model = KeyedRegressor(max_keys=max_keys).partial_fit(KEYS[some], X[some], Y[some])
    before, rest = pickle.dumps(model), np.arange(FIRST, ROWS)
    numbers, answers, shares = share_numbers(keys, n), np.empty(len(rest)), []
    for k in range(n):
        learner = ApartLearner(share_of(model, k, n))
        own = rest[numbers[rest] == k]
        for part in np.array_split(own, 3):
            rows = learner.checked(X[part], Y[part])
            answers[part - FIRST] = learner.play_here([keys[i] for i in part], rows)
        shares.append(learner.model)
    assert sum(share.n_keys_ for share in shares) == N_KEYS + 3
    assert pickle.dumps(model) == before
    whole = gathered(model, shares)
    table = whole.corrections_.table
    assert list(table.numbers) == [*model.corrections_.table.numbers, *new]
    alone = ApartLearner(model)
    for key in {*keys[FIRST:]}:
        own = np.array([i for i in rest if keys[i] == key])
        expected, kept = alone.play(key, None, X[own], Y[own])
        np.testing.assert_array_equal(answers[own - FIRST], expected)
        assert table.copies(table.numbers_of([key])).tobytes() == kept[8:]


def test_keys_go_on_from_what_the_model_knows_and_learn(learner):
    errors = {"known": [], "new": [], "common": []}
    for key in sorted(set(KEYS)):
        own = [row for row in range(FIRST, ROWS) if KEYS[row] == key]
        answers = {
            "known": learner.play(key, None, X[own], Y[own])[0],
            "new": learner.play("another", None, X[own], Y[own])[0],
            "common": learner.model.common_.predict(X[own]),
        }
        for name, given in answers.items():
            errors[name].extend((given - Y[own]) ** 2)
    known, new, common = (np.sqrt(np.mean(part)) for part in errors.values())
    assert known < 0.9 * new
    assert new < 0.9 * common


def test_rows_without_a_label_are_answered_and_not_learned(learner):
    y = Y.copy()
    y[OWN[5:]] = np.nan
    some, kept = played(learner, [], y=y)
    whole, _ = played(learner, [])
    np.testing.assert_array_equal(some[:6], whole[:6])
    first = np.array(OWN[:5])
    assert learner.play("key 3", None, X[first], Y[first])[1] == kept
    assert np.isfinite(some).all()


def test_classes_with_names():
    words = np.where(Y > 0.5, "high", np.where(Y > -0.5, "middle", "low"))
    model = KeyedClassifier().partial_fit(KEYS[:FIRST], X[:FIRST], words[:FIRST])
    learner = ApartLearner(model)
    labels = [None if i == 3 else str(words[row]) for i, row in enumerate(OWN)]
    scores, kept = learner.play("key 3", None, X[OWN], labels)
    assert scores.shape == (len(OWN), 3)
    gained = 0
    for key in sorted(set(KEYS)):
        own = [row for row in range(FIRST, ROWS) if KEYS[row] == key]
        answers = model.labels_of(learner.play(key, None, X[own], words[own])[0])
        gained += np.sum(answers == words[own])
        gained -= np.sum(model.common_.predict(X[own]) == words[own])
    assert gained > 0.05 * (ROWS - FIRST)  # beside the common model alone
    with pytest.raises(ValueError, match="huge"):
        learner.play("key 3", kept, X[OWN[:1]], ["huge"])


def test_what_cannot_be(learner):
    _, kept = played(learner, [])
    other = ApartLearner(KeyedRegressor().partial_fit(KEYS[:FIRST], X[:FIRST] + 1.0, Y[:FIRST]))
    for wrong in (kept[:-1], b""):
        with pytest.raises(ValueError, match="of the key 'key 3' is that of another model"):
            learner.play("key 3", wrong, X[:1], Y[:1])
    with pytest.raises(ValueError, match="is that of another model"):
        other.play("key 3", kept, X[:1], Y[:1])
    for key, reason in ((None, "is missing"), ("x" * 2000, "2,000 characters"), (1.5, "float")):
        with pytest.raises(ValueError, match=reason):
            learner.play(key, None, X[:1], Y[:1])
    with pytest.raises(ValueError, match="infinity"):
        learner.play("key 3", kept, np.full((1, 4), np.inf), Y[:1])
    with pytest.raises(ValueError, match="features"):
        learner.play("key 3", kept, X[:1, :2], Y[:1])
    with pytest.raises(ValueError, match="512"):
        ApartLearner(KeyedRegressor().partial_fit(KEYS[:500], X[:500], Y[:500]))
    with pytest.raises(ValueError, match="keyed one that has learned"):
        ApartLearner(KeyedRegressor())
