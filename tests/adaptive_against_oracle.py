"""Play one stream through the adaptive learner and through its oracle."""

import numpy as np

from forks import oracles
from forks.engine import one_thread
from forks_against_oracle import oracle_kernel, oracle_loss


def oracle_for(learner, n_outputs=1, **numbers):
    """Make the oracle of a learner; `numbers` are those that a test changes in both."""
    return oracles.AdaptiveOracle(
        n_outputs,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        buffer=learner.buffer,
        scaled=learner.scaling == "standard",
        median=learner.bandwidth == "median",
        linear=learner.linear,
        follow=learner.follow,
        restart=learner.restart,
        early=learner.early,
        robust=learner.robust,
        **numbers,
    )


def oracle_run(learner, X, Y, weights=None, **numbers):
    """Return the scores, one column per output, and the oracle at the end."""
    weights = np.ones(len(X)) if weights is None else weights
    oracle = oracle_for(learner, Y.shape[1], **numbers)
    rounds = zip(X, Y, weights, strict=True)
    with one_thread():  # thousands of small systems
        scores = np.array([oracle.play(x, y, weight) for x, y, weight in rounds])
    return scores, oracle
