"""The maintained factorisation, against numpy's pseudo-inverse of the running matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forks.linalg import apply_pinv, factorise, rank_one_update

CUT = 1e-8
LEAK = 1e4  # of directions that are zero but for rounding errors; unhindered it would be 1e16
SHAPES = [(1, 1), (5, 1), (6, 6), (3, 8), (30, 20), (20, 30), (150, 100)]


def with_singular_values(rng, n, m, sigma):
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    V = np.linalg.qr(rng.standard_normal((m, m)))[0]
    return (U[:, : len(sigma)] * sigma) @ V[:, : len(sigma)].T


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


def orthogonality_error(Q):
    return np.abs(Q.T @ Q - np.eye(Q.shape[1])).max()


@pytest.mark.parametrize("shape", SHAPES)
def test_factors_are_those_of_the_matrix_over_a_small_identity(shape):
    Phi = np.random.default_rng(0).standard_normal(shape)
    Q, R = factorise(Phi, CUT)
    assert Q.shape == (sum(shape), shape[1])
    np.testing.assert_allclose(Q[: shape[0]] @ R, Phi, atol=1e-12)
    assert np.abs(Q[shape[0] :] @ R - 0.04 * CUT * np.linalg.norm(Phi) * np.eye(shape[1])).max() < (
        1e-12
    )
    assert orthogonality_error(Q) < 1e-13
    assert not np.tril(R, -1).any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_updates_happen_in_place(shape, order):
    rng = np.random.default_rng(1)
    Phi = rng.standard_normal(shape)
    Q, R = (np.array(part, order=order) for part in factorise(Phi, CUT))
    q, r = Q, R
    kinds = [
        lambda: rng.standard_normal(shape[0]),
        lambda: np.eye(shape[0])[rng.integers(shape[0])],  # a sketch row of one block
        lambda: Phi[:, 0].copy(),  # inside the span
        lambda: -Phi[:, 0],
        lambda: np.zeros(shape[0]),
    ]
    for turn in range(40):
        u, v = kinds[turn % len(kinds)](), rng.standard_normal(shape[1])
        u_before, v_before = u.copy(), v.copy()
        rank_one_update(Q, R, u, v)
        np.testing.assert_array_equal(u, u_before)
        np.testing.assert_array_equal(v, v_before)
        Phi += np.outer(u, v)
        assert relative_error((q @ r)[: shape[0]], Phi) < 1e-11
        assert orthogonality_error(q) < 1e-13
        assert not np.tril(r, -1).any()


def test_zero_updates_are_silent(recwarn, capfd):
    Q, R = factorise(np.eye(4, 3), CUT)
    before = Q @ R
    rank_one_update(Q, R, np.zeros(4), np.ones(3))
    rank_one_update(Q, R, np.ones(4), np.zeros(3))
    np.testing.assert_array_equal(Q @ R, before)
    assert not recwarn
    assert capfd.readouterr().err == ""


def test_an_update_may_lower_the_rank_and_another_restore_it():
    rng = np.random.default_rng(2)
    Phi = rng.standard_normal((12, 7))
    Q, R = factorise(Phi, CUT)
    column = Phi[:, 3].copy()
    rank_one_update(Q, R, -column, np.eye(7)[3])
    Phi[:, 3] = 0.0
    B = rng.standard_normal((12, 2))
    expected = np.linalg.pinv(Phi, rcond=CUT) @ B
    assert np.abs(apply_pinv(Q, R, B) - expected).max() < LEAK
    rank_one_update(Q, R, column, np.eye(7)[3])
    Phi[:, 3] = column
    assert relative_error((Q @ R)[:12], Phi) < 1e-13


def test_drift_over_thousands_of_updates():
    rng = np.random.default_rng(3)
    Phi = rng.standard_normal((45, 30))
    Q, R = factorise(Phi, CUT)
    for _ in range(3000):  # rows are replaced, so that the matrix keeps its size
        i = rng.integers(45)
        v = rng.standard_normal(30) - Phi[i]
        rank_one_update(Q, R, np.eye(45)[i], v)
        Phi[i] += v
    assert relative_error((Q @ R)[:45], Phi) < 1e-12
    assert orthogonality_error(Q) < 1e-12


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("condition", "error"), [(1.0, 1e-13), (1e4, 1e-10), (0.9e8, 1e-7)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_above_the_cut_it_is_numpys_pseudo_inverse(shape, condition, error, order):
    rng = np.random.default_rng(4)
    sigma = np.geomspace(1.0, 1.0 / condition, min(shape))
    Phi = with_singular_values(rng, *shape, sigma)
    B = np.array(rng.standard_normal((shape[0], 4)), order=order)
    kept = B.copy()
    found = apply_pinv(*factorise(Phi, CUT), B)
    assert found.shape == (shape[1], 4)
    assert relative_error(found, np.linalg.pinv(Phi, rcond=CUT) @ B) < error
    np.testing.assert_array_equal(B, kept)


def test_far_below_the_cut_directions_vanish():
    rng = np.random.default_rng(5)
    for tiny in (0.0, 1e-17):
        Phi = with_singular_values(rng, 30, 20, [1.0, 0.3, 1e-3, tiny, tiny])
        B = rng.standard_normal((30, 3))
        expected = np.linalg.pinv(Phi, rcond=CUT) @ B
        assert np.abs(apply_pinv(*factorise(Phi, CUT), B) - expected).max() < LEAK
    zero = np.zeros((4, 3))
    np.testing.assert_array_equal(apply_pinv(*factorise(zero, CUT), np.ones((4, 2))), 0.0)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(6)
    Phi, B = scale * rng.standard_normal((20, 10)), rng.standard_normal((20, 3))
    expected = scale * (np.linalg.pinv(Phi, rcond=CUT) @ B)
    assert relative_error(scale * apply_pinv(*factorise(Phi, CUT), B), expected) < 1e-12


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([0.0, 1e-300, 1e-12, 1e-6, 1.0, 1e6]), min_size=1, max_size=12),
)
def test_any_matrix_gives_finite_and_bounded_answers(n, m, seed, sigma):
    rng = np.random.default_rng(seed)
    Phi = with_singular_values(rng, n, m, np.array(sigma)[: min(n, m)])
    B = rng.standard_normal((n, 2))
    X = apply_pinv(*factorise(Phi, CUT), B)
    assert np.isfinite(X).all()
    size = np.linalg.norm(Phi)
    if size > 1e-100:
        assert np.linalg.norm(X) * size <= 25.0 / CUT * np.linalg.norm(B)
