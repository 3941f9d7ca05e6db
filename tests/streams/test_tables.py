"""Tables as the command line reads them: gaps, kinds of columns, dialects, several files."""

import bz2
import gzip
import json
import lzma
import os
import sys

import numpy as np
import pytest

from forks.streams import StreamError
from forks.streams.columns import joined
from forks.streams.dialects import Dialect
from forks.streams.tables import Input, InputFile, Told


def write(folder, text, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_text(text, encoding=encoding, newline="")
    return str(path)


def read(path, **options):
    """Return the file and its whole contents."""
    with InputFile(path, **options) as file:
        chunks = list(file.chunks())
    tables = [chunk.X for chunk in chunks]
    y = np.concatenate([chunk.y for chunk in chunks])
    return file, joined(tables), y


def numeric(file):
    return {column.name: column.numeric for column in file.input.columns}


def test_a_column_with_gaps_stays_numeric(tmp_path):
    gaps = ["NA", "nan", "?", "", "null", "N/A", "None"]
    rows = "".join(f"{gap},red,{i % 2}\n{i},NA,{i % 2}\n" for i, gap in enumerate(gaps))
    file, table, y = read(write(tmp_path, "a,colour,y\n" + rows))
    assert numeric(file) == {"a": True, "colour": False}
    np.testing.assert_array_equal(table["a"][1::2], np.arange(7.0))
    assert np.isnan(table["a"][::2]).all()
    assert table["colour"].tolist() == ["red", None] * 7
    np.testing.assert_array_equal(y, np.repeat(np.arange(7) % 2, 2))
    assert file.notes == []


def test_a_few_words_among_numbers_are_said_and_missing(tmp_path):
    cells = [str(i) for i in range(300)]
    cells[7] = cells[200] = "off"
    path = write(tmp_path, "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    file, table, _ = read(path)
    assert numeric(file) == {"a": True}
    assert np.flatnonzero(np.isnan(table["a"])).tolist() == [7, 200]
    assert file.notes == ["column 'a' has numbers, but for 'off' in 2 cells: missing"]
    known = Input.from_json(json.loads(json.dumps(file.input.as_json())))
    _, again, _ = read(path, known=known, chunk=11)
    np.testing.assert_array_equal(again["a"], table["a"])
    cells[100:150] = ["off"] * 50
    path = write(tmp_path, "a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    assert numeric(read(path)[0]) == {"a": False}


def test_a_word_that_comes_late_is_named_with_advice(tmp_path):
    path = write(tmp_path, "a,y\n1,0\n2,1\n3,0\nx,1\n")
    fault = r"t.csv, row 4, column 'a': 'x' is not a number \(na='x' takes it for missing\)"
    with pytest.raises(StreamError, match=fault):
        read(path, chunk=2)
    _, table, _ = read(path, chunk=2, na=("x",))
    assert np.isnan(table["a"][3])


def test_numbers_may_stand_for_missing_values(tmp_path):
    text = "a,k,y\n-999,x,0\n1,-999,1\n"
    _, table, y = read(write(tmp_path, text), na=("-999",))
    np.testing.assert_array_equal(table["a"], [np.nan, 1.0])
    assert table["k"].tolist() == ["x", None]
    lines = '{"a": -999, "y": 0}\n{"a": 1, "y": -999}\n'
    _, table, y = read(write(tmp_path, lines, "t.jsonl"), na=("-999",))
    np.testing.assert_array_equal(table["a"], [np.nan, 1.0])
    np.testing.assert_array_equal(y, [0.0, np.nan])


def test_wide_tables_come_in_smaller_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("forks.streams.formats.cells._MOST_CELLS", 12)
    path = write(tmp_path, "a,b,c,y\n" + "1,2,3,4\n" * 10)
    with InputFile(path) as file:
        assert [chunk.X.shape[0] for chunk in file.chunks()] == [3, 3, 3, 1]


def test_labels_may_be_missing(tmp_path):
    _, _, y = read(write(tmp_path, "a,y\n1,NA\n2,0.5\n3,\n"))
    np.testing.assert_array_equal(y, [np.nan, 0.5, np.nan])
    _, _, y = read(write(tmp_path, "a,y\n1,?\n2,yes\n3,no\n"))
    assert y.tolist() == [None, "yes", "no"]


def test_words_among_few_numbers_are_classes(tmp_path):
    rows = "".join(f"{i},{i % 3}\n" for i in range(300)) + "1,unknown\n"
    file, _, y = read(write(tmp_path, "a,y\n" + rows))
    assert not file.input.label.numeric
    assert set(y.tolist()) == {"0", "1", "2", "unknown"}


def test_columns_by_name_and_pattern(tmp_path):
    path = write(tmp_path, "id,url.a,url.b,n,w,y\n1,2,3,4,0.5,0\n5,6,7,8,2,1\n")
    _, table, _ = read(path, told=Told(drop=["url.*", "id"], weights="w"))
    assert list(table) == ["n"]
    with InputFile(path, told=Told(weights="w")) as file:
        (chunk,) = file.chunks()
    assert chunk.weights.tolist() == [0.5, 2.0]
    assert list(chunk.X) == ["id", "url.a", "url.b", "n"]
    file, table, y = read(path, told=Told(label="n", only=["url.*"], categorical=["*.b"]))
    assert list(table) == ["url.a", "url.b"]
    assert table["url.b"].tolist() == ["3", "7"]
    assert file.kinds == {"url.b": "category"}
    np.testing.assert_array_equal(y, [4.0, 8.0])


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"label": "z"}, r"t.csv has no column 'z'; it has a, b, y"),
        ({"drop": ["z*"]}, r"t.csv has no column 'z\*'; it has a, b, y"),
        ({"drop": ["y"]}, "the label 'y' cannot be dropped"),
        ({"drop": ["?"], "label": "y", "only": ["a"]}, "the label 'y' cannot be dropped"),
        ({"drop": ["a", "b"]}, "has no column but 'y'"),
        ({"numeric": ["a"], "time": ["a"]}, "'a' cannot be both number and time"),
        ({"text": ["y"]}, "'y' is the label or the weights"),
        ({"weights": "y"}, "'y' cannot be both the label and the weights"),
        ({"weights": "b"}, r"t.csv, row 2, column 'b': '-1' is no weight"),
        ({"numeric": ["c"], "label": "y"}, "has no column 'c'"),
        ({"categorical": ["b"], "drop": ["b"]}, "'b' is told to be category, but left out"),
        ({"text": ["b"], "only": ["a"]}, "'b' is told to be text, but left out"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path, told, fault):
    path = write(tmp_path, "a,b,y\n1,2,0\n1,-1,0\n")
    with pytest.raises(ValueError, match=fault):
        read(path, told=Told(**told))


def test_a_pattern_of_kinds_may_match_what_is_left_out(tmp_path):
    path = write(tmp_path, "a,b,y\n1,2,0\n1,-1,0\n")
    assert read(path, told=Told(categorical=["[ab]"], drop=["b"]))[0].kinds == {"a": "category"}


def test_files_of_rows_and_of_tables_are_no_stream(tmp_path):
    table, rows = write(tmp_path, "a,b,y\n1,2,0\n1,-1,0\n"), tmp_path / "u.svm"
    rows.write_text("1 1:2 2:3\n")
    with pytest.raises(ValueError, match=r"u.svm is libsvm, but the files before it are csv"):
        read([table, str(rows)])


@pytest.mark.parametrize(
    ("text", "encoding", "note"),
    [
        ("größe;y\n1,5;ja\n2,5;nein\n", "utf-8", "semicolons, header, decimal commas"),
        (
            "größe;y\n1,5;ja\n2,5;nein\n",
            "latin-1",
            "semicolons, header, decimal commas, cp1252 text",
        ),
        (
            "größe;y\n1,5;ja\n2,5;nein\n",
            "utf-16",
            "semicolons, header, decimal commas, utf-16-le text",
        ),
        ("größe\ty\r\n1.5\tja\r\n2.5\tnein\r\n", "utf-8", "tabs, header"),
        ("größe,y\r1.5,ja\r2.5,nein\r", "utf-8", None),
    ],
)
def test_dialects_are_found_and_said(tmp_path, text, encoding, note):
    path = write(tmp_path, text, encoding=encoding)
    file, table, y = read(path)
    assert file.notes == ([] if note is None else [f"{path}: {note}"])
    assert table["größe"].tolist() == [1.5, 2.5]
    assert y.tolist() == ["ja", "nein"]


def test_a_table_without_a_header(tmp_path):
    path = write(tmp_path, "1,2,no\n3,4,yes\n5,,no\n", "t.data")
    file, table, y = read(path)
    assert list(table) == ["c1", "c2"]
    assert file.input.label.name == "c3"
    assert y.tolist() == ["no", "yes", "no"]
    assert file.notes == [f"{path}: commas, no header"]
    file, table, y = read(path, dialect=Dialect(header=True), told=Told(label="no"))
    assert list(table) == ["1", "2"]
    named = write(tmp_path, ",a,y\n0,5,1\n1,6,0\n")
    assert list(read(named)[1]) == ["c1", "a"]


def test_several_files_are_one_stream(tmp_path):
    one = write(tmp_path, "a,b,y\n1,x,0\n2,y,1\n", "1.csv")
    two = write(tmp_path, '{"y": 1, "b": "z", "a": 3}\n{"y": 0, "a": 4}\n', "2.jsonl")
    file, table, y = read([one, two])
    assert table["a"].tolist() == [1, 2, 3, 4]
    assert table["b"].tolist() == ["x", "y", "z", None]
    np.testing.assert_array_equal(y, [0, 1, 1, 0])
    assert file.where(1) == f"{one}, row 2"
    assert file.where(2) == f"{two}, row 1"
    bad = write(tmp_path, "a,b,y\n1,x,0\nq,x,0\n", "3.csv")
    with pytest.raises(StreamError, match=r"3.csv, row 2, column 'a': 'q'"):
        read([one, bad])
    with pytest.raises(StreamError, match=r"4.csv has no column 'b'"):
        read([one, write(tmp_path, "a,y\n1,0\n", "4.csv")])


def test_rows_of_numbers_have_no_columns_to_name(tmp_path):
    path = write(tmp_path, "1 1:2\n", "t.svm")
    with pytest.raises(ValueError, match=r"t.svm is libsvm, whose rows have no named columns"):
        read(path, told=Told(label="y"))


@pytest.mark.parametrize("chunk", [1, 100])
def test_libsvm_from_0(tmp_path, chunk):
    path = write(tmp_path, "1 1:5\n0 0:2 2:3\n", "t.svm")
    with InputFile(path, chunk=chunk) as file:
        X = np.concatenate([part.X for part in file.chunks()])
    np.testing.assert_array_equal(X, [[0, 5, 0], [2, 0, 3]])
    with (
        InputFile(path, zero_based=False) as file,
        pytest.raises(StreamError, match="row 2: index 0"),
    ):
        list(file.chunks())


def test_times_and_booleans_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    days = np.array(["2001-01-01", "2001-01-02", "NaT"], "M8[D]")
    columns = {
        "day": days,
        "kind": pa.array(["1", "2", None]).dictionary_encode(),
        "n": pa.array([1, None, 3]),
        "list": [[1], [], [2]],
        "y": [True, False, True],
    }
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns), path)
    file, table, y = read(str(path))
    assert numeric(file) == {"day": False, "kind": False, "n": True, "list": False}
    assert table["day"].dtype.kind == "M"
    assert table["kind"].tolist() == ["1", "2", None]
    np.testing.assert_array_equal(table["n"], [1, np.nan, 3])
    assert y.tolist() == ["True", "False", "True"]


