"""Fuzz all that reads files: `make fuzz`. Another target is a line in TARGETS."""

import datetime
import decimal
import io
import random
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from damaged_models import MODELS
from fuzzing import Target, main
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from forks.streams import open_stream, read_columns

ROWS = np.random.default_rng(0).normal(size=(12, 3)).round(3)
LABELS = np.arange(12.0) % 3 - 1


@cache
def _libsvm_seeds():
    dense, thin = io.BytesIO(), io.BytesIO()
    dump_svmlight_file(ROWS, LABELS, dense, zero_based=False)
    wide = sparse.random(12, 500, 0.01, "csr", random_state=0)
    dump_svmlight_file(wide, LABELS, thin, zero_based=False, comment="made up")
    odd = b"# a comment\n\n+1 1:2 3:4e-3 # more\n-1\n1 qid:3 2:.5 7:-1.\n 0 1:1 \n"
    return [("dense.libsvm", dense.getvalue()), ("thin", thin.getvalue()), ("odd.txt", odd)]


@cache
def _csv_seeds():
    lines = ["a,b,c,y", *(",".join(map(str, [*x, y])) for x, y in zip(ROWS, LABELS, strict=True))]
    plain = "\n".join(lines) + "\n"
    quoted = '"a","b, c","d ""e""",y\r\n' + '1,"2","3 ",-1\r\n"4",5,6e3,1\r\n\r\n7,8,9,1'
    named = "größe,名前,y\n1,2,3\n4.5,-6,7\n"
    single = "y\n1\n2\n"
    return [
        ("plain.csv", plain.encode()),
        ("tabs.tsv", plain.replace(",", "\t").encode()),
        ("quoted.csv", quoted.encode()),
        ("named.csv", b"\xef\xbb\xbf" + named.encode()),
        ("single.csv", single.encode()),
        ("bare.csv", plain.partition("\n")[2].encode()),
    ]


@cache
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


def _check(chunks):
    for X, y in chunks:
        assert X.ndim == 2
        assert y.shape == (X.shape[0],)
        assert X.shape[0] > 0
        assert X.dtype == y.dtype == np.float64
        assert np.isfinite(X.data if sparse.issparse(X) else X).all()
        assert np.isfinite(y).all()


def _read_libsvm(path: Path, rng: random.Random) -> None:
    n_features = rng.choice((None, None, 3, 500))
    dense = rng.choice((None, None, False))
    _check(open_stream(path, n_features=n_features, dense=dense, chunk=rng.choice((1, 5, 1000))))


def _read_table(path: Path, rng: random.Random) -> None:
    chunk = rng.choice((1, 5, 1000))
    kind = path.name.split(".")[0]
    match rng.randrange(4):
        case _ if kind == "bare":
            _check(open_stream(path, target=rng.choice((0, -1)), header=False, chunk=chunk))
        case 0:
            names = ["text", "gaps", "y"] if kind == "others" else ["y"]
            for part in read_columns(path, names, chunk=chunk):
                assert len({len(values) for values in part.values()}) == 1
        case 2 if kind in ("plain", "tabs", "numbers"):
            _check(open_stream(path, target="y", features=["b", "a"], chunk=chunk))
        case _:
            _check(open_stream(path, target="y", chunk=chunk))


TARGETS = (
    Target(
        "libsvm",
        _libsvm_seeds,
        _read_libsvm,
        ValueError,
        tokens=(b"1:1", b" 0:1", b" 3:1 2:1", b" 7:", b" :7", b" qid:1", b" 1:1:1", b"\n\n+1 "),
        packs=True,
    ),
    Target(
        "csv",
        _csv_seeds,
        _read_table,
        ValueError,
        tokens=(b"a,", b",y", b',"1\n2",', b'"1"2', b",,", b"\n,\n", b"y,y,"),
        packs=True,
    ),
    Target("parquet", _parquet_seeds, _read_table, ValueError, tokens=(b"PAR1", b"PARE", b"y")),
    MODELS,
)

if __name__ == "__main__":
    main(TARGETS, __file__)
