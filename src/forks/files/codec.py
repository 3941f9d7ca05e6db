"""Configurations as JSON: plain values, and the package's own kernels, losses and learners.

They are named, from a closed list: a file can name nothing else, and nothing that it names runs
code of its own. What has no place in JSON is an object with a "kind":

    {"kind": "Gaussian", "bandwidth": 1.0}      a part with its fields
    {"kind": "float", "value": "inf"}           a number that JSON has not
    {"kind": "dict", "items": [[k, v], ...]}    a mapping whose keys may be numbers
    {"kind": "RandomState", ...}                a generator of NumPy, with its state
"""

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from forks import kernels, learners, losses

_PARTS: dict[str, Any] = {
    part.__name__: part
    for part in (
        *kernels.KERNELS.values(),
        *(loss for words in losses.LOSSES.values() for loss in words.values()),
        *(getattr(learners, name) for name in learners.__all__),
    )
}
_WORDS = 624  # of the state of a Mersenne twister


def encode(name: str, value: Any) -> Any:
    """Return what stands for a value in JSON; `name` is that of the value, for errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
    if type(value) is dict:
        items = [[encode(name, key), encode(name, value[key])] for key in value]
        return {"kind": "dict", "items": items}
    if type(value) is np.random.RandomState:
        return _encode_random_state(name, value)
    kind = type(value).__name__
    if _PARTS.get(kind) is type(value):
        return {"kind": kind, **{f: encode(f, getattr(value, f)) for f in _fields(type(value))}}
    raise ValueError(
        f"{name} cannot be written to a model file, which takes plain values and the package's own "
        f"kernels, losses and learners, got {value!r}; pickle and joblib take it, "
        "but are only to be read where they can be trusted"
    )


def decode(value: Any) -> Any:
    """Return the value that JSON stands for, or raise `ValueError`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} stands for nothing")
    given = dict(value)
    kind = given.pop("kind", None)
    if kind == "float":
        if given.get("value") not in ("inf", "-inf", "nan"):
            raise ValueError(f"{value!r} is no number")
        return float(given["value"])
    if kind == "dict":
        return dict(_decoded_items(given.get("items")))
    if kind == "RandomState":
        return _decode_random_state(given)
    part = _PARTS.get(kind) if isinstance(kind, str) else None
    if part is None:
        raise ValueError(f"there is no part {kind!r}")
    if set(given) != set(_fields(part)):
        raise ValueError(f"the fields of {kind} are {', '.join(sorted(given))}")
    try:
        return part(**{name: decode(field) for name, field in given.items()})
    except TypeError as error:
        raise ValueError(f"{kind}: {error}") from None


def _fields(part: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(part)) if is_dataclass(part) else part._fields


def _decoded_items(items: Any) -> list[tuple[Any, Any]]:
    if not isinstance(items, list) or not all(isinstance(i, list) and len(i) == 2 for i in items):
        raise ValueError("a mapping has no items")
    pairs = [(decode(key), decode(value)) for key, value in items]
    if any(isinstance(key, dict | np.random.RandomState) for key, _ in pairs):
        raise ValueError("a mapping has a key that cannot be one")
    return pairs


def _encode_random_state(name: str, random: np.random.RandomState) -> dict[str, Any]:
    state: Any = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ValueError(f"{name} has the generator {state['bit_generator']}, and not MT19937")
    return {
        "kind": "RandomState",
        "words": state["state"]["key"].tolist(),
        "position": int(state["state"]["pos"]),
        "has_normal": int(state["has_gauss"]),
        "normal": float(state["gauss"]),
    }


def _decode_random_state(given: Any) -> np.random.RandomState:
    names = ("words", "position", "has_normal", "normal")
    words, position, has_normal, normal = (given.get(name) for name in names)
    fits = (
        isinstance(words, list)
        and len(words) == _WORDS
        and all(type(word) is int and 0 <= word < 2**32 for word in words)
        and type(position) is int
        and 0 <= position <= _WORDS
        and has_normal in (0, 1)
        and isinstance(normal, int | float)
    )
    if not fits:
        raise ValueError("the state of a RandomState is wrong")
    random = np.random.RandomState()
    random.set_state(("MT19937", np.array(words, np.uint32), position, has_normal, normal))
    return random
