"""Estimators as files: parameters and what learning has set, as a JSON header and arrays.

The header has the estimator's name, its parameters and, once it has learned, what stands for each
attribute of its class's `_fitted`; `_WRITE` and `_READ` say how. The arrays are
the memory of each engine ("engine.0.floats", "engine.0.ints"), and scale and rows of `FirstRows`
("first.scale", "first.rows", ...). Callers may keep a note beside the model, with arrays called
"note.*".

Nothing in a file is trusted: every name, type, size and bound is checked before a model is made,
and compiled code gets no integer that could make it read or write where it must not.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import MANY, Engine, EngineGroup, Learner, Memory
from forks.estimators.base import OnlineEstimator
from forks.estimators.classifier import FORKSClassifier, OnlineKernelClassifier
from forks.estimators.first_rows import LOOKS, FirstRows
from forks.estimators.forking import read_origin, write_origin
from forks.estimators.gaps import read_gaps, write_gaps
from forks.estimators.insight import engines_of
from forks.estimators.labels import ClassCounts, Labels
from forks.estimators.regressor import FORKSRegressor, OnlineKernelRegressor
from forks.features.scaling import Scale
from forks.files import decode, encode, loading, pack, unpack, write_atomically
from forks.kernels import METRICS
from forks.learners.earlier import of_version_3

_ESTIMATORS: dict[str, type[OnlineEstimator]] = {
    kind.__name__: kind
    for kind in (FORKSClassifier, FORKSRegressor, OnlineKernelClassifier, OnlineKernelRegressor)
}
_HEADER = {"format", "version", "library", "estimator", "parameters", "fitted", "note"}
_NOTE = "note."
_SINCE_0_2 = ("_gaps", "_origin")  # attributes that files of before do not have
Arrays = dict[str, np.ndarray]


class Saved(NamedTuple):
    """What a file holds."""

    model: Any
    library: str  # version of forks that wrote it
    note: Any  # JSON
    arrays: Arrays  # of the note


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
    if unknown := state.keys() - parameters.keys() - set(model._fitted):
        raise ValueError(f"a model file has no place for the attribute {min(unknown)!r}")
    fitted: dict[str, Any] | None = None
    memories: dict[str, np.ndarray] = {}
    if "engine_" in state:
        fitted = {
            name: _WRITE[name](state[name], memories) if name in state else None
            for name in model._fitted
        }
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
    >>> model = forks.OnlineKernelClassifier().fit([[0.0], [1.0], [0.2], [0.9]], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.forks")
    ...     again = forks.load(f"{folder}/model.forks")
    >>> model.predict([[0.1]]), again.predict([[0.1]])
    (array([0]), array([0]))
    """
    return read(path).model


def read(path: str | Path) -> Saved:
    """Load a model with the note beside it."""
    return from_bytes(str(path), Path(path).read_bytes())


def from_bytes(name: str, data: bytes) -> Saved:
    """Load a model from the bytes of a file."""
    header, arrays = unpack(name, data)
    with loading(name):
        return _saved(header, arrays)


# ---- from a file -----------------------------------------------------------------------------


def _saved(header: dict[str, Any], arrays: Arrays) -> Saved:
    _keys("the header", header, _HEADER)
    name = header["estimator"]
    if not isinstance(name, str) or name not in _ESTIMATORS:
        raise ValueError(
            f"there is no estimator {name!r} (forks.keyed.load reads keyed ones, "
            "forks.compat.river.load those of River)"
        )
    model, parameters = _ESTIMATORS[name](), header["parameters"]
    if isinstance(parameters, dict):
        parameters = {"verbose": False, **parameters}  # files of before do not have it
    _keys("the parameters", parameters, set(model.get_params(deep=False)))
    model.set_params(**{key: decode(value) for key, value in parameters.items()})
    notes = {key.removeprefix(_NOTE): arrays.pop(key) for key in [*arrays] if key[:5] == _NOTE}
    if header["fitted"] is not None:
        fitted = header["fitted"]
        fitted = {**dict.fromkeys(_SINCE_0_2), **fitted} if isinstance(fitted, dict) else fitted
        _keys("what was learned", fitted, set(model._fitted))
        for attribute in model._fitted:
            if attribute != "feature_names_in_" or fitted[attribute] is not None:
                setattr(model, attribute, _READ[attribute](fitted[attribute], model, arrays))
        if hasattr(model, "class_weight"):
            model._check_class_weight()
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    return Saved(model, str(header["library"]), header["note"], notes)


def _keys(what: str, given: Any, expected: set[str]) -> None:
    if not isinstance(given, dict):
        raise ValueError(f"{what} is {given!r}")
    if given.keys() != expected:
        names = ", ".join(sorted(given.keys() ^ expected))
        raise ValueError(f"{what} has too much, or too little: {names}")


def _whole(name: str, value: Any, low: int, high: int = MANY) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


# ---- what learning has set: an attribute, written and read -------------------------------------
# Writing puts arrays beside the header; reading takes them out again. Attributes are read in the
# order of `_fitted`, so a model has those before it.


