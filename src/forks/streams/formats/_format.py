"""What a format is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from forks.streams.files import Chunks, Columns


class Categories(np.ndarray):
    """A raw column whose values the file itself calls categories, whatever they look like."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format. Paths of text formats may be "-", standard input.

    Parameters
    ----------
    name : str
        What `format=` and `--format` call it.
    endings : tuple of str
        Endings of file names, ".csv" for instance, in lower case. The ending of a compression is
        left out.
    read : callable
        `read(path, chunk=..., **options)` returns chunks (X, y) of finite numbers. A table has the
        option `target`, the name of the column of labels; any other format has `n_features`, an
        int, or None for the width that the file shows.
    example : callable
        `example()` returns a small valid file as bytes, which tests and fuzzer begin with. A table
        has the columns a, b and y, all numbers.
    columns : callable, optional
        For tables: `columns(path, names, chunk)` returns chunks {name: array} of raw columns, or
        with names=None of all columns, in the order of the file.
    text : bool
        Whether it is text, read with `forks.streams.files.open_text`: then it may be compressed,
        or come from standard input.
    piped : bool
        Whether it is not text, and can come from standard input all the same.
    needs : str
        What must be installed to read it, and how.
    delimiter : str, optional
        For text tables of rows with a delimiter: the usual one. How such a file is written is
        found from its first rows.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[..., Chunks]
    example: Callable[[], bytes]
    columns: Callable[..., Columns] | None = None
    text: bool = True
    piped: bool = False
    needs: str = ""
    delimiter: str | None = None
