"""Forks of an estimator: models that learn apart, and know what they began with."""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from forks.engine import MANY, Engine, EngineGroup, Learner, Matrix, Memory, Vector, one_thread
from forks.engine.checks import whole
from forks.estimators.gaps import Gaps
from forks.estimators.insight import engines_of
from forks.estimators.labels import ClassCounts
from forks.features.means import Means
from forks.files import decode, encode

_MOST_FORKS = 2**20


class _Begun:
    """The memories that forks began with, made once; they are not sent to others, nor stored."""

    def __init__(self, memories: tuple[Memory, ...] = ()) -> None:
        self.memories = memories

    def __reduce__(self) -> tuple[Any, ...]:
        return _Begun, ()


class Origin(NamedTuple):
    """What a fork began with, the same for all forks of one call, and which of them it is."""

    learner: Learner
    memories: tuple[Memory, ...]  # one for each engine
    rounds: int
    means: Means
    counts: np.ndarray  # rows of each class; empty for regressors
    given: bool  # were the classes given, so that no others could come?
    rows: int  # that the forks were to learn together
    n: int  # forks that were made
    parts: tuple[int, ...]  # which of them are in this model, sorted
    begun: _Begun

    def begins(self) -> tuple[Memory, ...]:
        """Return the memories that all forks began with, one for each engine."""
        if not self.begun.memories:
            with one_thread():
                made = [self.learner.forked(each, self.rows) for each in self.memories]
            self.begun.memories = tuple(made)
        return self.begun.memories

    def begun_with(self, memories: tuple[Memory, ...]) -> "Origin":
        """Return the same with the memories that all forks began with, made elsewhere."""
        return self._replace(begun=_Begun(memories))

    def same_start(self, other: "Origin") -> bool:
        """Return whether both were forked from one model by one call."""
        own, others = (
            [*(array for memory in each.memories for array in memory), each.counts, *each.means]
            for each in (self, other)
        )
        return (
            (self.learner, self.rounds, self.given, self.rows, self.n)
            == (other.learner, other.rounds, other.given, other.rows, other.n)
            and len(own) == len(others)
            and all(a is b or np.array_equal(a, b) for a, b in zip(own, others, strict=True))
        )


def engine_from(like: Engine | EngineGroup, engines: list[Engine]) -> Engine | EngineGroup:
    """Return a group of engines if there was one, else the only engine."""
    return EngineGroup.restored(engines) if isinstance(like, EngineGroup) else engines[0]


class Forking:
    """Mixin of estimators that can be forked."""

    engine_: Engine | EngineGroup
    _origin: Origin | None = None  # of a fork

    def fork(self, n: int, rows: int = 0) -> list[Any]:
        """Return n models that go on from what this one knows, to learn apart and be merged.

        Forks keep the map of their features as it is now, and do not start again; classes that are
        not known yet are refused. `forks.merge` makes one model of what all of them have learned.
        This model stays as it is.

        Parameters
        ----------
        n : int
            How many.
        rows : int
            How many rows they will learn together, if that is known: the prior is then the one for
            so many, as it would have become in the course of one stream.

        Returns
        -------
        forks : list of estimators
            Of the same class.

        Raises
        ------
        ValueError
            If the learner cannot be merged, which the message explains.
        """
        check_is_fitted(self, "engine_")
        whole("n", n, 1, _MOST_FORKS)
        whole("rows", rows, 0, MANY)
        start: Any = copy.copy(self)  # as it is between two calls that learn
        if start._origin is not None:
            raise ValueError("a fork cannot be forked: merge it with the others first")
        engine = start.engine_
        learner = engine.learner.for_forks()
        classifies = start._task == "classification"
        origin = Origin(
            engine.learner,
            tuple(each.memory for each in engines_of(engine)),
            engine.rounds,
            start._gaps.means,
            start._class_counts.table[-1] if classifies else np.empty(0),
            start._labels.given if classifies else False,
            rows,
            n,
            (),
            _Begun(),
        )
        origin.begins()  # or an error
        return [_fork(start, learner, origin._replace(parts=(k,))) for k in range(n)]

    def _weigh_anew(self) -> None:
        """Let experts be judged by the rows to come alone, when they know more than before."""
        for engine in engines_of(self.engine_):
            memory = engine.memory.copy()
            engine.learner.weigh_anew(memory)
            engine.memory = memory

    def _held(self, X: Any, weights: Vector | None, targets: Matrix) -> Any:
        """Return the weights of rows that a fork is to learn: absurd targets count less.

        How absurd they are is seen by the model that was forked, so that it does not depend on
        what a fork has learned, and on the order of rows.
        """
        origin = self._origin
        if origin is None:
            return weights
        pairs = zip(origin.memories, engines_of(self.engine_), strict=True)
        for o, (memory, engine) in enumerate(pairs):
            bound = origin.learner.largest_error(memory)
            if np.isfinite(bound):
                sizes = engine.n_features, engine.n_outputs
                start = Engine.restored(origin.learner, *sizes, memory, origin.rounds, None)
                errors = np.abs(start.predict(X)[:, 0] - targets[:, o])
                factors = bound / np.maximum(errors, bound)
                weights = factors if weights is None else weights * factors
        return weights


