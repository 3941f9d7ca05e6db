"""Numbers by key: against the oracle in every round, in any chunks, and what it gains."""

import numpy as np
import pytest
from keyed_streams import keyed_stream

from forks import OnlineKernelRegressor, oracles
from forks.keyed import KeyedRegressor


def rmse(errors):
    return float(np.sqrt(np.mean(errors**2)))


def in_chunks(model, keys, X, y, sizes):
    out, start = [], 0
    while start < len(y):
        part = slice(start, start + sizes[len(out) % len(sizes)])
        out.append(model.prequential(keys[part], X[part], y[part]))
        start = part.stop
    return np.concatenate(out)


@pytest.mark.parametrize("rank", [3, 7])
def test_answers_are_those_of_the_oracle(rank):
    keys, X, y = keyed_stream(620, 7)
    X[5::11, 2] = np.nan
    y[300] = 50.0  # an outlier, which is held
    model = KeyedRegressor(rank=rank, forgetting=0.01)
    answers = model.prequential(keys, X, y)
    given = OnlineKernelRegressor(effort="fast").prequential(X, y)
    oracle = oracles.KeyedOracle(1, False, rank, 0.01)
    expected, _ = oracle.play(keys, X, given[:, None], y[:, None])
    np.testing.assert_allclose(answers, expected[:, 0], rtol=1e-6, atol=1e-6)
    assert rmse(answers - given) > 0.1  # corrections do something


def test_predict_leaves_out_the_last_residual():
    keys, X, y = keyed_stream(620, 7)
    model = KeyedRegressor().partial_fit(keys[:609], X[:609], y[:609])
    given = OnlineKernelRegressor(effort="fast").partial_fit(X[:609], y[:609]).predict(X[609:610])
    oracle = oracles.KeyedOracle(1, False, 15, 0.002)
    common = OnlineKernelRegressor(effort="fast").prequential(X[:609], y[:609])
    oracle.play(keys[:609], X[:609], common[:, None], y[:609, None])
    ahead, settled = oracle.play(keys[609:610], X[609:610], given[:, None], y[609:610, None])
    np.testing.assert_allclose(model.predict(keys[609:610], X[609:610]), settled[0], rtol=1e-6)
    np.testing.assert_allclose(model.score_ahead(keys[609:610], X[609:610]), ahead[0], rtol=1e-6)
    assert ahead[0] != settled[0]


def test_chunks_do_not_matter():
    keys, X, y = keyed_stream(1200, 30)
    whole = KeyedRegressor().prequential(keys, X, y)
    cut = in_chunks(KeyedRegressor(), keys, X, y, [1, 30, 2, 95, 400])
    np.testing.assert_array_equal(whole, cut)


def test_a_new_key_is_answered_by_the_common_model():
    keys, X, y = keyed_stream(900, 7)
    model = KeyedRegressor().partial_fit(keys, X, y)
    np.testing.assert_array_equal(
        model.predict(["a stranger"] * 5, X[:5]), model.common_.predict(X[:5])
    )
    assert model.n_keys_ == 7
    assert model.n_rounds_ == 900


def test_it_is_better_than_one_model_and_than_separate_ones():
    keys, X, y = keyed_stream(3000, 20)
    late = slice(1000, None)
    ours = KeyedRegressor().prequential(keys, X, y)
    of = np.unique(keys, return_inverse=True)[1]
    one = OnlineKernelRegressor(effort="fast").prequential(np.hstack([X, np.eye(20)[of]]), y)
    apart = np.empty(len(y))
    for number in range(20):
        own = of == number
        apart[own] = OnlineKernelRegressor(effort="fast").prequential(X[own], y[own])
    errors = [rmse((answers - y)[late]) for answers in (ours, one, apart)]
    assert errors[0] < 0.95 * min(errors[1:]), errors


def test_the_size_of_a_key_is_told():
    keys, X, y = keyed_stream(40, 3)
    model = KeyedRegressor(rank=7).partial_fit(keys, X, y)
    assert model.bytes_per_key_ == 8 * (1 + 36 + 8 + 5 + 1 + 2)
    assert model.bytes_per_key_ == model.corrections_.table.copies(np.arange(1)).nbytes
