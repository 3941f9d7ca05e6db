"""Streams: generated ones, files of any length, and the benchmark data sets."""

from forks.streams.formats.readers import (
    StreamError,
    open_stream,
    read_arrays,
    read_columns,
    read_csv,
    read_libsvm,
    read_parquet,
)
from forks.streams.synthetic import adversarial, drift_rows, drifting

__all__ = [
    "StreamError",
    "adversarial",
    "drift_rows",
    "drifting",
    "open_stream",
    "read_arrays",
    "read_columns",
    "read_csv",
    "read_libsvm",
    "read_parquet",
]
