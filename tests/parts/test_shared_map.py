"""The few features that keys share, against a direct computation."""

import numpy as np

from forks import oracles
from forks.engine import viewer
from forks.parts.shared_map import (
    SharedMap,
    features_of,
    fit_shared_map,
    new_map,
    shared_map_limits,
)

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 3)) * [1.0, 5.0, 0.1]


def test_inner_products_are_those_of_the_oracle():
    memory = fit_shared_map(new_map(3, 100, 7), X, 100)
    oracle = oracles.FewFeatures(X, 7)
    phi = features_of(memory, X)
    plain = np.array([oracle(x) for x in X])
    assert phi.shape == plain.shape == (150, 8)
    np.testing.assert_allclose(phi @ phi.T, plain @ plain.T, atol=1e-8)  # directions have no sign
    assert (phi[:, -1] == 1.0).all()


def test_before_the_first_fit_there_is_only_the_bias():
    phi = features_of(new_map(3, 100, 7), X)
    assert (phi[:, :-1] == 0.0).all()
    assert (phi[:, -1] == 1.0).all()


def test_gaps_are_filled_with_the_means_of_the_first_rows():
    gappy = X.copy()
    gappy[::3, 1] = np.nan
    memory = fit_shared_map(new_map(3, 100, 5), gappy, 100)
    filled = np.where(np.isnan(gappy), np.nanmean(gappy[:, 1]), gappy)
    np.testing.assert_allclose(features_of(memory, gappy), features_of(memory, filled), atol=1e-12)
    nothing = np.full((40, 3), np.nan)
    assert np.isfinite(features_of(fit_shared_map(memory, nothing, 100), X)).all()


def test_few_rows_have_few_directions():
    memory = fit_shared_map(new_map(3, 100, 20), X[:5], 100)
    view = viewer(SharedMap)(memory)
    assert 0 < view.rank[0] <= 5 + 3
    assert np.isfinite(features_of(memory, X)).all()
    assert (features_of(memory, X)[:, view.rank[0] : -1] == 0.0).all()


def test_rows_are_described_one_by_one():
    memory = fit_shared_map(new_map(3, 100, 7), X, 100)
    one_by_one = np.concatenate([features_of(memory, x[None]) for x in X[:20]])
    np.testing.assert_array_equal(one_by_one, features_of(memory, X)[:20])


def test_limits():
    memory = fit_shared_map(new_map(3, 100, 7), X, 100)
    view = viewer(SharedMap)(memory)

    def within():
        limits = shared_map_limits(view, 100)
        return all(np.all(v >= low) and np.all(v <= high) for _, v, low, high in limits)

    assert within()
    view.rank[0] = 8
    assert not within()
