"""The linear parts against their oracle."""

import numpy as np

from forks import oracles
from forks.engine import allocate, entry, shapes_of, viewer
from forks.engine.blocks import LANES
from forks.parts.diagonal import (
    Diagonal,
    DiagonalWork,
    begin_diagonal,
    diagonal_limits,
    find_places,
    learn_lanes,
    scaled_values,
    score_lanes,
)
from forks.parts.seen import Seen, begin_seen

PLACES, OUTPUTS = 64, 2


@entry
def _play(diagonal, seen, work, X, slopes, h, F):
    for t in range(X.shape[0]):
        find_places(seen, 0, PLACES, X[t])
        square, _ = score_lanes(diagonal, seen, 0, PLACES, X[t], work)
        for o in range(slopes.shape[1]):
            for lane in range(LANES):
                F[t, o, lane] = work.f[o, lane]
                work.gain[o, lane] = slopes[t, o, lane]
        for lane in range(LANES):
            work.q[1, lane] = h[t, lane]
        learn_lanes(diagonal, seen, 0, PLACES, X[t], square, work)


def made(cls):
    lengths = {"places": PLACES, "outputs": OUTPUTS}
    return viewer(cls)(allocate(cls, shapes_of(cls, lengths)))


def stream(n=120, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2) * np.exp(2.0 * rng.normal(size=d))
    return X, rng.normal(size=(n, OUTPUTS, LANES)), rng.random((n, LANES))


def played(X, slopes, h):
    diagonal, seen, work = made(Diagonal), made(Seen), made(DiagonalWork)
    begin_diagonal(diagonal)
    begin_seen(seen)
    F = np.zeros_like(slopes)
    _play.over()(diagonal, seen, work, X, slopes, h, F)
    return diagonal, F


def test_every_score_is_that_of_the_oracle():
    X, slopes, h = stream()
    diagonal, F = played(X, slopes, h)
    places = oracles.Places(PLACES)
    plain = oracles.DiagonalOracle(places, OUTPUTS)
    for t, x in enumerate(X):
        for feature in np.flatnonzero(x):
            places.take(int(feature))
        np.testing.assert_allclose(F[t], plain.scores(plain.scaled(x)), rtol=1e-9, atol=1e-12)
        plain.learn(x, slopes[t], h[t])
    for place, v in plain.v.items():
        np.testing.assert_allclose(diagonal.variances[place], v, rtol=1e-9)
    assert all(np.all(v >= lo) and np.all(v <= hi) for _, v, lo, hi in diagonal_limits(diagonal))


def test_values_are_scaled_alike_outside_compiled_code():
    X, slopes, h = stream()
    diagonal, _ = played(X, slopes, h)
    plain = oracles.DiagonalOracle(oracles.Places(PLACES), 1)
    plain.size = {place: (mean, 1) for place, (mean, _) in enumerate(diagonal.sizes)}
    x = np.zeros(10)
    x[:3] = 0.5, -2.0, 1e300
    found = scaled_values(diagonal.sizes, np.array([1, 2, 3]), x[:3])
    for place, z in enumerate(found, start=1):
        plain.places.known = {place - 1: place}
        row = np.zeros(10)
        row[place - 1] = x[place - 1]
        np.testing.assert_allclose(z, plain.scaled(row)[0][1], rtol=1e-12)


def test_with_c_0_the_precision_is_the_sum_of_curvatures():
    X, slopes, h = stream(30)
    X[:], h[:, 4:] = 0.0, h[:, :4]  # the bias alone: its value is 0.3 in all rows
    diagonal, _ = played(X, slopes, h)
    expected = 1.0 + 0.09 * h.sum(axis=0)[:4] / np.array([0.01, 0.1, 1.0, 10.0])
    np.testing.assert_allclose(1.0 / diagonal.variances[0, :4], expected, rtol=1e-9)
    assert (diagonal.variances[0, 4:] > diagonal.variances[0, :4]).all()
