"""Fuzz everything that reads files: `make fuzz`. Every format of the table is a target.

The valid files to start from are the format's own example, and those that are here for it.
"""

import datetime
import decimal
import io
import random
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from damaged_models import MODELS
from fuzzing import Target, main
from made_tables import TABLES
from pyarrow import ipc, parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from forks.streams import open_stream, read_columns
from forks.streams.formats import FORMATS, Format

ROWS = np.random.default_rng(0).normal(size=(12, 3)).round(3)
LABELS = np.arange(12.0) % 3 - 1


def _libsvm_seeds():
    dense, thin = io.BytesIO(), io.BytesIO()
    dump_svmlight_file(ROWS, LABELS, dense, zero_based=False)
    wide = sparse.random(12, 500, 0.01, "csr", random_state=0)
    dump_svmlight_file(wide, LABELS, thin, zero_based=False, comment="made up")
    odd = b"# a comment\n\n+1 1:2 3:4e-3 # more\n-1\n1 qid:3 2:.5 7:-1.\n 0 1:1 \n"
    return [("dense.libsvm", dense.getvalue()), ("thin", thin.getvalue()), ("odd.txt", odd)]


def _plain_table(delimiter):
    lines = ["a,b,c,y", *(",".join(map(str, [*x, y])) for x, y in zip(ROWS, LABELS, strict=True))]
    return ("\n".join(lines) + "\n").replace(",", delimiter).encode()


def _csv_seeds():
    quoted = '"a","b, c","d ""e""",y\r\n' + '1,"2","3 ",-1\r\n"4",5,6e3,1\r\n\r\n7,8,9,1'
    named = "größe,名前,y\n1,2,3\n4.5,-6,7\n"
    return [
        ("plain.csv", _plain_table(",")),
        ("quoted.csv", quoted.encode()),
        ("named.csv", b"\xef\xbb\xbf" + named.encode()),
        ("single.csv", b"y\n1\n2\n"),
        ("bare.csv", _plain_table(",").partition(b"\n")[2]),
    ]


def _tsv_seeds():
    return [("plain.tsv", _plain_table("\t"))]


