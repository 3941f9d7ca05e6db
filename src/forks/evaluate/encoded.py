"""The encoder of a table in the note beside a model: its JSON, and arrays called "encoder.*"."""

from typing import Any

import numpy as np

from forks.estimators.saving import Saved
from forks.features import TableEncoder
from forks.files import ModelFileError

_NAME = "encoder"


def encoder_state(encoder: TableEncoder | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what is kept of an encoder: entries of the note, and arrays."""
    if encoder is None:
        return {}, {}
    known, arrays = encoder.to_state()
    return {_NAME: known}, {f"{_NAME}.{name}": array for name, array in arrays.items()}


def encoder_beside(saved: Saved) -> TableEncoder | None:
    """Return the encoder that was kept beside a model, if there is one."""
    if not isinstance(saved.note, dict) or _NAME not in saved.note:
        return None
    prefix = f"{_NAME}."
    arrays = {k.removeprefix(prefix): v for k, v in saved.arrays.items() if k.startswith(prefix)}
    try:
        return TableEncoder.from_state(saved.note[_NAME], arrays)
    except ValueError as error:
        raise ModelFileError(str(error)) from None
