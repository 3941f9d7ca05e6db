"""First-order steps on given features, against the plain formula."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.losses import SquaredHinge
from forks.parts.linear import has_loss, linear_scores, linear_step


@entry
def _play(loss, eta, w, Phi, Y, weights, scores, lost):
    mends = 0
    for t in range(Phi.shape[0]):
        linear_scores(w, Phi[t], scores[t])
        lost[t] = has_loss(loss, Y[t], weights[t], scores[t])
        mends += linear_step(loss, eta, w, Phi[t], Y[t], weights[t], scores[t])
    return mends


def play(w, Phi, Y, weights=None, eta=0.1):
    """Learn rows of whole blocks; return scores, which rows had a loss, and mends."""
    scores, lost = np.empty(Y.shape), np.empty(len(Y), bool)
    weights = np.ones(len(Y)) if weights is None else np.asarray(weights, float)
    return scores, lost, _play.over()(SquaredHinge(), eta, w, Phi, Y, weights, scores, lost)


def rows(n, width=16, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    Y = np.where(rng.random((n, n_outputs)) < 0.5, 1.0, -1.0)
    return 0.3 * rng.normal(size=(n, width)), Y


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_every_step_is_a_gradient_step(n_outputs):
    Phi, Y = rows(200, n_outputs=n_outputs)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], 200)
    loss, w = oracles.SquaredHinge(), np.zeros((n_outputs, 16))
    scores, lost, mends = play(w, Phi, Y, weights)
    v = np.zeros((n_outputs, 16))
    for t, (phi, y, weight) in enumerate(zip(Phi, Y, weights, strict=True)):
        f = v @ phi
        np.testing.assert_allclose(scores[t], f, rtol=1e-9, atol=1e-12)
        slopes = weight * loss.slope(f, y)
        assert lost[t] == slopes.any()
        v -= 0.1 * np.outer(slopes, phi)
    np.testing.assert_allclose(w, v, rtol=1e-9, atol=1e-12)
    assert mends == 0
    assert 0.2 < lost.mean() < 0.9


def test_a_heavy_row_is_learned_up_to_its_margin():
    """0.1 * 1000 * 2 |phi|^2 is far above 2: the step is held where the slope is zero."""
    w, (Phi, Y) = np.zeros((1, 16)), rows(1)
    play(w, Phi, Y, [1000.0])
    assert Y[0, 0] * (w[0] @ Phi[0]) == pytest.approx(1.0)


def test_weights_beyond_all_bounds_start_anew():
    Phi, Y = rows(1)
    w, expected = -1e150 * Y * np.sign(Phi), np.zeros((1, 16))
    assert play(w, Phi, Y)[2] == 1
    assert play(expected, Phi, Y)[2] == 0
    np.testing.assert_array_equal(w, expected)


@pytest.mark.parametrize("size", [1e155, np.inf, np.nan])
def test_a_row_beyond_all_bounds_is_left_out(size):
    w, (Phi, Y) = np.full((1, 16), 1e-160), rows(1)
    Phi[0, 3] = size
    scores, _, _ = play(w, Phi, Y)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(w, 1e-160)
