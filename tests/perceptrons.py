"""Streams and comparisons that the tests of the budget perceptrons share."""

import numpy as np

from forks._random import uniform_in_python
from forks.streams.datasets import load, permutations
from forks_against_oracle import engine_run


def stream(n=200, d=5, seed=0):
    """Half of the entries are zero; the label is a curved function of the row, with errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = np.sign(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))
    return X, y


def weights_for(y):
    """Weights around 1, every seventh zero."""
    weights = np.random.default_rng(1).exponential(size=len(y))
    weights[::7] = 0.0
    return weights


def german(i=0):
    """Rows and labels in the i-th of the published orders."""
    X, y = load("german")
    order = permutations("german")[i]
    return np.ascontiguousarray(X[order]), y[order]


def spambase(n=300):
    """The first n rows and labels in the first of the published orders."""
    X, y = load("spambase")
    order = permutations("spambase")[0][:n]
    return np.ascontiguousarray(X[order]), y[order]


def svmguide3(seed):
    """Rows and labels in an order of our own."""
    X, y = load("svmguide3")
    order = np.random.default_rng(seed).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


def draws_of(learner, d, seed=0):
    """Give draw(n) -> a number below n, as an engine of this seed draws it."""
    random = learner.view(learner.init(d, 1, np.random.default_rng(seed))).random.copy()
    return lambda n: int(uniform_in_python(random) * n)


def assert_scores(scores, expected, rtol=1e-9):
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def mistakes(learner, X, y, seed=0):
    """Count the wrong answers; a score of zero answers +1."""
    scores = engine_run(learner, X, y, seed)[0]
    return int(np.count_nonzero((scores >= 0.0) != (y > 0.0)))


def german_mistakes(learner):
    """Wrong answers in each of the 20 published orders."""
    return [mistakes(learner, *german(i), seed=i) for i in range(20)]


def svmguide3_rate(learner):
    """Wrong answers in %, on average over 20 orders."""
    counts = [mistakes(learner, *svmguide3(seed), seed=seed) for seed in range(20)]
    return 100.0 * np.mean(counts) / 1243
