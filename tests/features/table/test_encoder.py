"""The encoder of tables: what it makes of columns, and that it does not matter how rows come."""

import json
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from forks import OnlineKernelClassifier
from forks.features import TableEncoder


def mixed(n=600, seed=0):
    """Return a table with columns of all kinds and gaps, and labels."""
    rng = np.random.default_rng(seed)
    hours = np.datetime64("2020-01-01") + rng.integers(0, 20_000, n) * np.timedelta64(1, "h")
    words = np.array(["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"])
    number = rng.normal(size=n)
    number[rng.random(n) < 0.1] = np.nan
    late = rng.normal(size=n)
    late[n // 2 :][rng.random(n - n // 2) < 0.1] = np.nan
    few = rng.choice(["red", "green", "blue"], n).astype(object)
    few[rng.random(n) < 0.05] = None
    few[-5:] = ["violet", "violet", "pink", "grey", "black"]
    table = {
        "id": np.arange(n) + 7,
        "number": number,
        "late": late,
        "few": few,
        "many": np.array([f"v{k}" for k in rng.integers(0, 200, n)], dtype=object),
        "when": hours,
        "said": np.array([" ".join(rng.choice(words, 5)) for _ in range(n)], dtype=object),
        "same": np.full(n, 3.0),
    }
    y = (np.nan_to_num(number) + 0.3 * rng.normal(size=n) > 0).astype(int)
    return table, y


def sliced(table, part):
    return {name: cells[part] for name, cells in table.items()}


def test_kinds_are_found():
    table, y = mixed()
    encoder = TableEncoder(hash_bits=4).look(table, y)
    assert {column.name: column.kind for column in encoder.columns_} == {
        "id": "identifier",
        "number": "number",
        "late": "number",
        "few": "category",
        "many": "category",
        "when": "time",
        "said": "text",
        "same": "constant",
    }
    assert encoder.task_ == "classification"


@pytest.mark.parametrize("sizes", [[1], [7], [100, 1, 33]])
def test_chunks_do_not_matter(sizes):
    table, y = mixed()
    head = sliced(table, slice(300)), y[:300]
    whole = TableEncoder(hash_bits=4).look(*head)
    expected = whole.learn_transform(table, y)
    cut = TableEncoder(hash_bits=4).look(*head)
    parts, start = [], 0
    while start < len(y):
        part = slice(start, start + sizes[len(parts) % len(sizes)])
        parts.append(cut.learn_transform(sliced(table, part), y[part]))
        start = part.stop
    assert np.array_equal(np.concatenate(parts), expected)
    assert np.array_equal(cut.transform(table), whole.transform(table))


def test_a_row_is_encoded_before_it_is_learned():
    table, y = mixed()
    encoder = TableEncoder(hash_bits=4).look(table, y)
    other = clone(encoder).look(table, y)
    for t in range(200):
        row = sliced(table, slice(t, t + 1))
        before = other.transform(row)
        other.partial_fit(row, y[t : t + 1])
        assert np.array_equal(encoder.learn_transform(row, y[t : t + 1]), before)


def test_a_saved_encoder_goes_on():
    table, y = mixed()
    whole = TableEncoder(hash_bits=4, kinds={"same": "category"})
    first, second = slice(300), slice(300, None)
    whole.learn_transform(sliced(table, first), y[first])
    known, arrays = whole.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(known)), arrays)
    rest = sliced(table, second), y[second]
    assert np.array_equal(again.learn_transform(*rest), whole.learn_transform(*rest))
    assert again.get_params() == whole.get_params()
    assert list(again.get_feature_names_out()) == list(whole.get_feature_names_out())
    assert again.columns_ == whole.columns_
    final, arrays = again.to_state()
    expected, others = whole.to_state()
    assert final == expected
    assert all(np.array_equal(arrays[name], others[name]) for name in {*arrays, *others})


def played(encoder, model, table, y, size=1000):
    """Return the share of mistakes when each chunk is encoded and learned in one go."""
    wrong = 0
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        rows = encoder.learn_transform(sliced(table, part), y[part])
        scores = model.prequential(rows, y[part])
        wrong += int(np.count_nonzero(model.labels_of(scores) != y[part]))
    return wrong / len(y)


