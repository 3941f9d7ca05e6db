"""The maintained factorisation, against numpy's pseudo-inverse of the running matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forks.linalg import apply_pinv, factor, factorise, rank_one_update


def with_singular_values(rng, n, m, sigma):
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    V = np.linalg.qr(rng.standard_normal((m, m)))[0]
    return (U[:, : len(sigma)] * sigma) @ V[:, : len(sigma)].T


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


def orthogonality_error(Q):
    return np.abs(Q.T @ Q - np.eye(Q.shape[1])).max()


@pytest.fixture
def no_svd(monkeypatch):
    def fail(*_):
        pytest.fail("took the singular value decomposition")

    monkeypatch.setattr(factor, "_apply_pinv_by_svd", fail)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (6, 6), (30, 20), (150, 100)])
def test_factorise(shape):
    Phi = np.random.default_rng(0).standard_normal(shape)
    Q, R = factorise(Phi)
    assert Q.shape == shape
    assert R.shape == (shape[1], shape[1])
    np.testing.assert_allclose(Q @ R, Phi, atol=1e-12)
    assert orthogonality_error(Q) < 1e-13
    assert not np.tril(R, -1).any()


def test_factorise_refuses_wide_matrices():
    with pytest.raises(ValueError, match=r"Phi .*\(2, 3\)"):
        factorise(np.ones((2, 3)))


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (2, 2), (6, 6), (30, 20), (31, 30)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_updates_happen_in_place(shape, order):
    rng = np.random.default_rng(1)
    Phi = rng.standard_normal(shape)
    Q, R = (np.array(part, order=order) for part in factorise(Phi))
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
        assert relative_error(q @ r, Phi) < 1e-11
        assert orthogonality_error(q) < 1e-13
        assert not np.tril(r, -1).any()


def test_zero_updates_are_silent(recwarn, capfd):
    Q, R = factorise(np.eye(4, 3))
    before = Q @ R
    rank_one_update(Q, R, np.zeros(4), np.ones(3))
    rank_one_update(Q, R, np.ones(4), np.zeros(3))
    np.testing.assert_array_equal(Q @ R, before)
    assert not recwarn
    assert capfd.readouterr().err == ""


def test_an_update_may_lower_the_rank_and_another_restore_it():
    rng = np.random.default_rng(2)
    Phi = rng.standard_normal((12, 7))
    Q, R = factorise(Phi)
    column = Phi[:, 3].copy()
    rank_one_update(Q, R, -column, np.eye(7)[3])
    Phi[:, 3] = 0.0
    B = rng.standard_normal((12, 2))
    expected = np.linalg.pinv(Phi, rcond=1e-8) @ B
    assert relative_error(apply_pinv(Phi, Q, R, B, 1e-8), expected) < 1e-9
    rank_one_update(Q, R, column, np.eye(7)[3])
    Phi[:, 3] = column
    assert relative_error(Q @ R, Phi) < 1e-13
    assert orthogonality_error(Q) < 1e-13


def test_drift_over_thousands_of_updates():
    rng = np.random.default_rng(3)
    Phi = rng.standard_normal((45, 30))
    Q, R = factorise(Phi)
    for _ in range(3000):  # rows are replaced, so that the matrix keeps its size
        i = rng.integers(45)
        v = rng.standard_normal(30) - Phi[i]
        rank_one_update(Q, R, np.eye(45)[i], v)
        Phi[i] += v
    assert relative_error(Q @ R, Phi) < 1e-12
    assert orthogonality_error(Q) < 1e-12


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (6, 6), (30, 20), (150, 100)])
@pytest.mark.parametrize("condition", [1.0, 1e3, 0.9e6])
@pytest.mark.parametrize("order", ["C", "F"])
def test_well_conditioned_equals_numpy_without_svd(shape, condition, order, no_svd):
    rng = np.random.default_rng(4)
    sigma = np.geomspace(1.0, 1.0 / condition, shape[1])
    Phi = with_singular_values(rng, *shape, sigma)
    B = np.array(rng.standard_normal((shape[0], 4)), order=order)
    kept = B.copy()
    found = apply_pinv(Phi, *factorise(Phi), B, 1e-11)
    assert found.shape == (shape[1], 4)
    assert relative_error(found, np.linalg.pinv(Phi, rcond=1e-11) @ B) < 1e-9
    np.testing.assert_array_equal(B, kept)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_scale_does_not_matter(scale, no_svd):
    rng = np.random.default_rng(5)
    Phi, B = scale * rng.standard_normal((20, 10)), rng.standard_normal((20, 3))
    expected = np.linalg.pinv(Phi, rcond=1e-8) @ B
    assert (
        relative_error(scale * apply_pinv(Phi, *factorise(Phi), B, 1e-8), scale * expected) < 1e-12
    )


@pytest.mark.parametrize("cut", [0.0, 1e-12, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize(
    "sigma",
    [
        [1.0, 1.0, 1.0, 1e-5, 1e-5],
        [1.0, 0.5, 1e-2, 1e-6, 1e-10],
        [1.0, 0.2, 0.1],
        [0.0],
        [3.0],
    ],
    ids=["repeated", "graded", "rank 3", "zero", "rank 1"],
)
@pytest.mark.parametrize("shape", [(9, 5), (5, 5), (5, 9)])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_cut_as_in_numpy(shape, sigma, cut, scale):
    if cut == 0.0 and len(sigma) < 5:
        cut = 1e-14  # without a cut, rounding errors are inverted
    rng = np.random.default_rng(6)
    Phi = scale * with_singular_values(rng, *shape, sigma)
    B = rng.standard_normal((shape[0], 2))
    Q, R = factorise(Phi) if shape[0] >= shape[1] else (np.empty((0, 0)), np.empty((0, 0)))
    found = apply_pinv(Phi, Q, R, B, cut)
    expected = np.linalg.pinv(Phi, rcond=cut) @ B
    # An inverse loses what the condition number of its kept part costs.
    kept = [value for value in sigma if value > cut * max(sigma)]
    condition = max(kept, default=1.0) / min(kept, default=1.0)
    assert relative_error(found, expected) < max(1e-9, 1e-14 * condition)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(-320, 150), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_always_finite(n, m, exponent, seed):
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-17, 0, min(n, m))
    Phi = with_singular_values(rng, n, m, spread) * 10.0**exponent
    Q, R = factorise(Phi) if n >= m else (np.empty((0, 0)), np.empty((0, 0)))
    # B is of the size of Phi, so that the result itself lies within range.
    B = np.maximum(np.abs(Phi).max(), 1e-300) * rng.standard_normal((n, 2))
    assert np.isfinite(apply_pinv(Phi, Q, R, B, 1e-8)).all()


def test_subnormal_singular_values_count_as_zero():
    Phi = np.full((3, 2), 1e-310)
    np.testing.assert_array_equal(apply_pinv(Phi, *factorise(Phi), np.ones((3, 1)), 1e-8), 0.0)


def test_passes_the_cut_without_a_jump():
    # The solver changes somewhere above the cut; the answers of both must agree there.
    rng = np.random.default_rng(7)
    base = np.linspace(1.0, 2.0, 9)
    B = rng.standard_normal((15, 2))
    U, V = (np.linalg.qr(rng.standard_normal((n, 10)))[0] for n in (15, 10))
    for smallest in np.geomspace(1e-9, 1e-2, 141):
        if 0.99 < smallest / 2e-6 < 1.01:
            continue  # at the cut itself, rounding decides
        Phi = (U * np.append(base, smallest)) @ V.T
        expected = np.linalg.pinv(Phi, rcond=1e-6) @ B
        assert relative_error(apply_pinv(Phi, *factorise(Phi), B, 1e-6), expected) < 1e-9
