import bz2
import dataclasses
import hashlib
import sys

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from forks import datasets
from forks.cli import main
from forks.datasets.literature import LITERATURE
from forks.datasets.registry import REGISTRY
from forks.streams import StreamError, read_columns, read_csv

SPARSE = ("w7a", "internet-ads")
NUMBERS = {  # rows, features, mean of the targets
    "abalone": (4_177, 8, 9.934),
    "fried": (40_768, 10, 14.41),
    "elevators": (16_599, 18, 0.02163),
    "ailerons": (13_750, 40, -0.242186),
    "metro-traffic": (48_204, 7, 3_260.0),
}
SHAPES = {  # rows, features, rows labelled +1
    "german": (1_000, 24, 300),
    "svmguide3": (1_243, 22, 296),
    "spambase": (4_601, 57, 1_813),
    "cod-rna": (59_535, 8, 19_845),
    "w7a": (24_692, 300, 740),
    "ijcnn1": (141_691, 22, 4_853 + 8_712),
    "nomao": (34_465, 118, 24_621),
    "weather": (18_159, 8, 5_698),
    "internet-ads": (3_279, 1_558, 459),
}


def or_skip(read, name):
    try:
        return read(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def test_every_name_is_tested():
    assert set(datasets.names()) == {*SHAPES, "interchanging-rbf"}
    assert datasets.names("regression") == list(NUMBERS)
    either = ["flights-3m", "kuairec", "nycflights13", "beijing-air"]
    assert datasets.names("either") == either
    assert len(datasets.names(None)) == len(SHAPES) + 1 + len(NUMBERS) + len(either)


@pytest.mark.parametrize("name", SHAPES)
def test_load(name):
    X, y = or_skip(datasets.load, name)
    n_rows, n_features, n_positive = SHAPES[name]
    assert X.shape == (n_rows, n_features)
    assert y.shape == (n_rows,)
    assert X.dtype == y.dtype == np.float64
    assert sparse.issparse(X) == (name in SPARSE)
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert np.sum(y == 1.0) == n_positive


@pytest.mark.parametrize("name", NUMBERS)
def test_load_gives_the_targets_of_a_regression(name):
    X, y = or_skip(datasets.load, name)
    n_rows, n_features, mean = NUMBERS[name]
    assert X.shape == (n_rows, n_features)
    assert y.mean() == pytest.approx(mean, rel=1e-3)


def test_more_than_two_classes_are_as_in_the_file():
    X, y = or_skip(datasets.load, "interchanging-rbf")
    assert X.shape == (200_000, 2)
    np.testing.assert_array_equal(np.unique(y), np.arange(15))


@pytest.mark.parametrize("name", ["german", "spambase", "w7a", "abalone", "weather"])
def test_a_stream_is_what_load_gives(name):
    X, y = or_skip(datasets.load, name)
    chunks = list(datasets.stream(name, chunk=900))
    assert all(len(labels) <= 900 for _, labels in chunks)
    stack = sparse.vstack if name == "w7a" else np.concatenate
    rows = stack([rows for rows, _ in chunks])
    assert (rows != X).sum() == 0
    assert rows.shape == X.shape
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in chunks]), y)


