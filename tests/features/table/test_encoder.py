"""The encoder of tables: what it makes of columns, and that it does not matter how rows come."""

import json

import numpy as np
import pytest
from sklearn.base import clone

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
