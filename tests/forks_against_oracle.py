"""Run FORKS and its oracle on one stream, with the same sketch and the same landmarks."""

from dataclasses import fields

import numpy as np

from forks import kernels, oracles
from forks.engine import Engine, one_thread
from forks.engine.random import choose
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.linalg import SJLT


def oracle_kernel(kernel):
    if isinstance(kernel, kernels.Gaussian):
        return oracles.gaussian(kernel.bandwidth)
    if isinstance(kernel, kernels.Laplacian):
        return oracles.laplacian(kernel.bandwidth)
    if isinstance(kernel, kernels.Polynomial):
        return oracles.polynomial(kernel.degree, kernel.gamma, kernel.coef0)
    return oracles.linear()


def oracle_loss(loss):
    return getattr(oracles, type(loss).__name__)(*loss)


def oracle_run(learner: FORKS, X, y, seed=0, weights=None):
    """Play the stream through the oracle with the draws that an engine of this seed makes."""
    memory = learner.init(X.shape[1], 1, np.random.default_rng(seed))
    random = memory_of(memory).random.copy()
    sizes = learner.sizes()
    sketch = SJLT(sizes.sketch_size, learner.n_blocks, int(random[1]))
    names = {f.name for f in fields(oracles.ForksOptions)} - set(sizes._fields)
    options = {name: getattr(learner, name) for name in names}
    with one_thread():  # thousands of small systems
        return oracles.forks(
            X,
            y,
            oracle_kernel(learner.kernel),
            oracle_loss(learner.loss),
            oracles.ForksOptions(**sizes._asdict(), **options),
            sjlt_row=sketch.row,
            choose_landmarks=lambda n, size: choose(random[:1], n, size),
            weights=weights,
            diagnostics=True,
        )


def engine_run(learner: FORKS, X, y, seed=0, weights=None):
    """Play the stream through the engine; give the scores and the engine."""
    width = X.shape[1]
    engine = Engine(learner, width, 1, np.random.default_rng(seed))
    targets = np.ascontiguousarray(np.asarray(y, float).reshape(-1, 1))
    return engine.learn(X, targets, weights)[:, 0], engine
