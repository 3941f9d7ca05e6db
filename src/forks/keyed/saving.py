"""Keyed models as files: the common model, what keys share, and the record of each key.

The header has the parameters and the sizes; the common model is a file within the file. Keys are
written in the order of their first rows, wherever their records are: equal models give equal bytes.
Corrections are written and read by `corrections_file`. Nothing in a file is trusted.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forks.estimators.saving import Saved, as_bytes, from_bytes
from forks.files import LargeFile, ModelFileError, decode, encode, loading, write_large
from forks.keyed.classifier import KeyedClassifier
from forks.keyed.corrections_file import FIELDS, corrections_state, read_corrections
from forks.keyed.regressor import KeyedRegressor

_ESTIMATORS: dict[str, Any] = {kind.__name__: kind for kind in (KeyedClassifier, KeyedRegressor)}
_HEADER = {"format", "version", "library", "estimator", "parameters", "fitted", "note"}
_NOTE = "note."


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
    told, arrays = corrections_state(model.corrections_)
    arrays["common"] = np.frombuffer(as_bytes(model.common_), np.uint8)
    known = getattr(model, "feature_names_in_", None)
    return {"feature_names": None if known is None else list(map(str, known)), **told}, arrays


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
        return str(LargeFile(path).header.get("estimator")) in _ESTIMATORS
    except ModelFileError:
        return False


def read(path: str | Path, folder: str | Path | None = None) -> Saved:
    """Load a model with the note beside it; see `load`."""
    file = LargeFile(path)
    with loading(file.name):
        return _loaded(file, folder)


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
    _check_names("what was learned", fitted, {"feature_names", *FIELDS})
    model._check_parameters()
    corrections, arrays = read_corrections(
        file,
        fitted,
        classifies=model._task == "classification",
        max_keys=model.max_keys,
        folder=folder,
        width=fitted["n_features"],
    )
    beside = _taken(arrays)
    common = from_bytes("the common model", arrays.pop("common").astype(np.uint8).tobytes()).model
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    d = corrections.n_features
    if type(common) is not type(model)._common_class or common.n_features_in_ != d:
        raise ValueError("the common model is another one")
    if common.engine_.n_outputs != corrections.rule.outputs:
        raise ValueError("the common model has another number of outputs")
    model.n_features_in_, model.common_, model.corrections_ = d, common, corrections
    if fitted["feature_names"] is not None:
        names = fitted["feature_names"]
        if not isinstance(names, list) or len(names) != d or {*map(type, names)} != {str}:
            raise ValueError("the feature names are no text, or too few")
        model.feature_names_in_ = np.array(names, dtype=object)
    if type(model) is KeyedClassifier:
        model._labels = common._labels
    return beside


def _taken(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Take the arrays of the note out."""
    return {n.removeprefix(_NOTE): arrays.pop(n) for n in [*arrays] if n.startswith(_NOTE)}


def _check_names(what: str, given: Any, expected: set[str]) -> None:
    if not isinstance(given, dict) or given.keys() != expected:
        found = sorted(given.keys() ^ expected) if isinstance(given, dict) else given
        raise ValueError(f"{what} has too much, or too little: {found!r}")
