"""Play one stream through the adaptive learner and through its oracle."""

from types import SimpleNamespace

import numpy as np

import oracles
from forks.engine import one_thread
from forks.features import scaling
from forks.learners import adaptive
from forks_against_oracle import oracle_kernel, oracle_loss


def constants():
    """The numbers of the learner that are no parameters, as they are now."""
    named = {
        name.removeprefix("_").lower(): value
        for name, value in vars(adaptive).items()
        if name.isupper() and isinstance(value, float | int | np.ndarray)
    }
    scale = {"bound": scaling._BOUND, "surprise": scaling._SURPRISE, "draw_in": scaling._DRAW_IN}
    return SimpleNamespace(**named, scale=scale)


def oracle_for(learner, n_features, n_outputs=1):
    return oracles.AdaptiveOracle(
        n_features,
        n_outputs,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        constants(),
        buffer=learner.buffer,
        scaled=learner.scaling == "standard",
        median=learner.bandwidth == "median",
        linear=learner.linear,
        follow=learner.follow,
        restart=learner.restart,
        early=learner.early,
        robust=learner.robust,
    )


def oracle_run(learner, X, Y, weights=None):
    """Return the scores, one column per output, and the oracle at the end."""
    weights = np.ones(len(X)) if weights is None else weights
    oracle = oracle_for(learner, X.shape[1], Y.shape[1])
    rounds = zip(X, Y, weights, strict=True)
    with one_thread():  # thousands of small systems
        scores = np.array([oracle.play(x, y, weight) for x, y, weight in rounds])
    return scores, oracle
