"""Dense and sparse rows, and the points that learners keep."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from compiled import njit
from forks.engine import (
    Points,
    SparseRows,
    absolute_distances,
    by_form,
    dense_points,
    dense_row,
    inner_products,
    rows_from,
    shapes_of,
    squared_distances,
    store,
    store_points,
    take,
)
from forks.engine.blocks import padded


@njit
def keep_all(Z, points, n):
    for i in range(n):
        store(take(Z, i), points, i)


@njit
def compare_all(X, points, n, squares, products, distances):
    for t in range(squares.shape[0]):
        x = take(X, t)
        squared_distances(x, points, n, squares[t])
        inner_products(x, points, n, products[t])
        absolute_distances(x, points, n, distances[t])


def data(n, d, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < density)


def kept(rows, n, d, spare=np.nan):
    points = Points(np.full((d, padded(n)), spare), np.full((2, padded(n)), spare))
    keep_all(rows_from(rows), points, n)
    return points


def comparisons(rows, points, n):
    """The three comparisons of all rows with the first n points."""
    outs = [np.full((rows.shape[0], padded(n)), np.nan) for _ in range(3)]
    compare_all(rows_from(rows), points, n, *outs)
    return [out[:, :n] for out in outs]


def expected_comparisons(X, Z):
    differences = X[:, None, :] - Z[None, :, :]
    return (differences**2).sum(axis=2), X @ Z.T, np.abs(differences).sum(axis=2)


def test_rows_are_kept_all_at_once_as_one_by_one():
    Z = data(13, 4)
    points = Points(np.full((4, 16), 9.0), np.full((2, 16), 9.0))
    for rows in (Z, np.asfortranarray(Z), np.repeat(Z, 2, axis=0)[::2]):
        store_points(rows, points)
        for ours, expected in zip(points, kept(Z, 13, 4, spare=9.0), strict=True):
            np.testing.assert_array_equal(ours, expected)
    store_points(Z[:2] + 1.0, points)
    np.testing.assert_array_equal(dense_points(points, 13), np.vstack([Z[:2] + 1.0, Z[2:]]))


def test_a_verb_has_a_body_for_each_form():
    def count_dense(x, out):
        out[0] += x.shape[0]

    def count_sparse(x, out):
        out[1] += x.values.shape[0]

    count = by_form(count_dense, count_sparse)

    def count_all(X, n, out):
        for t in range(n):
            count(take(X, t), out)

    X = data(6, 5)
    for run in (njit(count_all), count_all):
        out = np.zeros(2)
        run(rows_from(X), 6, out)
        run(rows_from(csr_array(X)), 6, out)
        np.testing.assert_array_equal(out, [X.size, np.count_nonzero(X)])


BOTH = pytest.mark.parametrize("form", [np.asarray, csr_array, csr_matrix])


@BOTH
@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 3), (8, 1), (17, 40), (24, 7), (25, 3), (70, 9)])
def test_comparisons(form, n, d):
    X, Z = data(6, d, seed=1), data(n, d, seed=2)
    X[0] = 0.0  # a sparse row without entries
    for got, expected in zip(
        comparisons(form(X), kept(form(Z), n, d), n), expected_comparisons(X, Z), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@BOTH
def test_kept_points(form):
    Z = data(11, 5)
    points = kept(form(Z), 11, 5)
    np.testing.assert_array_equal(points.columns[:, :11], Z.T)
    np.testing.assert_allclose(points.norms[0, :11], (Z**2).sum(axis=1), rtol=1e-15)
    np.testing.assert_allclose(points.norms[1, :11], np.abs(Z).sum(axis=1), rtol=1e-15)
    assert np.isnan(points.columns[:, 11:]).all()  # nothing else is written
    np.testing.assert_array_equal(dense_points(points, 11), Z)
    assert dense_points(points, 4).shape == (4, 5)
    assert dense_points(points, 4).flags.c_contiguous


@BOTH
def test_a_new_point_leaves_nothing_of_the_old_one(form):
    points = kept(np.full((9, 5), 7.0), 9, 5)
    Z = data(9, 5, density=0.3)
    keep_all(rows_from(form(Z)), points, 9)
    np.testing.assert_array_equal(points.columns[:, :9], Z.T)


@BOTH
def test_only_some_points_are_compared(form):
    X, Z = data(4, 3, seed=1), data(20, 3, seed=2)
    points = kept(Z, 20, 3)
    for n in (0, 1, 8, 11):
        for got, expected in zip(
            comparisons(form(X), points, n), expected_comparisons(X, Z[:n]), strict=True
        ):
            assert got.shape == (4, n)
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_distances_of_sparse_duplicates_are_never_negative(size):
    Z = data(40, 9) * size
    squares, _, distances = comparisons(csr_array(Z), kept(Z, 40, 9), 40)
    assert (squares >= 0.0).all()
    assert (distances >= 0.0).all()
    assert np.diag(squares).max() <= 1e-14 * (Z**2).sum(axis=1).max()
    assert np.diag(distances).max() <= 1e-14 * np.abs(Z).sum(axis=1).max()


def test_dense_duplicates_have_distance_zero():
    Z = data(40, 9) * 1e8
    squares, _, distances = comparisons(Z, kept(Z, 40, 9), 40)
    assert (np.diag(squares) == 0.0).all()
    assert (np.diag(distances) == 0.0).all()


def test_chunks_are_handed_over_without_copies():
    X = data(6, 4)
    assert rows_from(X) is X
    sparse = csr_array(X)
    rows = rows_from(sparse)
    assert isinstance(rows, SparseRows)
    assert rows.values is sparse.data
    assert rows.features.dtype == rows.starts.dtype == np.int32


def test_wide_indices_become_narrow():
    sparse = csr_array(data(6, 4))
    sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
    rows = rows_from(sparse)
    assert rows.features.dtype == rows.starts.dtype == np.int32
    np.testing.assert_array_equal(rows.starts, sparse.indptr)


@BOTH
def test_rows_one_by_one_in_python(form):
    X = data(6, 4)
    X[2] = 0.0
    rows = rows_from(form(X))
    for t in range(6):
        row = dense_row(rows, t, 4)
        np.testing.assert_array_equal(row, X[t])
        row[:] = 99.0  # a copy
    np.testing.assert_array_equal(dense_row(rows, 0, 4), X[0])


def test_slices_of_a_sparse_matrix():
    X = data(20, 4)
    rows = rows_from(csr_array(X)[7:13])
    for t in range(6):
        np.testing.assert_array_equal(dense_row(rows, t, 4), X[7 + t])


def test_shapes_are_padded():
    for capacity, width in ((1, 8), (9, 24), (24, 24), (25, 40), (256, 264)):
        shapes = {"columns": (3, width), "norms": (2, width)}
        assert shapes_of(Points, {"features": 3, "capacity": capacity}) == shapes
