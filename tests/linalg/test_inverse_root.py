"""The square root of A^-1 under rank-one updates, against a dense A."""

import math

import numpy as np
import pytest

from compiled import njit
from forks.engine.blocks import padded
from forks.linalg.inverse_root import half_solve, solve, solve_and_absorb

SIZES = [1, 5, 8, 10, 17]
ALPHA = 0.05


@njit
def play(root, f, u, features, c, qs):
    """A <- A + c_t phi_t phi_t' for all rows; qs[t] = phi_t' A^-1 phi_t before it.

    Gives the largest difference between the two ways to A^-1 phi.
    """
    worst = 0.0
    alone = np.zeros_like(u)
    for t in range(features.shape[0]):
        q = half_solve(root, features[t], f)
        qs[t] = q
        grown = 1.0 + c[t] * q
        solve(root, f, alone)
        solve_and_absorb(root, f, u, c[t] / (grown + math.sqrt(grown)))
        worst = max(worst, np.abs(alone - u).max())
    return worst


class Pair:
    """The root, and the dense A that it stands for."""

    def __init__(self, k, alpha=ALPHA):
        self.k = k
        self.root = np.zeros((k, padded(k)))
        self.root[:, :k] = np.eye(k) / np.sqrt(alpha)
        self.f, self.u = np.zeros(padded(k)), np.zeros(padded(k))
        self.A = alpha * np.eye(k)

    def play(self, features, c):
        """Absorb all rows; give q of each."""
        rows = np.zeros((len(features), padded(self.k)))
        rows[:, : self.k] = features
        qs = np.empty(len(features))
        assert play(self.root, self.f, self.u, rows, c, qs) == 0.0
        for phi, weight in zip(features, c, strict=True):
            self.A += weight * np.outer(phi, phi)
        return qs

    def inverse(self):
        S = self.root[:, : self.k]
        return S @ S.T

    def check_shape(self):
        """What must hold whatever the numbers were."""
        assert np.isfinite(self.root).all()
        assert (self.root[:, self.k :] == 0.0).all()
        assert (self.f[self.k :] == 0.0).all()
        assert (self.u[self.k :] == 0.0).all()
        values = np.linalg.eigvalsh(self.inverse())
        assert values[0] >= -1e-15 * values[-1]  # rounding of the product and of eigvalsh


def near_parallel(rng, n, k, distance):
    base = rng.normal(size=k)
    return base + distance * rng.normal(size=(n, k))


@pytest.mark.parametrize("k", SIZES)
def test_solve_and_absorb(k):
    """One update: every output against np.linalg."""
    rng = np.random.default_rng(k)
    pair = Pair(k)
    pair.play(rng.normal(size=(3 * k, k)), rng.uniform(0.1, 2.0, 3 * k))
    A, phi = pair.A.copy(), rng.normal(size=(1, k))
    S = pair.root[:, :k].copy()
    q = pair.play(phi, np.array([0.7]))[0]
    np.testing.assert_allclose(pair.f[:k], S.T @ phi[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(pair.u[:k], np.linalg.solve(A, phi[0]), rtol=1e-10, atol=1e-12)
    assert q == pytest.approx(phi[0] @ np.linalg.solve(A, phi[0]), rel=1e-11)
    np.testing.assert_allclose(pair.inverse() @ pair.A, np.eye(k), atol=1e-11)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("largest", [1.0, 1e12])
def test_two_thousand_updates(k, largest):
    rng = np.random.default_rng(k)
    pair = Pair(k)
    for _ in range(20):
        c = largest ** rng.random(100) * rng.uniform(0.01, 1.0, 100)
        phi = rng.normal(size=(1, k))
        pair.play(rng.normal(size=(100, k)), c)
        pair.check_shape()
        assert np.linalg.cond(pair.A) < 1e6
        expected = np.linalg.inv(pair.A)
        error = np.linalg.norm(pair.inverse() - expected) / np.linalg.norm(expected)
        assert error < 1e-9
        q = phi[0] @ expected @ phi[0]
        assert pair.play(phi, np.zeros(1))[0] == pytest.approx(q, rel=1e-8)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-6])
def test_near_parallel_features(k, distance):
    """A gets a condition beyond double precision: nothing may turn negative or non-finite."""
    rng = np.random.default_rng(k)
    pair = Pair(k)
    for _ in range(20):
        features = near_parallel(rng, 100, k, distance)
        c = 10.0 ** rng.uniform(-3, 12, 100)
        qs = pair.play(features, c)
        assert (qs >= 0.0).all()
        pair.check_shape()


@pytest.mark.parametrize("k", SIZES)
def test_parallel_features_while_well_conditioned(k):
    rng = np.random.default_rng(k)
    pair = Pair(k)
    pair.play(near_parallel(rng, 2000, k, 1e-9), rng.uniform(0.0, 1.0, 2000))
    assert np.linalg.cond(pair.A) < 1e7
    expected = np.linalg.inv(pair.A)
    error = np.linalg.norm(pair.inverse() - expected) / np.linalg.norm(expected)
    assert error < 1e-9


def test_uncertainty_only_shrinks():
    """x' A^-1 x falls in every direction with every update."""
    rng = np.random.default_rng(0)
    pair = Pair(6)
    before = pair.inverse()
    for _ in range(50):
        pair.play(rng.normal(size=(1, 6)), 10.0 ** rng.uniform(-3, 3, 1))
        after = pair.inverse()
        assert np.linalg.eigvalsh(before - after)[0] >= -1e-14 * np.linalg.norm(before)
        before = after


def test_zero_features_and_zero_weight_change_nothing():
    rng = np.random.default_rng(0)
    pair = Pair(10)
    pair.play(rng.normal(size=(30, 10)), np.ones(30))
    before = pair.root.copy()
    assert pair.play(np.zeros((1, 10)), np.ones(1))[0] == 0.0
    pair.play(rng.normal(size=(1, 10)), np.zeros(1))
    np.testing.assert_array_equal(pair.root, before)
