"""Keyed River models as files: the common River model is a file within the file."""

from pathlib import Path
from typing import Any

import numpy as np

from forks import __version__
from forks.compat._saving import as_bytes, from_bytes
from forks.files import LargeFile, ModelFileError, decode, encode, loading, write_large
from forks.keyed.corrections_file import FIELDS, corrections_state, read_corrections

_PREFIX = "river."  # of the names of estimators: forks.keyed has the same ones
_PARAMETERS = ("key", "effort", "rank", "forgetting", "max_keys", "max_features", "seed")


def save(path: str | Path, model: Any) -> None:
    """Write a model to a file, for `load`."""
    names = [*_PARAMETERS, *(["max_classes"] if hasattr(model, "max_classes") else [])]
    told: dict[str, Any] | None = None
    arrays: dict[str, Any] = {}
    with model._lock:
        if model._corrections is not None:
            told, arrays = corrections_state(model._corrections)
            arrays["common"] = np.frombuffer(as_bytes(model._common), np.uint8)
        header = {
            "estimator": _PREFIX + type(model).__name__,
            "parameters": {name: encode(name, getattr(model, name)) for name in names},
            "fitted": told,
            "note": None,
        }
        write_large(path, header, arrays, __version__)


def is_keyed(path: str | Path) -> bool:
    """Return whether a file holds a keyed River model."""
    try:
        return str(LargeFile(path).header.get("estimator")).startswith(_PREFIX)
    except ModelFileError:
        return False


def load(path: str | Path, kinds: dict[str, Any]) -> Any:
    """Load a model of one of some classes; nothing in the file is trusted."""
    file = LargeFile(path)
    with loading(file.name):
        return _model(file, kinds)


def _model(file: LargeFile, kinds: dict[str, Any]) -> Any:
    name = file.header["estimator"].removeprefix(_PREFIX)
    if name not in kinds:
        raise ValueError(f"there is no River model {name!r}")
    parameters = file.header["parameters"]
    model = kinds[name](**{key: decode(part) for key, part in parameters.items()})
    told = file.header["fitted"]
    if told is None:
        for _ in file.blocks():
            raise ValueError("a model that has learned nothing has no arrays")
        return model
    if not isinstance(told, dict) or told.keys() != FIELDS:
        raise ValueError("what was learned has too much, or too little")
    width = file.shape_of("first.X")[1] if told["first"] is not None else 0
    corrections, arrays = read_corrections(
        file,
        told,
        classifies=model._classifies,
        max_keys=model.max_keys,
        folder=None,
        width=width,
    )
    data = arrays.pop("common").astype(np.uint8).tobytes()
    common = from_bytes(
        "the common model", data, {type(model._common).__name__: type(model._common)}
    )
    if arrays:
        raise ValueError(f"there is no place for the array {min(arrays)!r}")
    n_outputs, widest = common._n_outputs(), max(width, corrections.n_features)
    if n_outputs != corrections.rule.outputs or common._index.width < widest:
        raise ValueError("the common model has other features or outputs")
    model._common, model._corrections = common, corrections
    return model
