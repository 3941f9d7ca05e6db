"""Which format a file has, by its first bytes, where its name does not tell."""

import json
import re

from forks.streams.dialects import DELIMITERS, split

_LIBSVM = re.compile(r"\s*[^\s:|,]+(\s+qid:\d+)?(\s+\d+:[^\s:]+)*\s*(#.*)?")
_ENTRY = re.compile(r"\s\d+:\S")
_VW = re.compile(r"\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s[^|]*|'\S*)?\|[^\s|]*(\s|$)")
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow"}
_LINES = 50


def sniff(head: bytes, start: bytes = b"") -> str:
    """Return the name of the format of a text that begins with `head`, in UTF-8.

    `start` are the first bytes as they are. What nothing else fits is taken for LIBSVM.
    """
    for magic, name in _BINARY.items():
        if start.startswith(magic):
            return name
    lines = head.decode(errors="replace").splitlines()[:_LINES]
    lines = [line for line in lines if line.strip()]
    rows = [line for line in lines if line.lstrip()[0] not in "#%"]
    if not rows:
        return "libsvm"
    if rows[0].lstrip().lower().startswith("@relation"):
        return "arff"
    if _is_json(rows[0]):
        return "jsonl"
    if all(map(_LIBSVM.fullmatch, rows)) and any(map(_ENTRY.search, rows)):
        return "libsvm"
    if all(map(_VW.match, rows)):
        return "vw"
    return "csv" if _is_table(rows) else "libsvm"


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_table(rows: list[str]) -> bool:
    rows = rows[:-1] if len(rows) > 2 else rows  # the last one may be cut
    for delimiter in DELIMITERS.values():
        cells = split(rows, delimiter)
        if len({len(row) for row in cells}) == 1 and len(cells[0]) > 1:
            return delimiter != " " or _are_numbers(cells[1:])
    return False


def _are_numbers(rows: list[list[str]]) -> bool:
    number = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|NA|nan|NaN|\?")
    return len(rows) > 0 and all(number.fullmatch(cell) for row in rows for cell in row)
