"""What every format of the table can do, and a format that is added from outside the package."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from json_lines import JSON_LINES
from scipy import sparse
from typer.testing import CliRunner

from forks.cli import main
from forks.streams import StreamError, open_stream, read_columns
from forks.streams.formats import FORMATS, Format, format_of, register
from forks.streams.tables import InputFile

BUILT_IN = list(FORMATS)


@pytest.fixture(autouse=True)
def json_lines():
    register(JSON_LINES)
    yield
    del FORMATS["jsonl"]


@pytest.fixture(params=[*BUILT_IN, "jsonl"])
def format(request):
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    return FORMATS[request.param]


@pytest.fixture
def path(format, tmp_path):
    path = tmp_path / f"rows{format.endings[0]}"
    path.write_bytes(format.example())
    return path


def whole(chunks):
    rows, labels = zip(*chunks, strict=True)
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
        with pytest.raises(ValueError, match=r"path must end in \.csv, \.tsv, .*\.jsonl"):
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


def test_the_command_line_reads_the_example(format, path):
    expected = whole(open_stream(path, **options(format)))
    with InputFile(str(path)) as file:
        equal(whole(file.chunks()), expected)
    assert file.input.format == format.name
    with InputFile(str(path), known=file.input, chunk=1) as again:
        equal(whole(again.chunks()), expected)


def test_text_may_be_compressed_and_come_from_standard_input(format, path, monkeypatch):
    expected = whole(open_stream(path, **options(format)))
    raw = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", raw)
    if not format.text:
        with pytest.raises(ValueError, match=f"{format.name} cannot be read from standard input"):
            open_stream("-", format=format.name, **options(format))
        return
    with InputFile("-", format=format.name, features=expected[0].shape[1], chunk=1) as file:
        equal(whole(file.chunks()), expected)
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
    assert format_of("ijcnn1.t").name == "libsvm"
    assert format_of("rows.csv", "tsv").name == "tsv"
    with pytest.raises(ValueError, match=r"format must be one of 'libsvm', .*'jsonl', got 'xml'"):
        format_of("rows", "xml")
    with pytest.raises(ValueError, match=r"needs format=, one of libsvm, csv, tsv, jsonl$"):
        format_of("-")


def test_names_and_endings_are_taken_once():
    with pytest.raises(ValueError, match="the name or an ending of the format jsonl"):
        register(JSON_LINES)


def call(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


@pytest.fixture
def rows(tmp_path):
    """The same rows as JSON lines and as CSV."""
    rng = np.random.default_rng(0)
    cells = zip(rng.normal(size=300), rng.choice(["red", "blue"], 300), strict=True)
    lines = [(repr(float(a)), colour, int(a > 0) if colour == "red" else 0) for a, colour in cells]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"a": {a}, "colour": "{c}", "y": {y}}}\n' for a, c, y in lines))
    table = tmp_path / "rows.csv"
    table.write_text("a,colour,y\n" + "".join(f"{a},{c},{y}\n" for a, c, y in lines))
    return path, table


def test_the_command_line_knows_a_format_from_outside(rows, tmp_path):
    path, table = rows
    bare = tmp_path / "rows"
    bare.write_bytes(path.read_bytes())
    for i, arguments in enumerate(
        [(table,), (path,), (bare, "--format", "jsonl"), ("-", "--format", "jsonl")]
    ):
        out = tmp_path / f"predictions {i}"
        result = call("run", *arguments, "--predictions", out, input=path.read_bytes())
        assert result.exit_code == 0, result.output
        assert out.read_bytes() == (tmp_path / "predictions 0").read_bytes()


def test_help_and_errors_of_the_command_line_list_the_formats(rows, tmp_path):
    for command in ("run", "predict"):
        text = " ".join(call(command, "--help").stdout.split())
        assert "libsvm, csv, tsv, parquet, jsonl." in text
        assert ".tsv, .parquet, .jsonl; others are LIBSVM" in text
    result = call("run", rows[0], "--format", "xml")
    choices = "'libsvm', 'csv', 'tsv', 'parquet', 'jsonl'"
    assert f"--format must be one of {choices}, got 'xml'" in result.stderr
    result = call("run", "-", input=b"")
    assert "standard input needs --format, one of libsvm, csv, tsv, jsonl" in result.stderr


def test_the_fuzzer_has_a_target_for_a_format_from_outside(monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "fuzz")
    from fuzz_files import targets
    from fuzzing import fuzz

    (target,) = [target for target in targets() if target.name == "jsonl"]
    counts = fuzz(target, 300, seed=0, folder=tmp_path)
    assert counts.accepted > 10
    assert counts.refused > 100
