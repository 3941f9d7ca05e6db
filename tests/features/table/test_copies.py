"""Columns that copy the label are found, and others are not."""

import numpy as np
import pytest

from forks.features.table.copies import copies_of_label

N = 1_000
RNG = np.random.default_rng(0)
CLASSES = RNG.choice(3, N, p=[0.7, 0.2, 0.1])
NUMBERS = RNG.normal(size=N).round(2)
NAMES = np.array(["no", "perhaps", "yes"], dtype=object)


def spoilt(cells, n):
    """Return cells of which the first n are those of other rows."""
    cells = cells.copy()
    cells[:n] = np.roll(cells, 1)[:n]
    return cells


def copies(column, y, task="classification"):
    return copies_of_label({"a": RNG.normal(size=len(y)), "b": column}, y, task) == ["b"]


@pytest.mark.parametrize(
    "column",
    [
        CLASSES.astype(float),
        7.0 - 2.0 * CLASSES,
        NAMES[CLASSES],
        np.array([None, "perhaps", "yes"], dtype=object)[CLASSES],
        np.array([np.nan, 1.0, 2.0])[CLASSES],
        spoilt(NAMES[CLASSES], 3),
    ],
)
@pytest.mark.parametrize("y", [CLASSES.astype(float), NAMES[CLASSES]])
def test_names_of_classes(column, y):
    assert copies(column, y)


@pytest.mark.parametrize(
    "column",
    [
        spoilt(NAMES[CLASSES], 30),
        np.minimum(CLASSES, 1),  # two classes have one value
        CLASSES + np.where(CLASSES == 0, RNG.integers(-1, 1, N), 0),  # one class has two
        np.zeros(N),
        np.arange(N),
        NUMBERS,
    ],
)
def test_what_names_no_classes(column):
    assert not copies(column, CLASSES)


def test_few_rows_speak_for_nothing():
    assert copies(CLASSES[:200], CLASSES[:200])
    assert not copies(CLASSES[:40], CLASSES[:40])
    assert not copies(np.ones(N), np.ones(N))  # one class
    rare = (np.arange(N) < 20).astype(int)
    assert not copies(rare, rare)
    each = np.array([f"k{i}" for i in range(N)], dtype=object)  # a class of one row has one value
    assert not copies(np.arange(N), each)


def test_rows_without_a_label_do_not_count():
    y = CLASSES.astype(float)
    y[::2] = np.nan
    assert copies(np.where(np.isnan(y), 5.0, CLASSES), y)
    numbers = NUMBERS.copy()
    numbers[::2] = np.nan
    assert copies(np.where(np.isnan(numbers), 5.0, NUMBERS), numbers, "regression")


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.3048, 1e-6])
def test_multiples(factor):
    gaps = NUMBERS * factor
    gaps[::3] = np.nan
    for column in (NUMBERS * factor, gaps, spoilt(NUMBERS * factor, 3)):
        assert copies(column, NUMBERS, "regression")


@pytest.mark.parametrize(
    "column",
    [
        NUMBERS + 1e-6 * RNG.normal(size=N),
        NUMBERS + 1.0,
        spoilt(NUMBERS, 50),
        np.zeros(N),
        np.full(N, np.nan),
        np.array(["a", "b"], dtype=object)[CLASSES % 2],
    ],
)
def test_what_is_no_multiple(column):
    assert not copies(column, NUMBERS, "regression")


def test_zeros_speak_for_nothing():
    y = np.where(np.arange(N) % 50 == 0, NUMBERS, 0.0)
    assert not copies(np.zeros(N), y, "regression")
    assert not copies(y, y, "regression")  # twenty rows
