"""Files of models, keyed or not, with what is beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forks.estimators import saving
from forks.estimators.saving import Saved
from forks.keyed import saving as keyed_saving
from forks.keyed.base import KeyedEstimator


def read(path: str | Path, folder: str | Path | None = None) -> Saved:
    """Load a model with the note beside it; `folder` is for keys that are not in memory."""
    if keyed_saving.is_keyed(path):
        return keyed_saving.read(path, folder)
    return saving.read(path)


def save(
    path: str | Path,
    model: Any,
    note: Any = None,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write a model, and a note with arrays if there is one, whole or not at all."""
    keyed = isinstance(model, KeyedEstimator)
    (keyed_saving if keyed else saving).save(path, model, note, arrays)
