"""The River models: River's own checks, the learners' scores bit for bit, and what may go wrong."""

import contextlib
import copy
import importlib
import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="the River models need River")
pytest.importorskip("pandas", reason="mini-batches are data frames")

import pandas as pd
import river
from river import compose, datasets, drift, evaluate, metrics, preprocessing
from river.checks import check_estimator, yield_checks

from forks import OnlineKernelClassifier, OnlineKernelRegressor
from forks.compat._index import FeatureIndex
from forks.compat.river import KernelClassifier, KernelMulticlassClassifier, KernelRegressor
from forks.kernels import Gaussian
from forks.learners import FOGD, FORKS, RBP, Adaptive
from forks.learners.catalogue import CATALOGUE, Setting
from forks.linalg.packed_inverse import root
from forks.losses import SquaredError
from forks.parts.landmarks import LINEAR, WIDTH

MODELS = (KernelClassifier, KernelMulticlassClassifier, KernelRegressor)
SMALL = Setting(Gaussian(1.0), budget=10, n_rounds=300)


def _rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.0, 1, -1)


def _dicts(X, names=None):
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    return [dict(zip(names, x, strict=True)) for x in X.tolist()]


def _scores(model, dicts, labels):
    """Scores before each label is used."""
    scores = []
    for x, y in zip(dicts, labels, strict=True):
        row = model._index.row(x)
        known = model._engine is not None
        scores.append(np.ravel(model._engine.one_row(row)) if known else np.zeros(1))
        model.learn_one(x, y)
    return scores


def _checks():
    for model in MODELS:
        for parameters in model._unit_test_params():
            yield pytest.param(model(**parameters), id=f"{model.__name__}-{len(parameters)}")


@pytest.mark.parametrize("model", list(_checks()))
def test_rivers_checks_skipping_none(model):
    assert not model._unit_test_skips()
    assert len(list(yield_checks(model))) > 15
    check_estimator(model)


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
@pytest.mark.parametrize("wide", [2, 5])
def test_scores_are_those_of_the_array_estimator(method, wide):
    X, y = _rows(150, wide)
    learner = method.make(SMALL)
    arrays = OnlineKernelClassifier(learner, random_state=3)
    model = KernelClassifier(learner, seed=int(np.random.RandomState(3).randint(2**31 - 1)))
    expected = arrays.prequential(X, y, classes=[-1, 1])
    found = _scores(model, _dicts(X), y.tolist())
    np.testing.assert_array_equal(np.ravel(found), expected)


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
def test_scores_of_names_are_those_of_the_array_estimator(method):
    X, y = _rows(300, 3)
    arrays = OnlineKernelClassifier(method.name, random_state=3)
    model = KernelClassifier(method.name, seed=int(np.random.RandomState(3).randint(2**31 - 1)))
    expected = arrays.prequential(X, y, classes=[-1, 1])
    found = [0.0]
    for i, (x, label) in enumerate(zip(_dicts(X), y.tolist(), strict=True)):
        found.append(model._score_one(x) if i else 0.0)
        model.learn_one(x, label)
    np.testing.assert_array_equal(found[1:], expected)
    assert model._engine.learner == arrays.learner_
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_proba_one({"x1": 1.0}) == model.predict_proba_one({"x1": 1.0})


def test_names_while_features_and_classes_come():
    X, _ = _rows(300, 4)
    kinds = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    kinds[:20] = "a"
    X[:70, 2:] = 0.0
    late = [{k: v for k, v in x.items() if v != 0.0} for x in _dicts(X)]
    for name in ("nogd", "bpa-s"):
        model, known = (KernelMulticlassClassifier(name, seed=1) for _ in range(2))
        known._index.learn([f"x{j}" for j in range(4)])
        for x, kind in zip(late, kinds.tolist(), strict=True):
            model.learn_one(x, kind)
            known.learn_one(x, kind)
        assert model._engine.learner == known._engine.learner  # one bandwidth, of the same rows
        assert model.predict_proba_one(late[-1]) == known.predict_proba_one(late[-1])
        assert model._first_rows is None


def test_no_learner_is_the_adaptive_one_with_a_warning():
    with pytest.warns(FutureWarning, match='write learner="adaptive"'):
        model = KernelRegressor(None)
    assert model._configured == KernelRegressor()._configured


