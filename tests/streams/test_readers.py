"""Streams from files: right chunks, flat memory, and errors that name the file and the row."""

import bz2
import csv
import gzip
import io
import lzma
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from forks.streams import (
    StreamError,
    open_stream,
    read_arrays,
    read_columns,
    read_csv,
    read_libsvm,
    read_parquet,
)
from forks.streams.files import TextFile

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": lambda raw: bz2.compress(raw, 1),  # the smallest blocks: more of a cut file is left
    ".xz": lzma.compress,
}
ROWS = np.random.default_rng(0).normal(size=(25, 3)).round(3)
LABELS = np.arange(25.0) - 12


def whole(stream):
    chunks = list(stream)
    rows = [X.toarray() if sparse.issparse(X) else X for X, _ in chunks]
    return np.concatenate(rows), np.concatenate([y for _, y in chunks])


def libsvm_text(X=ROWS, y=LABELS):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    return file.getvalue()


def csv_text(delimiter=","):
    lines = [delimiter.join(["a", "b", "c", "y"])]
    lines += [delimiter.join(map(str, [*x, y])) for x, y in zip(ROWS, LABELS, strict=True)]
    return "\n".join(lines).encode()


def write(folder, name, raw):
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.fixture
def parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow.parquet import write_table

    def make(**columns):
        write_table(pyarrow.table(columns), tmp_path / "t.parquet", row_group_size=10)
        return tmp_path / "t.parquet"

    return make


def table_of_rows():
    return {"a": ROWS[:, 0], "b": ROWS[:, 1], "c": ROWS[:, 2], "y": LABELS}


