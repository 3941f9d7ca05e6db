"""The keyed River models: River's checks, the models of forks.keyed, and what may go wrong."""

import itertools
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="the River models need River")

from river import checks

import forks
from forks import keyed
from forks.compat.river import KeyedClassifier, KeyedRegressor, load

WORDS = "abcde"


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 5, n)
    X = rng.normal(size=(n, 3)).round(3)
    y = np.sin(X[:, 0]) + (keys - 2.0) * X[:, 1]
    dicts = [
        {"key": WORDS[k], **{f"x{j}": v for j, v in enumerate(x)}}
        for k, x in zip(keys.tolist(), X.tolist(), strict=True)
    ]
    return dicts, X, y


@pytest.mark.parametrize("kind", [KeyedClassifier, KeyedRegressor])
def test_rivers_checks(kind, monkeypatch):
    """All but three, which take fields away and with them the key."""
    datasets = checks._yield_datasets

    def with_keys(*arguments, **options):  # those of River's own version
        for dataset in datasets(*arguments, **options):
            rows = itertools.islice(dataset, 200)
            yield [({**x, "key": WORDS[i % 5]}, y) for i, (x, y) in enumerate(rows)]

    monkeypatch.setattr(checks, "_yield_datasets", with_keys)
    names = {check.__name__ for check in checks.yield_checks(kind())}
    has_all = kind._unit_test_skips() <= names  # River 0.22 has fewer checks
    assert len(names - kind._unit_test_skips()) > (15 if has_all else 13)
    checks.check_estimator(kind())


def test_answers_are_those_of_the_keyed_regressor():
    dicts, X, y = stream(700)
    model, answers = KeyedRegressor(), []
    for x, target in zip(dicts, y.tolist(), strict=True):
        answers.append(model.predict_one(x))
        model.learn_one(x, target)
    expected = keyed.KeyedRegressor().prequential([x["key"] for x in dicts], X, y)
    np.testing.assert_allclose(answers, expected, rtol=1e-9, atol=1e-9)
    assert model.n_keys == 5


def test_classes_come_one_by_one_and_differ_by_key():
    dicts, X, _ = stream(1200)
    model, right = KeyedClassifier(), []
    for i, (x, features) in enumerate(zip(dicts, X.tolist(), strict=True)):
        side = features[1] > 0.0 if x["key"] in "abc" else features[1] < 0.0
        label = ("low", "high")[side] if i < 100 or features[0] < 0.8 else "far"
        right.append(model.predict_one(x) == label)
        shares = model.predict_proba_one(x)
        assert math.isclose(sum(shares.values()), 1.0) or not shares
        model.learn_one(x, label)
    assert np.mean(right[600:]) > 0.85
    assert set(shares) == {"low", "high", "far"}


def test_features_may_come_late_and_be_left_out():
    dicts, _, y = stream(700)
    model, errors = KeyedRegressor(), []
    for i, (x, target) in enumerate(zip(dicts, y.tolist(), strict=True)):
        if i < 80:
            x = {"key": x["key"], "x0": x["x0"]}
        if i % 50 == 7:
            x = {"key": x["key"]}
        errors.append(abs(model.predict_one(x) - target))
        model.learn_one(x, target)
    assert np.median(errors[500:]) < 0.5 * np.median(errors[:80])


def test_weights_and_keys_on_disk():
    dicts, _, y = stream(600)
    one, other = KeyedRegressor(), KeyedRegressor(max_keys=2)
    for i, (x, target) in enumerate(zip(dicts, y.tolist(), strict=True)):
        assert one.predict_one(x) == other.predict_one(x)
        one.learn_one(x, target)
        other.learn_one(x, target)
        if i % 3 == 0:
            other.learn_one(x, 1e6, w=0.0)
    again = pickle.loads(pickle.dumps(other))
    assert [again.predict_one(x) for x in dicts] == [one.predict_one(x) for x in dicts]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"a": 1.0}, "x has no 'key', the field of the key"),
        ({"key": None, "a": 1.0}, "the field 'key' of x: the key is missing"),
        ({"key": math.nan, "a": 1.0}, "the key is missing"),
        ({"key": 1.5, "a": 1.0}, "the key is 1.5, of type float"),
        ({"key": "x" * 9999, "a": 1.0}, "the key has 9,999 characters"),
        ({"key": "a", "x0": math.inf}, "feature 'x0' must be a finite number"),
    ],
)
def test_what_is_refused_changes_nothing(x, message):
    dicts, _, y = stream(60)
    model = KeyedRegressor(rank=3)
    for each, target in zip(dicts, y.tolist(), strict=True):
        model.learn_one(each, target)
    before = [model.predict_one(each) for each in dicts]
    for call in (model.predict_one, lambda x: model.learn_one(x, 1.0)):
        with pytest.raises(ValueError, match=message):
            call(x)
    with pytest.raises(ValueError, match="y must be a finite number"):
        model.learn_one({**dicts[0], "key": "new"}, math.nan)
    assert [model.predict_one(each) for each in dicts] == before
    assert model.n_keys == 5
    for parameter, wrong in (("rank", 0), ("forgetting", 1.0), ("max_keys", 0)):
        with pytest.raises(ValueError, match=parameter):
            KeyedRegressor(**{parameter: wrong})


@pytest.mark.parametrize("rows", [0, 1, 100, 560])
@pytest.mark.parametrize("kind", [KeyedClassifier, KeyedRegressor])
def test_a_file_goes_on_bit_for_bit(kind, rows, tmp_path):
    """Also if features and classes have just come."""
    dicts, _, y = stream(700)
    labels = y.tolist() if kind is KeyedRegressor else np.where(y > 0.5, "up", "down").tolist()
    model = kind(key="key", rank=5, max_keys=3)
    for i in range(rows):
        x = dicts[i] if i > 90 else {"key": dicts[i]["key"], "x0": dicts[i]["x0"]}
        model.learn_one(x, labels[i])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.rank, again.max_keys, again.n_keys) == (5, 3, model.n_keys)
    for x, label in zip(dicts[rows:], labels[rows:], strict=True):
        assert again.predict_one(x) == model.predict_one(x)
        again.learn_one(x, label)
        model.learn_one(x, label)
    for each, name in ((model, "a"), (again, "b")):
        each.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_damaged_files_are_refused(tmp_path):
    dicts, _, y = stream(60)
    model, path = KeyedRegressor(rank=3), tmp_path / "m"
    for x, target in zip(dicts, y.tolist(), strict=True):
        model.learn_one(x, target)
    model.save(path)
    with pytest.raises(forks.ModelFileError, match=r"no keyed estimator 'river\.KeyedRegressor'"):
        keyed.load(path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(data), 40):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(forks.ModelFileError, match="cannot be loaded"):
            load(path)
