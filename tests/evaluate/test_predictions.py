"""Predictions as CSV."""

import csv

import numpy as np
import pytest

from forks.evaluate.predictions import Predictions, column


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def test_columns_have_no_blanks_and_as_many_cells_as_names():
    classes = np.array(["dark blue", "red, or\tso", "white"])
    p = np.array([[0.2, 0.3, 0.5]])
    effects = np.array([["a"]], object), np.array([[0.25]])
    table = Predictions(classes[2:], p, p, np.array(["white"]), effects)
    head, row = rows_of(table.heading(classes) + table.lines(6))
    assert head[2:5] == ["score_dark_blue", "score_red,_or_so", "score_white"]
    assert head[5:8] == ["probability_dark_blue", "probability_red,_or_so", "probability_white"]
    assert head[8:] == ["label", "feature_1", "effect_1"]
    assert row == ["7", "white", "0.2", "0.3", "0.5", "0.2", "0.3", "0.5", "white", "a", "0.25"]
    assert column("score", 3.0) == "score_3"


@pytest.mark.parametrize("wanted", ["b", "ab", "bc", "ac"])
def test_classes_that_come_late_have_no_columns_of_their_own(wanted):
    """The heading was written when fewer classes were known."""
    classes, p = np.array(["a", "b", "c"]), np.array([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]])
    table = Predictions(classes[[2, 1]], p - 0.5, p, np.array(["c", "b"]))
    known = np.array([*wanted])
    places = np.searchsorted(classes, known)
    few = Predictions(known[:1], (p - 0.5)[:1, places[-1]], p[:1, places])
    names = rows_of(few._replace(y=known[:1]).heading(known))[0]
    lines = rows_of(table.with_columns(classes, [*wanted]).lines(0))
    assert all(len(line) == len(names) for line in lines)
    assert [line[1] for line in lines] == ["c", "b"]
    assert float(lines[0][2]) == p[0, places[-1]] - 0.5  # of the second of two
    assert [float(cell) for cell in lines[1][3:-1]] == p[1, places].tolist()
    assert table.with_columns(classes, ["a", "b", "c"]) is table
