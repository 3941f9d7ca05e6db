"""Keyed models as files: the common model, what keys share, and the record of each key.

The header has the parameters and the sizes; the common model is a file within the file. Keys are
written in the order of their first rows, wherever their records are: equal models give equal bytes.
Records are written and read in blocks, so that a model need not fit into memory. Nothing in a file
is trusted.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Memory, viewer
from forks.engine.memory import check_layout
from forks.estimators.saving import Saved, as_bytes, from_bytes
from forks.files import (
    Blocks,
    LargeFile,
    ModelFileError,
    cannot_load,
    decode,
    encode,
    write_large,
)
from forks.keyed.base import LARGEST_RANK
from forks.keyed.classifier import KeyedClassifier
from forks.keyed.corrections import LANDMARKS, STARTS, CorrectedRows, Corrections
from forks.keyed.keys import checked_keys
from forks.keyed.regressor import KeyedRegressor
from forks.parts.pooling import HIGHEST, LOWEST, ROUNDS
from forks.parts.shared_map import SharedMap, map_shapes, shared_map_limits

_ESTIMATORS: dict[str, Any] = {kind.__name__: kind for kind in (KeyedClassifier, KeyedRegressor)}
_HEADER = {"format", "version", "library", "estimator", "parameters", "fitted", "note"}
_FITTED = {"feature_names", "n_features", "n_keys", "n_outputs", "rank", "forgetting", "first"}
_RECORDS, _NOTE = "records", "note."
_FIRST = {f"first.{name}": name for name in CorrectedRows._fields}


def save(
    path: str | Path,
    model: Any,
    note: Any = None,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write a model, and a note with arrays if there is one; see `KeyedEstimator.save`."""
    if not hasattr(model, "corrections_"):
        _save(path, model, note, arrays or {})
        return
    with model.corrections_.lock.alone:
        model.corrections_.enter()
        _save(path, model, note, arrays or {})


def _save(path: str | Path, model: Any, note: Any, beside: Mapping[str, np.ndarray]) -> None:
    from forks import __version__

    if _ESTIMATORS.get(type(model).__name__) is not type(model):
        raise ValueError(f"only the package's own estimators can be saved, got {model!r}")
    parameters = model.get_params(deep=False)
    del parameters["folder"]  # of this machine
    fitted: dict[str, Any] | None = None
    arrays: dict[str, Any] = {}
    if hasattr(model, "corrections_"):
        fitted, arrays = _fitted(model)
    header = {
        "estimator": type(model).__name__,
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "fitted": fitted,
        "note": note,
    }
    arrays |= {_NOTE + name: array for name, array in beside.items()}
    write_large(path, header, arrays, __version__)


