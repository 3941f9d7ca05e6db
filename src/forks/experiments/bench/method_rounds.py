"""Rounds of all methods against KOGD.

The last 1,000 of the first 20,000 rounds on cod-rna, against rounds of KOGD that compare with as
many stored points (FOGD: as many as it has frequencies) and store none. Rounds of PROS-N-KONS are
quadratic in the points, of which the adaptive one has many.
"""

import pickle
from collections.abc import Iterator

import numpy as np

from forks.engine import Engine, Vector
from forks.experiments.bench._data import Stream, new_engine, paper_settings
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import Contender, Timed, best_times, timed
from forks.kernels import Kernel
from forks.learners import KOGD
from forks.learners.catalogue import CATALOGUE

_LAST = 1_000


def measure(rows: int = 20_000, repeats: int = 7) -> Iterator[Number]:
    """Time the last rounds of a pass, beside rounds of KOGD with as many stored points."""
    _, stream, setting, settings = next(paper_settings(rows))
    split = len(stream.y) - _LAST
    start, end = stream.first(split), Stream(stream.X[split:], stream.y[split:])
    for method in CATALOGUE[1:]:
        engine = new_engine(method.make(setting), stream.X.shape[1])
        engine.learn(start.X, start.targets)
        n = engine.stored_points or int(engine.rule.n_frequencies)  # FOGD has no points
        contenders = {
            "ours": _going_on(engine, end, np.ones(_LAST)),
            "KOGD": _going_on(_kogd_with(n, stream, setting.kernel), end, np.zeros(_LAST)),
        }
        times = best_times(contenders, repeats)
        ratio = times["ours"].seconds / times["KOGD"].seconds
        about = {**settings, "points": n}
        yield Number(method.name, ratio, "times the time", about, at_most=20.0)


def _going_on(engine: Engine, stream: Stream, weights: Vector) -> Contender:
    """Play more rounds from the state that the engine is in, again and again."""
    stored, targets = pickle.dumps(engine), stream.targets

    def play() -> Timed:
        copy = pickle.loads(stored)
        return timed(lambda: copy.learn(stream.X, targets, weights))

    return play


def _kogd_with(n: int, stream: Stream, kernel: Kernel) -> Engine:
    """KOGD with n stored points; a round of weight 0 compares with them and stores nothing."""
    engine = new_engine(KOGD(kernel=kernel, eta=1e-9), stream.X.shape[1])  # no score comes near 1
    rows = stream.ordered(np.arange(n) % len(stream.y))
    engine.learn(rows.X, rows.targets)
    assert engine.stored_points == n
    return engine


PART = Part(__doc__, measure, {"repeats": 3})