def test_a_stream_goes_through_all_files(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    (tmp_path / "ijcnn1.bz2").write_bytes(bz2.compress(b"1 1:1\n" * 3))
    (tmp_path / "ijcnn1.t.bz2").write_bytes(bz2.compress(b"-1 22:2\n" * 3))
    chunks = list(datasets.stream("ijcnn1", chunk=2))
    assert [X.shape for X, _ in chunks] == [(2, 22), (1, 22), (2, 22), (1, 22)]
    assert [list(y) for _, y in chunks] == [[1, 1], [1], [-1, -1], [-1]]


SLOW = ["flights-3m", "nycflights13", "ijcnn1", "beijing-air", "nomao", "internet-ads"]
WITH_HEADER = ["flights-3m", "nycflights13", *(entry.name for entry in LITERATURE)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in datasets.names(None)
    ],
)
def test_the_registry_tells_the_truth(name):
    entry = datasets.describe(name)
    or_skip(datasets.paths, name)
    orders = () if entry.permutations is None else (entry.permutations,)
    for file in (*entry.files, *entry.side_files, *orders):
        raw = datasets.find(file).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == file.sha256
        text = bz2.decompress(raw) if file.name.endswith(".bz2") else raw
        assert hashlib.sha256(text.replace(b"\r", b"")).hexdigest() == file.text_sha256
        assert text.count(b"\n") - (name in WITH_HEADER) == file.rows
    if entry.read is not None:
        X, _ = datasets.load(name)
        assert X.shape == (entry.rows, entry.features)


def test_entries_are_frozen_and_complete():
    for name in datasets.names(None):
        entry = datasets.describe(name)
        assert entry.name == name
        assert entry.licence
        assert entry.source
        if name != "kuairec":  # which nobody here has seen
            assert all(len(file.sha256) == len(file.text_sha256) == 64 for file in entry.files)
        with pytest.raises(dataclasses.FrozenInstanceError):
            entry.licence = "mine"


def test_tables_of_text_are_not_loaded_but_their_columns_can_be_read():
    for call in (datasets.load, datasets.stream, datasets.read):
        with pytest.raises(ValueError, match=r"nycflights13 has text.*read_columns"):
            call("nycflights13")
    path, side = or_skip(datasets.paths, "nycflights13")
    assert next(read_columns(path, ["distance"], chunk=10))["distance"][0] == "1400"
    assert side.name == "nycflights13-weather.csv.bz2"


@pytest.mark.parametrize("name", ["german", "spambase"])
def test_permutations(name):
    orders = or_skip(datasets.permutations, name)
    n_rows = SHAPES[name][0]
    assert orders.shape == (20, n_rows)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(n_rows), (20, 1)))


