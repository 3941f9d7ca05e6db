"""The decompositions that TISVD is compared with, against dense ones."""

import numpy as np
import pytest

from forks.linalg import (
    TISVD,
    IncrementalSVD,
    RandomizedSVD,
    TruncatedSVD,
    leading_eigenpairs,
)

N, M, K = 30, 24, 6


def matrices(seed=0, rank=M):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(N, rank)), rng.normal(size=(M, rank))
    return (U * 0.7 ** np.arange(rank)) @ V.T, rng


def updates(rng, count=20, columns=3):
    return [(rng.normal(size=(N, columns)), rng.normal(size=(M, columns))) for _ in range(count)]


def leading(A, k):
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return (U[:, :k] * s[:k]) @ Vt[:k], s[:k]


def test_truncated_is_the_dense_one_at_every_update():
    A, rng = matrices()
    ours = TruncatedSVD(rank=K).fit(A)
    for D1, D2 in updates(rng):
        A = A + D1 @ D2.T
        best, s = leading(A, K)
        ours.update(D1, D2)
        np.testing.assert_allclose(ours.s, s, rtol=1e-12)
        np.testing.assert_allclose(ours.reconstruct(), best, atol=1e-10)
        np.testing.assert_allclose(ours.M, A, atol=1e-11)


def test_randomized_is_near_the_dense_one():
    A, rng = matrices()
    ours = RandomizedSVD(rank=K, seed=3).fit(A)
    for D1, D2 in updates(rng):
        A = A + D1 @ D2.T
        _, s = leading(A, K)
        ours.update(D1, D2)
        np.testing.assert_allclose(ours.s, s, rtol=2e-2)
        np.testing.assert_allclose(ours.U.T @ ours.U, np.eye(K), atol=1e-12)
        assert ours.V.shape == (M, K)
    again = RandomizedSVD(rank=K, seed=3).fit(A)
    np.testing.assert_array_equal(again.s, RandomizedSVD(rank=K, seed=3).fit(A).s)


def test_incremental_is_exact_and_grows():
    A, rng = matrices(rank=2)
    ours = IncrementalSVD().fit(A)
    assert len(ours.s) == 2
    ranks = []
    for D1, D2 in updates(rng, 12):
        A = A + D1 @ D2.T
        ours.update(D1, D2)
        ranks.append(len(ours.s))
        np.testing.assert_allclose(ours.reconstruct(), A, atol=1e-10)
        np.testing.assert_allclose(ours.s, leading(A, len(ours.s))[1], rtol=1e-10)
        np.testing.assert_allclose(ours.U.T @ ours.U, np.eye(len(ours.s)), atol=1e-12)
    assert ranks == [min(2 + 3 * i, M) for i in range(1, 13)]


def test_incremental_forgets_directions_that_vanish():
    D1, D2 = np.eye(N)[:, :1], np.eye(M)[:, :1]
    ours = IncrementalSVD().fit(D1 @ D2.T + np.eye(N, M)).update(D1, -2.0 * D2)
    assert len(ours.s) == M - 1


def test_tisvd_is_the_incremental_one_with_a_cut():
    A, rng = matrices(rank=K - 3)
    cut, whole = TISVD(rank=K).fit(A), IncrementalSVD().fit(A)
    D1, D2 = updates(rng, 1)[0]
    np.testing.assert_allclose(cut.update(D1, D2).s, whole.update(D1, D2).s, rtol=1e-12)
    D1, D2 = updates(rng, 1)[0]
    np.testing.assert_allclose(cut.update(D1, D2).s, whole.update(D1, D2).s[:K], rtol=1e-12)


@pytest.mark.parametrize("made", [TruncatedSVD(2), RandomizedSVD(2), IncrementalSVD()])
def test_bad_input_changes_nothing(made):
    with pytest.raises(ValueError, match="fit first"):
        made.update(np.ones(3), np.ones(2))
    made.fit(np.arange(6.0).reshape(3, 2))
    before = made.s.copy()
    for D1, D2, named in [
        (np.ones(4), np.ones(2), "D1"),
        (np.ones(3), np.ones(3), "D2"),
        (np.ones((3, 2)), np.ones((2, 1)), "columns"),
        (np.full(3, np.nan), np.ones(2), "D1"),
        (np.full(3, 1e200), np.full(2, 1e200), "D1 D2'"),
    ]:
        with pytest.raises(ValueError, match=named):
            made.update(D1, D2)
    np.testing.assert_array_equal(made.s, before)
    with pytest.raises(ValueError, match="M must not be empty"):
        made.fit(np.zeros((0, 3)))


@pytest.mark.parametrize("arguments", [{"rank": 0}, {"oversampling": -1}, {"seed": 0.5}])
def test_bad_arguments_are_named(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        RandomizedSVD(**{"rank": 2, **arguments})


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-20, 1e-17, 1e-5])
@pytest.mark.parametrize("n", [50, 100])
def test_no_eigenpair_is_lost_where_all_are_nearly_equal(n, off):
    M = np.eye(n) + off
    values, vectors = leading_eigenpairs(M, 5)
    assert (values.shape, vectors.shape) == ((5,), (n, 5))
    np.testing.assert_allclose(M @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-12)
