"""The keys of a model in shares: which share a key belongs to, and models that have one each."""

import copy
import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from forks.engine import Counter
from forks.keyed.base import KeyedEstimator
from forks.keyed.table import KeyTable


def share_numbers(keys: Sequence[Any], n: int) -> Counter:
    """Return to which of n shares keys belong, the same on all machines."""
    return np.array([zlib.crc32(ascii(key).encode()) % n for key in keys], np.int64)


def share_of(model: KeyedEstimator, k: int, n: int) -> Any:
    """Return a model with the keys of one of n shares, and everything that keys have in common.

    What they have in common is not copied: neither model may learn it further.
    """
    taken = _with_table(model)
    names = iter(model.corrections_.table.numbers)
    for records in model.corrections_.table.blocks():
        keys = list(islice(names, len(records)))
        own = np.flatnonzero(share_numbers(keys, n) == k)
        taken.corrections_.table.put([keys[i] for i in own], records[own])
    return taken


def gathered(model: KeyedEstimator, shares: Iterable[KeyedEstimator]) -> Any:
    """Return a copy of a model with the keys that its shares have.

    Keys that the model does not know come behind the others, sorted, so that the result does not
    depend on how many shares there are.
    """
    whole, shares = copy.deepcopy(model), list(shares)
    table = whole.corrections_.table
    new = {key for share in shares for key in share.corrections_.table.numbers} - {*table.numbers}
    table.add(sorted(new, key=lambda key: (isinstance(key, str), key)))
    for share in shares:
        names = iter(share.corrections_.table.numbers)
        for records in share.corrections_.table.blocks():
            table.put(list(islice(names, len(records))), records)
    return whole


def _with_table(model: Any) -> Any:
    """Return a copy of a model that knows no keys."""
    taken, table = copy.copy(model), model.corrections_.table
    taken.corrections_ = copy.copy(model.corrections_)
    taken.corrections_.table = KeyTable(table.size, table.max_keys, table.folder)
    return taken
