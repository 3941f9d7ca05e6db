"""Bad keys, rows and labels: one clear error, and nothing has changed."""

import numpy as np
import pandas as pd
import pytest
from keyed_streams import keyed_stream
from scipy import sparse

from forks.keyed import KeyedRegressor

KEYS, X, Y = keyed_stream(60, 4)
BAD_KEYS = {
    "none": (["a", None], r"keys\[1\] is missing"),
    "nan": (["a", float("nan")], r"keys\[1\] is missing"),
    "numpy's nan": (np.array([np.nan, 1.0]), r"keys\[0\] is missing"),
    "pandas' NA": (pd.array([1, None], dtype="Int64"), r"keys\[1\] is missing"),
    "no time": ([pd.NaT, "a"], r"keys\[0\] is missing"),
    "empty": (["a", ""], r"keys\[1\] is an empty string"),
    "huge": (["a", "x" * 10_000_000], r"keys\[1\] has 10,000,000 characters"),
    "huge integer": ([1, 2**63], r"keys\[1\] is an integer of more than 64 bits"),
    "float": ([1.0, 2.0], r"keys\[0\] is 1.0, of type float"),
    "bool": (["a", True], r"keys\[1\] is True, of type bool"),
    "list": (["a", ["b"]], r"keys\[1\] is \['b'\], of type list"),
    "one string": ("ab", "keys must be a sequence"),
    "a number": (3, "keys must be a sequence"),
    "two dimensions": (np.array([["a"], ["b"]]), "one dimension"),
    "too few": (["a"], "keys has 1 entries, but X has 2 rows"),
}


@pytest.mark.parametrize("case", BAD_KEYS)
@pytest.mark.parametrize("rows", [0, 50])
def test_bad_keys(case, rows, tmp_path):
    keys, message = BAD_KEYS[case]
    model = KeyedRegressor(rank=3)
    if rows:
        model.partial_fit(KEYS[:rows], X[:rows], Y[:rows])
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match=message):
        model.partial_fit(keys, X[:2], Y[:2])
    if rows:
        with pytest.raises(ValueError, match=message):
            model.predict(keys, X[:2])
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


@pytest.mark.parametrize(
    ("X_bad", "y_bad", "message"),
    [
        ([[np.inf] * 4] * 2, [1.0, 2.0], "infinity"),
        ([[1.0] * 3] * 2, [1.0, 2.0], "3 features"),
        ([[1.0] * 4] * 2, [1.0, np.nan], r"y\[1\] is nan"),
        ([[1.0] * 4] * 2, [1.0, np.inf], r"y\[1\] is inf"),
        ([[1.0] * 4] * 2, [1.0], r"y must be of the shape \(2,\)"),
        ([[1.0] * 4] * 2, ["a", "b"], "y must be numbers"),
        ([[1.0] * 4] * 2, [1.0, None], "y must be numbers|nan"),
        (sparse.csr_array(np.ones((2, 4))), [1.0, 2.0], r"X is sparse, .*X\.toarray\(\)"),
    ],
)
def test_bad_rows_and_targets(X_bad, y_bad, message, tmp_path):
    model = KeyedRegressor(rank=3).partial_fit(KEYS, X, Y)
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match=message):
        model.partial_fit(["a", "new"], X_bad, y_bad)
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


@pytest.mark.parametrize(
    "parameters",
    [{"rank": 0}, {"rank": 1.5}, {"max_keys": 0}, {"forgetting": 1.0}, {"forgetting": "no"}],
)
def test_bad_parameters(parameters):
    model = KeyedRegressor(**parameters)
    with pytest.raises(ValueError, match=next(iter(parameters))):
        model.partial_fit(KEYS, X, Y)
    assert not hasattr(model, "corrections_")


def test_a_failing_first_call_leaves_nothing():
    model = KeyedRegressor()
    before = vars(model).copy()
    with pytest.raises(ValueError, match="nan"):
        model.partial_fit(KEYS, X, np.where(np.arange(60) == 40, np.nan, Y))
    assert vars(model) == before
    fitted = KeyedRegressor(rank=3).fit(KEYS, X, Y)
    answers = fitted.predict(KEYS, X)
    with pytest.raises(ValueError, match="nan"):
        fitted.fit(KEYS, X, np.where(np.arange(60) == 40, np.nan, Y))
    np.testing.assert_array_equal(fitted.predict(KEYS, X), answers)


def test_kinds_of_keys_that_are_the_same():
    answers = [
        KeyedRegressor(rank=3).prequential(keys, X, Y)
        for keys in (KEYS, np.array(KEYS), np.array(KEYS, object), pd.Series(KEYS), tuple(KEYS))
    ]
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)


def test_no_rows():
    model = KeyedRegressor(rank=3)
    assert model.prequential([], np.empty((0, 4)), []).shape == (0,)
    model.partial_fit(KEYS, X, Y).partial_fit([], np.empty((0, 4)), [])
    assert model.n_rounds_ == 60


def test_absurd_targets_leave_everything_finite():
    y = Y.copy()
    y[::7] = 1e300
    model = KeyedRegressor(rank=3)
    assert np.isfinite(model.prequential(KEYS, X, y)).all()
    assert np.isfinite(model.predict(KEYS, X)).all()
    assert model.corrections_.mends > 0
