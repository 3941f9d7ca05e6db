"""Run FORKS and its oracle on one stream, with the same sketch and the same landmarks."""

import numpy as np

import oracles
from forks import kernels
from forks.engine import Engine
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
    return oracles.forks(
        X,
        y,
        oracle_kernel(learner.kernel),
        oracle_loss(learner.loss),
        **sizes._asdict(),
        eta=learner.eta,
        alpha=learner.alpha,
        curvature=learner.curvature,
        curvature_decay=learner.curvature_decay,
        step_size=learner.step_size,
        clip=learner.clip,
        damping=learner.damping,
        curvature_first=learner.curvature_first,
        projection=learner.projection,
        weight_start=learner.weight_start,
        on_update=learner.on_update,
        landmarks=learner.landmarks,
        sketch_points=learner.sketch_points,
        cycle_counts=learner.cycle_counts,
        decomposition=learner.decomposition,
        cut=learner.cut,
        sjlt_row=sketch.row,
        choose_landmarks=lambda n, size: choose(random[:1], n, size),
        weights=weights,
    )


def engine_run(learner: FORKS, X, y, seed=0, weights=None):
    """Play the stream through the engine; give the scores and the engine."""
    width = X.shape[1]
    engine = Engine(learner, width, 1, np.random.default_rng(seed))
    targets = np.ascontiguousarray(np.asarray(y, float).reshape(-1, 1))
    return engine.learn(X, targets, weights)[:, 0], engine
