"""The follower and the weights of leader and follower, against their oracle."""

import math

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.linalg.vectors import dot
from forks.parts.expansion import finite_or_zero
from forks.parts.follower import Follower, follow, start_follower, write_centred


@entry
def _play(follower, m, Psi, F, Y, weights, centred, G, trust):
    """Play rows of psi, with leaders' scores F; write features, scores and trust of each round."""
    W, g = Psi.shape[1], np.empty(Y.shape[1])
    for t in range(Psi.shape[0]):
        write_centred(follower, Psi[t], m, W, centred[t])
        for o in range(Y.shape[1]):
            g[o] = finite_or_zero(dot(follower.v[o], centred[t], W))
            G[t, o] = g[o]
        follow(follower, centred[t], F[t], g, Y[t], weights[t])
        for o in range(Y.shape[1]):
            trust[t, o] = follower.trust[o, 0]


def new(n_outputs=1, W=24, M=16, leader=0.999):
    follower = Follower(
        np.zeros((n_outputs, W)), np.empty((n_outputs, 2)), np.zeros(M), np.array([1.0, 0.0])
    )
    follower.trust[:] = leader, 1.0 - leader
    return follower


def play(follower, Psi, F, Y, weights=None, m=0):
    """Return features, scores before learning, and the leader's trust after it."""
    weights = np.ones(len(Psi)) if weights is None else np.asarray(weights, float)
    rows = np.zeros((len(Psi), -(-Psi.shape[1] // 8) * 8))
    rows[:, : Psi.shape[1]] = Psi
    centred, G, trust = np.full(rows.shape, np.nan), np.empty(Y.shape), np.empty(Y.shape)
    _play.over()(follower, m, rows, np.ascontiguousarray(F), Y, weights, centred, G, trust)
    return centred[:, : Psi.shape[1]], G, trust


def stream(n, width, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    Psi = rng.normal(size=(n, width))
    Y = np.where(rng.random((n, n_outputs)) < 0.6, 1.0, -1.0)
    return Psi, rng.normal(size=Y.shape), Y


# ---- the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "width"), [(5, 8), (8, 9), (11, 17), (16, 24)])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_every_round_is_the_oracles(m, width, n_outputs):
    Psi, F, Y = stream(150, width, n_outputs)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 7.0], 150)
    follower = new(n_outputs)
    first, rest = slice(0, 40), slice(40, 150)
    start_follower(follower, Psi[first, :m].copy(), Psi[first, m:].copy(), Y[first].copy())

    centred = oracles.CentredValues(Psi[first], m)
    v = np.zeros((width, n_outputs))
    for psi, y in zip(Psi[first], Y[first], strict=True):
        v = oracles.follow(v, centred(psi), y)
    np.testing.assert_allclose(follower.v[:, :width], v.T, rtol=1e-9, atol=1e-12)
    assert not follower.v[:, width:].any()

    scores, trusts, trust, heaviest = [], [], np.full(n_outputs, 0.999), 0.0
    for psi, f, y, weight in zip(Psi[rest], F[rest], Y[rest], weights[rest], strict=True):
        x = centred(psi)
        g = x @ v
        heaviest = max(heaviest, weight)
        trust = oracles.fixed_share(trust, f, g, y, weight / heaviest)
        v = oracles.follow(v, x, y)
        scores.append(g)
        trusts.append(trust)
    features, got, got_trust = play(follower, Psi[rest], F[rest], Y[rest], weights[rest], m)
    expected = [centred(psi) for psi in Psi[rest]]
    np.testing.assert_allclose(features, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(got, scores, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(got_trust, trusts, rtol=1e-10)
    np.testing.assert_allclose(follower.v[:, :width], v.T, rtol=1e-8, atol=1e-10)


def test_centred_kernel_values_have_a_mean_square_norm_of_one():
    K, others, Y = np.random.default_rng(0).random((30, 11)), np.ones((30, 1)), np.ones((30, 1))
    follower = new()
    start_follower(follower, K, others, Y)
    centred, _, _ = play(follower, np.hstack([K, others]), Y, Y, m=11)
    np.testing.assert_allclose(centred[:, :11].mean(axis=0), 0.0, atol=1e-14)
    assert np.mean(np.sum(centred[:, :11] ** 2, axis=1)) == pytest.approx(1.0)
    np.testing.assert_array_equal(centred[:, 11], 1.0)


@pytest.mark.parametrize("m", [0, 5])
def test_kernel_values_that_are_all_alike_count_as_zero(m):
    K, others = np.full((20, m), 0.7), np.ones((20, 1))
    follower = new()
    start_follower(follower, K, others, -np.ones((20, 1)))
    expected = np.zeros(24)
    expected[m] = -1.0  # all that is left is the bias
    np.testing.assert_array_equal(follower.v[0], expected)


# ---- the step --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-60, 1e-3, 1.0, 1e60])
def test_every_row_is_right_with_a_margin_of_one_after_its_step(size):
    Psi, F, Y = stream(60, 13)
    Psi *= size
    follower = new()
    for t in range(60):
        before = follower.v[0].copy()
        row = slice(t, t + 1)
        _, g, _ = play(follower, Psi[row], F[row], Y[row])
        after = Y[t, 0] * (follower.v[0, :13] @ Psi[t])
        if Y[t, 0] * g[0, 0] >= 1.0:
            np.testing.assert_array_equal(follower.v[0], before)
        else:
            assert after == pytest.approx(1.0, rel=1e-9)


def test_a_row_of_zeros_teaches_nothing():
    follower = new()
    _, _, trust = play(follower, np.zeros((5, 8)), np.ones((5, 1)), -np.ones((5, 1)))
    assert not follower.v.any()
    assert np.isfinite(trust).all()


# ---- trust -----------------------------------------------------------------------------------


def shares(follower, right, weights=None):
    """Trust of the leader after rounds in which leader and follower are right or not.

    The score of the follower is 0, which answers +1, since its features are 0.
    """
    right = np.asarray(right, bool)
    Y = np.where(right[:, 1:], 1.0, -1.0)
    F = np.where(right[:, :1], Y, -Y)
    _, _, trust = play(follower, np.zeros((len(right), 8)), F, Y, weights)
    return trust[:, 0]


def test_who_is_right_is_trusted_and_without_a_difference_trust_is_shared():
    trust = shares(new(), [(True, False)] * 50)
    assert (np.diff(trust) >= -1e-15).all()
    assert trust[-1] == pytest.approx(0.9995, abs=5e-4)
    for both in ((True, True), (False, False)):
        trust = shares(new(), [both] * 3000)
        np.testing.assert_allclose(trust, 0.5 + 0.499 * 0.999 ** np.arange(1.0, 3001.0), rtol=1e-9)


def test_weights_sum_to_one_and_never_leave_their_bounds():
    rng = np.random.default_rng(0)
    follower = new(leader=0.3)
    trust = shares(follower, rng.random((5000, 2)) < 0.5, 10.0 ** rng.uniform(-300, 300, 5000))
    assert follower.trust.sum() == 1.0
    assert (trust >= 0.0005).all()
    assert (trust <= 0.9995 + 1e-15).all()


@pytest.mark.parametrize("long", [30, 100, 10_000])
def test_after_a_swap_trust_comes_back_within_seven_rounds(long):
    """A share of 0.0005 at least is left, and each mistake of the other multiplies it by e."""
    follower = new()
    before = shares(follower, [(False, True)] * long)
    assert before[-1] < 0.001
    after = shares(follower, [(True, False)] * 20)
    assert np.argmax(after >= 0.5) + 1 == 7
    assert after[-1] > 0.999


def test_a_heavy_row_costs_a_factor_of_e_and_light_ones_next_to_nothing():
    follower = new(leader=0.9)
    assert shares(follower, [(False, True)], [1e9])[0] == pytest.approx(
        0.999 * 0.9 / (0.9 + 0.1 * math.e) + 0.0005, rel=1e-12
    )
    before = follower.trust[0, 0]
    light = shares(follower, [(False, True)] * 10, [1.0] * 10)
    assert light[-1] == pytest.approx(0.5 + (before - 0.5) * 0.999**10, rel=1e-7)


def test_outputs_have_weights_of_their_own():
    follower = new(n_outputs=2)
    Y = np.ones((30, 2))
    F = np.column_stack([np.ones(30), -np.ones(30)])
    _, _, trust = play(follower, np.zeros((30, 8)), F, Y)
    assert trust[-1, 0] > 0.98
    assert trust[-1, 1] < 0.001
