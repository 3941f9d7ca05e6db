"""Newton steps against dense matrices."""

import math

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.linalg.packed_inverse import PackedInverse, packed_size, root, set_root
from forks.parts.newton import (
    Newton,
    forget,
    insert_weights,
    insert_zeros,
    keep_weights,
    lower_prior,
    newton_step,
    set_solution,
)

ROOM = 32


@entry
def _keep(newton):
    keep_weights(newton)


@entry
def _play(newton, Psi, G, h, weights, u, taken):
    for t in range(Psi.shape[0]):
        total = 0.0
        for o in range(G.shape[1]):
            total += G[t, o] * G[t, o]
        taken[t] = newton_step(newton, Psi[t], u, G[t], h[t], weights[t], total)


def play(newton, Psi, G, h, weights=None):
    """Take steps with slopes G and curvatures h, which have the weights in them already."""
    n, width = Psi.shape
    rows = np.zeros((n, -(-width // 8) * 8))
    rows[:, :width] = Psi
    weights = np.ones(n) if weights is None else weights
    taken = np.zeros(n, bool)
    _play.over()(newton, rows, G, h, weights, np.full(rows.shape[1], np.nan), taken)
    return taken


def new(n_outputs=1, room=ROOM):
    inverse = PackedInverse(np.zeros(packed_size(room)), np.zeros(room))
    return Newton(np.zeros((n_outputs, room)), np.zeros((n_outputs, room)), inverse)


def dense(newton, width):
    """P, dense; the rest of its factors must be padding."""
    R = root(newton.P, newton.theta.shape[1])
    assert not R[width:].any()
    assert not newton.theta[:, width:].any()
    return R[:width, :width].T @ R[:width, :width]


def rows(n, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def prior(width, m, seed=0):
    """Lambda = diag(K, I), K of m kernel values, and the Cholesky factor of K."""
    X = rows(m, 3, seed)
    K = oracles.gaussian(1.0)(X, X) + 0.01 * np.eye(m)
    Lambda = np.eye(width)
    Lambda[:m, :m] = K
    return Lambda, np.linalg.cholesky(K) if m else np.empty((0, 0))


def fitted(Psi, Y, h, alpha, m):
    """Ridge regression with the prior alpha Lambda, as dense A and theta (W, outputs)."""
    Lambda, L = prior(Psi.shape[1], m)
    A = alpha * Lambda + Psi.T @ (h[:, None] * Psi)
    return np.linalg.solve(A, Psi.T @ (h[:, None] * Y)), A, L


def whitened(theta, A, L):
    """The same solution for features [L^-1 k, ...], as `set_solution` takes it."""
    T = np.eye(len(A))
    T[: len(L), : len(L)] = np.linalg.inv(L)
    return np.linalg.inv(T).T @ theta, np.linalg.cholesky(T @ A @ T.T)


def from_fit(theta, A, L, room=ROOM):
    newton = new(theta.shape[1], room)
    set_solution(newton, *whitened(theta, A, L), L)
    return newton


def assert_is(newton, theta, A, rtol=1e-9):
    width = len(A)
    np.testing.assert_allclose(newton.theta[:, :width], theta.T, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(dense(newton, width) @ A, np.eye(width), atol=rtol * 10)


# ---- fits and steps --------------------------------------------------------------------------

SIZES = pytest.mark.parametrize(("width", "m"), [(1, 0), (9, 0), (13, 5), (24, 16), (24, 24)])


@SIZES
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_solution_in_whitened_features_is_set(width, m, n_outputs):
    Psi, Y, h = rows(40, width), rows(40, n_outputs, 1), np.random.default_rng(2).random(40)
    theta, A, L = fitted(Psi, Y, h, 0.3, m)
    assert_is(from_fit(theta, A, L), theta, A)


@SIZES
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_every_step_is_the_oracles_and_P_stays_the_inverse(width, m, n_outputs):
    rng = np.random.default_rng(0)
    theta, A, L = fitted(rows(20, width), rows(20, n_outputs, 1), np.ones(20), 0.1, m)
    newton = from_fit(theta, A, L)
    Psi, G = rows(400, width, 2), rng.normal(size=(400, n_outputs))
    G[rng.random(G.shape) < 0.2] = 0.0
    weights = rng.uniform(0.1, 3.0, 400)
    h = weights * rng.uniform(0.1, 2.0, 400)
    for t in range(0, 400, 50):
        part = slice(t, t + 50)
        assert play(newton, Psi[part], G[part], h[part], weights[part]).all()
        for psi, g, bend, weight in zip(Psi[part], G[part], h[part], weights[part], strict=True):
            A, theta = oracles.newton_step(A, theta, psi, weight * g, bend)
        assert_is(newton, theta, A)


def test_for_a_squared_error_steps_are_ridge_regression():
    """One step a row, at the score of the weights before it, and no row is seen again."""
    Psi, y = rows(60, 9), rows(60, 1, 1)
    newton = new()
    set_root(newton.P, np.eye(9) / math.sqrt(0.7))
    for t in range(60):
        slope = newton.theta[:, :9] @ Psi[t] - y[t]
        play(newton, Psi[t : t + 1], slope[None, :], np.ones(1))
    theta, A, _ = fitted(Psi, y, np.ones(60), 0.7, 0)
    assert_is(newton, theta, A)


def test_a_slope_of_zero_leaves_the_weights_of_its_output():
    theta, A, L = fitted(rows(20, 9), rows(20, 2, 1), np.ones(20), 0.1, 0)
    newton = from_fit(theta, A, L)
    before = newton.theta.copy()
    play(newton, rows(1, 9, 3), np.array([[0.0, 1.0]]), np.ones(1))
    np.testing.assert_array_equal(newton.theta[0], before[0])
    assert (newton.theta[1, :9] != before[1, :9]).all()


# ---- the prior -------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "m"), [(1, 0), (9, 0), (13, 5), (24, 24)])
@pytest.mark.parametrize("lower", [0.1, 1e-3, 1e-6])
def test_a_lower_prior_is_a_fit_with_it(width, m, lower):
    Psi, Y, h = rows(60, width), rows(60, 2, 1), np.random.default_rng(2).uniform(0.5, 2.0, 60)
    theta, A, L = fitted(Psi, Y, h, 0.4, m)
    newton = from_fit(theta, A, L)
    lower_prior(newton, width, L, 0.4 - lower)
    expected, A_lower, _ = fitted(Psi, Y, h, lower, m)
    assert_is(newton, expected, A_lower, rtol=1e-7)
    again = oracles.lower_prior(A, theta, prior(width, m)[0], 0.4 - lower)
    assert_is(newton, again[1], again[0], rtol=1e-7)


def test_a_prior_that_leaves_nothing_is_refused_and_changes_nothing():
    theta, A, L = fitted(rows(5, 13), rows(5, 1, 1), np.ones(5), 0.4, 5)  # fewer rows than weights
    newton = from_fit(theta, A, L)
    before = [array.copy() for array in (newton.theta, *newton.P)]
    for delta in (0.4 + 1e-6, 5.0):
        with pytest.raises(np.linalg.LinAlgError):
            lower_prior(newton, 13, L, delta)
        for array, old in zip((newton.theta, *newton.P), before, strict=True):
            np.testing.assert_array_equal(array, old)


# ---- more weights ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("added", [1, 6])
def test_inserted_weights_are_those_of_rows_that_had_zeros_there(n_outputs, added):
    """The bias, the last weight, stays the last."""
    Psi, Y = rows(30, 11), rows(30, n_outputs, 1)
    old = from_fit(*fitted(Psi, Y, np.ones(30), 0.25, 0), room=16)
    wide = new(n_outputs)
    wide.theta[:, :16] = old.theta
    insert_weights(wide, old, 10, added, 1.0 / 0.25)
    Psi = np.insert(Psi, [10] * added, 0.0, axis=1)
    theta, A, _ = fitted(Psi, Y, np.ones(30), 0.25, 0)
    assert_is(wide, theta, A)
    more, G = rows(50, 11 + added, 3), rows(50, n_outputs, 4)
    play(wide, more, G, np.ones(50))
    for psi, g in zip(more, G, strict=True):
        A, theta = oracles.newton_step(A, theta, psi, g, 1.0)
    assert_is(wide, theta, A)


def test_zeros_are_inserted_before_the_last():
    weights = np.array([[1.0, 2.0, 3.0, 0.0, 0.0], [4.0, 5.0, 6.0, 0.0, 0.0]])
    insert_zeros(weights, 2, 2)
    np.testing.assert_array_equal(weights, [[1.0, 2.0, 0.0, 0.0, 3.0], [4.0, 5.0, 0.0, 0.0, 6.0]])


# ---- steps that are refused ------------------------------------------------------------------

REFUSED = {
    "huge row": (1e200, 1.0, 1.0),
    "infinite row": (np.inf, 1.0, 1.0),
    "no number in a row": (np.nan, 1.0, 1.0),
    "huge slope": (1.0, 1e200, 1.0),
    "no number as slope": (1.0, np.nan, 1.0),
    "huge weight": (1.0, 1e10, 1e300),
}


def after_refusal(size, slope, weight):
    theta, A, L = fitted(rows(20, 13), rows(20, 2, 1), np.ones(20), 0.1, 5)
    newton = from_fit(theta, A, L)
    psi = rows(1, 13, 2)
    psi[0, 7:] *= size
    taken = play(newton, psi, np.array([[slope, 1.0]]), np.ones(1), np.array([weight]))
    return newton, taken[0], theta, A


@pytest.mark.parametrize("case", REFUSED)
def test_a_step_that_is_not_finite_leaves_the_weights_and_P_positive_definite(case):
    newton, taken, theta, _ = after_refusal(*REFUSED[case])
    assert not taken
    np.testing.assert_array_equal(newton.theta, from_fit(theta, np.eye(13), prior(13, 5)[1]).theta)
    for array in newton.P:
        assert np.isfinite(array).all()
    assert (newton.P.d[:13] > 0.0).all()
    assert play(newton, rows(20, 13, 3), rows(20, 2, 4), np.ones(20)).all()


@pytest.mark.parametrize("case", ["huge slope", "no number as slope", "huge weight"])
def test_a_step_with_slopes_that_are_not_finite_leaves_P(case):
    newton, _, _, A = after_refusal(*REFUSED[case])
    np.testing.assert_allclose(dense(newton, 13) @ A, np.eye(13), atol=1e-9)


# ---- forgetting --------------------------------------------------------------------------------


@entry
def _forget_often(state, n, rate, times):
    for _ in range(times):
        forget(state, n, rate)


def test_forgetting_multiplies_P_up_to_a_bound():
    state = new()
    state.P.d[:4] = [1.0, 2e4, 3e6, 5.0]
    _forget_often.over()(state, 3, 0.01, 100)
    grown = 1.01**100
    np.testing.assert_allclose(state.P.d[:4], [grown, 2e4 * grown, 3e6, 5.0], rtol=1e-12)
    _forget_often.over()(state, 3, 0.01, 2_000)
    np.testing.assert_array_equal(state.P.d[:4], [1e5, 1e5, 3e6, 5.0])


def test_weights_that_were_kept_stay_until_they_are_kept_again():
    newton, Psi = new(), rows(20, 5)
    set_solution(newton, np.ones((5, 1)), np.eye(5), np.eye(2))
    np.testing.assert_array_equal(newton.earlier, newton.theta)
    play(newton, Psi[:10], np.ones((10, 1)), np.ones(10))
    np.testing.assert_array_equal(newton.earlier[0, :5], np.ones(5))
    assert np.abs(newton.theta[0, :5] - 1.0).min() > 0.0
    _keep.over()(newton)
    before = newton.theta.copy()
    play(newton, Psi[10:], np.ones((10, 1)), np.ones(10))
    np.testing.assert_array_equal(newton.earlier, before)
    assert not np.array_equal(newton.theta, before)