def _read_names(given: Any, model: Any, arrays: Arrays) -> np.ndarray:
    if not isinstance(given, list) or not all(type(name) is str for name in given):
        raise ValueError("the feature names are no text")
    n = model.n_features_in_
    if len(given) != n:
        raise ValueError(f"there are {len(given)} feature names for {n} features")
    return np.array(given, dtype=object)


def _write_labels(labels: Labels, arrays: Arrays) -> dict[str, Any]:
    classes, values = labels.classes, labels.classes.tolist()
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
    encoded = [encode("classes", value) for value in values]
    return {"dtype": kind, "values": encoded, "given": labels.given}


def _read_labels(given: Any, model: Any, arrays: Arrays) -> Labels:
    kinds = ("str", "object", "bool", "float16", "float32", "float64")
    integers = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
    if not isinstance(given, dict) or given.get("dtype") not in kinds + integers:
        raise ValueError("the classes are of no type that labels have")
    kind, values = given["dtype"], [decode(value) for value in given["values"]]
    plain = {"str": str, "object": str, "bool": bool, "float": float}.get(kind.rstrip("0123456789"))
    if not all(type(value) is (plain or int) for value in values):
        raise ValueError(f"the classes are not all of type {kind}")
    classes = np.array(values, dtype=kind)
    closed = given.get("given", False)  # files of before do not say
    if type(closed) is not bool or len(classes) < 1 + closed:
        raise ValueError("the classes are too few")
    if not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not sorted")
    return Labels(classes, closed)


def _read_counts(given: Any, model: Any, arrays: Arrays) -> ClassCounts:
    if not isinstance(given, list) or not all(isinstance(n, int | float) for n in given):
        raise ValueError("the class counts are no numbers")
    counts = np.array(given, dtype=np.float64)
    right = counts.shape == (len(model.classes_),)
    if not (right and np.all(counts >= 0.0) and np.all(counts <= MANY)):
        raise ValueError("the class counts are out of their bounds")
    return ClassCounts(model.engine_.rounds, counts[None])


def write_engine(engine: Engine | EngineGroup, arrays: Arrays) -> dict[str, Any]:
    """Return JSON that stands for an engine, and put its memories among the arrays."""
    engines = engines_of(engine)
    for number, each in enumerate(engines):
        for part, array in _held(each.learner, each.memory)._asdict().items():
            arrays[f"engine.{number}.{part}"] = array
    rounds = min(engine.rounds, MANY)
    return {
        "learner": encode("learner", engine.learner),
        "rounds": rounds,
        "last_mends": [each.last_mend and min(each.last_mend, rounds) for each in engines],
        "n_outputs": engine.n_outputs,
        "arrays": engine.learner.described(),
    }


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


def read_engine(given: Any, model: Any, arrays: Arrays) -> Engine | EngineGroup:
    """Return the engine that JSON and arrays stand for; `model` is what has it."""
    given = {"arrays": None, **given} if isinstance(given, dict) else given
    _keys("the engine", given, {"learner", "rounds", "last_mends", "n_outputs", "arrays"})
    learner = decode(given["learner"])
    if not isinstance(learner, Learner) or model._task not in learner.tasks:
        raise ValueError(f"a {type(model).__name__} has no learner {given['learner']!r}")
    described = _described(learner, given["arrays"])
    n_outputs = _whole("n_outputs", given["n_outputs"], 1)
    if model._task == "classification" and n_outputs != model._labels.n_outputs:
        raise ValueError(f"there are {n_outputs} outputs for {len(model.classes_)} classes")
    rounds = _whole("rounds", given["rounds"], 0)
    shares = learner.multi_output and model._task == "classification"
    together = n_outputs == 1 or shares
    outputs = n_outputs if together else 1
    mends = given["last_mends"]
    if not isinstance(mends, list) or len(mends) != (1 if together else n_outputs):
        raise ValueError(f"last_mends is {mends!r}")
    engines = []
    for number, mend in enumerate(mends):
        if mend is not None and (type(mend) is not int or not 1 <= mend <= rounds):
            raise ValueError(f"last_mends is {mends!r}")
        memory = Memory(*(arrays.pop(f"engine.{number}.{part}") for part in Memory._fields))
        sizes = model.n_features_in_, outputs
        ours = learner.brought_up(memory, described, sizes)
        learner.check_memory(ours, *sizes)
        if ours is memory and given["arrays"] not in (None, learner.described()):
            raise ValueError("the memory has other arrays than the file says")
        engines.append(Engine.restored(learner, *sizes, ours, rounds, mend))
    return engines[0] if together else EngineGroup.restored(engines)


def _described(learner: Learner, given: Any) -> dict[str, list[list[str]]]:
    """Return what a file says of arrays, or what it may mean if it does not, by learner."""
    known = learner.described()
    if given is None:
        return of_version_3(known)
    _keys("the arrays of the engine", given, set(known))
    for lines in given.values():
        if not isinstance(lines, list) or not all(type(line) is str for line in lines):
            raise ValueError("the arrays of the engine are no text")
    return {name: [lines] for name, lines in given.items()}