@pytest.mark.parametrize("name", ["__index_level_0__", "Unnamed: 0"])
def test_an_index_that_pandas_wrote_is_left_out(name):
    order = np.random.default_rng(0).permutation(200).astype(float)
    table = {name: order, "a": order % 7}
    kinds = {column.name: column.kind for column in TableEncoder().look(table).columns_}
    assert kinds == {name: "identifier", "a": "number"}
    for other in ({"a": order}, {name: order // 2}):  # a number, for all that is known
        assert [column.kind for column in TableEncoder().look(other).columns_] == ["number"]


def test_random_identifiers_say_nothing_of_random_labels():
    rng, n = np.random.default_rng(0), 20_000
    table = {
        "user": np.array([f"u{k}" for k in rng.integers(0, 5000, n)], dtype=object),
        "x": rng.normal(size=n),
    }
    y = rng.integers(0, 2, n)
    told = {"user": "category"}
    rate = played(TableEncoder(told), OnlineKernelClassifier(effort="fast"), table, y)
    assert abs(rate - 0.5) < 2 * math.sqrt(0.25 / n)
    encoder, model, wrong = TableEncoder(told), OnlineKernelClassifier(effort="fast"), 0
    for start in range(0, n, 1000):  # predicted by a pipeline that has seen the chunks before
        part = slice(start, start + 1000)
        if start > 0:
            answers = model.predict(encoder.transform(sliced(table, part)))
            wrong += int(np.count_nonzero(answers != y[part]))
        model.partial_fit(encoder.learn_transform(sliced(table, part), y[part]), y[part])
    assert abs(wrong / (n - 1000) - 0.5) < 2 * math.sqrt(0.25 / (n - 1000))


def test_identifiers_that_matter_are_used():
    rng, n = np.random.default_rng(0), 4000
    user = rng.integers(0, 300, n)
    y = ((user % 2 == 0) ^ (rng.random(n) < 0.1)).astype(int)
    table = {"user": np.array([f"u{k}" for k in user], dtype=object), "x": rng.normal(size=n)}
    rate = played(TableEncoder(), OnlineKernelClassifier(effort="fast"), table, y)
    assert rate < 0.25  # 0.1 are wrong labels, and the first row of each user is a guess


def test_the_label_of_a_row_is_not_in_its_features():
    table, y = mixed()
    encoder = TableEncoder(hash_bits=4).look(table, y)
    turned = clone(encoder).look(table, y)
    others = y.copy()
    others[300] = 1 - others[300]
    rows, changed = encoder.learn_transform(table, y), turned.learn_transform(table, others)
    assert np.array_equal(rows[:301], changed[:301])
    assert not np.array_equal(rows[301:], changed[301:])


def test_rows_without_a_label_teach_features_only():
    table, y = mixed()
    encoder = TableEncoder(hash_bits=4).look(table, y)
    other = clone(encoder).look(table, y)
    labels = y.astype(object)
    labels[100:200] = None
    encoder.partial_fit(sliced(table, slice(100)), y[:100])
    encoder.partial_fit(sliced(table, slice(100, 200)))  # no labels at all
    other.partial_fit(sliced(table, slice(200)), labels[:200])
    assert np.array_equal(encoder.transform(table), other.transform(table))
    names = encoder.get_feature_names_out().tolist()
    known = clone(encoder).look(table, y).partial_fit(sliced(table, slice(100)), y[:100])
    share, count = names.index("many share of 1"), names.index("many count")
    assert np.array_equal(encoder.transform(table)[:, share], known.transform(table)[:, share])
    assert not np.array_equal(encoder.transform(table)[:, count], known.transform(table)[:, count])


def smoothed(values, y):
    """Return counts and means of targets before each row, by plain loops."""
    seen, total, n, out = {}, 0.0, 0, []
    for value, label in zip(values, y, strict=True):
        count, own = seen.get(value, (0, 0.0))
        prior = total / n if n else 0.0
        out.append((math.log1p(count), (own + 10 * prior) / (count + 10)))
        seen[value] = count + 1, own + label
        total, n = total + label, n + 1
    return np.array(out)


def test_statistics_of_a_regression():
    rng = np.random.default_rng(1)
    values = [f"v{k}" for k in rng.integers(0, 300, 2000)]
    y = rng.normal(size=2000)
    encoder = TableEncoder(task="regression").look({"v": values}, y)
    rows = encoder.learn_transform({"v": values}, y)
    assert encoder.get_feature_names_out().tolist() == ["v count", "v mean"]
    np.testing.assert_allclose(rows, smoothed(values, y), rtol=1e-9, atol=1e-12)


def test_the_memory_of_values_is_bounded():
    encoder = TableEncoder(kinds={"v": "category"})
    encoder.look({"v": [f"w{k}" for k in range(200)]})
    sizes = {name: array.nbytes for name, array in encoder.to_state()[1].items()}
    for start in range(0, 100_000, 10_000):
        often = [f"often{k % 50}" for k in range(10_000)]
        rare = [f"v{k}" for k in range(start, start + 10_000)]
        encoder.partial_fit({"v": [v for pair in zip(often, rare, strict=True) for v in pair]})
    assert {name: array.nbytes for name, array in encoder.to_state()[1].items()} == sizes
    counts = encoder.transform({"v": ["often7", "v3", "v99999"]})[:, 0]
    np.testing.assert_allclose(np.expm1(counts), [2000, 0, 1])


def test_what_was_learned_of_columns_can_be_looked_at():
    n = 300
    table = {
        "a": [None if i % 7 == 0 else i - 40.5 for i in range(n)],
        "late": [None] * n,
        "town": ["Oslo", "Rome", "Lima"] * 100,
        "who": [f"w{i % 150}" for i in range(n)],
        "day": [f"2020-01-{i % 28 + 1:02}" for i in range(n)],
        "id": [f"x{i}" for i in range(n)],
    }
    kinds = {"who": "category", "late": "number"}
    encoder = TableEncoder(kinds, task="regression").look(table)
    for start in range(0, n, 70):
        encoder.partial_fit(sliced(table, slice(start, start + 70)))
    present = [a for a in table["a"] if a is not None]
    ends = {"least": -39.5, "largest": 258.5, "mean": pytest.approx(np.mean(present))}
    known = {"a": ends, "late": {}, "town": {"values": ["Lima", "Oslo", "Rome"]}, "id": {}}
    known |= {"who": {"kept_values": 150}}
    known["day"] = {"first": "2020-01-01T00:00:00", "last": "2020-01-20T00:00:00"}
    for each in (encoder, TableEncoder.from_state(*encoder.to_state())):
        assert {name: each.learned(name) for name in table} == known
        each.partial_fit({**sliced(table, slice(2)), "a": [-50.0, None], "late": [None, 7.0]})
        assert each.learned("a")["least"] == -50.0
        assert each.learned("late") == {"least": 7.0, "largest": 7.0, "mean": 7.0}
    state, arrays = encoder.to_state()
    del arrays["ranges"]  # as before there were any
    old = TableEncoder.from_state(state, arrays)
    old.partial_fit(sliced(table, slice(5)))
    assert old.learned("a").keys() == {"mean"}
    assert "ranges" not in old.to_state()[1]


def test_new_values_of_a_category_of_few():
    first = {"c": ["a", "b"] * 200}
    encoder = TableEncoder().fit(first)
    assert encoder.get_feature_names_out().tolist() == ["c=a", "c=b", "c=other 1", "c=other 2"]
    rows = encoder.learn_transform({"c": ["x", "x", "y", "x", "z", "y", "a"]})
    assert rows.tolist()[:4] == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert rows[4, 2:].sum() == 1  # "z" shares an indicator, by its hash
    assert rows.tolist()[5:] == [[0, 0, 0, 1], [1, 0, 0, 0]]


def test_wide_categories_have_statistics_if_indicators_are_too_many():
    n = 1000
    table = {f"c{j}": [f"v{(i * (j + 1)) % 100}" for i in range(n)] for j in range(5)}
    names = TableEncoder().look(table).get_feature_names_out().tolist()
    indicators = [name for name in names if "=" in name]
    assert len(indicators) < 400
    assert any(name.endswith(" count") for name in names)


@pytest.mark.parametrize(
    "change",
    [
        lambda known, arrays: known.pop("layout"),
        lambda known, arrays: known["layout"]["columns"].pop(),
        lambda known, arrays: known["layout"]["names"].pop(),
        lambda known, arrays: known["layout"]["targets"].update(n=9),
        lambda known, arrays: known["layout"]["columns"][4]["category"].update(n_indicators=-1),
        lambda known, arrays: known["layout"]["columns"][3]["category"].update(first_shared=99),
        lambda known, arrays: known["layout"]["columns"][5]["time"].update(origin="x"),
        lambda known, arrays: arrays.pop("means"),
        lambda known, arrays: arrays.update(ranges=np.zeros((2, 1))),
        lambda known, arrays: arrays.update(more=np.zeros(3)),
        lambda known, arrays: arrays.update({"4/keys": np.zeros(7, np.int64)}),
        lambda known, arrays: arrays.update({"4/sums": np.full(arrays["4/sums"].shape, np.nan)}),
    ],
)
def test_a_state_that_cannot_be_is_refused(change):
    known, arrays = TableEncoder(hash_bits=4).fit(*mixed()).to_state()
    known = json.loads(json.dumps(known))
    TableEncoder.from_state(known, arrays)
    change(known, arrays)
    with pytest.raises(ValueError, match=r"wrong|no place|names for|left"):
        TableEncoder.from_state(known, arrays)


def test_wide_tables_of_zeros_are_sparse_rows():
    rng, n, width = np.random.default_rng(0), 30, 1_100
    cells = np.where(rng.random((n, width)) < 0.05, 1.0, 0.0)
    thin = {f"c{j}": cells[:, j] for j in range(width)}
    encoder = TableEncoder(dict.fromkeys(thin, "number"), task="classification")
    rows = encoder.learn_transform(thin)
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), cells)
    full = {name: column + 1.0 for name, column in thin.items()}
    assert isinstance(clone(encoder).learn_transform(full), np.ndarray)
    again = TableEncoder.from_state(*encoder.to_state())
    assert sparse.issparse(again.transform(full))  # the first rows decide, for good
    known, arrays = encoder.to_state()
    del known["layout"]["thin"]  # as in earlier versions
    assert isinstance(TableEncoder.from_state(known, arrays).transform(thin), np.ndarray)


def test_the_most_frequent_classes_have_shares():
    n = 600
    rare = [f"a{k}" for k in range(4)]  # first by name, last by number
    labels = np.array([*rare, *(f"b{k % 15:02}" for k in range(n - 4))], object)
    table = {"who": np.array([f"w{k % 200}" for k in range(n)], object)}
    encoder = TableEncoder({"who": "category"}).look(table, labels)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["who count", "who share of a0", *(f"who share of b{k:02}" for k in range(15))]
