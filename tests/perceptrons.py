"""What the tests of the budget perceptrons share."""

import numpy as np

import oracle_streams
from forks.datasets import load
from forks_against_oracle import engine_run
from oracle_streams import made_up, real


def stream(n=200, d=5, seed=0):
    return made_up(n, d, seed)


def weights_for(y):
    """Weights around 1, every seventh zero."""
    weights = np.random.default_rng(1).exponential(size=len(y))
    weights[::7] = 0.0
    return weights


def german(i=0):
    return real("german", order=i)


def spambase(n=300):
    return real("spambase", n)


def svmguide3(seed):
    """Rows and labels in an order of our own."""
    X, y = load("svmguide3")
    order = np.random.default_rng(seed).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


def draws_of(learner, d, seed=0):
    """Return draw(n) -> a number below n, as an engine of this seed draws it."""
    uniform = oracle_streams.draws_of(learner, d, seed)
    return lambda n: int(uniform() * n)


def assert_scores(scores, expected, rtol=1e-9):
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def mistakes(learner, X, y, seed=0):
    """Count the wrong answers of a pass; a score of zero answers +1."""
    return oracle_streams.mistakes(engine_run(learner, X, y, seed)[0], y)


def german_mistakes(learner):
    """Wrong answers in each of the 20 published orders."""
    return [mistakes(learner, *german(i), seed=i) for i in range(20)]


def svmguide3_rate(learner):
    """Wrong answers in %, on average over 20 orders."""
    counts = [mistakes(learner, *svmguide3(seed), seed=seed) for seed in range(20)]
    return 100.0 * np.mean(counts) / 1243