@pytest.mark.parametrize("chunk", [1, 7, 25, 1_000])
@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("rows.libsvm", libsvm_text(), {}),
        ("rows.svm", libsvm_text(), {"n_features": 3}),
        ("rows.txt", libsvm_text(), {}),
        ("rows", libsvm_text(), {}),
        ("german.numer", libsvm_text(), {}),
        ("rows.csv", csv_text(), {"target": "y"}),
        ("ROWS.TSV", csv_text("\t"), {"target": "y"}),
    ],
)
def test_a_stream_is_its_file_whatever_the_chunk(tmp_path, name, text, options, packed, chunk):
    path = write(tmp_path, name + packed, PACKERS[packed](text))
    chunks = list(open_stream(path, chunk=chunk, **options))
    assert [len(y) for _, y in chunks] == [chunk] * (25 // chunk) + [25 % chunk] * (25 % chunk > 0)
    for X, y in chunks:
        assert X.shape == (len(y), 3)
        assert X.dtype == y.dtype == np.float64
        assert X.flags.c_contiguous
        assert X.flags.writeable
    X, y = whole(iter(chunks))
    np.testing.assert_array_equal(X, ROWS)
    np.testing.assert_array_equal(y, LABELS)


@pytest.mark.parametrize("chunk", [1, 7, 25, 1_000])
def test_a_parquet_stream_is_its_file_whatever_the_chunk(parquet, chunk):
    path = parquet(**table_of_rows())
    X, y = whole(open_stream(path, target="y", chunk=chunk))
    np.testing.assert_array_equal(X, ROWS)
    np.testing.assert_array_equal(y, LABELS)
    X, y = whole(read_parquet(path, target="a", features=["y", "b"], chunk=chunk))
    np.testing.assert_array_equal(X, np.column_stack([LABELS, ROWS[:, 1]]))
    np.testing.assert_array_equal(y, ROWS[:, 0])


@pytest.mark.parametrize("X", [ROWS, sparse.csr_matrix(ROWS), sparse.coo_array(ROWS)])
def test_arrays_come_in_chunks(X):
    chunks = list(read_arrays(X, LABELS, chunk=10))
    assert [X.shape for X, _ in chunks] == [(10, 3), (10, 3), (5, 3)]
    assert all(sparse.issparse(rows) == sparse.issparse(X) for rows, _ in chunks)
    np.testing.assert_array_equal(whole(iter(chunks))[0], ROWS)
    np.testing.assert_array_equal(whole(iter(chunks))[1], LABELS)


def test_arrays_of_other_kinds_become_floats():
    ((X, y),) = read_arrays(np.asfortranarray(ROWS.astype(np.int32)), ["x"] * 25)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert list(y) == ["x"] * 25


def test_libsvm_skips_blank_lines_and_comments(tmp_path):
    text = b"# head\n\n+1 1:2 3:4 # tail\r\n   \n  # more\n-1\n2.5 2:1\n\n"
    chunks = list(read_libsvm(write(tmp_path, "f", text), chunk=2, dense=True))
    assert [len(y) for _, y in chunks] == [2, 1]
    X, y = whole(iter(chunks))
    np.testing.assert_array_equal(X, [[2, 0, 4], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(y, [1, -1, 2.5])


def test_the_first_chunk_decides_whether_rows_are_dense(tmp_path):
    sparse_row, full_row = b"1 8:1\n", b"1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1\n"
    path = write(tmp_path, "f", sparse_row * 2 + full_row * 2)
    assert all(sparse.issparse(X) for X, _ in read_libsvm(path, chunk=2))
    assert not any(sparse.issparse(X) for X, _ in read_libsvm(path, chunk=4))
    assert not any(sparse.issparse(X) for X, _ in read_libsvm(path, chunk=2, dense=True))
    assert all(sparse.issparse(X) for X, _ in read_libsvm(path, chunk=4, dense=False))


@given(
    table=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), max_size=8), st.floats(-1e9, 1e9)),
        min_size=1,
        max_size=12,
    ),
    chunk=st.integers(1, 13),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read_back(tmp_path_factory, table, chunk, ends):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        # Not every csv leaves no carriage return unquoted where lines end without it.
        quoting = csv.QUOTE_MINIMAL if ends == "\r\n" else csv.QUOTE_NONNUMERIC
        writer = csv.writer(file, lineterminator=ends, quoting=quoting)
        writer.writerow(["text", "number", "y"])
        writer.writerows([text, number, i] for i, (text, number) in enumerate(table))
    X, y = whole(read_csv(path, target="y", features=["number"], chunk=chunk))
    np.testing.assert_array_equal(X[:, 0], [number for _, number in table])
    np.testing.assert_array_equal(y, np.arange(len(table)))
    columns = list(read_columns(path, ["y", "text"], chunk=chunk))
    # NumPy's text has no zero characters at its end
    expected = [text.rstrip("\0") for text, _ in table]
    assert [text for column in columns for text in column["text"]] == expected
    assert [len(column["y"]) for column in columns[:-1]] == [chunk] * (len(columns) - 1)


def test_csv_columns_by_name_and_by_number(tmp_path):
    named = write(tmp_path, "f.csv", "\ufeffa,é,y\n1,2,3\n\n4,5,6\n".encode())
    X, y = whole(read_csv(named, target="a", features=["y", "é"]))
    np.testing.assert_array_equal(X, [[3, 2], [6, 5]])
    np.testing.assert_array_equal(y, [1, 4])
    bare = write(tmp_path, "g.csv", b"1;2;3\n4;5;6")
    X, y = whole(read_csv(bare, target=-1, header=False, delimiter=";"))
    np.testing.assert_array_equal(X, [[1, 2], [4, 5]])
    np.testing.assert_array_equal(y, [3, 6])
    X, y = whole(read_csv(bare, target=0, features=[2], header=False, delimiter=";"))
    np.testing.assert_array_equal(X, [[3], [6]])


def test_text_columns_come_as_they_stand(tmp_path):
    path = write(
        tmp_path, "f.csv.gz", gzip.compress(b'to,n,at\n"JFK, NY",NA,1\nLGA,,"say ""so"""\n')
    )
    (columns,) = read_columns(path, ["at", "to", "n"])
    assert {name: list(cells) for name, cells in columns.items()} == {
        "at": ["1", 'say "so"'],
        "to": ["JFK, NY", "LGA"],
        "n": ["NA", ""],
    }
    assert all(cells.dtype.kind == "U" for cells in columns.values())