def test_excel_files_and_json_arrays_get_advice(tmp_path):
    for name, text, fault in [
        ("t.xlsx", "PK\x03\x04 and more", "t.xlsx is an Excel file .*: save the table as CSV"),
        ("t.json", '[{"a": 1}]', "t.json is a JSON array: JSON lines have an object in each line"),
    ]:
        with pytest.raises(StreamError, match=fault):
            read(write(tmp_path, text, name))


@pytest.mark.parametrize("header", ["a,b,a,y", "a, a ,b,y", "a,,c2,y"])
def test_a_name_that_two_columns_have_is_an_error(tmp_path, header):
    path = write(tmp_path, f"{header}\n1,2,3,4\n")
    with pytest.raises(StreamError, match=r"t\.csv has 2 columns called '(a|c2)'"):
        read(path)


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        (gzip.compress(b"a,y\n1,2\n"), r"compressed by gzip: .* let its name end in \.gz"),
        (bz2.compress(b"a,y\n1,2\n"), r"compressed by bzip2: .* let its name end in \.bz2"),
        (lzma.compress(b"a,y\n1,2\n"), r"compressed by xz: .* let its name end in \.xz"),
        (b"a,y\n1,2\n\x81\x8d\n", "not UTF-8 or CP1252 text"),
    ],
    ids=["gzip", "bzip2", "xz", "bytes"],  # gzip writes the time, and workers must agree on names
)
@pytest.mark.parametrize("piped", [False, True])
def test_what_is_no_text_is_named(tmp_path, monkeypatch, contents, fault, piped):
    path = tmp_path / "t.csv"
    path.write_bytes(contents)
    name = "standard input" if piped else "t.csv"
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(StreamError, match=f"{name} cannot be read .*{fault}"):
            read("-" if piped else str(path), encoding=None)


