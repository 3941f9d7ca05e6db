"""Estimators as files: parameters and what learning has set, as a JSON header and arrays.

The header has the estimator's name, its parameters and, once it has learned, the learner at work,
the features, the classes, and what else is not an array. The arrays are the memory of each engine
("engine.0.floats", "engine.0.ints") and the rows that the median rule has seen ("median.rows", or
"median.data", "median.indices" and "median.indptr" of CSR). A note that is not the model's, for
whoever writes files with more in them, may stand beside, with arrays called "note.*".

Nothing in a file is trusted: every name, type, size and bound is checked before a model is made,
and compiled code gets no integer that it could be led astray by.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import MANY, Engine, EngineGroup, Learner, Memory
from forks.estimators.bandwidth import METRICS, SETTLED, MedianRule
from forks.estimators.base import OnlineEstimator
from forks.estimators.classifier import FORKSClassifier, OnlineKernelClassifier
from forks.estimators.labels import ClassCounts
from forks.estimators.regressor import FORKSRegressor, OnlineKernelRegressor
from forks.files import cannot_load, decode, encode, pack, unpack, write_atomically

_ESTIMATORS: dict[str, type[OnlineEstimator]] = {
    estimator.__name__: estimator
    for estimator in (
        FORKSClassifier,
        FORKSRegressor,
        OnlineKernelClassifier,
        OnlineKernelRegressor,
    )
}
_LEARNED = {
    "engine_",
    "_median",
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "_class_counts",
}
_HEADER = {"format", "version", "library", "estimator", "parameters", "fitted", "note"}
_FITTED = {
    "learner",
    "rounds",
    "last_mends",
    "n_features",
    "n_outputs",
    "feature_names",
    "classes",
    "class_counts",
    "median",
}
_NOTE = "note."


class Saved(NamedTuple):
    """What a file holds."""

    model: Any
    library: str  # version of forks that wrote it
    note: Any  # JSON
    arrays: dict[str, np.ndarray]  # of the note


def save(
    path: str | Path,
    model: OnlineEstimator,
    note: Any = None,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write a model, and a note if there is one, to a file; see `OnlineEstimator.save`."""
    write_atomically(path, as_bytes(model, note, arrays))


def as_bytes(
    model: OnlineEstimator, note: Any = None, arrays: Mapping[str, np.ndarray] | None = None
) -> bytes:
    """Return the bytes of a model file; equal models give equal bytes."""
    name = type(model).__name__
    if _ESTIMATORS.get(name) is not type(model):
        raise ValueError(f"only the package's own estimators can be saved, got {model!r}")
    if not hasattr(model, "engine_"):
        return _as_bytes(model, note, arrays or {})
    with model.engine_.lock.alone:
        model.engine_.enter()
        model._settle()
        return _as_bytes(model, note, arrays or {})


