"""ARFF, the format of Weka and MOA: attributes with their types, then rows with commas.

Sparse rows, `{index value, ...}` with indices from 0, have 0 or the first value of a nominal
attribute where they say nothing. `?` is a missing value.
"""

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from forks.engine.checks import whole
from forks.streams.files import (
    Chunks,
    Columns,
    PathLike,
    StreamError,
    TextFile,
    as_number,
    chosen_columns,
    open_text,
)
from forks.streams.formats._format import Categories, Format
from forks.streams.formats._numbers import numbers_of

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")
_NUMERIC = ("numeric", "real", "integer")


class Attribute(NamedTuple):
    """A column that the header declares."""

    name: str
    numeric: bool
    values: tuple[str, ...]  # of a nominal one


def read_arff(
    path: PathLike, *, target: str, features: Sequence[str] | None = None, chunk: int = 10_000
) -> Chunks:
    """Return chunks (X, y) of an ARFF file, float64. Every value that is read must be a number.

    Parameters
    ----------
    path, target, features, chunk
        See `read_csv`; columns are attributes.
    """
    whole("chunk", chunk, 1)
    return numbers_of(_columns(path, None, chunk), path, target, features)


def _columns(path: PathLike, names: Sequence[str] | None, chunk: int) -> Columns:
    """Return chunks of columns: numbers, or text with None where it is missing."""
    with open_text(path) as file:
        attributes = _header(file)
        there = [attribute.name for attribute in attributes]
        chosen = chosen_columns(file.path, names, there)
        while rows := file.parsed(chunk, _is_row, partial(_row, attributes=attributes)):
            columns = dict(zip(there, zip(*rows, strict=True), strict=True))
            kinds = {attribute.name: attribute for attribute in attributes}
            yield {name: _array(columns[name], kinds[name]) for name in chosen}


def _is_row(text: str) -> bool:
    return text.lstrip()[:1] not in ("", "%")


def _header(file: TextFile) -> list[Attribute]:
    """Read up to the line @data."""
    attributes: list[Attribute] = []
    for text in file:
        line = text.strip()
        if not line or line[0] == "%":
            continue
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise StreamError(f"{file.path}, line {file.line}: no attribute comes before @data")
            return attributes
        if word == "@attribute":
            attributes.append(_attribute(file, line))
        elif word != "@relation":
            raise StreamError(
                f"{file.path}, line {file.line}: {line[:40]!r} is none of @relation, @attribute, "
                "@data"
            )
    raise StreamError(f"{file.path} has no line @data, which ARFF files have")


def _attribute(file: TextFile, line: str) -> Attribute:
    found = _ATTRIBUTE.fullmatch(line)
    kind = "" if found is None else found[2].strip()
    if found is None or not kind:
        raise StreamError(f"{file.path}, line {file.line}: {line[:40]!r} has no name and type")
    name = _unquoted(found[1])
    if kind.startswith("{"):
        values = tuple(map(_unquoted, _split(kind.strip().strip("{}"))))
        return Attribute(name, False, values)
    return Attribute(name, kind.split()[0].lower() in _NUMERIC, ())


def _split(text: str) -> list[str]:
    """Split at commas that are not in quotes."""
    if "'" not in text and '"' not in text:
        return [part.strip() for part in text.split(",")]
    found, at = [], 0
    while at <= len(text):
        part = _VALUE.match(text, at)
        if part is None:
            raise ValueError("a quote has no end, or is not where a value ends")
        found.append(part[1])
        if part.end() == len(text) and not part[0].rstrip().endswith(","):
            break
        at = part.end()
    return found


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _row(text: str, attributes: list[Attribute]) -> list[Any]:
    text = text.strip()
    cells = _sparse(text, attributes) if text.startswith("{") else _split(text)
    if len(cells) != len(attributes):
        raise ValueError(f"{len(cells)} values for {len(attributes)} attributes")
    return [_cell(cell, attribute) for cell, attribute in zip(cells, attributes, strict=True)]


def _sparse(text: str, attributes: list[Attribute]) -> list[str]:
    if not text.endswith("}"):
        raise ValueError("a row that begins with { ends with }")
    cells = [attribute.values[0] if attribute.values else "0" for attribute in attributes]
    for part in _split(text[1:-1].strip()) if text[1:-1].strip() else []:
        index, _, value = part.strip().partition(" ")
        if not (index.isdecimal() and len(index) < 10 and int(index) < len(cells) and value):
            raise ValueError(f"{part[:40]!r} is not of the form index value")
        cells[int(index)] = value
    return cells


def _cell(text: str, attribute: Attribute) -> Any:
    if text == "?":
        return math.nan if attribute.numeric else None
    if not attribute.numeric:
        return _unquoted(text)
    value = as_number(_unquoted(text))
    if not math.isfinite(value):
        raise ValueError(f", column {attribute.name!r}: {text[:60]!r} is not a finite number")
    return value


def _array(cells: tuple[Any, ...], attribute: Attribute) -> np.ndarray:
    if attribute.numeric:
        return np.array(cells, np.float64)
    array = np.empty(len(cells), object)
    array[:] = cells
    return array.view(Categories) if attribute.values else array


ARFF = Format(
    name="arff",
    endings=(".arff",),
    read=read_arff,
    columns=_columns,
    example=lambda: (
        b"% made up\n@relation rows\n@attribute a numeric\n@attribute 'b' real\n"
        b"@attribute y {0, 1}\n@data\n0.5,2,1\n{1 -1}\n"
    ),
)