def test_targets_are_those_of_the_array_regressor():
    X, _ = _rows(200, 3)
    y = np.sin(X[:, 0]) + X[:, 1]
    model = KernelRegressor(Adaptive(loss=SquaredError(), buffer=32))
    expected = OnlineKernelRegressor(Adaptive(loss=SquaredError(), buffer=32)).prequential(X, y)
    np.testing.assert_array_equal(np.ravel(_scores(model, _dicts(X), y.tolist())), expected)


# The default learner chooses alpha by the mean error of the outputs that there are at a fit.
@pytest.mark.parametrize(
    "method", [m for m in CATALOGUE if m.name != "Adaptive"], ids=lambda m: m.name
)
def test_classes_that_come_late_are_as_if_known_from_the_start(method):
    X, _ = _rows(160, 2, seed=4)
    kinds = np.array(["a", "b", "c", "d"])[(X[:, 0] > 0.0) + 2 * (X[:, 1] > 0.0)]
    kinds[:40] = np.where(kinds[:40] < "c", kinds[:40], "a")
    late = KernelMulticlassClassifier(method.make(SMALL), seed=1)
    early = KernelMulticlassClassifier(method.make(SMALL), seed=1)
    order = list(dict.fromkeys(kinds.tolist()))
    early._known = {label: i for i, label in enumerate(order)}  # all known before the first row
    dicts = _dicts(X)
    _scores(early, dicts, kinds.tolist())
    _scores(late, dicts, kinds.tolist())
    for x in dicts[:20]:  # events fit all outputs at once: rounding depends on their number
        assert late.predict_proba_one(x) == pytest.approx(early.predict_proba_one(x), rel=1e-6)
    assert set(late.predict_proba_one(dicts[0])) == {"a", "b", "c", "d"}


def test_several_classes_have_the_scores_of_the_array_estimator_with_one_class_more():
    X, _ = _rows(200, 3, seed=5)
    kinds = np.argmax(X, axis=1)
    kinds[:3] = 0, 1, 2
    learner = Adaptive(buffer=64)
    expected = OnlineKernelClassifier(learner).prequential(X, kinds, classes=[0, 1, 2, 3])
    model = KernelMulticlassClassifier(learner)
    found = _scores(model, _dicts(X), kinds.tolist())
    np.testing.assert_array_equal(np.array(found[10:]), expected[10:])


@pytest.mark.parametrize(
    "method", [m for m in CATALOGUE if m.name not in ("Adaptive", "FOGD")], ids=lambda m: m.name
)
def test_a_feature_that_comes_late_was_zero_before(method):
    X, y = _rows(160, 4, seed=6)
    X[:60, 2:] = 0.0
    X[:90, 3] = 0.0
    learner = method.make(SMALL)
    narrow, wide = (KernelClassifier(learner, seed=2) for _ in range(2))
    late = [{k: v for k, v in x.items() if v != 0.0} for x in _dicts(X)]
    found, expected = _scores(narrow, late, y), _scores(wide, _dicts(X), y)
    # a row is scored before its new features are known
    same = np.r_[1:60, 61:90, 91:160]
    np.testing.assert_array_equal(np.ravel(found)[same], np.ravel(expected)[same])


@pytest.mark.parametrize("options", [{"linear": False}, {"linear": False, "scaling": "none"}])
def test_adaptive_widened_is_adaptive_of_that_width(options):
    X, y = _rows(150, 4, seed=7)
    X[:60, 2:] = 0.0
    learner = Adaptive(buffer=32, **options)
    narrow, wide = (KernelClassifier(learner) for _ in range(2))
    late = [{k: v for k, v in x.items() if v != 0.0} for x in _dicts(X)]
    found, expected = _scores(narrow, late, y), _scores(wide, _dicts(X), y)
    same = np.r_[1:60, 61:150]
    np.testing.assert_allclose(np.ravel(found)[same], np.ravel(expected)[same], atol=1e-9)