def _fork(start: Any, learner: Learner, origin: Origin) -> Any:
    engines = [
        Engine.restored(learner, old.n_features, old.n_outputs, memory, old.rounds, old.last_mend)
        for old, memory in zip(engines_of(start.engine_), origin.begins(), strict=True)
    ]
    engine = engine_from(start.engine_, engines)
    fork = object.__new__(type(start))
    fork.__dict__.update({**start.__dict__, "engine_": engine, "_origin": origin})
    if fork._task == "classification":
        fork._labels = fork._labels._replace(given=True)
    return fork


# ---- in model files ----------------------------------------------------------------------------


def write_origin(origin: Origin | None, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Return JSON that stands for what a fork began with, and put its numbers among the arrays."""
    if origin is None:
        return None
    for number, memory in enumerate(origin.memories):
        for part, array in memory._asdict().items():
            arrays[f"origin.{number}.{part}"] = array
    arrays["origin.means"] = np.stack(origin.means)
    return {
        "learner": encode("learner", origin.learner),
        "rounds": min(origin.rounds, MANY),
        "counts": np.minimum(origin.counts, MANY).tolist(),
        "given": origin.given,
        "rows": origin.rows,
        "n": origin.n,
        "parts": list(origin.parts),
    }


def read_origin(given: Any, model: Any, arrays: dict[str, np.ndarray]) -> Origin | None:
    """Return what JSON and arrays stand for; `model` is the fork, with its engine."""
    if given is None:
        return None
    names = {"learner", "rounds", "counts", "given", "rows", "n", "parts"}
    if not isinstance(given, dict) or given.keys() != names or type(given["given"]) is not bool:
        raise ValueError("what the fork began with has too much, or too little")
    learner, engines = decode(given["learner"]), engines_of(model.engine_)
    if not isinstance(learner, Learner) or model._task not in learner.tasks:
        raise ValueError(f"a fork of {type(model).__name__} did not begin with {learner!r}")
    rounds, rows, n = (_number(name, given[name]) for name in ("rounds", "rows", "n"))
    memories = tuple(
        Memory(*(arrays.pop(f"origin.{number}.{part}") for part in Memory._fields))
        for number in range(len(engines))
    )
    for engine, memory in zip(engines, memories, strict=True):
        learner.check_memory(memory, engine.n_features, engine.n_outputs)
    if learner.for_forks() != model.engine_.learner:
        raise ValueError("the learner of the fork is not that of its start")
    parts = tuple(_number("parts", part) for part in given["parts"])
    if model.engine_.rounds < rounds:
        raise ValueError("the fork has learned fewer rows than its start")
    if not (0 < n <= _MOST_FORKS and parts and list(parts) == sorted({*parts}) and parts[-1] < n):
        raise ValueError(f"the fork claims to be {given['parts']} of {n}")
    counts, means = np.array(given["counts"], dtype=np.float64), arrays.pop("origin.means")
    n_classes = len(model.classes_) if model._task == "classification" else 0
    sound = counts.shape == (n_classes,) and means.shape == (2, model.n_features_in_)
    if not (sound and all(((part >= 0.0) & (part <= MANY)).all() for part in (counts, means[0]))):
        raise ValueError("the counts of the fork's start are out of their bounds")
    if means.dtype != np.float64 or not np.isfinite(means).all():
        raise ValueError("the means of the fork's start are no numbers")
    known = (rounds, Means(*means), counts, given["given"], rows, n, parts)
    origin = Origin(learner, memories, *known, _Begun())
    origin.begins()  # or an error: it is no start of a fork
    return origin


def _number(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MANY:
        raise ValueError(f"{name} of the fork is {value!r}")
    return value


def pooled(origin: Origin, models: list[Any]) -> dict[str, Any]:
    """Return what estimators keep beside their engine, of all forks: counts are sums."""
    means = zip(origin.means, *(model._gaps.means for model in models), strict=True)
    made: dict[str, Any] = {"_gaps": Gaps(Means(*(_summed(first, rest) for first, *rest in means)))}
    if models[0]._task == "classification":
        counts = [model._class_counts.table[-1] for model in models]
        rounds = origin.rounds + sum(model.engine_.rounds - origin.rounds for model in models)
        made["_class_counts"] = ClassCounts(rounds, _summed(origin.counts, counts)[None])
    return made


def _summed(start: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    return np.asarray(start + sum((part - start for part in parts), start=np.zeros_like(start)))
