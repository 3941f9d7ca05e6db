"""Sparse Johnson-Lindenstrauss transform (SJLT), made row by row from a hash.

The sketch matrix S (n x s_p) consists of D blocks of columns, S = [S_1, ..., S_D]. In block b,
row i has a single entry g_b(i) in {-1/sqrt(D), +1/sqrt(D)}, at the column h_b(i), so that

    E[S S'] = I    and    |S'x| stays close to |x|.

The hash depends on (seed, row, block) alone. Row i is therefore the same whenever and in whatever
order it is asked for, n need not be known in advance, and S is never stored.

Reference: section 2.2 of the FORKS paper; Kane and Nelson, "Sparser Johnson-Lindenstrauss
transforms", Journal of the ACM 61(1), 2014.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

# Constants of splitmix64 (Steele, Lea, Flood 2014): the step of its counter, two multipliers.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class SJLT:
    """Sparse Johnson-Lindenstrauss transform S with `sketch_size` columns in `n_blocks` blocks.

    Parameters
    ----------
    sketch_size : int
        Number of columns s_p.
    n_blocks : int
        Number of blocks D, hence of non-zero entries per row. Where D does not divide s_p, the
        first s_p % D blocks are one column wider than the others (in the paper, D divides s_p).
    seed : int
        Chooses the hash functions; 0 <= seed < 2**64.
    """

    sketch_size: int
    n_blocks: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("sketch_size", "n_blocks", "seed"):
            # A frozen dataclass has no other way to store NumPy integers as plain ones.
            object.__setattr__(self, name, _integer(name, getattr(self, name)))
        # Columns are drawn from 32 bits.
        if not 1 <= self.sketch_size < 2**32:
            raise ValueError(f"sketch_size must lie in 1..2**32 - 1, got {self.sketch_size}")
        if not 1 <= self.n_blocks <= self.sketch_size:
            raise ValueError(
                f"n_blocks must lie in 1..sketch_size = {self.sketch_size}, got {self.n_blocks}"
            )
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must lie in 0..2**64 - 1, got {self.seed}")

    def entries(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Columns (stop - start, D) and values of the non-zero entries of rows start..stop-1."""
        start, stop = _integer("start", start), _integer("stop", stop)
        if start < 0:
            raise ValueError(f"start must not be negative, got {start}")
        if stop < start:
            raise ValueError(f"stop must not be below start = {start}, got {stop}")
        rows = np.arange(start, stop, dtype=np.uint64)[:, np.newaxis]
        seed, blocks, first, widths = self._hash
        # One mixing per coordinate: seed, row and block each reach every bit of the result.
        bits = _mix(_mix(seed ^ rows) ^ blocks)  # (n, D)
        # The column comes from the 32 high bits (multiply-shift), the sign from the lowest bit.
        columns = (first + (((bits >> np.uint64(32)) * widths) >> np.uint64(32))).astype(np.int64)
        signs = 1.0 - 2.0 * (bits & np.uint64(1)).astype(np.float64)
        return columns, signs / np.sqrt(self.n_blocks)

    @cached_property
    def _hash(self) -> tuple[NDArray[np.uint64], ...]:
        """What all rows share: the mixed seed; number, first column and width of each block."""
        blocks = np.arange(self.n_blocks, dtype=np.uint64)
        narrow, n_wide = divmod(self.sketch_size, self.n_blocks)
        widths = narrow + (blocks < n_wide).astype(np.uint64)
        return _mix(np.array([self.seed], np.uint64)), blocks, np.cumsum(widths) - widths, widths

    def row(self, i: int) -> NDArray[np.float64]:
        """Row i of S as a dense vector (s_p,)."""
        i = _integer("i", i)
        if i < 0:
            raise ValueError(f"i must not be negative, got {i}")
        columns, values = self.entries(i, i + 1)
        dense = np.zeros(self.sketch_size)
        dense[columns[0]] = values[0]
        return dense

    def rows(self, start: int, stop: int) -> csr_array:
        """Rows start..stop-1 of S as a sparse array (stop - start, s_p)."""
        columns, values = self.entries(start, stop)
        offsets = np.arange(0, columns.size + 1, self.n_blocks)
        return csr_array(
            (values.ravel(), columns.ravel(), offsets), shape=(len(columns), self.sketch_size)
        )

    def sketch(self, M: ArrayLike, start: int = 0) -> NDArray[np.float64]:
        """S' M, where row j of M (n, c) or (n,) meets row start + j of S. Costs O(n D c)."""
        M = np.asarray(M, dtype=np.float64)
        if M.ndim not in (1, 2):
            raise ValueError(f"M must have one or two dimensions, got shape {M.shape}")
        start = _integer("start", start)
        product: NDArray[np.float64] = self.rows(start, start + len(M)).T @ M
        return product


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One output of splitmix64 for each state in x; arithmetic is modulo 2**64."""
    x = x + _STEP
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLIERS[0]
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLIERS[1]
    return x ^ (x >> np.uint64(31))


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    return int(value)
