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

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from forks.engine.checks import whole
from forks.engine.random import splitmix64


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
        # Columns are drawn from 32 bits.
        size = whole("sketch_size", self.sketch_size, 1, 2**32 - 1)
        blocks = whole("n_blocks", self.n_blocks, 1, size, "sketch_size")
        seed = whole("seed", self.seed, 0, 2**64 - 1)
        for name, value in (("sketch_size", size), ("n_blocks", blocks), ("seed", seed)):
            object.__setattr__(self, name, value)  # NumPy integers as plain ones

    def entries(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Columns (stop - start, D) and values of the non-zero entries of rows start..stop-1."""
        start = whole("start", start, 0)
        stop = whole("stop", stop, start)
        rows = np.arange(start, stop, dtype=np.uint64)[:, np.newaxis]
        seed, blocks, first, widths = self._hash
        # One mixing per coordinate: seed, row and block each reach every bit of the result.
        bits = splitmix64(splitmix64(seed ^ rows) ^ blocks)  # (n, D)
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
        return (
            splitmix64(np.array([self.seed], np.uint64)),
            blocks,
            np.cumsum(widths) - widths,
            widths,
        )

    def row(self, i: int) -> NDArray[np.float64]:
        """Row i of S as a dense vector (s_p,)."""
        i = whole("i", i, 0)
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
        start = whole("start", start, 0)
        product: NDArray[np.float64] = self.rows(start, start + len(M)).T @ M
        return product
