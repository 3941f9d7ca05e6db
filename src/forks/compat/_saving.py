"""River models as files: the same format as those of the estimators, and no code.

The header has the model's name and parameters and, once it has learned, names of features, labels,
the engine, the first rows and what is known of features that are no numbers.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from forks import __version__
from forks.compat._index import FeatureIndex
from forks.compat._labels import TwoLabels
from forks.compat._mixed import Mixed
from forks.engine import MANY
from forks.estimators.saving import read_engine, read_first, write_engine, write_first
from forks.files import decode, encode, loading, pack, unpack, write_atomically

_MIXED = "mixed."


def save(path: str | Path, model: Any) -> None:
    """Write a model to a file, for `load`."""
    write_atomically(path, as_bytes(model))


def as_bytes(model: Any) -> bytes:
    """Return the bytes of a file."""
    with model._lock:
        model._settle()
        return _as_bytes(model)


def _as_bytes(model: Any) -> bytes:
    names = ["learner", "effort", "max_features", "seed"]
    names += ["max_classes"] if hasattr(model, "max_classes") else []
    parameters = {name: encode(name, getattr(model, name)) for name in names}
    arrays: dict[str, np.ndarray] = {}
    fitted = None if model._engine is None else _fitted(model, arrays)
    header = {"estimator": type(model).__name__, "parameters": parameters, "fitted": fitted}
    return pack({**header, "note": None}, arrays, __version__)


def _fitted(model: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    tables: dict[str, np.ndarray] = {}
    mixed = None if model._mixed is None else model._mixed.to_state(tables)
    arrays.update({_MIXED + name: array for name, array in tables.items()})
    known = model._known.targets if isinstance(model._known, TwoLabels) else model._known
    return {
        "names": [encode("name", name) for name in model._index.columns],
        "width": model._index.width,
        "labels": None if known is None else [[encode("label", k), v] for k, v in known.items()],
        "engine": write_engine(model._engine, arrays),
        "first": write_first(model._first_rows, arrays),
        "mixed": mixed,
    }


def load(path: str | Path, kinds: dict[str, Any]) -> Any:
    """Load a model of one of some classes; nothing in the file is trusted."""
    return from_bytes(str(path), Path(path).read_bytes(), kinds)


def from_bytes(file: str, data: bytes, kinds: dict[str, Any]) -> Any:
    """Load a model from the bytes of a file, which has a name in errors."""
    header, arrays = unpack(file, data)
    with loading(file):
        return _model(header, arrays, kinds)


def _model(header: Any, arrays: dict[str, np.ndarray], kinds: dict[str, Any]) -> Any:
    name = header["estimator"]
    if name not in kinds:
        raise ValueError(f"there is no River model {name!r}; forks.load is for the estimators")
    model = kinds[name](**{key: decode(part) for key, part in header["parameters"].items()})
    if header["fitted"] is None:
        return model
    given = header["fitted"]
    names, width = [decode(part) for part in given["names"]], given["width"]
    if type(width) is not int or not 1 <= width <= model.max_features or len(names) > width:
        raise ValueError("the names of the features are not those of the columns")
    index = FeatureIndex(model.max_features)
    index.__setstate__(
        {"most": model.max_features, "columns": {n: i for i, n in enumerate(names)}, "width": width}
    )
    model._index = index
    model._known = _known(model, given["labels"])
    face = SimpleNamespace(
        _task=model._task,
        n_features_in_=width,
        _labels=SimpleNamespace(n_outputs=model._n_outputs()),
        classes_=given["labels"],
    )
    model._engine = face.engine_ = read_engine(given["engine"], face, arrays)
    face.learner_, face.n_rounds_ = face.engine_.learner, face.engine_.rounds
    model._first_rows = read_first(given["first"], face, arrays)
    tables = {k.removeprefix(_MIXED): arrays.pop(k) for k in [*arrays] if k.startswith(_MIXED)}
    if given["mixed"] is not None:
        model._mixed = Mixed.from_state(given["mixed"], tables)
    if arrays or tables:
        raise ValueError(f"there is no place for the array {min([*arrays, *tables])!r}")
    return model


def _known(model: Any, labels: Any) -> Any:
    """Return what a model knows of its labels."""
    if labels is None:
        return None
    pairs = {decode(label): value for label, value in labels}
    if isinstance(model._known, TwoLabels):
        if len(pairs) > 2 or not {*pairs.values()} <= {-1.0, 1.0}:
            raise ValueError("the labels are not two, or have other targets than -1 and 1")
        negative, *others = sorted(pairs, key=pairs.__getitem__)
        return TwoLabels(pairs, (negative, others[0] if others else negative))
    if sorted(pairs.values()) != list(range(len(pairs))) or len(pairs) > min(
        MANY, model.max_classes
    ):
        raise ValueError("the labels do not number their outputs")
    return pairs
