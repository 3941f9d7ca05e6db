"""Cells of text tables as numbers: bit for bit those of Python."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forks.streams.files import open_text
from forks.streams.formats.cells import RowReader
from forks.streams.words import NO_WORDS, Words


def cells_of(folder, text, delimiter=";", point="."):
    path = folder / "cells"
    path.write_bytes(text.encode())
    with open_text(path) as file:
        reader = RowReader(file, delimiter, point)
        reader.first(keep=True)
        return reader.take(10_000)


def numbers(folder, texts, words=NO_WORDS, point="."):
    return cells_of(folder, "".join(f"{text};1\n" for text in texts), point=point).numbers(0, words)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_any_double_is_read_back(tmp_path_factory, values):
    forms = ["{!r}", "{:.17g}", "{:.3f}", "{:e}", " {:.20g}\t"]
    texts = [form.format(value) for value in values for form in forms]
    found = numbers(tmp_path_factory.getbasetemp(), texts)
    expected = np.array([float(text) for text in texts])
    assert not len(found.faults)
    np.testing.assert_array_equal(found.values.view(np.uint64), expected.view(np.uint64))


def test_many_numbers_of_all_sizes(tmp_path):
    rng = np.random.default_rng(0)
    doubles = [struct.unpack("d", rng.bytes(8))[0] for _ in range(4000)]
    texts = [repr(value) for value in doubles if math.isfinite(value)]
    texts += [f"{a}.{b}e{c}" for a, b, c in rng.integers(0, 10**9, (2000, 3)) % [10**9, 10**9, 300]]
    # Halfway between two doubles, and one unit of the last place beside it.
    middles = 2**53 + 1 + 2 * rng.integers(0, 2**50, 500)
    texts += [str(n) for n in middles] + [f"{n - 1}.999" for n in middles]
    texts += [f"{n}.0000001" for n in middles]
    found = numbers(tmp_path, texts)
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(found.values.view(np.uint64), expected.view(np.uint64))


@pytest.mark.parametrize(
    "text",
    ["1_000", "x", "1e", "e5", ".", "-", "+-1", "1.2.3", "1 2", "0x10", "1e400", "inf", "nan"],
)
def test_what_is_no_finite_number_is_a_fault(tmp_path, text):
    assert numbers(tmp_path, ["1", text, "2"]).faults.tolist() == [1]


def test_decimal_commas(tmp_path):
    found = numbers(tmp_path, ["1,5", "-,25", "1.5", "3", "1234567890123456789012,5"], point=",")
    assert found.values[[0, 1, 3]].tolist() == [1.5, -0.25, 3.0]
    assert found.values[4] == 1234567890123456789012.5
    assert found.faults.tolist() == [2]


def test_words_of_missing_cells(tmp_path):
    texts = ["", "NA", "nan", "NaN", "NULL", "null", "None", "?", "N/A", "n/a", " NA ", "#N/A", "1"]
    found = numbers(tmp_path, texts, Words())
    assert found.missing.tolist() == [True] * 12 + [False]
    assert np.isnan(found.values[:-1]).all()
    assert not len(found.faults)
    texts = ["-999", "NA", "missing", "1", "-999.0"]
    found = numbers(tmp_path, texts, Words(["-999", "missing"]))
    assert found.missing.tolist() == [True, True, True, False, True]
    assert np.isnan(found.values).tolist() == found.missing.tolist()
    assert numbers(tmp_path, ["NA"]).faults.tolist() == [0]


def test_different_texts_are_numbered_as_they_come(tmp_path):
    words = ["b", "a", "b", "", "größer", "a", 'say ""so""', "NA"]
    cells = cells_of(tmp_path, "".join(f'"{word}";1\n' for word in words))
    codes, values = cells.values(0)
    expected = [word.replace('""', '"') for word in words]
    assert [values[code] for code in codes] == expected
    assert values == list(dict.fromkeys(expected))
    texts = cells.objects(0, Words()).tolist()
    assert texts == ["b", "a", "b", None, "größer", "a", 'say "so"', None]