@pytest.mark.parametrize("late", [3, 12, 300])
def test_a_linear_part_grows_by_its_prior(late):
    X, y = _rows(200, 3, seed=8)
    learner = Adaptive(buffer=16)
    model = KernelClassifier(learner)
    for x, label in zip(_dicts(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    before = [model._engine.one_row(model._index.row(x)) for x in _dicts(X[:20])]
    model._index.learn([f"late{j}" for j in range(late)])
    model._fitted_engine()
    after = [model._engine.one_row(model._index.row(x)) for x in _dicts(X[:20])]
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)
    state = learner.view(model._engine.memory)
    bias = int(state.map.sizes[WIDTH])
    added = root(state.newton.P, bias + 1)[bias - late : bias, bias - late : bias]
    np.testing.assert_allclose(added.T @ added, np.eye(late) / state.alpha[0], rtol=1e-12)
    row = {**_dicts(X[:1])[0], "late0": 5.0}
    model.learn_one(row, 1)
    assert np.isfinite(model.predict_proba_one(row)[1])


def test_beyond_its_widest_the_linear_part_keeps_what_it_has():
    model = KernelClassifier(Adaptive(buffer=16), max_features=700)
    X, y = _rows(40, 2, seed=9)
    for x, label in zip(_dicts(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    model.learn_one({f"x{j}": 1.0 for j in range(600)}, 1)
    for x, label in zip(_dicts(X), y.tolist(), strict=True):
        model.learn_one({**x, "x599": 2.0}, label)
    state = model._engine.learner.view(model._engine.memory)
    assert state.map.sizes[LINEAR] == 512
    assert model._engine.n_features == 675
    assert np.isfinite(state.newton.theta).all()


def test_late_features_of_fogd_have_draws_of_their_own():
    learner = FOGD(n_frequencies=8)
    models = [KernelClassifier(learner, seed=s) for s in (1, 1, 2)]
    for model, steps in zip(models, ([2, 3, 30], [2, 30], [2, 30]), strict=True):
        for width in steps:
            model.learn_one({f"x{j}": 1.0 for j in range(width)}, True)
    first, second, other = (learner.view(m._engine.memory).frequencies.columns for m in models)
    n = min(len(first), len(second))
    np.testing.assert_array_equal(first[:n], second[:n])
    assert not np.any(first[:30] == other[:30])
    assert len(np.unique(first[:30, :8])) == 240


@pytest.mark.parametrize("often", [1, 10])  # the step from an expected dict is another
def test_rows_are_those_of_the_dict_whatever_came_before(often):
    index = FeatureIndex(4)

    def assert_row(x, row, learn=False):
        for _ in range(often):
            assert index.row(x, learn).tolist() == [row]

    x = {"a": 1.0, "b": 2.0}
    assert_row(x, [1.0, 2.0], learn=True)
    x["b"] = 3.0
    assert_row(x, [1.0, 3.0])
    assert_row({"b": 1.0, "a": 3.0}, [3.0, 1.0])
    assert_row({"b": True, "a": np.float32(0.5)}, [0.5, 1.0])
    for wrong in (np.nan, "3", None, np.zeros(2)):
        with pytest.raises(ValueError, match="'a' must be a"):
            index.row({"b": 7.0, "a": wrong})
        assert_row({"b": 1.0, "a": 3.0}, [3.0, 1.0])
    assert_row({"a": 1e308, "b": 1.7e308}, [1e308, 1.7e308])  # the sum is not finite
    assert_row({"a": 3.0, "unknown": 7.0}, [3.0, 0.0])
    assert_row({"b": 3.0}, [0.0, 3.0])
    assert_row({}, [0.0, 0.0])
    assert_row({"d": 3.0, "c": 1.0}, [0.0, 0.0, 1.0, 3.0], learn=True)
    assert_row({"d": 3.0, "a": 1.0}, [1.0, 0.0, 0.0, 3.0], learn=True)
    assert_row({"a": 3.0, "ignored": 1.0}, [3.0, 0.0, 0.0, 0.0], learn=True)
    assert_row({"a": 3.0, "b": 1.0}, [3.0, 1.0, 0.0, 0.0], learn=True)


def test_the_order_of_a_dict_does_not_matter():
    X, y = _rows(120, 12, seed=10)
    rng = np.random.default_rng(0)
    for learner in (Adaptive(buffer=32), FOGD(), FORKS(budget=10)):
        one, other = KernelClassifier(learner, seed=1), KernelClassifier(learner, seed=1)
        shuffled = [dict(rng.permutation(list(x.items())).tolist()) for x in _dicts(X)]
        shuffled = [{str(k): float(v) for k, v in x.items()} for x in shuffled]
        np.testing.assert_array_equal(_scores(one, _dicts(X), y), _scores(other, shuffled, y))


def test_names_beyond_the_bound_are_ignored():
    model = KernelClassifier(max_features=3)
    model.learn_one({"a": 1.0, "word0": 1.0, "b": 0.0}, True)  # there is just enough room
    with pytest.warns(UserWarning, match="max_features=3 is reached: 'word1' is ignored"):
        model.learn_one({"a": 1.0, "word1": 1.0, "b": 1.0}, False)
    for t in range(2, 50):  # without another warning
        model.learn_one({"a": 1.0, f"word{t}": 1.0, "b": float(t % 2)}, t % 2 == 0)
    assert model.n_features == 3
    assert model._engine.n_features == 3
    size = model._raw_memory_usage
    x = {"a": 1.0, "b": 1.0}
    assert model.predict_proba_one(x) == model.predict_proba_one({**x, "word9": 7.0})
    for t in range(50):
        model.learn_one({"a": 1.0, f"more{t}": 1.0}, t % 2 == 0)
    assert model._raw_memory_usage == size


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("value", ["red", float("inf"), pytest.param(10**400, id="huge"), 1j, b"1"])
def test_a_value_that_is_no_number_is_named_and_nothing_is_learned(kind, value):
    for known in (True,) if value == "red" else (False, True):
        model = kind()
        for t in range(12):
            model.learn_one({"a": 1.0 * t, "b": 2.0}, t % 2)
        before = pickle.dumps(model)
        name = "b" if known else "colour"
        with pytest.raises(ValueError, match=f"feature '{name}' must be a (finite )?number"):
            model.learn_one({"a": 1.0, name: value}, 1)
        frame = pd.DataFrame({"a": [1.0, 2.0], name: pd.Series([1.0, value], dtype=object)})
        with pytest.raises(ValueError, match=rf"feature '{name}' must .* in row 1"):
            model.learn_many(frame, pd.Series([1, 0]))
        if known:
            with pytest.raises(ValueError, match="feature 'b'"):
                model.predict_one({"b": value})
        assert pickle.dumps(model) == before


def test_numbers_of_every_kind_are_numbers():
    from decimal import Decimal
    from fractions import Fraction

    one, other = KernelClassifier(), KernelClassifier()
    for t in range(20):
        kinds = {"a": np.float32(t), "b": True, "c": Decimal(t), "d": Fraction(t, 2), "e": 1e300}
        one.learn_one(kinds, t % 2)
        other.learn_one({"a": float(t), "b": 1.0, "c": float(t), "d": t / 2, "e": 1e300}, t % 2)
        assert one.predict_proba_one(kinds) == other.predict_proba_one(kinds)


@pytest.mark.parametrize(
    ("labels", "before"),
    [
        ((False, True), {False: 0.5, True: 0.5}),
        ((0, 1), {False: 0.5, True: 0.5}),
        (("ham", "spam"), {False: 0.5, True: 0.5}),
        ((-1, 1), {False: 0.5, True: 0.5}),
    ],
)
def test_two_labels_of_any_kind(labels, before):
    X, y = _rows(150, 2, seed=11)
    model = KernelClassifier()
    assert model.predict_proba_one({"a": 1.0}) == before
    assert model.predict_one({"a": 1.0}) is False
    answers = []
    for x, sign in zip(_dicts(X), y, strict=True):
        answers.append(model.predict_one(x))
        model.learn_one(x, labels[int(sign > 0)])
    assert set(answers[50:]) == set(labels)
    assert np.mean([a == labels[int(s > 0)] for a, s in zip(answers, y, strict=True)][50:]) > 0.7
    assert set(model.predict_proba_one({})) == set(labels)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="a third label"):
        model.learn_one({"other": 1.0}, "third")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", [KernelClassifier, KernelMulticlassClassifier])
@pytest.mark.parametrize("label", [None, float("nan")])
def test_no_label_is_an_error(kind, label):
    model = kind()
    with pytest.raises(ValueError, match="y must be a label"):
        model.learn_one({"a": 1.0}, label)
    assert model.n_features == 0


def test_a_single_label_is_certain():
    model = KernelClassifier()
    model.learn_one({"a": 1.0}, "ham")
    assert model.predict_proba_one({"a": 1.0}) == {"ham": 1.0}
    assert model.predict_one({"a": 1.0}) == "ham"
    frame = pd.DataFrame({"a": [1.0]})
    assert model.predict_proba_many(frame).columns.tolist() == ["ham"]


def test_classes_are_bounded():
    model = KernelMulticlassClassifier(max_classes=3)
    assert model.predict_one({}) is None
    assert model.predict_proba_one({}) == {}
    for label in "abc":
        model.learn_one({"x": 1.0}, label)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="'d', one more label than max_classes=3"):
        model.learn_one({"x": 1.0, "new": 2.0}, "d")
    with pytest.raises(ValueError, match="one more label"):
        model.learn_many(pd.DataFrame({"y": [1.0, 2.0]}), pd.Series(["a", "e"]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (KernelClassifier, {"learner": 3}, "learner must be a name .* or one of forks.learners"),
        (KernelClassifier, {"learner": FORKS(loss=SquaredError())}, "a classification loss"),
        (KernelRegressor, {"learner": RBP()}, "for regression"),
        (KernelRegressor, {"learner": "rbp"}, "RBP is for classification only"),
        (KernelClassifier, {"learner": "perceptron"}, "no method 'perceptron'"),
        (KernelClassifier, {"max_features": 0}, "max_features"),
        (KernelMulticlassClassifier, {"max_classes": 0}, "max_classes"),
    ],
)
def test_bad_parameters_are_named(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(**arguments)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), "heavy"])
def test_bad_weights_are_named(weight):
    for kind in MODELS:
        with pytest.raises(ValueError, match="w must be"):
            kind().learn_one({"a": 1.0}, 1, w=weight)
        with pytest.raises(ValueError, match="w must be"):
            kind().learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([1]), w=[weight])