def _as_bytes(model: OnlineEstimator, note: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    from forks import __version__

    state, parameters = vars(model), model.get_params(deep=False)
    if unknown := state.keys() - parameters.keys() - _LEARNED:
        raise ValueError(f"a model file has no place for the attribute {min(unknown)!r}")
    fitted, memories = _fitted_header(state) if "engine_" in state else (None, {})
    header = {
        "estimator": type(model).__name__,
        "parameters": {key: encode(key, parameters[key]) for key in parameters},
        "fitted": fitted,
        "note": note,
    }
    notes = {_NOTE + key: array for key, array in arrays.items()}
    return pack(header, {**memories, **notes}, __version__)


def load(path: str | Path) -> Any:
    """Load a model that `save` has written; it goes on bit for bit as if it had never stopped.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Of the class that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, cut short, not a model of this package, or written by a version to
        come. Nothing is loaded then. Whatever the file holds, loading runs no code from it.

    Examples
    --------
    >>> import tempfile, forks
    >>> model = forks.FORKSClassifier().fit([[0.0], [1.0], [0.2], [0.9]], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.forks")
    ...     again = forks.load(f"{folder}/model.forks")
    >>> bool((again.predict([[0.1]]) == model.predict([[0.1]])).all())
    True
    """
    return read(path).model


def read(path: str | Path) -> Saved:
    """Load a model with the note beside it."""
    return from_bytes(str(path), Path(path).read_bytes())


def from_bytes(name: str, data: bytes) -> Saved:
    """Load a model from the bytes of a file."""
    header, arrays = unpack(name, data)
    try:
        return _saved(header, arrays)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise cannot_load(name, reason) from None


# ---- to a file -------------------------------------------------------------------------------


def _fitted_header(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    engine, median = state["engine_"], state["_median"]
    engines = engine.engines if isinstance(engine, EngineGroup) else [engine]
    arrays: dict[str, np.ndarray] = {}
    for number, each in enumerate(engines):
        for part, array in _held(each.learner, each.memory)._asdict().items():
            arrays[f"engine.{number}.{part}"] = array
    rounds = min(engine.rounds, MANY)
    names = state.get("feature_names_in_")
    counts = state.get("_class_counts")
    header = {
        "learner": encode("learner", engine.learner),
        "rounds": rounds,
        "last_mends": [each.last_mend and min(each.last_mend, rounds) for each in engines],
        "n_features": int(state["n_features_in_"]),
        "n_outputs": engine.n_outputs,
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": _encode_classes(state["classes_"]) if "classes_" in state else None,
        "class_counts": None if counts is None else _counted(counts, engine.rounds),
        "median": None,
    }
    if median is not None:
        rows = next(iter(median.rows(engine.rounds)), None)
        header["median"] = {
            "metric": median.metric,
            "last": median.last,
            "seen": engine.rounds,
            "sparse": sparse.issparse(rows),
        }
        if sparse.issparse(rows):
            for part in ("data", "indices", "indptr"):
                arrays[f"median.{part}"] = getattr(rows, part)
        elif rows is not None:
            arrays["median.rows"] = rows
    return header, arrays


def _held(learner: Learner, memory: Memory) -> Memory:
    """Return the memory with its counters held at the most that a file may have.

    No stream is that long, but a file may claim that one was.
    """
    if all(counter.max(initial=0) <= MANY for counter in _counters(learner.view(memory))):
        return memory
    memory = memory.copy()
    for counter in _counters(learner.view(memory)):
        np.minimum(counter, MANY, out=counter)
    return memory


def _counters(view: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of whole numbers in a state, but for the generators."""
    for name, part in view._asdict().items():
        if isinstance(part, tuple):
            yield from _counters(part)
        elif part.dtype.kind == "i" and name != "random":
            yield part


def _counted(counts: ClassCounts, rounds: int) -> list[float]:
    held: list[float] = np.minimum(counts.after(rounds), MANY).tolist()
    return held


def _encode_classes(classes: np.ndarray) -> dict[str, Any]:
    values = classes.tolist()
    kind = classes.dtype.name
    if classes.dtype.kind == "U":
        kind = "str"
    elif classes.dtype.kind == "O" and all(type(value) is str for value in values):
        kind = "object"
    elif classes.dtype.kind not in "biuf" or classes.dtype.itemsize > 8:
        raise ValueError(
            f"labels of type {classes.dtype} cannot be written to a model file, which takes "
            "numbers, booleans and text; pickle and joblib take others"
        )
    return {"dtype": kind, "values": [encode("classes", value) for value in values]}


# ---- from a file -----------------------------------------------------------------------------


def _saved(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Saved:
    _keys("the header", header, _HEADER)
    name = header["estimator"]
    if not isinstance(name, str) or name not in _ESTIMATORS:
        raise ValueError(f"there is no estimator {name!r}")
    parameters = {key: decode(value) for key, value in _mapping(header, "parameters").items()}
    model = _ESTIMATORS[name]()
    _keys("the parameters", parameters, set(model.get_params(deep=False)))
    model.set_params(**parameters)
    notes = {key.removeprefix(_NOTE): arrays.pop(key) for key in [*arrays] if key[:5] == _NOTE}
    if header["fitted"] is not None:
        state = _state(model, _mapping(header, "fitted"), arrays)
        model.__dict__.update(state)
        if hasattr(model, "class_weight"):
            model._check_class_weight()
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    return Saved(model, str(header["library"]), header["note"], notes)


def _keys(what: str, given: Mapping[str, Any], expected: set[str]) -> None:
    if given.keys() != expected:
        names = ", ".join(sorted(given.keys() ^ expected))
        raise ValueError(f"{what} has too much, or too little: {names}")


def _mapping(header: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = header[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {value!r}")
    return value


def _whole(given: Mapping[str, Any], name: str, low: int, high: int = MANY) -> int:
    value = given[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


def _state(model: Any, fitted: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the attributes of a model that has learned; takes its arrays."""
    _keys("what was learned", fitted, _FITTED)
    n_features = _whole(fitted, "n_features", 1)
    n_outputs = _whole(fitted, "n_outputs", 1)
    learner = decode(fitted["learner"])
    if not isinstance(learner, Learner) or model._task not in learner.tasks:
        raise ValueError(f"a {type(model).__name__} has no learner {fitted['learner']!r}")
    state: dict[str, Any] = {"n_features_in_": n_features}
    if model._task == "classification":
        classes = state["classes_"] = _decode_classes(fitted["classes"])
        if n_outputs != (1 if len(classes) == 2 else len(classes)):
            raise ValueError(f"there are {n_outputs} outputs for {len(classes)} classes")
    elif n_outputs != 1 or fitted["classes"] is not None:
        raise ValueError("a regressor has one output, and no classes")
    if hasattr(model, "class_weight"):
        counts = _decode_counts(fitted["class_counts"], len(state["classes_"]))
        state["_class_counts"] = ClassCounts(_whole(fitted, "rounds", 0), counts[None])
    elif fitted["class_counts"] is not None:
        raise ValueError(f"a {type(model).__name__} counts no classes")
    if fitted["feature_names"] is not None:
        state["feature_names_in_"] = _decode_names(fitted["feature_names"], n_features)
    state["engine_"] = _engine(learner, n_features, n_outputs, fitted, arrays)
    state["_median"] = _median(fitted, n_features, learner, arrays)
    return state


def _engine(
    learner: Learner,
    n_features: int,
    n_outputs: int,
    fitted: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> Engine | EngineGroup:
    rounds = _whole(fitted, "rounds", 0)
    together = n_outputs == 1 or learner.multi_output
    outputs = n_outputs if together else 1
    mends = fitted["last_mends"]
    if not isinstance(mends, list) or len(mends) != (1 if together else n_outputs):
        raise ValueError(f"last_mends is {mends!r}")
    engines = []
    for number, mend in enumerate(mends):
        if mend is not None and (type(mend) is not int or not 1 <= mend <= rounds):
            raise ValueError(f"last_mends is {mends!r}")
        memory = Memory(*(arrays.pop(f"engine.{number}.{part}") for part in Memory._fields))
        learner.check_memory(memory, n_features, outputs)
        engines.append(Engine.restored(learner, n_features, outputs, memory, rounds, mend))
    return engines[0] if together else EngineGroup.restored(engines)


def _decode_classes(given: Any) -> np.ndarray:
    kinds = ("str", "object", "bool", "float16", "float32", "float64")
    integers = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
    if not isinstance(given, dict) or given.get("dtype") not in kinds + integers:
        raise ValueError("the classes are of no type that labels have")
    kind, values = given["dtype"], [decode(value) for value in given["values"]]
    plain = {"str": str, "object": str, "bool": bool, "float": float}.get(kind.rstrip("0123456789"))
    if not all(type(value) is (plain or int) for value in values):
        raise ValueError(f"the classes are not all of type {kind}")
    classes = np.array(values, dtype=kind)
    if len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not sorted, or fewer than two")
    return classes


def _decode_counts(given: Any, n_classes: int) -> np.ndarray:
    if not isinstance(given, list) or not all(isinstance(n, int | float) for n in given):
        raise ValueError("the class counts are no numbers")
    counts = np.array(given, dtype=np.float64)
    if counts.shape != (n_classes,) or not (np.all(counts >= 0.0) and np.all(counts <= MANY)):
        raise ValueError("the class counts are out of their bounds")
    return counts


def _decode_names(given: Any, n_features: int) -> np.ndarray:
    if not isinstance(given, list) or not all(type(name) is str for name in given):
        raise ValueError("the feature names are no text")
    if len(given) != n_features:
        raise ValueError(f"there are {len(given)} feature names for {n_features} features")
    return np.array(given, dtype=object)


def _median(
    fitted: dict[str, Any], n_features: int, learner: Learner, arrays: dict[str, np.ndarray]
) -> MedianRule | None:
    if fitted["median"] is None:
        return None
    given = _mapping(fitted, "median")
    _keys("the median rule", given, {"metric", "last", "seen", "sparse"})
    if not hasattr(getattr(learner, "kernel", None), "bandwidth"):
        raise ValueError("there is a median rule for a kernel without a bandwidth")
    if given["metric"] not in METRICS:
        raise ValueError(f"there is no metric {given['metric']!r}")
    rule = MedianRule(given["metric"], _whole(given, "last", 1, SETTLED))
    seen = _whole(given, "seen", 0, rule.last - 1)
    if seen != fitted["rounds"]:
        raise ValueError("the rows of the median rule are not those that were learned")
    if seen == 0:
        return rule
    rows: Any
    if given["sparse"]:
        parts = [arrays.pop(f"median.{part}") for part in ("data", "indices", "indptr")]
        _check_csr(parts, seen, n_features)
        rows = sparse.csr_array(tuple(parts), shape=(seen, n_features))
        values = rows.data
    else:
        values = rows = arrays.pop("median.rows")
    if rows.shape != (seen, n_features) or values.dtype != np.float64:
        raise ValueError("the rows of the median rule are not those that it has seen")
    if not np.isfinite(values).all():
        raise ValueError("the rows of the median rule are not finite")
    return rule._replace(parts=(rows,), done=seen)


def _check_csr(parts: list[np.ndarray], n_rows: int, n_features: int) -> None:
    """Ask for a CSR matrix that compiled code is safe with; SciPy's check lets some others pass."""
    data, indices, indptr = parts
    integers = all(part.dtype.kind == "i" and part.ndim == 1 for part in (indices, indptr))
    if not (
        integers
        and indptr.shape == (n_rows + 1,)
        and indptr[0] == 0
        and np.all(indptr[1:] >= indptr[:-1])
        and data.shape == indices.shape == (indptr[-1],)
        and np.all((indices >= 0) & (indices < n_features))
    ):
        raise ValueError("the rows of the median rule are no CSR matrix")
