"""Orders of rows: drawn, published with a data set, or read from a file."""

import numpy as np
from numpy.typing import NDArray

from forks.datasets.folder import paths_of
from forks.datasets.registry import REGISTRY, describe
from forks.engine import Counter
from forks.streams import StreamError
from forks.streams.files import PathLike, open_text


def order(n: int, seed: int) -> Counter:
    """Return a random order of n rows, a permutation of 0, 1, ..., n - 1; one seed, one order."""
    return np.random.default_rng(seed).permutation(n)


def permutations(name: str) -> NDArray[np.int64]:
    """Return the 20 published orders of german or spambase: an int array (20, rows), from 0."""
    entry = describe(name)
    if entry.permutations is None:
        known = [name for name, other in REGISTRY.items() if other.permutations]
        raise ValueError(f"no published orders of {name!r}, only of {' and '.join(known)}")
    return read_permutations(paths_of(entry, (entry.permutations,))[0], entry.rows)


def published_orders(data: str) -> NDArray[np.int64]:
    """Return `permutations` of a data set that has some; of any other name, or file, none."""
    entry = REGISTRY.get(data)
    if entry is None or entry.permutations is None:
        return np.empty((0, 0), np.int64)
    return permutations(data)


def read_permutations(path: PathLike, n_rows: int) -> NDArray[np.int64]:
    """Return orders of n_rows rows from a file: an int array (orders, n_rows), from 0.

    The file is CSV, which may be compressed: each row has the numbers of all rows, from 1.
    """
    orders = []
    with open_text(path) as file:
        for line in file:
            file.row += 1
            if not line.strip():
                continue
            try:
                numbers = np.array(line.split(","), dtype=np.int64)
            except (ValueError, OverflowError):
                numbers = np.empty(0, dtype=np.int64)
            if not np.array_equal(np.sort(numbers), np.arange(1, n_rows + 1)):
                raise StreamError(
                    f"{path}, row {file.row}: not a permutation of the numbers from 1 to {n_rows}"
                )
            orders.append(numbers - 1)
    if not orders:
        raise StreamError(f"{path} is empty")
    return np.array(orders)
