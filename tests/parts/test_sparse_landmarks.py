"""Sparse landmarks against dense ones."""

import numpy as np

from forks import oracles
from forks.engine import allocate, entry, shapes_of, viewer
from forks.parts.newton import Newton
from forks.parts.seen import Seen, begin_seen, key_of, take_place
from forks.parts.sparse_landmarks import (
    ENTRIES,
    KEPT,
    OPEN,
    WIDTH,
    SparseLandmarks,
    begin_landmarks,
    entries_of,
    fit,
    keep_row,
    landmark_limits,
    write_psi,
)

PLACES, LANDMARKS, FEATURES = 64, 20, 30


@entry
def _keep(landmarks, seen, X, y, weights, counts):
    for t in range(X.shape[0]):
        counts[t] = entries_of(X[t])
        for j in range(X.shape[1]):
            if X[t, j] != 0.0:
                take_place(seen, key_of(0, j), PLACES)
        keep_row(landmarks, seen, 0, PLACES, X[t], y[t], weights[t])


@entry
def _psi(landmarks, sizes, seen, X, squares, Psi):
    for t in range(X.shape[0]):
        write_psi(landmarks, sizes, seen, 0, PLACES, X[t], squares[t], Psi[t])


def made(cls, **more):
    lengths = {"places": PLACES, "landmarks": LANDMARKS, "outputs": 1, "room": 512, **more}
    return viewer(cls)(allocate(cls, shapes_of(cls, lengths)))


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([1.0, -1.0, 2.0], size=(n, FEATURES)) * (rng.random((n, FEATURES)) < 0.3)


def kept(X):
    """Keep rows; all features have the mean size 1, so that z = sign(x) log(1 + |x|)."""
    landmarks, seen = made(SparseLandmarks), made(Seen)
    begin_landmarks(landmarks, LANDMARKS)
    begin_seen(seen)
    y = np.sign(np.random.default_rng(1).normal(size=(len(X), 1)))
    weights, counts = np.linspace(0.5, 2.0, len(X)), np.zeros(len(X), np.int64)
    _keep.over()(landmarks, seen, X, y, weights, counts)
    np.testing.assert_array_equal(counts, np.count_nonzero(X, axis=1))
    return landmarks, seen, y, weights


def scaled(X):
    return np.sign(X) * np.log1p(np.abs(X))


def test_features_and_fit_are_those_of_dense_rows():
    X = rows(LANDMARKS)
    X[7] = X[3]  # no landmark of its own
    landmarks, seen, y, weights = kept(X)
    newton = made(Newton, width=24)
    sizes = np.ones((PLACES, 2))
    assert fit(landmarks, newton, sizes, landmarks.targets, 0.8, 0.1, True)
    plain = oracles.SparseKernelOracle(scaled(X), y, weights, 0.8, True)
    m = int(landmarks.sizes[WIDTH])
    assert m == len(plain.Z) == LANDMARKS - 1
    more = rows(50, seed=2)
    Psi = np.zeros((50, 24))
    Z = scaled(more)
    _psi.over()(landmarks, sizes, seen, more, np.sum(Z * Z, axis=1), Psi)
    for z, psi in zip(Z, Psi, strict=True):
        phi = plain.phi(z, z @ z)
        np.testing.assert_allclose(np.linalg.solve(plain.L, psi[:m]), phi[:m], rtol=1e-6, atol=1e-9)
        assert psi[m] == 1.0
        assert not psi[m + 1 :].any()
        np.testing.assert_allclose(psi @ newton.theta[0], phi @ plain.w[:, 0], rtol=1e-6)
    assert int(landmarks.sizes[OPEN]) == 0
    assert (
        landmarks.starts[-1]
        == landmarks.sizes[ENTRIES]
        == np.count_nonzero(X) - np.count_nonzero(X[3])
    )
    limits = landmark_limits(landmarks, LANDMARKS, int(seen.used[0]))
    assert all(np.all(v >= low) and np.all(v <= high) for _, v, low, high in limits)


def test_too_few_rows_make_no_landmarks():
    landmarks, _, _, _ = kept(rows(10))
    assert landmarks.sizes[KEPT] == 10
    assert fit(
        landmarks, made(Newton, width=24), np.ones((PLACES, 2)), landmarks.targets, 1.0, 0.1, True
    )
    assert landmarks.sizes.tolist() == [0, 0, 0, 0]
