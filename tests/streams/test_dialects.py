"""How text tables are written: delimiters, headers, decimal commas and encodings are found."""

import codecs
import math

import pytest

from forks.streams.dialects import Dialect, find_dialect
from forks.streams.encodings import Transcoder
from forks.streams.files import written_number
from forks.streams.formats.sniffing import sniff
from forks.streams.tables import InputFile
from forks.streams.words import Words

NUMBERS = "1.5,2,x\n2.5,3,y\n3.5,4,x\n"


def found(text, **told):
    return find_dialect(text.encode(), Dialect(**told), Words())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters(delimiter):
    text = ("a,b,y\n" + NUMBERS).replace(",", delimiter)
    assert found(text) == Dialect(delimiter, True, ".")
    assert found(text.split("\n", 1)[1]) == Dialect(delimiter, False, ".")


def test_commas_inside_cells_are_no_delimiters():
    assert found('a;b\n"x, y";1\n"z, w";2\n').delimiter == ";"
    assert found('name,n\n"a; b",1\n"c",2\n').delimiter == ","
    assert found("only\n1\n2\n") == Dialect(",", True, ".")
    assert found("a,b,c\n1,2\n3,4,5\n").delimiter == ","  # ragged: to be told by the reader


def test_decimal_commas():
    assert found("a;b\n1,5;2\n2,25;3\n") == Dialect(";", True, ",")
    assert found('a,b\n"1,5",2\n"2,25",3\n') == Dialect(",", True, ",")
    assert found("a;b\n1.5;2\n2.25;3\n").point == "."
    assert found("a,b\n1,5\n2,25\n").point == "."
    assert found("a;b\n1,5;2\n", point=".").point == "."
    assert found('a,b\n"1,234",2\n999,3\n"12,345.5",4\n').point == "."  # thousands


@pytest.mark.parametrize(
    ("text", "point", "number"),
    [
        ("1,234", ".", 1234.0),
        (" -12,345,678.25 ", ".", -12345678.25),
        ("1.234,5", ",", 1234.5),
        ("1,5", ",", 1.5),
        ("1,23", ".", None),
        ("1234,567", ".", None),
        ("1,2345", ".", None),
        ("1.23", ",", None),
        ("1_000", ".", None),
        ("$3", ".", 3.0),
        ("-$1,234.50", ".", -1234.5),
        ("4 %", ".", 4.0),
        ("3,50 €", ",", 3.5),
        ("$", ".", None),
        ("3 apples", ".", None),
        ("1.2.3", ".", None),
    ],
)
def test_numbers_with_marks(text, point, number):
    found = written_number(text, point)
    assert found == number if number is not None else math.isnan(found)


def test_columns_with_thousands_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('price,y\n"1,234",1\n999,0\n"1,000,000.5",1\n')
    with InputFile(str(path)) as file:
        (chunk,) = file.chunks()
    assert chunk.X["price"].tolist() == [1234.0, 999.0, 1000000.5]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n", False),
        ("a,b\nx,y\nz,w\n", True),
        ("x,y\nx,w\nz,y\n", False),  # a row like the others
        ("NA,2\n1,3\n", False),
        ("x,2001,2002\n1,2,3\n4,5,6\n", True),
        ("a,b\n", True),
        ("1,2\n", False),
        ("a,b\nNA,NA\n1,2\n", True),
    ],
)
def test_headers(text, header):
    assert found(text).header is header
    assert found(text, header=not header).header is not header


def test_wrong_dialects_are_refused():
    assert Dialect(delimiter="tab").delimiter == "\t"
    for told, fault in [
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"point": ":"}, "decimal must be"),
    ]:
        with pytest.raises(ValueError, match=fault):
            Dialect(**told)


TEXT = "größe,y\n1,ja\n2,nein\n"


def transcoded(raw, size, encoding=None):
    made = Transcoder(encoding)
    parts = [made.feed(raw[i : i + size], False) for i in range(0, len(raw), size)]
    return b"".join([*parts, made.feed(b"", True)]).decode(), made.encoding


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", codecs.BOM_UTF8, "utf-8"),
        ("utf-16-le", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("latin-1", b"", "cp1252"),
    ],
)
def test_encodings_are_found(encoding, mark, name, size):
    assert transcoded(mark + TEXT.encode(encoding), size) == (TEXT, name)
    assert transcoded(mark + TEXT.encode(encoding), size, encoding)[0] == TEXT


def test_text_that_began_as_utf_8_stays_so():
    made = Transcoder(None)
    assert made.feed("größe\n".encode() + b"gr\xf6\n", False) == "größe\ngr".encode()
    with pytest.raises(UnicodeError, match="what follows is not UTF-8 text"):
        made.feed(b"", True)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1 1:0.5 3:2\n-1 2:1\n", "libsvm"),
        ("1 qid:3 0:1\n", "libsvm"),
        ("a,b\n1,2\n", "csv"),
        ("a;b\n1;2\n", "csv"),
        ("1 2 3\n4 5 6\n", "csv"),
        ("% made up\n@RELATION x\n", "arff"),
        ('{"a": 1}\n', "jsonl"),
        ("1 |f a:1 b\n-1 |f c\n", "vw"),
        ("|f a b\n1 0.5 'tag|g c\n", "vw"),
        ("1|2|3\n4|5|6\n", "csv"),
        ("hello world\nand all\n", "libsvm"),
        ("", "libsvm"),
    ],
)
def test_formats_are_found(text, format):
    assert sniff(text.encode()) == format
