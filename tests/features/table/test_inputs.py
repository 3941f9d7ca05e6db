"""Tables of any type, kinds that are found or told, and cells that are wrong."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from forks.features import TableEncoder
from forks.features.table import CellError


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn(estimator, check):
    check(estimator)


COLUMNS = {"a": [1.5, None, 3.0], "b": ["x", "y", None], "c": ["2020-01-01", "2020-06-01", None]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def tables():
    """The same table as everything that it may come as."""
    yield COLUMNS
    yield ROWS
    yield [{k: v for k, v in row.items() if v is not None} for row in ROWS]
    yield pd.DataFrame(COLUMNS)
    yield pd.DataFrame(COLUMNS).convert_dtypes()
    yield pd.DataFrame(COLUMNS).astype({"b": "category", "c": "datetime64[s]"})
    yield __import__("pyarrow").table(COLUMNS)
    yield {name: np.array(cells, dtype=object) for name, cells in COLUMNS.items()}
    yield {**COLUMNS, "a": np.array(["1.5", "NA", "3"]), "b": np.array(["x", "y", "?"])}


@pytest.mark.parametrize("table", list(tables()))
def test_tables_of_any_type_are_the_same(table):
    expected = TableEncoder().learn_transform(COLUMNS, [0, 1, 0])
    encoder = TableEncoder()
    np.testing.assert_array_equal(encoder.learn_transform(table, [0, 1, 0]), expected)
    assert [column.kind for column in encoder.columns_] == ["number", "category", "time"]
    assert len(encoder.get_feature_names_out()) == expected.shape[1]


def test_a_matrix_has_columns_by_number():
    X = np.array([[1.0, 2.0], [3.0, np.nan]])
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x1 missing", "missing"]
    np.testing.assert_array_equal(encoder.transform(X), [[1, 2, 0, 0], [3, 2, 1, 0]])
    mixed = np.array([["u", 1], ["v", 2]], dtype=object)
    assert [c.kind for c in TableEncoder().look(mixed).columns_] == ["category", "number"]


def many(n=400):
    rng = np.random.default_rng(0)
    return {
        "row": np.arange(n),
        "key": np.array([f"k{rng.integers(10**9)}" for _ in range(n)]),
        "user": np.array([f"u{rng.integers(300)}" for _ in range(n)]),
        "same": np.full(n, "always"),
        "none": np.full(n, None),
        "code": rng.integers(0, 3, n),
        "date": pd.date_range("2020-01-01", periods=n).to_numpy(),
        "day": np.array([datetime.date(2020, 1, 1 + i % 28) for i in range(n)], dtype=object),
        "number": np.array([str(x) for x in rng.normal(size=n)]),
    }


def test_kinds():
    kinds = {c.name: c.kind for c in TableEncoder().look(many()).columns_}
    assert kinds == {
        "row": "identifier",
        "key": "identifier",
        "user": "category",
        "same": "constant",
        "none": "constant",
        "code": "number",
        "date": "time",
        "day": "time",
        "number": "number",
    }


def test_kinds_can_be_told():
    told = {
        "row": "number",
        "key": "dropped",
        "code": "category",
        "user": "text",
        "day": "category",
    }
    encoder = TableEncoder(kinds=told, hash_bits=3).look(many())
    found = {c.name: (c.kind, c.why) for c in encoder.columns_}
    assert all(found[name] == (kind, "told") for name, kind in told.items())
    names = encoder.get_feature_names_out().tolist()
    assert "row" in names
    assert "code=0" in names
    assert "user words 8" in names
    assert not [name for name in names if name.startswith("key")]


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kinds": {"row": "word"}}, "the kind of 'row' must be one of"),
        ({"kinds": {"rows": "number"}}, "kinds has 'rows'"),
        ({"hash_bits": 0}, "hash_bits must be at least 1"),
        ({"task": "ranking"}, "task must be one of"),
        ({"kinds": dict.fromkeys(many(), "dropped")}, "no column is left"),
    ],
)
def test_wrong_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        TableEncoder(**parameters).fit(many())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"number": "low"}, "column 'number', row 2: 'low' is not a number"),
        ({"number": "inf"}, "column 'number', row 2: 'inf' is not a finite number"),
        ({"date": "yesterday"}, "column 'date', row 2: 'yesterday'"),
    ],
)
def test_a_wrong_cell_is_named_and_nothing_is_learned(change, match):
    encoder = TableEncoder().fit(many())
    before = encoder.to_state()[1]
    rows = pd.DataFrame(many()).astype(object).to_dict("records")[:3]
    rows[1].update(change)
    with pytest.raises(CellError, match=match) as caught:
        encoder.learn_transform(rows)
    assert caught.value.row == 1
    after = encoder.to_state()[1]
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_columns_are_found_by_name():
    encoder = TableEncoder().fit(many())
    table = many()
    turned = {name: table[name] for name in reversed([*table, "more"]) if name in table}
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(table))
    del turned["code"]
    with pytest.raises(ValueError, match="X has no column 'code'; it has"):
        encoder.transform(turned)


def test_a_column_of_numbers_with_a_gap_stays_one():
    table = {"x": np.array(["1", "NA", "3"] * 100)}
    encoder = TableEncoder()
    rows = encoder.fit_transform(table)
    assert encoder.columns_[0].kind == "number"
    np.testing.assert_array_equal(rows[1], [1, 1, 0])
    np.testing.assert_array_equal(rows[4], [5 / 3, 1, 0])


def test_late_gaps_share_an_indicator():
    encoder = TableEncoder().fit({"x": [1.0, 2.0], "z": [3.0, 4.0], "w": [0.0, None]})
    rows = encoder.transform({"x": [np.nan, 1.0], "z": [5.0, None], "w": [0.0, 0.0]})
    np.testing.assert_array_equal(rows, [[1.5, 5, 0, 0, 1], [1, 3.5, 0, 0, 1]])


def test_tables_without_gaps_in_their_first_rows_have_no_indicator():
    encoder = TableEncoder().fit({"x": [1.0, 2.0], "z": [3.0, 4.0]})
    np.testing.assert_array_equal(encoder.transform({"x": [np.nan], "z": [5.0]}), [[1.5, 5]])


def test_times_are_points_on_circles():
    encoder = TableEncoder(kinds={"t": "time"})
    when = ["2024-01-01T06:00", "2024-01-08 06:00:00", "2024/1/2 18:00", None]
    rows = encoder.fit({"t": when[:1]}).transform({"t": when})
    names = encoder.get_feature_names_out().tolist()
    hour = names.index("t hour sin")
    np.testing.assert_allclose(rows[:3, hour], [1, 1, -1], atol=1e-9)
    week = [names.index("t weekday sin"), names.index("t weekday cos")]
    np.testing.assert_allclose(rows[0, week], rows[1, week], atol=1e-9)  # two Mondays
    np.testing.assert_allclose(rows[3, :6], 0.0)
    np.testing.assert_allclose(rows[:, names.index("t years")] * 365.2425, [0, 7, 1.5, 0])


def test_time_zones():
    encoder = TableEncoder(kinds={"t": "time"}).fit({"t": ["2024-01-01T12:00Z"]})
    zones = {"t": ["2024-01-01T12:00Z", "2024-01-01T14:00+02:00", "2024-01-01T12:00"]}
    rows = encoder.transform(zones)
    np.testing.assert_array_equal(rows[1:], rows[[0, 0]])


def test_words_are_hashed():
    encoder = TableEncoder(kinds={"s": "text"}, hash_bits=6)
    rows = encoder.fit_transform({"s": ["Red wine", "wine, red!", "", "white wine"]})
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_allclose((rows**2).sum(axis=1), [1, 1, 0, 1])
    assert 0.1 < abs(rows[0] @ rows[3]) < 0.9
    wide = TableEncoder(kinds={"s": "text"}, hash_bits=16).fit_transform({"s": ["red wine"] * 3})
    assert wide.shape == (3, 2**16)
    assert wide.nnz == 6


def test_in_a_pipeline():
    table, y = pd.DataFrame(many()), np.arange(400) % 2
    table["x"] = y + 0.1
    model = make_pipeline(TableEncoder(), LogisticRegression())
    assert model.fit(table, y).score(table, y) == 1.0
    assert clone(model).set_params(tableencoder__hash_bits=4)
    out = TableEncoder().set_output(transform="pandas").fit_transform(table, y)
    assert list(out.columns) == list(model[0].get_feature_names_out())


def test_durations_are_seconds():
    table = {"d": np.array([60, 90, "NaT"], dtype="timedelta64[s]")}
    encoder = TableEncoder()
    np.testing.assert_array_equal(encoder.fit_transform(table)[:, 0], [60, 90, 75])