def _parquet_seeds():
    n = 40
    rng = np.random.default_rng(1)
    numbers = {name: rng.normal(size=n) for name in "abc"} | {"y": rng.integers(0, 2, n)}
    kinds = {
        "small": pa.array(range(n), pa.int8()),
        "flag": pa.array([i % 2 == 0 for i in range(n)]),
        "single": pa.array(rng.normal(size=n).astype(np.float32)),
        "price": pa.array([decimal.Decimal(i) / 4 for i in range(n)], pa.decimal128(9, 2)),
        "y": pa.array([float(i % 3) for i in range(n)]),
    }
    others = {
        "text": pa.array(["ab", "c"] * (n // 2)).dictionary_encode(),
        "gaps": pa.array([None if i % 5 == 0 else i for i in range(n)]),
        "day": pa.array([datetime.date(2020, 1, 1)] * n),
        "list": pa.array([[1, 2], []] * (n // 2)),
        "y": pa.array(range(n)),
    }
    seeds = []
    for name, columns in (("numbers", numbers), ("kinds", kinds), ("others", others)):
        for packing in ("none", "snappy", "gzip", "zstd"):
            file = io.BytesIO()
            table = pa.table(columns)
            old = packing == "gzip"
            parquet.write_table(
                table,
                file,
                row_group_size=15,
                compression=packing,
                use_dictionary=not old,
                data_page_version="1.0" if old else "2.0",
            )
            seeds.append((f"{name}.parquet", file.getvalue()))
    twice = pa.Table.from_arrays(
        [pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], ["a", "a", "y"]
    )
    file = io.BytesIO()
    parquet.write_table(twice, file)
    return [*seeds, ("twice.parquet", file.getvalue())]


def _jsonl_seeds():
    rows = [f'{{"a": {a}, "b": {b}, "y": {y}}}' for (a, b, _), y in zip(ROWS, LABELS, strict=True)]
    odd = '{"b": 1e-3, "a": 5, "in": {"c": [1, "x"]}, "y": 1}\r\n\n{"y": 2, "a": -1, "b": 0}'
    return [("plain.jsonl", "\n".join(rows).encode()), ("odd.jsonl", odd.encode())]


def _arff_seeds():
    head = "@RELATION r\n\n@attribute a numeric\n@ATTRIBUTE 'b' REAL\n@attribute y {0, 1, 2}\n"
    dense = "".join(f"{a},{b},{i % 3}\n" for i, (a, b, _) in enumerate(ROWS))
    thin = "% thin\n{0 1.5, 2 1}\n{}\n{ 1 -2 }\n"
    return [
        ("plain.arff", (head + "@data\n" + dense).encode()),
        ("thin.arff", (head + "@DATA\n" + thin).encode()),
    ]


def _vw_seeds():
    plain = "".join(f"{y} |f a:{a} b:{b} c\n" for (a, b, _), y in zip(ROWS, LABELS, strict=True))
    odd = "1 2.5 'tag|name:2 a b:0.5|other c:-1 d^e\n-1 1 0.5 tag|a b |\n0.5|f x\n"
    return [("plain.vw", plain.encode()), ("odd.vw", odd.encode())]


def _arrow_seeds():
    columns = {"a": ROWS[:, 0], "b": ROWS[:, 1], "y": LABELS.astype(int)}
    more = {"text": ["x", None] * 6, "day": [datetime.date(2020, 1, 1)] * 12}
    seeds = []
    for name, table in (("plain", pa.table(columns)), ("others", pa.table({**more, **columns}))):
        for new in (ipc.new_file, ipc.new_stream):
            file = io.BytesIO()
            with new(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=5)
            seeds.append((f"{name}.arrow", file.getvalue()))
    return seeds


def _check(chunks, gaps=False):
    for X, y, *weights in chunks:
        assert X.ndim == 2
        assert y.shape == (X.shape[0],)
        assert X.shape[0] > 0
        assert X.dtype == y.dtype == np.float64
        assert np.isfinite(X.data if sparse.issparse(X) else X).all()
        assert gaps or np.isfinite(y).all()
        assert all((part >= 0.0).all() for part in weights)


def _read(format: Format, path: Path, rng: random.Random) -> None:
    chunk = rng.choice((1, 5, 1000))
    if format.columns is None:
        options = {
            name: rng.choice(values) for name, values in OPTIONS.get(format.name, {}).items()
        }
        _check(open_stream(path, chunk=chunk, **options), gaps=format.name == "vw")
        return
    kind = path.name.split(".")[0]
    match rng.randrange(4):
        case _ if kind == "bare":
            _check(open_stream(path, target=rng.choice((0, -1)), header=False, chunk=chunk))
        case 0:
            names = ["text", "y"] if kind == "others" else ["y"]
            for part in read_columns(path, names, chunk=chunk):
                assert len({len(values) for values in part.values()}) == 1
        case 2 if kind in ("example", "plain", "numbers"):
            _check(open_stream(path, target="y", features=["b", "a"], chunk=chunk))
        case _:
            _check(open_stream(path, target="y", chunk=chunk))


# What is known of some formats besides their examples: files, tokens, options of the reader.
SEEDS = {
    "libsvm": _libsvm_seeds,
    "csv": _csv_seeds,
    "tsv": _tsv_seeds,
    "parquet": _parquet_seeds,
    "arrow": _arrow_seeds,
    "jsonl": _jsonl_seeds,
    "arff": _arff_seeds,
    "vw": _vw_seeds,
}
TOKENS = {
    "libsvm": (b"1:1", b" 0:1", b" 3:1 2:1", b" 7:", b" :7", b" qid:1", b" 1:1:1", b"\n\n+1 "),
    "csv": (b"a,", b",y", b',"1\n2",', b'"1"2', b",,", b"\n,\n", b"y,y,"),
    "tsv": (b"a\t", b"\ty", b'\t"1\n2"\t', b"\t\t", b"\n\t\n"),
    "parquet": (b"PAR1", b"PARE", b"y"),
    "arrow": (b"ARROW1", b"\xff\xff\xff\xff", b"y"),
    "jsonl": (b"{", b"}", b"null", b"true", b'"y":', b"[[", b"1e999", b"{}\n"),
    "arff": (b"{", b"}", b"'", b"?", b"@data\n", b"@attribute q real\n", b"%", b", "),
    "vw": (b"|", b" |", b"'", b":", b"|f:2 ", b"\n\n"),
}
OPTIONS = {
    "libsvm": {
        "n_features": (None, None, 3, 500),
        "dense": (None, None, False),
        "zero_based": (None, None, True, False),
    },
    "vw": {"n_features": (None, 8)},
}


def target_of(format: Format) -> Target:
    """Return the target that reads damaged files of a format."""

    @cache
    def seeds():
        example = (f"example{format.endings[0]}", format.example())
        return [example, *SEEDS.get(format.name, list)()]

    return Target(
        format.name,
        seeds,
        partial(_read, format),
        ValueError,
        tokens=TOKENS.get(format.name, ()),
        packs=format.text,
    )


def targets() -> list[Target]:
    """Return what is fuzzed: every format of the table, tables as they come, and model files."""
    return [*map(target_of, FORMATS.values()), TABLES, MODELS]


if __name__ == "__main__":
    main(targets(), __file__)