def test_raw_columns_of_parquet_keep_their_kind(parquet):
    path = parquet(text=["a", None], n=[1, 2], when=np.array(["2001-01-01", "2001-01-02"], "M8[s]"))
    (columns,) = read_columns(path, ["when", "n", "text"])
    assert list(columns) == ["when", "n", "text"]
    assert columns["n"].dtype == np.int64
    assert columns["n"].flags.writeable
    assert columns["when"].dtype.kind == "M"
    assert list(columns["text"]) == ["a", None]


def test_a_file_without_rows_gives_no_chunk(tmp_path):
    assert list(read_libsvm(write(tmp_path, "f", b"\n# nothing\n"))) == []
    assert list(read_csv(write(tmp_path, "f.csv", b"a,y\n"), target="y")) == []
    assert list(read_columns(write(tmp_path, "f.csv", b"a,y\n"), ["a"])) == []
    assert list(read_arrays(np.empty((0, 2)), [])) == []


def test_a_parquet_file_without_rows_gives_no_chunk(parquet):
    path = parquet(a=np.empty(0), y=np.empty(0))
    assert list(read_parquet(path, target="y")) == []
    assert list(read_columns(path, ["a"])) == []


GOOD_ROW = b"1 1:1 3:1\n"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (b"1 0:1", "index 0, but indices count from 1"),
        (b"1 2:1 2:1", "index 2 follows 2"),
        (b"1 3:1 1:1", "index 1 follows 3"),
        (b"1 1:x", "'1:x' is not a finite number"),
        (b"1 1:nan", "'1:nan' is not a finite number"),
        (b"1 1:1e999", "'1:1e999' is not a finite number"),
        (b"1 one:1", "'one:1' is not of the form index:value"),
        (b"1 -1:1", "'-1:1' is not of the form index:value"),
        (b"1 1", "'1' is not of the form index:value"),
        (b"yes 1:1", "the label 'yes'"),
        (b"inf 1:1", "the label 'inf'"),
        (b"1 1:1 9:1", "index 9 is larger than n_features, which is 3"),
    ],
)
@pytest.mark.parametrize("chunk", [2, 100])
def test_a_bad_libsvm_row_is_named(tmp_path, row, fault, chunk):
    path = write(tmp_path, "f", GOOD_ROW * 3 + row + b"\n" + GOOD_ROW)
    with pytest.raises(StreamError, match=r"f, row 4: ") as error:
        list(read_libsvm(path, n_features=3, chunk=chunk))
    assert fault in str(error.value)
    path = write(tmp_path, "f", GOOD_ROW * 2 + b"\n#\n" + GOOD_ROW + row)
    with pytest.raises(StreamError, match=r"f, row 4 \(line 6\): "):
        list(read_libsvm(path, n_features=3, chunk=chunk))


@pytest.mark.parametrize("row", [b"1 99999999999:1", b"1 3000000000:1"])
def test_an_index_that_no_matrix_can_have_is_named(tmp_path, row):
    with pytest.raises(StreamError, match=r"f, row 2: index \d+ is larger than"):
        list(read_libsvm(write(tmp_path, "f", GOOD_ROW + row)))


