"""File formats, one file each, and the table of them.

`open_stream`, `read_columns`, `forks run`, the help of the command line, the tests of all formats
and the fuzzer read the table. A new format is a file here and a line in the table, or from outside
the package a call of `register`.
"""

from pathlib import Path

from forks.engine.checks import one_of
from forks.streams.files import STANDARD_INPUT, PathLike, ending
from forks.streams.formats._format import Categories, Format
from forks.streams.formats.arff import ARFF, read_arff
from forks.streams.formats.arrow import ARROW, read_arrow
from forks.streams.formats.csv import CSV, TSV, delimited, read_csv
from forks.streams.formats.jsonl import JSON_LINES, read_json_lines
from forks.streams.formats.libsvm import LIBSVM, read_libsvm
from forks.streams.formats.parquet import PARQUET, read_parquet
from forks.streams.formats.vw import VW, read_vw

__all__ = [
    "FORMATS",
    "Categories",
    "Format",
    "delimited",
    "format_of",
    "named_format",
    "read_arff",
    "read_arrow",
    "read_csv",
    "read_json_lines",
    "read_libsvm",
    "read_parquet",
    "read_vw",
    "register",
]

FORMATS: dict[str, Format] = {
    format.name: format for format in (LIBSVM, CSV, TSV, PARQUET, ARROW, JSON_LINES, ARFF, VW)
}


def register(format: Format) -> None:
    """Add a format to the table; its name and its endings must be new."""
    for known in FORMATS.values():
        if known.name == format.name or set(known.endings) & set(format.endings):
            raise ValueError(f"{format.name} has the name or an ending of the format {known.name}")
    FORMATS[format.name] = format


def format_of(path: PathLike, name: str | None = None) -> Format:
    """Return the format called `name`, or without it the one that the file's name shows."""
    if name is None and path != STANDARD_INPUT:
        # Published files in LIBSVM format have names such as a9a, german.numer and ijcnn1.t.
        return named_format(path) or LIBSVM
    if name is None:
        text = [known.name for known in FORMATS.values() if known.text or known.piped]
        raise ValueError(f"standard input needs format=, one of {', '.join(text)}")
    one_of("format", name, tuple(FORMATS))
    if path == STANDARD_INPUT and not (FORMATS[name].text or FORMATS[name].piped):
        raise ValueError(f"{name} cannot be read from standard input")
    return FORMATS[name]


def named_format(path: PathLike) -> Format | None:
    """Return the format that the ending of a file's name shows, if it is one of a format."""
    found = ending(Path(path))
    return next((known for known in FORMATS.values() if found in known.endings), None)
