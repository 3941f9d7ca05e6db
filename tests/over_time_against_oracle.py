"""Play one stream through experts over time and through their oracle."""

import numpy as np

from forks import oracles
from forks.engine import one_thread
from forks.kernels import Gaussian
from forks_against_oracle import oracle_kernel, oracle_loss


def machine_oracle(learner, n_outputs=1, **options):
    """Make the oracle of a machine; `options` are those that the learner has not."""
    return oracles.MachineOracle(
        n_outputs,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        buffer=learner.buffer,
        scaled=learner.scaling == "standard",
        median=learner.bandwidth == "median",
        linear=learner.linear,
        early=learner.early,
        robust=learner.robust,
        **options,
    )


def oracle_for(learner, n_features, n_outputs=1):
    """Make the oracle of experts that are machines."""

    def make(place, **options):
        return machine_oracle(learner.long if place < 2 else learner.learner, n_outputs, **options)

    machine = learner.learner
    usual = repr(machine.kernel) == repr(Gaussian()) and machine.bandwidth == "median"
    return oracles.OverTimeOracle(
        n_features,
        n_outputs,
        make,
        experts=learner.experts,
        window=learner.window,
        relevance=learner.relevance,
        restart=learner.restart,
        repeat=learner.repeat,
        may_change_kernel=usual,
    )


def oracle_run(learner, X, Y, weights=None):
    """Return the scores, one column per output, and the oracle at the end."""
    weights = np.ones(len(X)) if weights is None else weights
    oracle = oracle_for(learner, X.shape[1], Y.shape[1])
    with one_thread():  # thousands of small systems
        scores = [oracle.play(*row) for row in zip(X, Y, weights, strict=True)]
    return np.array(scores), oracle
