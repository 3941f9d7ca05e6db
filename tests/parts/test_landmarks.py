"""Landmarks and psi against a direct computation."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import oracles
from forks.engine import Points, entry, rows_from, take
from forks.features.scaling import Scale
from forks.kernels import Gaussian, Polynomial
from forks.parts.landmarks import (
    GIVEN,
    LAPLACIAN,
    SHAPE,
    LandmarkMap,
    extend_scale,
    fit_map,
    landmark_factor,
    linear_features,
    linear_features_after,
    write_psi,
)

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
GAUSSIAN, PLAIN = Gaussian(1.2), oracles.gaussian(1.2)
RELEVANCE = np.array([0.0, 2.0, 0.5, 1.0])


@entry
def _write_all(kernel, map, X, z, out):
    for t in range(out.shape[0]):
        write_psi(kernel, map, take(X, t), z, out[t])


def new(d, capacity, linear=True):
    room = -(-capacity // 8) * 8
    scale = Scale(*(np.zeros(d) for _ in range(3)), np.zeros(1))
    points = Points(np.zeros((d, room)), np.zeros((2, room)))
    sizes = np.array([0, d if linear else 0, 0, 0, GIVEN])
    return LandmarkMap(sizes, np.zeros(1), np.ones(1), np.ones(d), scale, points)


def fitted(
    X,
    kernel=GAUSSIAN,
    weights=None,
    scaled=True,
    median=True,
    linear=True,
    relevance=None,
    width=1.0,
    laplacian=False,
):
    """Return the map, what it says of its rows, and whether all was finite."""
    map = new(X.shape[1], len(X), linear)
    map.relevance[:] = 1.0 if relevance is None else relevance
    map.width[0] = width
    map.sizes[SHAPE] = LAPLACIAN if laplacian else GIVEN
    weights = np.ones(len(X)) if weights is None else weights
    return (map, *fit_map(map, kernel, X, weights, scaled, median))


def psi_of(map, X, kernel=GAUSSIAN):
    """Return psi of the rows, over old numbers that must not shine through."""
    m, _, width = map.sizes[:3]
    n, d = X.shape
    out = np.full((n, -(-(max(width, m) + 1) // 8) * 8 + 8), np.nan)
    _write_all.over()(kernel, map, rows_from(X), np.full(-(-d // 8) * 8, np.nan), out)
    whole = -(-(width + 1) // 8) * 8
    assert not out[:, width + 1 : whole].any()
    assert np.isnan(out[:, whole:]).all()
    return out[:, : width + 1]


def landmarks_of(map):
    return map.points.columns[:, : map.sizes[0]].T


def stream(n, d=4, seed=0, zeros=0.6, shift=0.0):
    """Most entries are 0, and so are medians if nothing is shifted."""
    rng = np.random.default_rng(seed)
    return rng.standard_t(4, size=(n, d)) * (rng.random((n, d)) >= zeros) + shift


# ---- psi -------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("shift", [0.0, 1.5])
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"scaled": False},
        {"median": False},
        {"linear": False},
        {"relevance": RELEVANCE},
        {"width": 0.6},
        {"laplacian": True, "relevance": RELEVANCE},
        {"laplacian": True, "median": False},
    ],
    ids=lambda choices: "".join(choices),
)
def test_psi_and_landmarks_are_those_of_a_direct_computation(choices, shift, form):
    X, other = stream(40, shift=shift), stream(60, seed=1, shift=shift)
    map, rows, finite = fitted(X, **choices)
    oracle = oracles.Landmarks(X, PLAIN, **choices)
    assert finite
    np.testing.assert_allclose(landmarks_of(map), oracle.rows, rtol=1e-9, atol=1e-12)
    assert map.sizes[3] == (choices.get("scaled", True) and shift != 0.0)
    for Z in (X, other):
        expected = [oracle.psi(x) for x in Z]
        np.testing.assert_allclose(psi_of(map, form(Z)), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(rows.L, oracle.L, rtol=1e-5, atol=1e-8)
    expected = [oracle.phi(oracle.psi(x)) for x in X]
    np.testing.assert_allclose(rows.F, expected, rtol=1e-5, atol=1e-6)


def test_the_features_of_the_rows_are_whitened():
    X = stream(40)
    map, rows, _ = fitted(X)
    m = map.sizes[0]
    psi = psi_of(map, X)
    K = rows.K[:, rows.chosen]
    np.testing.assert_allclose(K, psi[:, :m], rtol=1e-12)
    np.testing.assert_allclose(np.tril(rows.gram()), np.tril(rows.F @ rows.F.T), rtol=1e-9)
    np.testing.assert_allclose(rows.F[:, m:], psi[:, m:], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rows.F[:, :m] @ rows.L.T, K, rtol=1e-9, atol=1e-12)
    points = landmarks_of(map)
    np.testing.assert_allclose(rows.L @ rows.L.T, PLAIN(points, points), rtol=1e-10)
    np.testing.assert_allclose(landmark_factor(map, GAUSSIAN), rows.L, rtol=1e-6, atol=1e-8)


@FORMS
def test_before_the_first_fit_psi_is_one(form):
    np.testing.assert_array_equal(psi_of(new(4, 16), form(stream(3))), 1.0)


def test_rows_of_weight_zero_have_no_say_in_the_scale():
    X, weights = stream(40, zeros=0.0), np.where(np.arange(40) % 2 == 0, 0.0, 2.0)
    map, _, _ = fitted(X, weights=weights)
    z = psi_of(map, X)[:, map.sizes[0] : -1]
    expected = oracles.PlainScale(X[1::2])(X) / 2.0
    np.testing.assert_allclose(z, expected, rtol=1e-12)


# ---- the choice ------------------------------------------------------------------------------


def chosen(map, Z):
    """The rows of Z that are landmarks, in the order of choice."""
    return [int(np.argmin(np.abs(Z - point).sum(axis=1))) for point in landmarks_of(map)]


@pytest.mark.parametrize(("n", "d"), [(5, 2), (60, 2), (150, 2), (150, 6)])
def test_landmarks_are_chosen_greedily(n, d):
    """Most rows of a plane are soon dependent; LAPACK goes by blocks above 64."""
    X = np.random.default_rng(n).normal(size=(n, d))
    map, rows, _ = fitted(X, scaled=False, median=False)
    order = chosen(map, X)
    assert order == oracles.independent_rows(PLAIN(X, X), 1e-8)
    Phi = rows.F[:, : len(order)]
    assert np.abs(PLAIN(X, X) - Phi @ Phi.T).max() < 1e-7
    assert (len(order) < n) == (n > 5 and d == 2)


@pytest.mark.parametrize(("degree", "d", "m"), [(1, 3, 3), (2, 2, 3), (2, 3, 6)])
def test_a_kernel_of_few_dimensions_has_as_many_landmarks(degree, d, m):
    X = np.random.default_rng(0).normal(size=(50, d))
    map, rows, finite = fitted(X, Polynomial(degree, 1.0, 0.0), scaled=False, median=False)
    assert finite
    assert map.sizes[0] == m
    np.testing.assert_allclose(rows.F[:, :m] @ rows.F[:, :m].T, (X @ X.T) ** degree, atol=1e-9)


def test_rows_that_repeat_are_one_landmark():
    X = stream(6, zeros=0.0)[np.arange(40) % 6]
    map, _, _ = fitted(X)
    assert map.sizes[0] == 6
    assert len(np.unique(chosen(map, landmarks_of(map)))) == 6
    map, _, _ = fitted(np.full((40, 3), 7.0))
    assert map.sizes[0] == 1


def test_rows_without_a_kernel_value_leave_the_linear_part_and_the_bias():
    map, rows, finite = fitted(np.zeros((20, 3)), Polynomial(1, 1.0, 0.0), scaled=False)
    assert finite
    np.testing.assert_array_equal(map.sizes, [0, 3, 3, 0, GIVEN])
    np.testing.assert_array_equal(rows.F, [[0.0, 0.0, 0.0, 1.0]] * 20)
    assert landmark_factor(map, Polynomial(1, 1.0, 0.0)).shape == (0, 0)


# ---- the unit of distances -------------------------------------------------------------------


def divisor_of(X):
    """c, which the linear part has in its factor c / sqrt(d)."""
    map, _, _ = fitted(X, scaled=False)
    return map.factor[0] * np.sqrt(X.shape[1])


def test_distances_are_in_units_of_their_median():
    X = stream(30, zeros=0.0)
    assert divisor_of(X) == pytest.approx(oracles.median_distance(X))
    assert divisor_of(1e6 + X) == pytest.approx(oracles.median_distance(1e6 + X), rel=1e-4)


def test_sums_of_differences_are_in_units_of_1_4_medians():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [4.0, -4.0]])  # sums 3, 8 and 9
    map, _, _ = fitted(X, scaled=False, laplacian=True)
    np.testing.assert_allclose(sorted(landmarks_of(map).ravel()), np.sort(X.ravel()) / (1.4 * 8.0))
    K = np.exp(-np.array([[0.0, 3.0, 8.0], [3.0, 0.0, 9.0], [8.0, 9.0, 0.0]]) / (1.4 * 8.0))
    np.testing.assert_allclose(psi_of(map, X)[:, :3], K[:, chosen(map, X / (1.4 * 8.0))])


def test_of_their_mean_where_most_rows_are_alike_and_of_one_where_all_are():
    alike = np.tile(1e5 * stream(1, d=13, zeros=0.0), (20, 1))
    assert divisor_of(alike) == 1.0  # though squares and products are not rounded alike
    X = np.ones((20, 2))
    X[3] = 4.0, 5.0
    assert divisor_of(X) == pytest.approx(np.sqrt(19 * 25.0 / 190))


# ---- beyond all bounds -----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [GAUSSIAN, Polynomial(3, 1.0, 1.0)], ids=repr)
@pytest.mark.parametrize("median", [True, False])
@pytest.mark.parametrize("size", [1e-320, 1e120, 1e308])
def test_huge_and_tiny_rows_have_finite_features(kernel, median, size):
    X = stream(20, zeros=0.0)
    X[7] = size * np.sign(X[7])
    map, rows, _ = fitted(X, kernel, scaled=False, median=median)
    assert 0 < map.sizes[0] <= 20
    for array in (rows.K, rows.L, rows.F):
        assert np.isfinite(array).all()
    if kernel is GAUSSIAN:
        assert np.isfinite(psi_of(map, X)).all()


@pytest.mark.xfail(
    strict=True, reason="`kernel_block` clips at 1e100, so that no value is infinite"
)
def test_a_row_beyond_all_bounds_is_no_landmark():
    X = stream(20, zeros=0.0)
    X[7] = 1e120
    map, _, finite = fitted(X, Polynomial(3, 1.0, 1.0), scaled=False, median=False)
    assert not finite
    assert map.sizes[0] > 1


# ---- more features ---------------------------------------------------------------------------


def widened(map, d):
    """The map with room for d features, as a learner makes it: new features are 0."""
    n_before, m = len(map.scale.centre), int(map.sizes[0])
    wide = new(d, map.points.columns.shape[1])
    wide.relevance[:n_before], wide.relevance[n_before:] = map.relevance, 0.0
    for ours, theirs in zip(wide.scale, map.scale, strict=True):
        ours[: len(theirs)] = theirs
    wide.points.columns[:n_before], wide.points.norms[:] = map.points.columns, map.points.norms
    wide.factor[:] = map.factor
    wide.sizes[:] = m, d, m + d, *map.sizes[3:]
    return wide


@FORMS
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_features_that_come_later_were_zero_and_are_a_surprise_of_three(form, shift):
    X, other = stream(30, shift=shift), stream(20, seed=1, shift=shift)
    map, _, _ = fitted(X, relevance=RELEVANCE)
    m = map.sizes[0]
    before, wide = psi_of(map, other), widened(map, 6)
    extend_scale(wide, 4, True)
    rows = np.hstack([other, np.zeros((20, 2))])
    expected = np.insert(before, [m + 4, m + 4], 0.0, axis=1)
    np.testing.assert_allclose(psi_of(wide, form(rows)), expected, rtol=1e-12, atol=1e-14)
    rows[::2, 4], rows[1::2, 5] = 1e-9, -70.0
    got = psi_of(wide, form(rows))
    np.testing.assert_allclose(got[::2, m + 4], 3.0 / 2.0, rtol=1e-9)  # sqrt(4) features before
    np.testing.assert_allclose(got[1::2, m + 5], -3.0 / 2.0, rtol=1e-9)
    divisor = oracles.Landmarks(X, PLAIN, relevance=RELEVANCE).divisor
    farther = np.exp(-0.5 * (3.0 / divisor) ** 2 / 1.2**2)
    np.testing.assert_allclose(got[:, :m], farther * before[:, :m], rtol=1e-9, atol=1e-14)


def test_unscaled_features_that_come_later_are_as_they_are():
    X = stream(30, zeros=0.0)
    map, _, _ = fitted(X, scaled=False)
    wide = widened(map, 5)
    extend_scale(wide, 4, False)
    rows = np.hstack([X, np.full((30, 1), 7.0)])
    np.testing.assert_allclose(psi_of(wide, rows)[:, -2], 7.0 / 2.0, rtol=1e-12)


def test_up_to_512_features_have_a_linear_part():
    assert [linear_features(d, True) for d in (1, 512, 513)] == [1, 512, 0]
    assert linear_features(5, False) == 0
    assert linear_features_after(9, 4, 4) == 9
    assert linear_features_after(600, 4, 4) == 512
    assert linear_features_after(700, 512, 600) == 512
    assert linear_features_after(9, 0, 4) == 0