def write_first(first: FirstRows | None, arrays: Arrays) -> dict[str, Any] | None:
    """Return JSON that stands for the first rows, and put their numbers among the arrays."""
    if first is None:
        return None
    rows = first.rows
    if first.scale is not None:
        arrays["first.scale"] = np.concatenate(first.scale)
    if rows is not None:
        arrays.update({"first.targets": first.targets, "first.weights": first.weights})
        parts = {part: getattr(rows, part) for part in _CSR} if sparse.issparse(rows) else None
        arrays.update({f"first.{name}": part for name, part in (parts or {"rows": rows}).items()})
    return {
        "seed": first.seed,
        "metric": first.metric,
        "scaling": first.scaling,
        "rows": 0 if rows is None else len(first.weights),
        "sparse": sparse.issparse(rows),
        "done": first.done,
    }


def read_first(given: Any, model: Any, arrays: Arrays) -> FirstRows | None:
    """Return the first rows that JSON and arrays stand for; `model` is what has them."""
    if given is None:
        return None
    _keys("the first rows", given, {"seed", "metric", "scaling", "rows", "sparse", "done"})
    metric, scaling, done = given["metric"], given["scaling"], given["done"]
    kernel = getattr(model.learner_, "kernel", None)
    if metric not in (None, METRICS.get(type(kernel))) or type(scaling) is not bool:
        raise ValueError("the first rows cannot set what they are to set")
    first = FirstRows(_whole("seed", given["seed"], 0, 2**31), metric, scaling, done=done)
    n = _whole("rows", given["rows"], 0, model.n_rounds_)
    ranges = zip((0, *LOOKS), (*LOOKS, 1), strict=True)  # after the last look there are none
    kept = {low: range(low if low < LOOKS[-1] else 0, high) for low, high in ranges}
    if type(done) is not int or n not in kept.get(done, ()) or (first.complete and not scaling):
        raise ValueError("the first rows are not those that were learned")
    if scaling and done > 0:
        first = first._replace(scale=_read_scale(arrays.pop("first.scale"), model.n_features_in_))
    if n == 0:
        return first
    rows = _read_rows(n, model.n_features_in_, bool(given["sparse"]), arrays)
    targets, weights = (arrays.pop(f"first.{part}") for part in ("targets", "weights"))
    for array, shape in ((targets, (n, model.engine_.n_outputs)), (weights, (n,))):
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError("the first rows have other targets or weights")
    if not (weights > 0.0).all():
        raise ValueError("the first rows have weights that are not positive")
    if model._task == "classification" and not (np.abs(targets) == 1.0).all():
        raise ValueError("the first rows have targets that stand for no label")
    rounds = np.zeros(n, np.int64)  # all have been learned
    return first._replace(rows=rows, targets=targets, weights=weights, rounds=rounds)


def _read_scale(numbers: np.ndarray, d: int) -> Scale:
    if numbers.shape != (3 * d + 1,) or numbers.dtype != np.float64:
        raise ValueError("the scale is of another width")
    scale = Scale(*np.split(numbers, [d, 2 * d, 3 * d]))
    for part, (low, high) in zip(scale, _SCALE, strict=True):
        if not ((part >= low) & (part <= high)).all():
            raise ValueError("the scale is out of its bounds")
    return scale


# Between these bounds of a scale everything that is scaled is finite.
_SCALE = ((-1e300, 1e300), (1e-300, 1e302), (0.0, 1e3), (1e-3, 1e3))
_CSR = ("data", "indices", "indptr")


def _read_rows(n: int, d: int, is_sparse: bool, arrays: Arrays) -> Any:
    rows: Any
    if is_sparse:
        parts = [arrays.pop(f"first.{part}") for part in _CSR]
        _check_csr(parts, n, d)
        rows = sparse.csr_array(tuple(parts), shape=(n, d))
        values = rows.data
    else:
        values = rows = arrays.pop("first.rows")
    if rows.shape != (n, d) or values.dtype != np.float64 or not np.isfinite(values).all():
        raise ValueError("the first rows are not finite numbers of the width of the model")
    return rows


def _check_csr(parts: list[np.ndarray], n_rows: int, n_features: int) -> None:
    """Check that compiled code is safe with a CSR matrix; SciPy's check lets others pass."""
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
        raise ValueError("the first rows are no CSR matrix")


_WRITE: dict[str, Callable[[Any, Arrays], Any]] = {
    "_labels": _write_labels,
    "n_features_in_": lambda n, arrays: int(n),
    "feature_names_in_": lambda names, arrays: list(map(str, names)),
    "engine_": write_engine,
    "_first_rows": write_first,
    "_class_counts": lambda counts, arrays: np.minimum(counts.table[-1], MANY).tolist(),  # of now
    "_gaps": write_gaps,
    "_origin": write_origin,
}
_READ: dict[str, Callable[[Any, Any, Arrays], Any]] = {
    "_labels": _read_labels,
    "n_features_in_": lambda given, model, arrays: _whole("n_features", given, 1),
    "feature_names_in_": _read_names,
    "engine_": read_engine,
    "_first_rows": read_first,
    "_class_counts": _read_counts,
    "_gaps": lambda given, model, arrays: read_gaps(model.n_features_in_, arrays),
    "_origin": read_origin,
}
