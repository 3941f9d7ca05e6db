"""Data sets by name: what is known of them, where they are, how they are fetched and read.

`registry` is the table, `benchmarks` and `literature` have its entries; `folder` finds files,
`download` fetches them, `loading` reads them; `orders` has orders of rows; `flights` and `kuairec`
encode two of the sets.
"""

from forks.datasets.benchmarks import BENCHMARKS
from forks.datasets.download import DigestError, fetch
from forks.datasets.flights import read_flights
from forks.datasets.folder import at_hand, cache_folder, find, paths
from forks.datasets.kuairec import read_kuairec
from forks.datasets.literature import LITERATURE
from forks.datasets.loading import load, prepare, read, read_signs, stream
from forks.datasets.orders import order, permutations, published_orders, read_permutations
from forks.datasets.registry import DataFile, DataSet, describe, names, register

__all__ = [
    "DataFile",
    "DataSet",
    "DigestError",
    "at_hand",
    "cache_folder",
    "describe",
    "fetch",
    "find",
    "load",
    "names",
    "order",
    "paths",
    "permutations",
    "prepare",
    "published_orders",
    "read",
    "read_flights",
    "read_kuairec",
    "read_permutations",
    "read_signs",
    "register",
    "stream",
]

for _entry in (*BENCHMARKS, *LITERATURE):
    register(_entry)
