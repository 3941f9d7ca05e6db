"""A pass over cod-rna: FORKS, the plain NumPy oracle, and random features in scikit-learn."""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from forks.engine import Vector
from forks.experiments.bench._clock import Contender, Timed, best_times
from forks.experiments.bench._data import (
    KERNEL,
    SEED,
    Stream,
    new_engine,
    oracle_run,
    published,
    released,
    settings_of,
)
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._peers import BATCH, in_batches
from forks.experiments.bench._record import Record
from forks.learners import FORKS

_COMPONENTS = 100
_PUBLISHED, _RELEASED, _SKLEARN, _SHORT, _ORACLE = (
    "FORKS as published",
    "FORKS as released",
    "scikit-learn",
    "FORKS as published, first rows",
    "oracle, first rows",
)


def measure(effort: Effort) -> Iterator[Record]:
    """Time whole passes, each row predicted before it is learned."""
    stream = effort.data().first(effort.rows)
    start = stream.first(effort.oracle_rows)
    learner = published(len(stream.y))
    others = {"n_rows": len(stream.y)}
    settings = {
        _PUBLISHED: {**settings_of(learner), **others},
        _RELEASED: {**settings_of(released()), **others},
        _SKLEARN: {"n_components": _COMPONENTS, "batch": BATCH, **others},
        _SHORT: {**settings_of(learner), "n_rows": len(start.y)},
        _ORACLE: {**settings_of(learner), "n_rows": len(start.y)},
    }
    contenders: dict[str, Contender] = {
        _PUBLISHED: _forks(learner, stream),
        _RELEASED: _forks(released(), stream),
        _SKLEARN: lambda: _random_features(stream),
        _SHORT: _forks(learner, start),
        _ORACLE: lambda: lambda: oracle_run(learner, start).scores,
    }
    timed = best_times(contenders, effort.repeats)
    for name, one in timed.items():
        n = len(one.result)
        labels = stream.y[:n]
        mistakes = 100.0 * float(np.mean((one.result >= 0.0) != (labels > 0.0)))
        per_row = 1e6 * one.seconds / n
        for value, unit in ((per_row, "µs per row"), (1e6 / per_row, "rows per second")):
            yield Record(name=name, value=value, unit=unit, settings=settings[name])
        yield Record(name=f"{name}: mistakes", value=mistakes, unit="%", settings=settings[name])
    yield Record(
        name="FORKS against scikit-learn",
        value=_per_row(timed[_SKLEARN]) / _per_row(timed[_PUBLISHED]),
        unit="times as fast",
        at_least=20.0,
        settings=settings[_PUBLISHED],
    )
    yield Record(
        name="FORKS against the oracle",
        value=_per_row(timed[_ORACLE]) / _per_row(timed[_SHORT]),
        unit="times as fast",
        at_least=100.0,
        settings=settings[_SHORT],
    )
    difference = float(np.abs(timed[_ORACLE].result - timed[_SHORT].result).max())
    yield Record(name="largest difference of scores", value=difference)


def _per_row(timed: Timed) -> float:
    return timed.seconds / len(timed.result)


def _forks(learner: FORKS, stream: Stream) -> Contender:
    targets = stream.targets

    def prepare() -> Callable[[], Vector]:
        engine = new_engine(learner, stream.X.shape[1])
        return lambda: engine.learn(stream.X, targets)[:, 0]

    return prepare


def _random_features(stream: Stream) -> Callable[[], Vector]:
    """Random Fourier features of the same kernel and a linear model with the hinge loss."""
    X, y = stream
    gamma = 0.5 / KERNEL.bandwidth**2
    sampler = RBFSampler(gamma=gamma, n_components=_COMPONENTS, random_state=SEED).fit(X[:1])
    model = SGDClassifier(loss="hinge", random_state=SEED)
    classes = np.array([-1.0, 1.0])
    return lambda: in_batches(X, y, sampler, model, "decision_function", classes=classes)