def test_a_line_that_is_no_json_is_named(tmp_path):
    path = write(tmp_path, '{"a": 1, "y": 2}\n\n{"a": 3, oops\n', "t.jsonl")
    with pytest.raises(
        StreamError, match=r"t\.jsonl, row 2 \(line 3\): not JSON from character 10"
    ):
        read(path)


def test_an_empty_pipe_is_named(monkeypatch):
    with open(os.devnull) as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(StreamError, match="standard input is empty"):
            read("-")


def test_files_without_rows(tmp_path):
    with InputFile(write(tmp_path, "a,y\n")) as file:
        assert list(file.chunks()) == []
    for text in ("", "\n\n"):
        with pytest.raises(StreamError, match="is empty"), InputFile(write(tmp_path, text)) as file:
            list(file.chunks())


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "xml"},
        {"format": ["csv"]},
        {"version": 3},
        {"columns": [{"name": 1, "numeric": True, "words": []}]},
        {"columns": [{"name": "a", "numeric": 1, "words": []}]},
        {"columns": [{"name": "a", "numeric": True, "words": [1]}]},
        {"columns": [{"name": "a"}]},
        {"label": "y"},
        {"n_features": "3"},
        {"zero_based": 0},
        {"n_features": -1},
        {"na": "x"},
        {"weights": 1},
        {"more": 1},
    ],
)
def test_a_wrong_description_of_an_input_is_refused(tmp_path, changes):
    file, _, _ = read(write(tmp_path, "a,y\n1,0\n"))
    good = file.input.as_json()
    assert Input.from_json(good) == file.input
    with pytest.raises(ValueError, match="the description of the input is wrong"):
        Input.from_json({**good, **changes})


def test_standard_input_is_looked_into(tmp_path, monkeypatch):
    path = tmp_path / "t"
    path.write_text("a;y\n1,5;0\n2,5;1\n")
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        found, table, y = read("-", chunk=1)
    assert found.input.format == "csv"
    assert table["a"].tolist() == [1.5, 2.5]
    np.testing.assert_array_equal(y, [0, 1])