def test_a_missing_file_is_named_with_its_places(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError) as error:
        datasets.load("cod-rna")
    for part in ("cod-rna.bz2", str(tmp_path / "data"), str(tmp_path / "cache" / "forks")):
        assert part in str(error.value)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_cache_folder_of_linux_is_that_of_xdg(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / "forks"
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in (lambda name: monkeypatch.setenv(name, ""), monkeypatch.delenv):
        unset("XDG_CACHE_HOME")
        assert datasets.cache_folder() == tmp_path / ".cache" / "forks"


def test_the_cache_folder_is_the_second_place(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "forks").mkdir(parents=True)
    (tmp_path / "cache" / "forks" / "svmguide3").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    ((X, y),) = datasets.stream("svmguide3")
    assert X.shape == (2, 22)
    np.testing.assert_array_equal(X[:, :3], [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(y, [1.0, -1.0])


def test_a_file_with_rows_missing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    (tmp_path / "svmguide3").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    with pytest.raises(StreamError, match=r"svmguide3 has 1,243 rows, and 2 are there"):
        datasets.load("svmguide3")


def test_files_are_read_by_their_endings(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,b,label\n1,2,5\n3,4,7\n")
    X, y = datasets.read(str(table))
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, [5, 7])
    np.testing.assert_array_equal(datasets.read_signs(str(table))[1], [-1, 1])
    tabs = tmp_path / "rows.tsv"
    tabs.write_text("a\tlabel\n1\t5\n")
    np.testing.assert_array_equal(datasets.read(str(tabs))[0], [[1]])
    tabs.write_text("a\tlabel\n")
    with pytest.raises(StreamError, match=r"rows.tsv has no rows"):
        datasets.read(str(tabs))


@pytest.mark.parametrize(("labels", "told"), [("11", "got 1: 1"), ("1234", "got 4: 1, 2, 3, ...")])
def test_labels_must_be_of_two_classes(tmp_path, labels, told):
    path = tmp_path / "rows"
    path.write_text("".join(f"{label} 1:1\n" for label in labels))
    with pytest.raises(StreamError, match=f"rows: labels must be of two classes, {told}"):
        datasets.read_signs(str(path))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"must be one of german, .*got 'iris'"):
        datasets.load("iris")
    with pytest.raises(ValueError, match="no published orders of 'w7a'"):
        datasets.permutations("w7a")
    with pytest.raises(ValueError, match="chunk must"):
        datasets.stream("german", chunk=0)


def test_the_form_that_an_address_serves_is_found_too(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert not datasets.at_hand("cod-rna")
    (tmp_path / "cod-rna").write_text("+1 1:0.5 8:2\n")
    assert datasets.at_hand("cod-rna")
    ((X, _),) = datasets.stream("cod-rna")
    np.testing.assert_array_equal(X, [[0.5, 0, 0, 0, 0, 0, 0, 2.0]])


def test_an_order_is_a_permutation_that_its_seed_fixes():
    first = datasets.order(50, seed=3)
    np.testing.assert_array_equal(np.sort(first), np.arange(50))
    np.testing.assert_array_equal(first, datasets.order(50, seed=3))
    assert not np.array_equal(first, datasets.order(50, seed=4))


def test_permutations_of_a_file_count_from_1(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("2,1,3\r\n3,2,1\n\n")
    np.testing.assert_array_equal(datasets.read_permutations(path, 3), [[1, 0, 2], [2, 1, 0]])


@pytest.mark.parametrize(
    "row", ["1,2", "1,2,3,4", "0,1,2", "1,2,2", "1,2,x", "1,2,3.5", "1,2,99999999999999999999"]
)
def test_a_row_that_is_no_permutation_is_named(tmp_path, row):
    path = tmp_path / "orders.csv"
    path.write_text(f"2,1,3\n{row}\n")
    with pytest.raises(StreamError, match=r"orders.csv, row 2: not a permutation .* 1 to 3"):
        datasets.read_permutations(path, 3)
    path.write_text("")
    with pytest.raises(StreamError, match=r"orders.csv is empty"):
        datasets.read_permutations(path, 3)


@pytest.mark.needs_data
def test_published_orders_are_none_where_there_are_none():
    orders = datasets.permutations("german")
    np.testing.assert_array_equal(datasets.published_orders("german"), orders)
    assert len(datasets.published_orders("cod-rna")) == 0
    assert len(datasets.published_orders("some/file.libsvm")) == 0


def _moons(entry, paths, chunk):
    """Read text of three columns, the label last, as CONTRIBUTING tells."""
    for path in paths:
        for X, y in read_csv(path, target="side", chunk=chunk):
            yield X, np.where(y == 1, 1.0, -1.0)


MOONS = datasets.DataSet(
    name="moons",
    files=(datasets.DataFile(name="moons.csv", rows=3),),
    features=2,
    licence="CC0",
    source="this file",
    read=_moons,
)


@pytest.fixture
def moons():
    datasets.register(MOONS)
    yield
    del REGISTRY["moons"]


def test_a_data_set_from_outside_the_package(moons, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="there is a data set 'moons'"):
        datasets.register(MOONS)
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"'moons' needs the file moons\.csv"):
        datasets.load("moons")
    (tmp_path / "moons.csv").write_text("a,b,side\n1,2,0\n3,4,1\n5,6,0\n")
    assert "moons" in datasets.names()
    X, y = datasets.load("moons")
    np.testing.assert_array_equal(X, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(y, [-1, 1, -1])
    assert [len(y) for _, y in datasets.stream("moons", chunk=2)] == [2, 1]
    assert [len(y) for _, y in datasets.prepare("moons")(1)] == [1, 1, 1]
    listed = CliRunner().invoke(main, ["data", "list"])
    (line,) = [line for line in listed.stdout.splitlines() if line.startswith("moons")]
    assert line.split() == ["moons", "3", "2", "classification", "yes", "CC0"]
