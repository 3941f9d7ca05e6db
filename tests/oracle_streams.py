"""Streams on which learners are compared with their oracles, and the draws that both make."""

from functools import cache

import numpy as np

from forks.datasets import load, permutations
from forks.engine import Engine


def made_up(n=400, d=5, seed=0):
    """Half of the entries are zero; the label is a curved function of the row, with errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = np.sign(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))
    return X, y


def repeating(n, d=4, seed=0):
    """A third of the entries are zero, some rows come twice, labels are noisy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[5::9] = X[3 : n - 2 : 9][: len(X[5::9])]
    y = np.sign(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))
    return X, y


def column(y):
    """Labels as an engine takes them."""
    return np.ascontiguousarray(y, float).reshape(-1, 1)


def engine_for(learner, d, n_outputs=1):
    return Engine(learner, d, n_outputs, np.random.default_rng(0))


def made_up_weights(n, seed=1):
    """Some of them 0."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], size=n)


@cache
def real(name, n=None, order=0):
    """The first n rows of a data set, in one of its published orders."""
    X, y = load(name)
    rows = permutations(name)[order][:n]
    return np.ascontiguousarray(X[rows]), y[rows]


def draws_of(learner, n_features, seed=0):
    """The numbers that an engine of this seed will draw, as a function."""
    memory = learner.init(n_features, 1, np.random.default_rng(seed))
    return splitmix64(int(learner.view(memory).random[0]))


def splitmix64(counter):
    """The generator whose state is `counter`, as a function that draws from [0, 1)."""
    mask = 2**64 - 1

    def uniform():
        nonlocal counter
        counter = z = (counter + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    return uniform


def mistakes(scores, y):
    return int(np.count_nonzero((scores >= 0.0) != (y > 0.0)))