def _fitted(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    corrections = model.corrections_
    table, first = corrections.table, corrections.first
    names = json.dumps(list(table.numbers), ensure_ascii=True, separators=(",", ":"))
    arrays: dict[str, Any] = {
        "common": np.frombuffer(as_bytes(model.common_), np.uint8),
        "keys": np.frombuffer(names.encode(), np.uint8),
        "map.floats": corrections.map.floats,
        "map.ints": corrections.map.ints,
        "shared": np.nan_to_num(corrections.shared),  # no infinities before the first row
        _RECORDS: Blocks((len(table), table.size), table.blocks),
    }
    if first is not None:
        arrays |= {f"first.{name}": part for name, part in first._asdict().items()}
    known = getattr(model, "feature_names_in_", None)
    return {
        "feature_names": None if known is None else list(map(str, known)),
        "n_features": int(model.n_features_in_),
        "n_keys": len(table),
        "n_outputs": corrections.rule.outputs,
        "rank": corrections.rule.features - 1,
        "forgetting": corrections.forgetting,
        "first": None if first is None else len(first.Y),
    }, arrays


def load(path: str | Path, folder: str | Path | None = None) -> Any:
    """Load a model that `save` has written; it goes on bit for bit as if it had never stopped.

    Parameters
    ----------
    path : str or path
        The file.
    folder : str or path, optional
        Where keys that are not in memory are kept; see `KeyedRegressor`.

    Returns
    -------
    KeyedClassifier or KeyedRegressor
        Whichever was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, cut short, not a keyed model of this package, or written by a
        version to come. Loading runs no code from the file.
    """
    return read(path, folder).model


def is_keyed(path: str | Path) -> bool:
    """Return whether a file holds a keyed model."""
    try:
        return LargeFile(path).header.get("estimator") in _ESTIMATORS
    except ModelFileError:
        return False


def read(path: str | Path, folder: str | Path | None = None) -> Saved:
    """Load a model with the note beside it; see `load`."""
    file = LargeFile(path)
    try:
        return _loaded(file, folder)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        if str(error).startswith(f"{file.name} cannot be loaded"):
            raise
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise cannot_load(file.name, reason) from None


def _loaded(file: LargeFile, folder: Any) -> Saved:
    header = file.header
    _check_names("the header", header, _HEADER)
    kind = header["estimator"]
    if not isinstance(kind, str) or kind not in _ESTIMATORS:
        raise ValueError(f"there is no keyed estimator {kind!r}; forks.load may know it")
    model = _ESTIMATORS[kind]()
    parameters = header["parameters"]
    _check_names("the parameters", parameters, set(model.get_params(deep=False)) - {"folder"})
    model.set_params(folder=folder, **{name: decode(part) for name, part in parameters.items()})
    if header["fitted"] is None:
        arrays = {name: block for name, block in file.blocks()}
        beside = _taken(arrays)
        _check_names("a model that has learned nothing", arrays, set())
    else:
        beside = _learned(file, model, folder)
    return Saved(model, str(header["library"]), header["note"], beside)


def _learned(file: LargeFile, model: Any, folder: Any) -> dict[str, np.ndarray]:
    """Put into a model what it has learned; return the arrays that are beside it."""
    fitted = file.header["fitted"]
    _check_names("what was learned", fitted, _FITTED)
    model._check_parameters()
    sizes = {name: _whole(name, fitted[name]) for name in ("n_features", "n_outputs")}
    sizes["rank"] = _whole("rank", fitted["rank"], LARGEST_RANK)
    corrections = Corrections(
        sizes["n_features"],
        sizes["n_outputs"],
        classifies=model._task == "classification",
        rank=sizes["rank"],
        forgetting=_share("forgetting", fitted["forgetting"]),
        max_keys=model.max_keys,
        folder=folder,
    )
    arrays = _read_arrays(file, corrections, _whole("n_keys", fitted["n_keys"]))
    beside = _taken(arrays)
    _restore(model, corrections, fitted, arrays)
    return beside


def _taken(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Take the arrays of the note out."""
    return {n.removeprefix(_NOTE): arrays.pop(n) for n in [*arrays] if n.startswith(_NOTE)}


def _read_arrays(file: LargeFile, corrections: Corrections, n_keys: int) -> dict[str, np.ndarray]:
    """Return all arrays but the records, which go to the table as they come."""
    if file.shape_of(_RECORDS) != (n_keys, corrections.table.size):
        raise ValueError(f"the records are of the shape {file.shape_of(_RECORDS)}")
    arrays: dict[str, list[np.ndarray]] = {}
    keys: list[Any] = []
    done = 0
    for name, block in file.blocks():
        if name != _RECORDS:
            arrays.setdefault(name, []).append(block)
            continue
        if not keys:  # which come before the records
            keys = _keys_of(arrays["keys"], n_keys)
        if not np.isfinite(block).all() or (block[:, 0] < 0.0).any():
            raise ValueError("a record has numbers that cannot be")
        corrections.table.put(keys[done : done + len(block)], block)
        done += len(block)
    return {name: np.concatenate(blocks) for name, blocks in arrays.items()}


def _keys_of(blocks: list[np.ndarray], n_keys: int) -> list[Any]:
    keys = json.loads(np.concatenate(blocks).astype(np.uint8).tobytes())
    if not isinstance(keys, list) or len(checked_keys(keys)) != n_keys:
        raise ValueError(f"there are not {n_keys} keys")
    if len(set(keys)) != n_keys:
        raise ValueError("a key is there twice")
    return keys


def _restore(
    model: Any, corrections: Corrections, fitted: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Put into a model what a file holds, having checked it."""
    del arrays["keys"]
    common = from_bytes("the common model", arrays.pop("common").astype(np.uint8).tobytes()).model
    d, outputs = fitted["n_features"], fitted["n_outputs"]
    if type(common) is not type(model)._common_class or common.n_features_in_ != d:
        raise ValueError("the common model is another one")
    if common.engine_.n_outputs != outputs:
        raise ValueError("the common model has another number of outputs")
    shared = arrays.pop("shared")
    if shared.shape != corrections.shared.shape or not np.isfinite(shared).all():
        raise ValueError("what keys share is of another shape, or not finite")
    corrections.shared[:] = shared
    if shared[ROUNDS] == 0.0:
        corrections.shared[[LOWEST, HIGHEST]] = np.inf, -np.inf
    corrections.map = _checked_map(corrections, d, arrays)
    corrections.first = _first_rows(fitted, len(corrections.table), arrays)
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    model.n_features_in_, model.common_, model.corrections_ = d, common, corrections
    if fitted["feature_names"] is not None:
        names = fitted["feature_names"]
        if not isinstance(names, list) or len(names) != d or {*map(type, names)} != {str}:
            raise ValueError("the feature names are no text, or too few")
        model.feature_names_in_ = np.array(names, dtype=object)
    if type(model) is KeyedClassifier:
        model._labels = common._labels


def _checked_map(corrections: Corrections, d: int, arrays: dict[str, np.ndarray]) -> Memory:
    memory = Memory(arrays.pop("map.floats"), arrays.pop("map.ints"))
    check_layout(SharedMap, map_shapes(d, LANDMARKS, corrections.rule.features - 1), memory)
    if not np.isfinite(memory.floats).all():
        raise ValueError("the map is not finite")
    for name, values, low, high in shared_map_limits(viewer(SharedMap)(memory), LANDMARKS):
        if not (np.all(np.asarray(values) >= low) and np.all(np.asarray(values) <= high)):
            raise ValueError(f"{name} of the map is out of its bounds")
    return memory.copy()


def _first_rows(
    fitted: dict[str, Any], n_keys: int, arrays: dict[str, np.ndarray]
) -> CorrectedRows | None:
    n = fitted["first"]
    if n is None:
        return None
    if type(n) is not int or not 0 <= n < STARTS[-1]:
        raise ValueError(f"the number of first rows is {n!r}")
    if "first.weights" not in arrays:  # of before there were any
        arrays["first.weights"] = np.ones(n)
    first = CorrectedRows(*(arrays.pop(name) for name in _FIRST))
    d, outputs = fitted["n_features"], fitted["n_outputs"]
    shapes = (n, d), (n,), (n, outputs), (n, outputs), (n,)
    kinds = "f", "i", "f", "f", "f"
    for part, shape, kind in zip(first, shapes, kinds, strict=True):
        if part.shape != shape or part.dtype.kind != kind or np.isinf(part).any():
            raise ValueError("the first rows are of another shape, or infinite")
    if not (np.isfinite(first.given).all() and np.isfinite(first.Y).all()):
        raise ValueError("the first rows have no finite targets")
    if not (first.weights > 0.0).all():
        raise ValueError("the first rows have no weights")
    if not ((first.numbers >= 0) & (first.numbers < n_keys)).all():
        raise ValueError("the first rows have keys that are not known")
    return first


def _check_names(what: str, given: Any, expected: set[str]) -> None:
    if not isinstance(given, dict) or given.keys() != expected:
        found = sorted(given.keys() ^ expected) if isinstance(given, dict) else given
        raise ValueError(f"{what} has too much, or too little: {found!r}")


def _whole(name: str, value: Any, largest: int = 2**31) -> int:
    if type(value) is not int or not 1 <= value <= largest:
        raise ValueError(f"{name} is {value!r}")
    return value


def _share(name: str, value: Any) -> float:
    if type(value) is not float or not 0.0 <= value < 1.0:
        raise ValueError(f"{name} is {value!r}")
    return value
