"""What every format of the table can do, and a format that is added from outside the package."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from logfmt import LOGFMT
from scipy import sparse
from typer.testing import CliRunner

from forks.cli import main
from forks.streams import StreamError, open_stream, read_columns
from forks.streams.columns import RawTable
from forks.streams.formats import FORMATS, Format, format_of, register
from forks.streams.tables import Input, InputFile

BUILT_IN = list(FORMATS)


@pytest.fixture(autouse=True)
def logfmt():
    register(LOGFMT)
    yield
    del FORMATS["logfmt"]


@pytest.fixture(params=[*BUILT_IN, "logfmt"])
def format(request):
    if request.param in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    return FORMATS[request.param]


@pytest.fixture
def path(format, tmp_path):
    path = tmp_path / f"rows{format.endings[0]}"
    path.write_bytes(format.example())
    return path


def whole(chunks):
    rows, labels = zip(*(chunk[:2] for chunk in chunks), strict=True)
    rows = [X.toarray() if sparse.issparse(X) else X for X in rows]
    return np.concatenate(rows), np.concatenate(labels)


def options(format: Format):
    return {} if format.columns is None else {"target": "y"}


def equal(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_example_is_read_in_any_chunks(format, path):
    expected = whole(open_stream(path, **options(format)))
    assert len(expected[0]) == len(expected[1]) > 1
    assert expected[0].dtype == np.float64
    assert np.isfinite(expected[0]).all()
    for chunk in (1, 2, 1000):
        equal(whole(open_stream(path, chunk=chunk, **options(format))), expected)
    other = path.rename(path.with_name("rows"))
    equal(whole(open_stream(other, format=format.name, **options(format))), expected)


def test_columns_of_the_example(format, path):
    if format.columns is None:
        with pytest.raises(ValueError, match=r"path must end in \.csv, \.tsv, .*\.log"):
            read_columns(path, ["y"])
        return
    (table,) = read_columns(path, ["y", "a"])
    assert list(table) == ["y", "a"]
    (table,) = format.columns(path, None, 1000)
    assert list(table) == ["a", "b", "y"]
    X, y = whole(open_stream(path, target="y", features=["b", "a"]))
    np.testing.assert_array_equal(y, table["y"].astype(float))
    np.testing.assert_array_equal(X[:, 0], table["b"].astype(float))
    for read in (lambda: read_columns(path, ["z"]), lambda: open_stream(path, target="z")):
        with pytest.raises(StreamError, match=r"rows\..* has no column 'z'; it has a, b, y"):
            list(read())


def as_read(chunks):
    """Return the rows and labels of `InputFile`, as numbers."""
    rows, labels = [], []
    for X, y, _ in chunks:
        if isinstance(X, RawTable):
            X = np.column_stack([column.astype(float) for column in X.values()])
        rows.append(X.toarray() if sparse.issparse(X) else X)
        texts = {"True": 1.0, "False": 0.0}
        labels.append(np.array([texts.get(label, label) for label in y.tolist()], float))
    return np.concatenate(rows), np.concatenate(labels)


def test_the_command_line_reads_the_example(format, path):
    expected = whole(open_stream(path, **options(format)))
    with InputFile(str(path)) as file:
        equal(as_read(file.chunks()), expected)
    assert file.input.format == format.name
    known = Input.from_json(json.loads(json.dumps(file.input.as_json())))
    assert known == file.input
    with InputFile(str(path), known=known, chunk=1) as again:
        equal(as_read(again.chunks()), expected)


def test_what_has_no_telling_name_is_looked_into(format, path):
    if format.name == "logfmt":
        return  # from outside: it cannot be known
    bare = path.rename(path.with_name("rows.dat"))
    with InputFile(str(bare)) as file:
        found = as_read(file.chunks())
    assert file.input.format == {"tsv": "csv"}.get(format.name, format.name)
    equal(found, whole(open_stream(bare, format=format.name, **options(format))))


def test_text_may_be_compressed_and_come_from_standard_input(format, path, monkeypatch):
    expected = whole(open_stream(path, **options(format)))
    raw = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", raw)
    if not (format.text or format.piped):
        with pytest.raises(ValueError, match=f"{format.name} cannot be read from standard input"):
            open_stream("-", format=format.name, **options(format))
        return
    if format.name == "arrow":
        return  # its example is a file, which cannot come from a pipe
    width = expected[0].shape[1] if format.columns is None else None
    with InputFile("-", format=format.name, features=width, chunk=1) as file:
        equal(as_read(file.chunks()), expected)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    equal(whole(open_stream(packed, **options(format))), expected)


def test_other_files_are_refused_by_name(format, tmp_path):
    path = tmp_path / f"noise{format.endings[0]}"
    path.write_bytes(b"\xff\xfe\x00 no format at all {1:\n" * 3)
    with pytest.raises(StreamError, match="noise"):
        list(open_stream(path, **options(format)))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(open_stream(tmp_path / f"nowhere{format.endings[0]}", **options(format)))


def test_the_name_of_a_file_shows_its_format():
    assert format_of("a/b.CSV.gz").name == "csv"
    assert format_of(Path("rows.jsonl.xz")).name == "jsonl"
    assert format_of("rows.log").name == "logfmt"
    assert format_of("ijcnn1.t").name == "libsvm"
    assert format_of("rows.csv", "tsv").name == "tsv"
    with pytest.raises(ValueError, match=r"format must be one of 'libsvm', .*'logfmt', got 'xml'"):
        format_of("rows", "xml")
    with pytest.raises(ValueError, match=r"needs format=, one of libsvm, csv, tsv, .*logfmt$"):
        format_of("-")


def test_names_and_endings_are_taken_once():
    with pytest.raises(ValueError, match="the name or an ending of the format logfmt"):
        register(LOGFMT)


def call(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


@pytest.fixture
def rows(tmp_path):
    """The same rows in both formats."""
    rng = np.random.default_rng(0)
    cells = zip(rng.normal(size=300), rng.choice(["red", "blue"], 300), strict=True)
    lines = [(repr(float(a)), colour, int(a > 0) if colour == "red" else 0) for a, colour in cells]
    path = tmp_path / "rows.log"
    path.write_text("".join(f"a={a} colour={c} y={y}\n" for a, c, y in lines))
    table = tmp_path / "rows.csv"
    table.write_text("a,colour,y\n" + "".join(f"{a},{c},{y}\n" for a, c, y in lines))
    return path, table


def test_the_command_line_knows_a_format_from_outside(rows, tmp_path):
    path, table = rows
    bare = tmp_path / "rows"
    bare.write_bytes(path.read_bytes())
    for i, arguments in enumerate(
        [(table,), (path,), (bare, "--format", "logfmt"), ("-", "--format", "logfmt")]
    ):
        out = tmp_path / f"predictions {i}"
        result = call("run", *arguments, "--predictions", out, input=path.read_bytes())
        assert result.exit_code == 0, result.output
        assert out.read_bytes() == (tmp_path / "predictions 0").read_bytes()


def test_help_and_errors_of_the_command_line_list_the_formats(rows, tmp_path):
    for command in ("run", "predict"):
        text = " ".join(call(command, "--help").stdout.split())
        assert "libsvm, csv, tsv, parquet, arrow, jsonl, arff, vw, logfmt." in text
        assert ".arff, .vw, .log. Others are looked into" in text
    result = call("run", rows[0], "--format", "xml")
    choices = ", ".join(map(repr, FORMATS))
    assert f"--format must be one of {choices}, got 'xml'" in result.stderr


def test_the_fuzzer_has_a_target_for_a_format_from_outside(monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "fuzz")
    from fuzz_files import targets
    from fuzzing import fuzz

    (target,) = [target for target in targets() if target.name == "logfmt"]
    counts = fuzz(target, 300, seed=0, folder=tmp_path)
    assert counts.accepted > 10
    assert counts.refused > 100
