"""Columns of text: words hashed into a block, whose squares sum to 1 in each row that has words.

A word of text is a run of letters and digits, in lower case. Half of the words count negatively
(by their hash), so that words which share a column do not add up.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from forks.features.table.categories import hash_of
from forks.features.table.cells import Memo, key_of

_WORD = re.compile(r"\w+")


@dataclass
class Text:
    """One column of text."""

    name: str
    width: int  # features

    def __post_init__(self) -> None:
        self._keys: Memo[str] = Memo(key_of)
        self._hashes: Memo[int] = Memo(hash_of)

    def names(self) -> list[str]:
        return [f"{self.name} words {i + 1}" for i in range(self.width)]

    def read(self, cells: np.ndarray) -> list[list[str]]:
        """Return the words of each cell."""
        return [_WORD.findall(text.lower()) for text in self._keys.each(self.name, cells)]

    def rows(self, words: list[list[str]]) -> sparse.csr_array:
        flat = [word for row in words for word in row]
        hashes = np.array(self._hashes.each(self.name, flat), dtype=np.int64)
        rows = np.repeat(np.arange(len(words)), [len(row) for row in words])
        signs = 1.0 - 2.0 * ((hashes >> 61) & 1)
        shape = len(words), self.width
        block = sparse.csr_array((signs, (rows, hashes % self.width)), shape=shape)
        block.sum_duplicates()
        sizes = np.sqrt(np.add.reduceat(np.append(block.data**2, 0.0), block.indptr[:-1]))
        np.divide(block.data, np.repeat(sizes, np.diff(block.indptr)), out=block.data)
        return block
