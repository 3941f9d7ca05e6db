"""Streams of rows: from files of any length, from memory, and generated.

`readers` chooses the format of a file, `formats` has a file for each, `files` and `encodings` what
they share. `tables` turns files into the raw columns, or rows, that the command line learns:
`opening` finds their format, `dialects` how a text table is written, `words` are those of missing
values, `columns` what a column is read as. `hashed` reads tables for models of earlier versions.
`synthetic` and `changes` generate streams.
"""

from forks.streams.changes import CHANGING, changing
from forks.streams.files import Chunk, StreamError
from forks.streams.formats import read_csv, read_libsvm, read_parquet
from forks.streams.readers import open_labelled, open_stream, read_arrays, read_columns
from forks.streams.synthetic import adversarial, drift_rows, drifting

__all__ = [
    "CHANGING",
    "Chunk",
    "StreamError",
    "adversarial",
    "changing",
    "drift_rows",
    "drifting",
    "open_labelled",
    "open_stream",
    "read_arrays",
    "read_columns",
    "read_csv",
    "read_libsvm",
    "read_parquet",
]
