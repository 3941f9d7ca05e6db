"""The encoder of a table in the note beside a model: its JSON, and arrays called "encoder.*"."""

from typing import Any

import numpy as np

from forks.estimators.saving import Saved
from forks.features import TableEncoder
from forks.files import ModelFileError
from forks.keyed.tables import KeyedEncoder

_NAME = "encoder"
Encoder = TableEncoder | KeyedEncoder


def encoder_state(encoder: Encoder | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what is kept of an encoder: entries of the note, and arrays."""
    if encoder is None:
        return {}, {}
    known, arrays = encoder.to_state()
    return {_NAME: known}, {f"{_NAME}.{name}": array for name, array in arrays.items()}


def encoder_beside(saved: Saved) -> Encoder | None:
    """Return the encoder that was kept beside a model, if there is one."""
    if not isinstance(saved.note, dict) or _NAME not in saved.note:
        return None
    prefix = f"{_NAME}."
    arrays = {k.removeprefix(prefix): v for k, v in saved.arrays.items() if k.startswith(prefix)}
    known = saved.note[_NAME]
    kind = KeyedEncoder if isinstance(known, dict) and "key" in known else TableEncoder
    try:
        return kind.from_state(known, arrays)
    except ValueError as error:
        raise ModelFileError(str(error)) from None
