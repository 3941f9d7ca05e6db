"""Truncated incremental decompositions, against dense ones of the running matrix."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forks.linalg import TISVD, eigen_update
from forks.linalg.tisvd import _extend

FORKS_J = np.array([[1.0, 1.0], [1.0, 0.0]])


def orthogonality_error(U):
    return np.abs(U.T @ U - np.eye(U.shape[1])).max()


def truncated(M, k):
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    return (U[:, :k] * s[:k]) @ Vt[:k], s[:k]


def eigen_truncated(M, k):
    values, vectors = np.linalg.eigh(M)
    leading = np.argsort(-np.abs(values))[:k]
    return (vectors[:, leading] * values[leading]) @ vectors[:, leading].T, values[leading]


def with_singular_values(rng, n, m, sigma):
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    V = np.linalg.qr(rng.standard_normal((m, m)))[0]
    return (U[:, : len(sigma)] * sigma) @ V[:, : len(sigma)].T


def check(tisvd, M, k, tolerance=1e-11):
    """`tisvd` holds the rank-k part of M, as far as M determines it."""
    size = max(np.abs(M).max(), 1e-300)
    expected, s = truncated(M / size, k)
    assert tisvd.U.shape == (len(M), k)
    assert tisvd.s.shape == (k,)
    assert tisvd.V.shape == (M.shape[1], k)
    assert (tisvd.s >= 0).all()
    assert (np.diff(tisvd.s) <= 0).all()
    assert orthogonality_error(tisvd.U) < 1e-12
    assert orthogonality_error(tisvd.V) < 1e-12
    np.testing.assert_allclose(tisvd.s / size, s, atol=tolerance * s[0])
    full = np.linalg.svd(M / size, compute_uv=False)
    following = full[k] if k < len(full) else 0.0
    if s[-1] - following > 1e-3 * s[0] or following < 1e-13 * s[0]:  # else ambiguous
        assert np.abs(tisvd.reconstruct() / size - expected).max() <= 1e3 * tolerance * s[0]


def update_kinds(rng, n, m, U, V):
    """Updates that are hard in one way each; U and V are the current singular vectors."""
    x, y, a, b = (rng.standard_normal(size) for size in (n, n, m, m))
    return {
        "generic": (np.c_[x, y], np.c_[a, b]),
        "zero": (np.zeros((n, 2)), np.c_[a, b]),
        "zero column": (np.c_[x, 0 * x], np.c_[0 * a, b]),
        "duplicate": (np.c_[x, x, y], np.c_[a, b, b]),
        "as in the paper": (np.c_[x, y, x], np.c_[a, b, 0.5 * a]),
        "nearly parallel": (np.c_[x, x + 1e-9 * y], np.c_[a, a - 1e-7 * b]),
        "almost equal": (np.c_[x, x + 1e-13 * y], np.c_[a, a + 1e-15 * b]),
        "inside": (
            U @ rng.standard_normal((U.shape[1], 2)),
            V @ rng.standard_normal((V.shape[1], 2)),
        ),
        "almost inside": (U[:, :1] + 1e-10 * np.c_[x], V[:, :1] + 1e-12 * np.c_[a]),
        "inside and outside": (np.c_[U[:, 0], x], np.c_[a, V[:, 0]]),
        "unequal sizes": (np.c_[1e8 * x, 1e-8 * y], np.c_[1e-8 * a, 1e8 * b]),
        "tiny beside inside": (np.c_[U[:, 0], 1e-20 * x], np.c_[V[:, 0], 1e20 * b]),
        "wide": (rng.standard_normal((n, n + 3)), rng.standard_normal((m, n + 3))),
    }


KINDS = list(update_kinds(np.random.default_rng(0), 3, 3, np.eye(3, 1), np.eye(3, 1)))
SHAPES = [
    (1, 1, 1),
    (8, 8, 1),
    (8, 8, 3),
    (8, 8, 8),
    (12, 5, 3),
    (5, 12, 5),
    (6, 6, 20),
    (40, 30, 7),
]


@pytest.mark.parametrize(("n", "m", "rank"), SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_update_equals_the_dense_svd(n, m, rank, kind):
    rng = np.random.default_rng(1)
    tisvd = TISVD(rank).fit(rng.standard_normal((n, m)))
    k = min(rank, n, m)
    for _ in range(4):
        D1, D2 = update_kinds(rng, n, m, tisvd.U, tisvd.V)[kind]
        M = tisvd.reconstruct() + D1 @ D2.T
        assert tisvd.update(D1, D2) is tisvd
        check(tisvd, M, k)


@pytest.mark.parametrize(
    "sigma",
    [
        [0.0],
        [2.0],
        [3.0, 3.0, 3.0, 3.0, 3.0, 3.0],
        [1.0, 1e-8, 1e-16],
        [5.0, 5.0, 1.0, 1.0, 0.0, 0.0],
    ],
    ids=["zero", "rank one", "repeated", "graded", "repeated and zero"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_special_spectra(sigma, kind):
    rng = np.random.default_rng(2)
    M = with_singular_values(rng, 9, 7, sigma)
    tisvd = TISVD(4).fit(M)
    check(tisvd, M, 4)
    D1, D2 = update_kinds(rng, 9, 7, tisvd.U, tisvd.V)[kind]
    M = tisvd.reconstruct() + D1 @ D2.T
    check(tisvd.update(D1, D2), M, 4)


def test_exact_while_the_rank_suffices():
    rng = np.random.default_rng(3)
    M = np.zeros((20, 15))
    tisvd = TISVD(6).fit(M)
    for _ in range(3):
        D1, D2 = rng.standard_normal((20, 2)), rng.standard_normal((15, 2))
        M += D1 @ D2.T
        tisvd.update(D1, D2)
        np.testing.assert_allclose(tisvd.reconstruct(), M, atol=1e-12)


def test_an_update_can_be_taken_back():
    rng = np.random.default_rng(4)
    M = with_singular_values(rng, 10, 10, [4.0, 2.0, 1.0])
    d, e = rng.standard_normal((2, 10))
    tisvd = TISVD(5).fit(M).update(d, e).update(-d, e)
    np.testing.assert_allclose(tisvd.reconstruct(), M, atol=1e-13)


def test_experiment_of_the_paper():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((100, 100))
    tisvd = TISVD(30).fit(M)
    running, _ = truncated(M, 30)
    for _ in range(200):
        D1, D2 = rng.standard_normal((2, 100, 3))
        running, s = truncated(running + D1 @ D2.T, 30)
        tisvd.update(D1, D2)
        np.testing.assert_allclose(tisvd.s, s, rtol=1e-9)
        assert orthogonality_error(tisvd.U) < 1e-12
        assert orthogonality_error(tisvd.V) < 1e-12
    np.testing.assert_allclose(tisvd.reconstruct(), running, atol=1e-8 * s[0])


def test_update_of_forks_stays_exact():
    # Three columns that span two dimensions: where a basis of three directions goes wrong.
    rng = np.random.default_rng(6)
    G = rng.standard_normal((75, 75))
    M, _ = truncated(G @ G.T / 75, 15)
    tisvd = TISVD(15).fit(M)
    for _ in range(200):
        s_p, sketch = np.eye(75)[rng.integers(75)], rng.standard_normal(75)
        M, s = truncated(M + np.outer(s_p, sketch) + np.outer(sketch, s_p) + np.outer(s_p, s_p), 15)
        tisvd.update(np.c_[s_p, sketch, s_p], np.c_[sketch, s_p, s_p])
        np.testing.assert_allclose(tisvd.s, s, rtol=1e-9)
    np.testing.assert_allclose(tisvd.reconstruct(), M, atol=1e-8 * s[0])
    assert orthogonality_error(tisvd.U) < 1e-12


@pytest.mark.parametrize(
    ("left", "right"),
    [(a, b) for a in (1e-150, 1e-20, 1.0, 1e20, 1e150) for b in (1e-150, 1.0, 1e150)]
    + [(1e200, 1e-200), (1e-300, 1e300)],
)
def test_scales(left, right):
    rng = np.random.default_rng(7)
    tisvd = TISVD(4).fit(left * right * rng.standard_normal((10, 8)))
    for _ in range(3):
        D1, D2 = left * rng.standard_normal((10, 2)), right * rng.standard_normal((8, 2))
        M = tisvd.reconstruct() + D1 @ D2.T
        check(tisvd.update(D1, D2), M, 4)


def test_a_negligible_update_changes_nothing_and_an_enormous_one_wins():
    rng = np.random.default_rng(8)
    tisvd = TISVD(3).fit(rng.standard_normal((6, 6)))
    s = tisvd.s
    tisvd.update(1e-150 * np.ones(6), 1e-150 * np.ones(6))
    np.testing.assert_allclose(tisvd.s, s, rtol=1e-14)
    tisvd.update(1e150 * np.ones(6), np.ones(6))
    assert tisvd.s[0] == pytest.approx(6e150)
    assert orthogonality_error(tisvd.U) < 1e-12


@given(
    n=st.integers(1, 7), m=st.integers(1, 7), rank=st.integers(1, 8), c=st.integers(0, 9),
    exponents=st.tuples(st.integers(-150, 150), st.integers(-150, 150)),
    dependent=st.booleans(), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_shape(n, m, rank, c, exponents, dependent, seed):
    rng = np.random.default_rng(seed)
    tisvd = TISVD(rank).fit(10.0 ** sum(exponents) * rng.integers(-2, 3, (n, m)))
    for _ in range(3):
        D1, D2 = rng.integers(-2, 3, (n, c)) * 1.0, rng.standard_normal((m, c))
        if dependent:
            D1, D2 = D1[:, : c // 2].repeat(2, axis=1), D2[:, : c // 2 * 2]
        D1, D2 = D1 * 10.0 ** exponents[0], D2 * 10.0 ** exponents[1]
        M = tisvd.reconstruct() + D1 @ D2.T
        check(tisvd.update(D1, D2), M, min(rank, n, m))


@pytest.mark.parametrize("kind", ["zero", "inside"])
def test_no_direction_is_made_out_of_nothing(kind):
    # The residual is exactly zero, and the basis of LAPACK's choice for it lies inside span(U). It
    # would enter U, since the singular values of U's own directions are zero as well.
    tisvd = TISVD(3).fit(np.diag([1.0, 0.0, 0.0, 0.0, 0.0]))
    vectors, values = np.eye(5, 3), np.array([1.0, 0.0, 0.0])
    column = np.eye(5, 1) if kind == "inside" else np.zeros((5, 1))
    for _ in range(3):
        tisvd.update(np.c_[column, column], np.c_[column, column])
        vectors, values = eigen_update(vectors, values, np.c_[column, column], FORKS_J)
        assert orthogonality_error(tisvd.U) < 1e-14
        assert orthogonality_error(tisvd.V) < 1e-14
        assert orthogonality_error(vectors) < 1e-14


@pytest.mark.parametrize("drift", [0.0, 1e-12, 1e-8])
@pytest.mark.parametrize("kind", KINDS)
def test_new_directions_are_orthogonal_even_to_a_drifted_basis(drift, kind):
    rng = np.random.default_rng(18)
    basis = np.linalg.qr(rng.standard_normal((20, 5)))[0]
    basis += drift * rng.standard_normal((20, 5))
    D, _ = update_kinds(rng, 20, 20, basis, basis)[kind]
    P, T, scale, measured = _extend(basis, D)
    assert P.shape[1] <= min(D.shape[1], 15)
    if P.size:
        assert orthogonality_error(P) < 1e-14
        # A residual just above rounding may lean on the basis by eps / 1e-14 = 0.02, of which
        # projecting it on a drifted basis leaves the fraction `drift`.
        assert np.abs(basis.T @ P).max() < 1e-14 + 0.03 * drift
    sizes = np.where(np.abs(D).max(axis=0) > 0, np.abs(D).max(axis=0), 1.0)
    assert np.abs((np.hstack([basis, P]) @ T * scale - D) / sizes).max() < 1e-12
    if drift == 1e-8 and kind != "zero":
        assert 1e-10 < measured < 1e-5


def test_a_full_basis_gets_no_new_direction():
    rng = np.random.default_rng(19)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0] + 1e-5 * rng.standard_normal((6, 6))
    P, T, _, _ = _extend(basis, rng.standard_normal((6, 2)))
    assert P.shape == (6, 0)
    assert T.shape == (6, 2)


def test_tisvd_becomes_orthonormal_again_with_the_same_product():
    rng = np.random.default_rng(20)
    tisvd = TISVD(4).fit(rng.standard_normal((12, 9)))
    tisvd.U += 1e-9 * rng.standard_normal((12, 4))
    tisvd.V += 1e-9 * rng.standard_normal((9, 4))
    nothing = np.zeros(12), np.zeros(9)
    M = tisvd.reconstruct()
    for _ in range(50):
        tisvd.update(*nothing)
    assert orthogonality_error(tisvd.U) < 1e-14
    assert orthogonality_error(tisvd.V) < 1e-14
    np.testing.assert_allclose(tisvd.reconstruct(), M, atol=1e-13)


def walk(rng, n, c):
    """Endless updates, easy and hard ones mixed."""
    x = rng.standard_normal((n, c))
    while True:
        fresh = rng.standard_normal((n, c))
        yield fresh
        yield 0.01 * np.eye(n)[:, rng.integers(0, n, c)]  # columns may coincide
        yield x + 1e-9 * fresh
        x = fresh


def run_tisvd(n_updates):
    rng = np.random.default_rng(9)
    tisvd = TISVD(8).fit(rng.standard_normal((40, 30)))
    worst = 0.0
    for turn, D1, D2 in zip(range(n_updates), walk(rng, 40, 3), walk(rng, 30, 3), strict=False):
        tisvd.s *= 0.99  # forget, so that new directions keep coming in
        tisvd.update(D1, D2)
        if turn % 37 == 0 or turn == n_updates - 1:
            worst = max(worst, orthogonality_error(tisvd.U), orthogonality_error(tisvd.V))
    return worst


def run_eigen_update(n_updates):
    rng = np.random.default_rng(10)
    vectors = np.linalg.qr(rng.standard_normal((40, 8)))[0]
    values = rng.standard_normal(8)
    worst = 0.0
    for turn, E in zip(range(n_updates), walk(rng, 40, 2), strict=False):
        vectors, values = eigen_update(vectors, 0.99 * values, E, FORKS_J)
        if turn % 37 == 0 or turn == n_updates - 1:
            worst = max(worst, orthogonality_error(vectors))
    return worst


@pytest.mark.parametrize("run", [run_tisvd, run_eigen_update])
def test_orthogonality_over_2_000_updates(run):
    assert run(2_000) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_tisvd, run_eigen_update])
def test_orthogonality_over_50_000_updates(run):
    assert run(50_000) < 1e-12


def test_vectors_count_as_columns_and_arguments_are_left_alone():
    rng = np.random.default_rng(11)
    M, d, e = rng.standard_normal((5, 4)), rng.standard_normal(5), rng.standard_normal(4)
    kept = [a.copy() for a in (M, d, e)]
    one = TISVD(2).fit(M).update(d, e)
    other = TISVD(2).fit(M.tolist()).update(d[:, np.newaxis], e.tolist())
    np.testing.assert_allclose(one.reconstruct(), other.reconstruct(), atol=1e-14)
    for array, before in zip((M, d, e), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("rank", [0, -1, 2.0, True, "3", None])
def test_wrong_rank_is_named(rank):
    with pytest.raises(ValueError, match="rank") as caught:
        TISVD(rank)
    assert repr(rank) in str(caught.value)


@pytest.mark.parametrize(
    "M",
    [np.ones(3), np.ones((2, 2, 2)), [[1.0, np.nan]], [[np.inf]], np.ones((0, 3)), [["a"]], [[1j]]],
)
def test_wrong_matrix_is_named(M):
    tisvd = TISVD(2)
    with pytest.raises(ValueError, match="M "):
        tisvd.fit(M)
    assert not hasattr(tisvd, "U")


@pytest.mark.parametrize(
    ("D1", "D2", "name"),
    [
        (np.ones(4), np.ones(3), "D1"),
        (np.ones(5), np.ones(4), "D2"),
        (np.ones((5, 2)), np.ones((3, 1)), "columns"),
        (np.full(5, np.nan), np.ones(3), "D1"),
        (np.ones(5), np.full(3, np.inf), "D2"),
        (np.ones((5, 1, 1)), np.ones(3), "D1"),
        (1.0, np.ones(3), "D1"),
        (np.full(5, 1e200), np.full(3, 1e200), "D1 D2'"),
    ],
)
def test_a_failed_update_changes_nothing(D1, D2, name):
    tisvd = TISVD(2).fit(np.random.default_rng(12).standard_normal((5, 3)))
    before = copy.deepcopy(vars(tisvd))
    with pytest.raises(ValueError, match=name):
        tisvd.update(D1, D2)
    for key, value in vars(tisvd).items():
        np.testing.assert_array_equal(value, before[key])


def test_a_failed_fit_changes_nothing():
    tisvd = TISVD(2).fit(np.eye(3))
    with pytest.raises(ValueError, match="M"):
        tisvd.fit([[np.nan]])
    np.testing.assert_array_equal(tisvd.s, [1.0, 1.0])


def test_fit_comes_first():
    with pytest.raises(ValueError, match="fit first"):
        TISVD(2).update(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="fit first"):
        TISVD(2).reconstruct()


def test_fit_again_starts_afresh_and_pickles():
    tisvd = TISVD(2).fit(np.eye(3)).update(np.ones(3), np.ones(3)).fit(np.diag([5.0, 4.0]))
    np.testing.assert_allclose(tisvd.reconstruct(), np.diag([5.0, 4.0]), atol=1e-15)
    assert repr(tisvd) == "TISVD(rank=2)"
    twin = pickle.loads(pickle.dumps(tisvd))
    np.testing.assert_array_equal(
        twin.update([1.0, 0.0], [0.0, 1.0]).U, tisvd.update([1.0, 0.0], [0.0, 1.0]).U
    )


# eigen_update


def symmetric(rng, c):
    J = rng.standard_normal((c, c))
    return J + J.T


def check_eigen(vectors, values, M, k, tolerance=1e-11):
    expected, expected_values = eigen_truncated(M, k)
    size = np.abs(expected_values[0])
    assert vectors.shape == (len(M), k)
    assert values.shape == (k,)
    assert (np.diff(np.abs(values)) <= 0).all()
    assert orthogonality_error(vectors) < 1e-12
    np.testing.assert_allclose(
        np.abs(values), np.abs(expected_values), atol=tolerance * size, rtol=0
    )
    following = np.sort(np.abs(np.linalg.eigvalsh(M)))[::-1][k] if k < len(M) else 0.0
    if np.abs(expected_values[-1]) - following > 1e-3 * size or following < 1e-13 * size:
        found = (vectors * values) @ vectors.T
        assert np.abs(found - expected).max() <= 1e3 * tolerance * size


@pytest.mark.parametrize(("n", "k"), [(1, 1), (8, 1), (8, 3), (8, 8), (8, 7), (40, 7)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_eigen_update_equals_the_dense_decomposition(n, k, kind, order):
    rng = np.random.default_rng(13)
    vectors = np.array(np.linalg.qr(rng.standard_normal((n, k)))[0], order=order)
    values = rng.standard_normal(k)
    for _ in range(4):
        E = np.array(update_kinds(rng, n, n, vectors, vectors)[kind][0], order=order)
        J = symmetric(rng, E.shape[1])
        if kind == "unequal sizes":
            J[0] *= 1e-8
            J[:, 0] *= 1e-8
        kept = [a.copy() for a in (vectors, values, E, J)]
        M = (vectors * values) @ vectors.T + E @ J @ E.T
        new_vectors, new_values = eigen_update(vectors, values, E, J)
        for array, before in zip((vectors, values, E, J), kept, strict=True):
            np.testing.assert_array_equal(array, before)
        check_eigen(new_vectors, new_values, M, k)
        vectors, values = new_vectors, new_values


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [2.0, 2.0, -2.0], [-1.0, -3.0, -5.0]])
def test_eigen_update_with_special_spectra(values):
    rng = np.random.default_rng(14)
    vectors = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    E, J = rng.standard_normal((9, 2)), symmetric(rng, 2)
    M = (vectors * values) @ vectors.T + E @ J @ E.T
    check_eigen(*eigen_update(vectors, np.array(values), E, J), M, 3)


def test_eigen_update_agrees_with_tisvd():
    rng = np.random.default_rng(15)
    G = rng.standard_normal((60, 60))
    tisvd = TISVD(10).fit(G @ G.T)
    vectors, values = tisvd.U, tisvd.s
    for _ in range(50):
        E = np.c_[np.eye(60)[rng.integers(60)], rng.standard_normal(60)]
        vectors, values = eigen_update(vectors, values, E, FORKS_J)
        tisvd.update(E @ FORKS_J, E)
        np.testing.assert_allclose(np.abs(values), tisvd.s, rtol=1e-10)
    np.testing.assert_allclose((vectors * values) @ vectors.T, tisvd.reconstruct(), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e-75, 1e75, 1e150])
def test_eigen_update_scales(scale):
    rng = np.random.default_rng(16)
    vectors = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    E, J = rng.standard_normal((9, 2)), symmetric(rng, 2)
    expected = eigen_update(vectors, np.array([3.0, 2.0, 1.0]), E, J)[1]
    with np.errstate(under="ignore"):
        values = np.array([3.0, 2.0, 1.0]) * scale * scale
        new_vectors, found = eigen_update(vectors, values, scale * E, J)
    np.testing.assert_allclose(found / scale / scale, expected, rtol=1e-8)
    assert orthogonality_error(new_vectors) < 1e-12


@given(
    n=st.integers(1, 8), k=st.integers(1, 8), c=st.integers(1, 9), seed=st.integers(0, 2**32 - 1)
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_eigen_update_of_any_shape(n, k, c, seed):
    k = min(n, k)
    rng = np.random.default_rng(seed)
    vectors, values = np.linalg.qr(rng.standard_normal((n, k)))[0], rng.standard_normal(k)
    E, J = rng.integers(-1, 2, (n, c)) * 1.0, symmetric(rng, c)
    M = (vectors * values) @ vectors.T + E @ J @ E.T
    check_eigen(*eigen_update(vectors, values, E, J), M, k)


def test_eigen_update_repairs_a_drifted_basis():
    rng = np.random.default_rng(17)
    vectors = np.linalg.qr(rng.standard_normal((30, 5)))[0]
    vectors += 1e-6 * rng.standard_normal((30, 5))
    values = np.arange(5.0, 0.0, -1.0)
    for _ in range(3):
        vectors, values = eigen_update(vectors, values, rng.standard_normal((30, 2)), FORKS_J)
    assert orthogonality_error(vectors) < 1e-13
