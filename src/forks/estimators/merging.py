"""Forks of an estimator brought together again: see `forks.parts.merging`."""

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from forks.engine import Engine, one_thread
from forks.engine.protocol import MENDS
from forks.estimators.base import OnlineEstimator
from forks.estimators.forking import engine_from, pooled
from forks.estimators.insight import engines_of


def merge(models: Iterable[Any], close: bool | None = None) -> Any:
    """Return one model of what forks of a model have learned apart.

    For the squared error it is what one of them would have learned from all rows, in any order;
    for other losses nearly. Forks that were merged can be merged with further ones, in any
    groups: each must be there once.

    Parameters
    ----------
    models : iterable of estimators
        Forks of one call of `fork`, or models merged from some of them.
    close : bool, optional
        Whether the result is a model like the one that was forked, which may change its map and
        can be forked again, and not a fork that waits for others. By default it is if all forks
        are there.

    Returns
    -------
    model : estimator
        A new one; the models that were given stay as they are.

    Raises
    ------
    ValueError
        If the models are no forks of one start, or one of them is there twice.

    Examples
    --------
    >>> import forks
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = forks.OnlineKernelClassifier(effort="fast").partial_fit(X[:500], y[:500])
    >>> parts = model.fork(3)
    >>> for k, part in enumerate(parts):
    ...     part.partial_fit(X[500 + k :: 3], y[500 + k :: 3]).n_rounds_
    1000
    1000
    1000
    >>> forks.merge(parts).n_rounds_
    2000
    """
    copies = [_checked(i, model) for i, model in enumerate(models)]
    if not copies:
        raise ValueError("models: there is none to merge")
    for i, model in enumerate(copies[1:], start=1):
        if reason := _difference(copies[0], model):
            raise ValueError(f"models[0] and models[{i}] cannot be merged: {reason}")
    counted = Counter(part for model in copies for part in model._origin.parts)
    if twice := [part for part, times in counted.items() if times > 1]:
        raise ValueError(f"models: fork {twice[0]} of {copies[0]._origin.n} is there twice")
    parts = tuple(sorted(counted))
    copies.sort(key=lambda model: model._origin.parts)
    return _merged(copies, parts, len(parts) == copies[0]._origin.n if close is None else close)


def _checked(i: int, model: Any) -> Any:
    """Return a copy of a fork, as it is between two calls that learn."""
    if not isinstance(model, OnlineEstimator):
        raise ValueError(f"models[{i}] must be an estimator of this package, got {model!r}")
    if getattr(model, "_origin", None) is None:
        raise ValueError(
            f"models[{i}] is no fork: only models that `fork` has made of one model know what they "
            "have learned beyond it"
        )
    return copy.copy(model)


def _difference(first: Any, other: Any) -> str | None:
    """Return why two forks cannot be merged; None if they can."""
    ours, theirs = first._origin, other._origin
    if type(first) is not type(other):
        return f"one is an {type(first).__name__}, the other an {type(other).__name__}"
    if ours.learner != theirs.learner:
        return "their learners differ"
    if first.n_features_in_ != other.n_features_in_:
        return f"they have {first.n_features_in_} and {other.n_features_in_} features"
    names = [list(getattr(model, "feature_names_in_", [])) for model in (first, other)]
    if names[0] != names[1]:
        return "their features have other names"
    if first._task == "classification" and not np.array_equal(first.classes_, other.classes_):
        return f"their classes are {first.classes_.tolist()} and {other.classes_.tolist()}"
    if first.engine_.n_outputs != other.engine_.n_outputs:
        return f"they have {first.engine_.n_outputs} and {other.engine_.n_outputs} targets"
    if not ours.same_start(theirs):
        return "they are forks of other models, or of other calls of `fork`, with maps of their own"
    return None


def _merged(forks: list[Any], parts: tuple[int, ...], close: bool) -> Any:
    first = forks[0]
    origin, engines = first._origin, []
    rounds = origin.rounds + sum(fork.engine_.rounds - origin.rounds for fork in forks)
    starts = zip(origin.memories, origin.begins(), strict=True)
    for number, (before, start) in enumerate(starts):
        each = [engines_of(fork.engine_)[number] for fork in forks]
        learner = each[0].learner
        with one_thread():
            try:
                memory = learner.merged(start, [engine.memory for engine in each])
            except np.linalg.LinAlgError:
                raise ValueError("models: numbers of what they have learned overflow") from None
            memory.event[MENDS] = before.event[MENDS] + sum(
                int(engine.mends - before.event[MENDS]) for engine in each
            )
            if close:
                learner, memory = origin.learner, origin.learner.rejoined(memory, before)
        sizes = each[0].n_features, each[0].n_outputs
        learner.check_memory(memory, *sizes)  # forks from files may not fit together
        mends = [engine.last_mend for engine in each if engine.last_mend is not None]
        last_mend = max(mends, default=None)
        engines.append(Engine.restored(learner, *sizes, memory, rounds, last_mend))
    merged = copy.copy(first)
    origin = None if close else origin._replace(parts=parts)
    engine = engine_from(first.engine_, engines)
    merged.__dict__.update(pooled(first._origin, forks), engine_=engine, _origin=origin)
    if close and merged._task == "classification":
        merged._labels = merged._labels._replace(given=first._origin.given)
    return merged