def test_a_file_of_another_format_is_not_taken_for_libsvm(tmp_path):
    with pytest.raises(StreamError, match=r"f, row 1 to 2: not one entry of the form index:value"):
        list(open_stream(write(tmp_path, "f", b"hello world\nand all\n")))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (b"1,,3", ", column 'b': the cell is empty"),
        (b"1,2,NA", ", column 'y': 'NA' is not a finite number"),
        (b"nan,2,3", ", column 'a': 'nan' is not a finite number"),
        (b"1,inf,3", ", column 'b': 'inf' is not a finite number"),
        (b"1,1_000,3", ", column 'b': '1_000' is not a finite number"),
        (b'1,"2,5",3', ", column 'b': '2,5' is not a finite number"),
        (b"1,#,3", ", column 'b': '#' is not a finite number"),
        (b"1", ": 1 field, but the first row has 3"),
        (b"1,2", ": 2 fields, but the first row has 3"),
        (b"1,2,3,4", ": 4 fields, but the first row has 3"),
        (b'1,"2"2,3', ": ',' expected after"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_a_bad_csv_row_is_named(tmp_path, row, fault, chunk):
    path = write(tmp_path, "f.csv", b"a,b,y\n" + b"1,2,3\n" * 3 + row + b"\n4,5,6\n")
    with pytest.raises(StreamError) as error:
        list(read_csv(path, target="y", chunk=chunk))
    assert str(error.value).startswith(f"{path}, row 4 (line 5){fault}")


def test_a_quote_that_never_ends_is_named(tmp_path):
    path = write(tmp_path, "f.csv", b'a,y\n1,2\n3,"4\n5,6\n')
    for read in (lambda: read_csv(path, target="y"), lambda: read_columns(path, ["a"])):
        with pytest.raises(StreamError, match=r"f.csv, row 2 \(line 4\): "):
            list(read())


@pytest.mark.parametrize(
    ("cells", "fault"),
    [([1.0, None, 2.0], "the cell is empty"), ([1.0, float("nan"), 2.0], "nan is not a finite")],
)
def test_a_bad_parquet_cell_is_named(parquet, cells, fault):
    path = parquet(a=[0.0] * 11 + cells, y=[1] * 14)
    with pytest.raises(StreamError, match=rf"t.parquet, row 13, column 'a': {fault}"):
        list(read_parquet(path, target="y", chunk=6))


def test_a_parquet_column_of_text_is_refused(parquet):
    with pytest.raises(StreamError, match="column 'a' must have numbers, and has string"):
        read_parquet(parquet(a=["1", "2"], y=[1, 2]), target="y")


def test_a_damaged_parquet_file_is_named(parquet, tmp_path):
    raw = bytearray(parquet(**table_of_rows()).read_bytes())
    with pytest.raises(StreamError, match=r"cut.parquet is not a Parquet file, or is damaged"):
        read_parquet(write(tmp_path, "cut.parquet", raw[:-20]), target="y")
    raw[4:200] = bytes(196)
    with pytest.raises(StreamError, match=r"bad.parquet cannot be read beyond row"):
        list(read_parquet(write(tmp_path, "bad.parquet", raw), target="y"))


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = write(tmp_path, "f.parquet", b"")
    for read in (
        lambda: read_parquet(path, target="y"),
        lambda: read_columns(path, ["y"]),
    ):
        with pytest.raises(
            ModuleNotFoundError, match=r"f.parquet .* pip install 'forks-learn\[arrow\]'"
        ):
            read()


def many_rows(n):
    """Text that does not compress to nothing, so that a cut in the middle loses rows."""
    values = np.random.default_rng(0).random(n)
    return (
        "".join(f"1 1:{v}\n" for v in values).encode(),
        ("v,y\n" + "".join(f"{v},1\n" for v in values)).encode(),
    )


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("table", [False, True])
def test_a_truncated_file_is_named_with_the_row_reached(tmp_path, packed, table):
    n_rows = 30_000
    raw = PACKERS[packed](many_rows(n_rows)[table])
    path = write(tmp_path, ("f.csv" if table else "f") + packed, raw[: len(raw) // 2])
    options = {"target": "y"} if table else {"n_features": 1}
    chunks = []
    with pytest.raises(StreamError) as error:
        chunks.extend(open_stream(path, chunk=1_000, **options))
    n_read = sum(len(y) for _, y in chunks)
    words = str(error.value).split()
    assert words[0] == str(path)
    reached = int(words[words.index("row") + 1].rstrip(":"))
    assert n_read <= reached < n_read + 1_000
    assert 0 < reached < n_rows


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz"])
def test_a_corrupt_file_is_named(tmp_path, packed):
    raw = bytearray(PACKERS[packed](many_rows(20_000)[0]))
    raw[len(raw) // 2 :: 7] = bytes(len(raw[len(raw) // 2 :: 7]))
    path = write(tmp_path, "f" + packed, raw)
    with pytest.raises(StreamError, match=f"f{packed} cannot be read beyond row"):
        list(read_libsvm(path))
    path = write(tmp_path, "plain" + packed, GOOD_ROW)
    with pytest.raises(StreamError, match=f"plain{packed} cannot be read beyond row 0"):
        list(read_libsvm(path))


def test_bytes_that_are_not_text_are_named(tmp_path):
    path = write(tmp_path, "f.csv", b"a,y\n1,2\n\xe9,3\n")
    for read in (lambda: read_csv(path, target="y"), lambda: read_columns(path, ["a"])):
        with pytest.raises(StreamError, match=r"f.csv .* row 1 \(line 2\): .* not UTF-8"):
            list(read())


def test_columns_that_are_not_there_are_named_at_once(tmp_path):
    path = write(tmp_path, "f.csv", b"a,b,b\n1,2,3\n")
    told = "has no column 'z'; it has a, b, b"
    with pytest.raises(StreamError, match=f"f.csv {told}"):
        read_csv(path, target="z")
    with pytest.raises(StreamError, match=f"f.csv {told}"):
        read_columns(path, ["a", "z"])
    with pytest.raises(StreamError, match=r"f.csv has 2 columns called 'b'"):
        read_csv(path, target="a", features=["b"])
    with pytest.raises(StreamError, match=r"f.csv has no column 3; it has 3 columns"):
        read_csv(path, target=3, header=False)


def test_columns_that_are_not_in_parquet_are_named_at_once(parquet):
    path = parquet(a=[1], b=[2])
    told = "has no column 'z'; it has a, b"
    with pytest.raises(StreamError, match=f"t.parquet {told}"):
        read_parquet(path, target="a", features=["z"])
    with pytest.raises(StreamError, match=f"t.parquet {told}"):
        read_columns(path, ["z"])


def test_bad_arguments_are_named_at_once(tmp_path):
    table = write(tmp_path, "f.csv", b"a,y\n1,2\n")
    for call, told in [
        (lambda: read_libsvm(table, chunk=0), "chunk must .* got 0"),
        (lambda: read_arrays(ROWS, LABELS, chunk=2.5), "chunk must .* got 2.5"),
        (lambda: read_arrays(ROWS, LABELS[1:]), r"y must have the shape \(25,\).* got \(24,\)"),
        (lambda: read_arrays(ROWS[0], LABELS), "X must have two dimensions, got 1"),
        (lambda: read_libsvm(table, n_features=0), "n_features must .* got 0"),
        (lambda: read_csv(table, target="y", delimiter=";;"), "delimiter must .* got ';;'"),
        (lambda: read_csv(table, target=1), "target must be a name in the header .* got 1"),
        (lambda: read_csv(table, target="y", header=False), "target must be a number.* got 'y'"),
        (lambda: read_csv(table, target="y", features="a"), "features must be a sequence .*'a'"),
        (lambda: read_csv(table, target="y", features=[]), "features must name at least one"),
        (lambda: read_columns(table, "a"), "names must be a sequence of columns, got 'a'"),
        (lambda: read_columns(write(tmp_path, "f.svm", b""), ["a"]), "path must end in .csv"),
    ]:
        with pytest.raises(ValueError, match=told):
            call()
    with pytest.raises(StreamError, match=r"empty.csv is empty"):
        read_csv(write(tmp_path, "empty.csv", b"\n"), target="y")
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv"):
        open_stream(tmp_path / "nowhere.csv", target="y")
    with pytest.raises(IsADirectoryError, match="path must be a file"):
        open_stream(tmp_path)
    with pytest.raises(TypeError, match="target"):
        open_stream(write(tmp_path, "f.svm", b""), target="y")


@pytest.fixture
def opened(monkeypatch):
    """The files that were opened as text."""
    files, enter = [], TextFile.__enter__

    def watched(self):
        files.append(enter(self)._file)
        return self

    monkeypatch.setattr(TextFile, "__enter__", watched)
    return files


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("table", [False, True])
def test_a_stream_left_early_closes_its_file(tmp_path, opened, table, packed):
    raw = PACKERS[packed](many_rows(500)[table])
    path = write(tmp_path, ("f.csv" if table else "f") + packed, raw)
    streams = [open_stream(path, chunk=2, **({"target": "y"} if table else {}))]
    if table:
        streams.append(read_columns(path, ["v"], chunk=2))
    for stream in streams:
        next(stream)
        assert not opened[-1].closed
        stream.close()
        assert all(file.closed for file in opened)


def test_a_faulty_file_is_closed(tmp_path, opened):
    with pytest.raises(StreamError):
        list(read_libsvm(write(tmp_path, "f", GOOD_ROW + b"x\n")))
    with pytest.raises(StreamError):
        list(read_csv(write(tmp_path, "f.csv", b"a,y\n1,x\n"), target="y"))
    assert len(opened) == 4
    assert all(file.closed for file in opened)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("f", lambda path: read_libsvm(path, chunk=500)),
        ("f.csv", lambda path: read_csv(path, target="y", chunk=500)),
        ("f.csv", lambda path: read_columns(path, ["v"], chunk=500)),
    ],
)
def test_memory_stays_flat_over_a_long_file(tmp_path, name, read):
    raw = many_rows(100_000)[name == "f.csv"]
    path = write(tmp_path, name, raw)
    tracemalloc.start()
    for _ in read(path):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(raw) / 3


def test_columns_of_one_name_are_an_error(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [pa.array([1.0]), pa.array([2.0]), pa.array([3.0])]
    path = tmp_path / "twice.parquet"
    parquet.write_table(pa.Table.from_arrays(columns, ["a", "a", "y"]), path)
    with pytest.raises(StreamError, match=r"twice\.parquet has 2 columns called 'a'"):
        open_stream(path, target="y")


def test_errors_are_one_short_line_whatever_is_in_the_file(tmp_path):
    path = write(tmp_path, "rows", b"1 1:2\n" + b"9" * 100_000 + b"x 1:1\n")
    with pytest.raises(StreamError, match="row 2: the label '999") as caught:
        list(read_libsvm(path))
    assert len(str(caught.value)) < 1_000
    path = write(tmp_path, "table.csv", b'"a\nb\x1b[31m\x00","c"\n1,2\n')
    with pytest.raises(StreamError, match="has no column 'y'") as caught:
        read_csv(path, target="y")
    assert str(caught.value).isprintable()


def test_an_index_of_thousands_of_digits_is_too_large(tmp_path):
    path = write(tmp_path, "rows", b"1 1:2\n1 2:1 " + b"9" * 5_000 + b":1\n")
    for n_features in (None, 3):
        with pytest.raises(StreamError, match=r"row 2: index 999.* is larger than 2147483647"):
            list(read_libsvm(path, n_features=n_features))


def test_names_and_texts_of_parquet_that_are_no_text_are_faults(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    table = pa.table({"word": ["abcdefgh", "ijklmnop"], "y": [1.0, 2.0]})
    parquet.write_table(table, file, compression="none", store_schema=False, write_statistics=False)
    raw = file.getvalue()
    path = write(tmp_path, "text.parquet", raw.replace(b"ijklmnop", b"ijkl\xff\xffop"))
    with pytest.raises(StreamError, match=r"text\.parquet cannot be read beyond row 0"):
        list(read_columns(path, ["word"]))
    path = write(tmp_path, "names.parquet", raw.replace(b"word", b"wo\xc3d"))
    with pytest.raises(StreamError, match=r"names\.parquet is not a Parquet file, or is damaged"):
        read_parquet(path, target="y")
