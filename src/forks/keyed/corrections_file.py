"""Corrections in files: the keys, the map, what keys share, and the record of each key.

Records are written and read in blocks, so that they need not fit into memory. Nothing in a file is
trusted.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from forks.engine import Memory, viewer
from forks.engine.memory import check_layout
from forks.files import Blocks, LargeFile
from forks.keyed.base import LARGEST_RANK
from forks.keyed.corrections import LANDMARKS, STARTS, CorrectedRows, Corrections
from forks.keyed.keys import checked_keys
from forks.parts.pooling import HIGHEST, LOWEST, ROUNDS
from forks.parts.shared_map import SharedMap, map_shapes, shared_map_limits

FIELDS = {"n_features", "n_keys", "n_outputs", "rank", "forgetting", "first"}
_RECORDS = "records"
_FIRST = {f"first.{name}": name for name in CorrectedRows._fields}


def corrections_state(corrections: Corrections) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return sizes as JSON, and arrays."""
    table, first = corrections.table, corrections.first
    names = json.dumps(list(table.numbers), ensure_ascii=True, separators=(",", ":"))
    arrays: dict[str, Any] = {
        "keys": np.frombuffer(names.encode(), np.uint8),
        "map.floats": corrections.map.floats,
        "map.ints": corrections.map.ints,
        "shared": np.nan_to_num(corrections.shared),  # no infinities before the first row
        _RECORDS: Blocks((len(table), table.size), table.blocks),
    }
    if first is not None:
        arrays |= {f"first.{name}": part for name, part in first._asdict().items()}
    return {
        "n_features": corrections.n_features,
        "n_keys": len(table),
        "n_outputs": corrections.rule.outputs,
        "rank": corrections.rule.features - 1,
        "forgetting": corrections.forgetting,
        "first": None if first is None else len(first.Y),
    }, arrays


def read_corrections(
    file: LargeFile,
    told: Mapping[str, Any],
    *,
    classifies: bool,
    max_keys: int | None,
    folder: Any,
    width: int,
) -> tuple[Corrections, dict[str, np.ndarray]]:
    """Return the corrections that a file holds, having checked them, and its other arrays.

    `width` is that of the first rows.
    """
    d, outputs = (_whole(name, told[name]) for name in ("n_features", "n_outputs"))
    corrections = Corrections(
        d,
        outputs,
        classifies=classifies,
        rank=_whole("rank", told["rank"], LARGEST_RANK),
        forgetting=_share(told["forgetting"]),
        max_keys=max_keys,
        folder=folder,
    )
    n_keys = _whole("n_keys", told["n_keys"])
    arrays = _read_arrays(file, corrections, n_keys)
    del arrays["keys"]
    shared = arrays.pop("shared")
    if shared.shape != corrections.shared.shape or not np.isfinite(shared).all():
        raise ValueError("what keys share is of another shape, or not finite")
    corrections.shared[:] = shared
    if shared[ROUNDS] == 0.0:
        corrections.shared[[LOWEST, HIGHEST]] = np.inf, -np.inf
    corrections.map = _checked_map(corrections, d, arrays)
    corrections.first = _first_rows(told["first"], width, outputs, n_keys, arrays)
    return corrections, arrays


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
    n: Any, width: int, outputs: int, n_keys: int, arrays: dict[str, np.ndarray]
) -> CorrectedRows | None:
    if n is None:
        return None
    if type(n) is not int or not 0 <= n < STARTS[-1]:
        raise ValueError(f"the number of first rows is {n!r}")
    if "first.weights" not in arrays:  # of before there were any
        arrays["first.weights"] = np.ones(n)
    first = CorrectedRows(*(arrays.pop(name) for name in _FIRST))
    shapes = (n, width), (n,), (n, outputs), (n, outputs), (n,)
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


def _whole(name: str, value: Any, largest: int = 2**31) -> int:
    if type(value) is not int or not 1 <= value <= largest:
        raise ValueError(f"{name} is {value!r}")
    return value


def _share(value: Any) -> float:
    if type(value) is not float or not 0.0 <= value < 1.0:
        raise ValueError(f"forgetting is {value!r}")
    return value
