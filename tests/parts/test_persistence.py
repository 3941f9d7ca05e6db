"""The last label, the last residual and base rates against their oracle, and what they gain."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.parts.persistence import (
    COMPARED,
    REPEATED,
    Persistence,
    PersistenceRule,
    correction,
    observe,
    persistence_limits,
    write_base,
    write_last,
)
from forks.parts.ring import Ring, remember

SIZE = 50


@entry
def _play(rule, persistence, ring, delay, X, Y, answers, last, base, corrections):
    for t in range(Y.shape[0]):
        x, known = X[t], t - 1 - delay
        write_last(rule, persistence, ring, known, x, last[t])
        write_base(rule, persistence, base[t])
        for o in range(Y.shape[1]):
            corrections[t, o] = correction(persistence, known, o)
        observe(rule, persistence, ring, t, known, x, Y[t], answers[t])
        remember(ring, t, x, Y[t], 1.0)


def play(classifies, Y, answers, delay=0, X=None):
    """Return the last label's answers, the base rates, the corrections, and what is kept."""
    n = Y.shape[1]
    X = np.arange(float(len(Y)))[:, None] if X is None else X
    zeros = map(np.zeros, ((SIZE, n), (n, 2), n, n, (2, 2)))
    persistence = Persistence(*zeros)
    ring = Ring(np.zeros((SIZE, 1)), np.zeros((SIZE, n)), np.zeros(SIZE))
    out = [np.empty_like(Y) for _ in range(3)]
    _play.over()(PersistenceRule(classifies), persistence, ring, delay, X, Y, answers, *out)
    return *out, persistence


def rate(persistence, equal=0):
    """Return how often labels are repeated; of rows that equal the one before if `equal` is 1."""
    return persistence.counts[equal, REPEATED] / persistence.counts[equal, COMPARED]


def labels(n, n_outputs, stays, seed=0):
    """Labels that stay the same from row to row with this probability."""
    rng = np.random.default_rng(seed)
    k = max(2, n_outputs)
    classes = np.zeros(n, int)
    for t in range(1, n):
        classes[t] = classes[t - 1]
        if rng.random() >= stays:
            classes[t] = (classes[t - 1] + rng.integers(1, k)) % k
    if n_outputs == 1:
        return np.where(classes == 0, 1.0, -1.0)[:, None]
    return np.where(classes[:, None] == np.arange(k), 1.0, -1.0)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("classifies", [True, False])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_every_row_is_the_oracles(n_outputs, classifies, delay):
    rng = np.random.default_rng(1)
    Y = labels(700, n_outputs, 0.8) if classifies else rng.normal(size=(700, n_outputs)).cumsum(0)
    if not classifies:
        Y[90::60] *= 1e4
    answers = Y + rng.normal(size=Y.shape).cumsum(axis=0)
    X = rng.integers(0, 2, (700, 1)).astype(float)  # every other row is one that was there before
    last, base, corrections, _ = play(classifies, Y, answers, delay, X)
    oracle = oracles.LastLabels(n_outputs, classifies)
    oracle.delay = delay
    for t in range(len(Y)):
        np.testing.assert_allclose(last[t], oracle.last(X[t]), rtol=1e-9)
        np.testing.assert_allclose(base[t], oracle.base(), rtol=1e-9, atol=1e-12)
        if not classifies:
            np.testing.assert_allclose(corrections[t], oracle.correction(), rtol=1e-9, atol=1e-12)
        oracle.observe(X[t], Y[t], answers[t])


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("stays", [0.3, 0.9])
def test_the_rate_of_repeats_is_found(n_outputs, stays):
    Y = labels(5000, n_outputs, stays)
    last, _, _, persistence = play(True, Y, np.zeros_like(Y))
    assert rate(persistence) == pytest.approx(stays, abs=0.06)
    p = 0.5 + 0.5 * last[1000:]
    np.testing.assert_allclose(p.sum(axis=1), 1.0 if n_outputs > 1 else p[:, 0], rtol=1e-12)
    given = np.where(Y[1000:] > 0.0, p, 1.0 - p)[:, 0] if n_outputs == 1 else p[Y[1000:] > 0.0]
    best = -(stays * np.log(stays) + (1 - stays) * np.log((1 - stays) / max(1, n_outputs - 1)))
    assert -np.log(given).mean() == pytest.approx(best, rel=0.05)


def test_late_labels_are_judged_by_how_they_do_late():
    Y = labels(8000, 1, 0.9)
    for delay in (0, 1, 4):
        late = play(True, Y, np.zeros_like(Y), delay)[-1]
        assert rate(late) == pytest.approx(0.5 + 0.5 * 0.8 ** (delay + 1), abs=0.06)


def test_equal_rows_have_a_rate_of_their_own():
    X = np.repeat(np.arange(500.0), 10)[:, None]
    Y = np.where(X % 2 == 0, 1.0, -1.0)  # ten rows alike, then the other label
    last, _, _, persistence = play(True, Y, np.zeros_like(Y), X=X)
    assert rate(persistence, equal=1) == 1.0
    assert rate(persistence, equal=0) == 0.0
    assert np.mean((last[100:] >= 0.0) != (Y[100:] > 0.0)) == 0.0


def test_residuals_that_last_are_taken_off_and_others_are_left():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 1))
    lasting = np.zeros_like(noise)
    for t in range(1, len(noise)):
        lasting[t] = 0.9 * lasting[t - 1] + noise[t]
    for residuals, least, most in ((lasting, 0.17, 0.22), (noise, 0.97, 1.03)):
        _, _, corrections, _ = play(False, residuals, np.zeros_like(residuals))
        left = np.var((residuals - corrections)[500:]) / np.var(residuals[500:])
        assert least < left < most
    against = noise * np.where(np.arange(4000) % 2, -1.0, 1.0)[:, None] * 0.1
    against += np.where(np.arange(4000) % 2, -1.0, 1.0)[:, None]
    assert not play(False, against, np.zeros_like(against))[2][50:].any()  # r is not below 0


def test_huge_residuals_leave_no_nonsense():
    Y = np.where(np.arange(200) % 2, 1e300, -1e300)[:, None]
    with np.errstate(over="ignore"):
        _, base, corrections, persistence = play(False, Y, np.zeros_like(Y))
    assert np.isfinite(base).all()
    assert np.isfinite(corrections).all()
    for array in persistence:
        assert np.isfinite(array).all()


def test_absurd_targets_hardly_move_the_mean():
    Y = np.random.default_rng(0).normal(size=(2000, 1))
    Y[99::100] = 1e6
    base = play(False, Y, np.zeros_like(Y))[1]
    assert base[150, 0] > 1e3  # one of the first hundred, of which nothing is known
    Y[99] = 0.0
    base = play(False, Y, np.zeros_like(Y))[1]
    assert np.abs(base[150:]).max() < 1.0


def test_targets_that_are_mostly_zero_have_their_mean():
    Y = (np.random.default_rng(0).random((5000, 1)) < 0.02).astype(float)
    assert play(False, Y, np.zeros_like(Y))[1][-1, 0] == pytest.approx(Y.mean(), rel=0.02)


def test_counts_have_limits():
    limit, _ = persistence_limits(play(True, labels(10, 1, 0.5), np.zeros((10, 1)))[-1])
    assert (limit.low, limit.high) == (0.0, np.inf)
