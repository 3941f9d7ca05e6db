"""Tables as they come, and worse: gaps, words among numbers, other dialects, rows that do not fit.

They are read as `forks run` reads them, encoded, and what comes out must be numbers.
"""

import random
from pathlib import Path

import numpy as np
from fuzzing import Target, damaged
from scipy import sparse

from forks.features import TableEncoder
from forks.features.table import CellError
from forks.streams import StreamError
from forks.streams.columns import RawTable
from forks.streams.tables import Input, InputFile

GAPS = ("", "NA", "nan", "?", "null", "N/A", "None", "-", "NaT")
WORDS = (
    "red",
    "dark blue",
    "größer",
    "名前",
    'say ""so""',
    "x;y",
    "1,5",
    "a b c d e",
    "0x1",
    "é",
    "$1,234",
    "5 %",
    "€",
)
DELIMITERS = (",", ";", "\t", "|", " ")
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-32")


def _number(rng: random.Random) -> str:
    forms = ("{:.3f}", "{:g}", "{:.17g}", "{:e}", "{:.0f}")
    return rng.choice(forms).format(rng.gauss(0, 10 ** rng.randint(-3, 6)))


def _cell(kind: str, rng: random.Random, row: int) -> str:
    if rng.random() < 0.05:
        return rng.choice(GAPS)
    match kind:
        case "number":
            return _number(rng)
        case "flag":
            return rng.choice(("0", "1"))
        case "word":
            return rng.choice(WORDS)
        case "time":
            return f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        case "id":
            return f"id{row}"
        case _:
            return "always"


def _quoted(cell: str, delimiter: str, rng: random.Random) -> str:
    needs = delimiter in cell or '"' in cell
    return f'"{cell}"' if needs or rng.random() < 0.02 else cell


def make(rng: random.Random) -> tuple[str, bytes]:
    """Make a table with some faults."""
    kinds = rng.choices(("number", "flag", "word", "time", "id", "same"), k=rng.randint(1, 6))
    kinds.append(rng.choice(("number", "flag", "word")))
    delimiter = rng.choice(DELIMITERS)
    comma = delimiter in ";\t" and rng.random() < 0.5
    lines = []
    if rng.random() < 0.8:
        lines.append(delimiter.join(f"c{i}{kind}" for i, kind in enumerate(kinds)))
    for row in range(rng.choice((0, 1, 2, 20, 150))):
        cells = [_cell(kind, rng, row) for kind in kinds]
        if comma:
            cells = [cell.replace(".", ",") for cell in cells]
        if rng.random() < 0.003:
            cells = cells[:-1] if rng.random() < 0.5 else [*cells, "more"]
        if rng.random() < 0.003:
            cells[0] = rng.choice(("oops", '"', '"a"b', "1e999", "inf", "\x00"))
        lines.append(delimiter.join(_quoted(cell, delimiter, rng) for cell in cells))
        if rng.random() < 0.01:
            lines.append("")
    text = rng.choice(("\n", "\n", "\r\n", "\r")).join(lines)
    raw = text.encode(rng.choice(ENCODINGS), "replace")
    name = rng.choice(("made.csv", "made.tsv", "made.txt", "made.data"))
    return name, damaged(raw, [raw], (b"NA", b";", b",", b"\t"), rng) if rng.random() < 0.2 else raw


def _seeds() -> list[tuple[str, bytes]]:
    rng = random.Random(0)
    rows = [f"{rng.gauss(0, 1):.3f},{rng.choice(('red', 'blue'))},NA,{i % 2}\n" for i in range(30)]
    comma = "größe;farbe;y\n1,5;rot;ja\nNA;blau;nein\n2,5;rot;ja\n"
    nested = '{"a": 1, "in": {"b": "x", "c": [1, 2]}, "y": true}\n{"a": null, "y": false}\n'
    arff = "@relation r\n@attribute 'a b' real\n@attribute k {x,'y z'}\n@attribute y {0,1}\n@data\n"
    return [
        ("plain.csv", ("a,b,c,y\n" + "".join(rows)).encode()),
        ("bare.txt", "".join(rows).encode()),
        ("comma.csv", comma.encode("latin-1")),
        ("comma.txt", comma.encode("utf-16")),
        ("nested.jsonl", nested.encode()),
        ("nested", (nested * 5).encode()),
        ("plain.arff", (arff + "1,x,0\n?,'y z',1\n{1 'y z', 2 1}\n").encode()),
        ("plain.vw", b"1 |f a:1 b |g:2 c\n-1 0.5 'tag|f b\n|f a\n"),
        ("zero.dat", b"1 0:1 3:2\n0 1:1\n"),
    ]


def read(path: Path, rng: random.Random) -> None:
    """Read a file as `forks run` does, and once more as a file of a known kind."""
    chunk, known, encoder = rng.choice((1, 7, 1000)), None, None
    for _ in range(2):
        with InputFile(str(path), known=known, chunk=chunk) as file:
            for X, y, weights in file.chunks():
                assert y is not None
                assert len(y) == X.shape[0] > 0
                assert weights is None or (weights >= 0.0).all()
                if isinstance(X, RawTable):
                    X, encoder = _encoded(file, X, y, encoder)
                assert np.isfinite(X.data if sparse.issparse(X) else X).all()
        if file.input is None:
            return
        known = Input.from_json(file.input.as_json())


def _encoded(file, table, y, encoder):
    try:
        if encoder is None:
            task = "regression" if y.dtype.kind == "f" else "classification"
            encoder = TableEncoder(kinds=file.kinds, task=task).look(table, y)
        return encoder.learn_transform(table, y), encoder
    except CellError as error:
        raise StreamError(f"{file.name}, row {error.row}, column {error.column!r}") from None
    except ValueError as error:
        raise StreamError(f"{file.name}: {error}") from None


TABLES = Target("tables", _seeds, read, ValueError, packs=True, make=make)