def test_a_row_of_weight_zero_teaches_nothing():
    X, y = _rows(60, 2, seed=12)
    with_more, plain = KernelClassifier(), KernelClassifier()
    for x, label in zip(_dicts(X), y.tolist(), strict=True):
        with_more.learn_one(x, label)
        with_more.learn_one({k: -3.0 * v for k, v in x.items()}, -label, w=0.0)
        plain.learn_one(x, label)
    for x in _dicts(X):
        assert with_more.predict_proba_one(x) == plain.predict_proba_one(x)


@pytest.mark.parametrize("y", ["high", None, float("inf")])
def test_targets_of_regression_are_numbers(y):
    with pytest.raises(ValueError, match="y must be a finite number"):
        KernelRegressor().learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match="y must be a finite number"):
        KernelRegressor().learn_many(pd.DataFrame({"a": [1.0]}), [y])


def _frame_kinds():
    yield pd.DataFrame
    if tuple(map(int, river.__version__.split(".")[:2])) >= (0, 26):
        for module, kind in (("pyarrow", "table"), ("polars", "DataFrame")):
            with contextlib.suppress(ImportError):
                yield getattr(importlib.import_module(module), kind)


@pytest.mark.parametrize("frame", list(_frame_kinds()))
@pytest.mark.parametrize("kind", MODELS)
def test_mini_batches_are_rows_one_by_one(kind, frame):
    X, y = _rows(90, 3, seed=13)
    weights = np.random.default_rng(1).random(90)
    many, one = kind(), kind()
    for batch in (slice(0, 30), slice(30, 60), slice(60, 90)):
        data = {f"x{j}": X[batch, j].tolist() for j in range(batch.stop // 30)}
        many.learn_many(frame(data), y[batch].tolist(), w=weights[batch])
        for t in range(batch.start, batch.stop):
            x = {f"x{j}": X[t, j] for j in range(batch.stop // 30)}
            one.learn_one(x, int(y[t]), w=weights[t])
    queries = frame({f"x{j}": X[:, j].tolist() for j in range(3)})
    answers = many.predict_many(queries)
    assert type(answers).__module__.split(".")[0] == type(queries).__module__.split(".")[0]
    listed = answers.to_pylist() if hasattr(answers, "to_pylist") else list(answers)
    assert listed == [one.predict_one(x) for x in _dicts(X)]
    if kind is not KernelRegressor:
        shares = many.predict_proba_many(queries)
        found = np.array(shares.to_pandas() if not hasattr(shares, "to_numpy") else shares)
        expected = [list(one.predict_proba_one(x).values()) for x in _dicts(X)]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", MODELS)
def test_batches_keep_index_and_name_and_may_be_empty(kind):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False]}, index=[7, 3])
    model = kind()
    assert model.predict_many(X).index.tolist() == [7, 3]
    model.learn_many(X.iloc[:0], pd.Series([], dtype=float))
    assert model.n_features == 0
    model.learn_many(X, pd.Series([1, 0], name="target"))
    answers = model.predict_many(X)
    assert answers.index.tolist() == [7, 3]
    assert answers.name == "target"


@pytest.mark.parametrize("kind", MODELS)
def test_bad_batches_are_named(kind):
    two = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="columns of the same name"):
        kind().learn_many(two, [1])
    with pytest.raises(ValueError, match="X has 1 rows, but y has 2"):
        kind().learn_many(pd.DataFrame({"a": [1.0]}), [1, 0])
    with pytest.raises(ValueError, match="X has 1 rows, but w has 2"):
        kind().learn_many(pd.DataFrame({"a": [1.0]}), [1], w=[1.0, 2.0])
    with pytest.raises(ValueError, match="X must be a data frame"):
        kind().learn_many([[1.0]], [1])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_as_the_original(kind, copied):
    X, y = _rows(80, 3, seed=14)
    model = kind()
    for x, label in zip(_dicts(X[:40]), y.tolist(), strict=False):
        model.learn_one(x, label)
    other = copied(model)
    for x, label in zip(_dicts(X[40:]), y[40:].tolist(), strict=True):
        assert model.predict_one(x) == other.predict_one(x)
        model.learn_one({**x, "late": 1.0}, label)
        other.learn_one({**x, "late": 1.0}, label)


