"""Small streams and models that go through both stages and through update rounds."""

import pickle

import numpy as np

from forks import FORKSClassifier, FORKSRegressor
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

ROWS = 150

# Stage one ends after some 25 of the 150 rows; an update round follows every few losses.
SMALL = {"budget": 10, "rank": 8, "update_cycle": 5, "random_state": 0}


def rows(n=ROWS, d=4, seed=0):
    """Rows of which half of the entries are zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)


def labelled(n=ROWS, d=4, seed=0):
    """Rows and labels 0 and 1, a curved function of the row with one error in ten."""
    X = rows(n, d, seed)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.0
    y ^= np.random.default_rng(seed + 1).random(n) < 0.1
    return X, y.astype(int)


def valued(n=ROWS, d=4, seed=0):
    """Rows and real targets."""
    X = rows(n, d, seed)
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * noise


def classifier(**changes):
    """Make a small classifier with the bandwidth set by hand."""
    return FORKSClassifier(**(SMALL | {"bandwidth": 1.5, "loss": "hinge"} | changes))


def regressor(**changes):
    """Make a small regressor with the bandwidth set by hand."""
    return FORKSRegressor(**(SMALL | {"bandwidth": 1.5} | changes))


def counts(model):
    """Return the counters of a FORKS estimator: stage, updates, losses and so on by name."""
    values = memory_of(model.engine_.memory).hot.counts
    return {name: int(values[i]) for name, i in COUNT._asdict().items()}


def frozen(model):
    """Everything that a model is, as bytes."""
    return pickle.dumps(vars(model))


def scores_of(model, X):
    """Return the scores that the model has now, of a classifier or a regressor."""
    return getattr(model, "decision_function", model.predict)(X)


def assert_same_memory(model, other):
    """The two models are equal bit for bit."""
    for ours, theirs in zip(model.engine_.memory, other.engine_.memory, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.learner_ == other.learner_