def test_pipelines_metrics_and_drift_detectors_take_them():
    model = compose.Pipeline(
        compose.SelectType(float) + (compose.SelectType(str) | preprocessing.OneHotEncoder()),
        KernelClassifier(Adaptive(buffer=50)),
    )
    rng = np.random.default_rng(15)
    stream = []
    for _ in range(300):
        colour = str(rng.choice(["red", "green", "blue"]))
        stream.append(({"x": float(rng.standard_normal()), "colour": colour}, colour == "red"))
    metric = metrics.Accuracy() + metrics.LogLoss() + metrics.ROCAUC()
    accuracy, *_ = evaluate.progressive_val_score(stream, model, metric).get()
    assert accuracy > 0.95
    assert 10_000 < model._raw_memory_usage < 5_000_000

    watched = drift.DriftRetrainingClassifier(
        KernelClassifier(Adaptive(buffer=20, restart=False, follow=False)), drift.binary.DDM()
    )
    X, y = _rows(400, 2, seed=16)
    y[200:] *= -1
    pairs = list(zip(_dicts(X), (y > 0).tolist(), strict=True))
    assert evaluate.progressive_val_score(pairs, watched, metrics.Accuracy()).get() > 0.5


def test_they_learn_what_river_brings():
    for kind, data, metric, enough in (
        (KernelClassifier, datasets.Phishing(), metrics.Accuracy(), lambda m: m > 0.89),
        (
            KernelMulticlassClassifier,
            datasets.ImageSegments().take(600),
            metrics.Accuracy(),
            lambda m: m > 0.8,
        ),
        (KernelRegressor, datasets.TrumpApproval(), metrics.MAE(), lambda m: m < 0.5),
    ):
        value = evaluate.progressive_val_score(data, kind(), metric).get()
        assert enough(value), (kind.__name__, value)


def test_memory_is_that_of_the_state():
    model = KernelClassifier()
    assert model._raw_memory_usage < 5_000
    for t in range(20):
        model.learn_one({"a": float(t)}, t % 2 == 0)
    state = model._engine.state_bytes
    assert state < model._raw_memory_usage < state + 5_000
    assert model.n_points == 4 * 20  # the default begins with four experts
