"""Calls with all arguments in their places."""

import gc
from typing import NamedTuple

import numpy as np
import pytest

from forks._bound import Bound
from forks._jit import entry


class Line(NamedTuple):
    slope: float
    points: np.ndarray


@entry
def add_line(line, X, out, start):
    kept = X  # a reference that compiled code counts
    for i in range(start, out.shape[0]):
        if out[i] > 1e6:
            raise ValueError("too large")
        out[i] += line.slope * kept[i, 0] + line.points[i]
    return out.shape[0]


def test_what_is_in_the_arrays_is_new_in_every_call():
    X, out = np.ones((3, 1)), np.zeros(3)
    bound = Bound(add_line)
    bound.put(Line(2.0, np.arange(3.0)), X, out, 1)
    assert bound.call() == 3
    np.testing.assert_array_equal(out, [0.0, 3.0, 4.0])
    X[:] = 10.0
    assert bound.call() == 3
    np.testing.assert_array_equal(out, [0.0, 24.0, 26.0])


def test_other_arguments_of_the_same_types():
    first, second = np.zeros(2), np.zeros(5)
    bound = Bound(add_line)
    bound.put(Line(1.0, np.zeros(2)), np.ones((2, 1)), first, 0)
    bound.call()
    bound.put(Line(3.0, np.ones(5)), np.ones((5, 1)), second, 0)
    assert bound.call() == 5
    np.testing.assert_array_equal(first, 1.0)
    np.testing.assert_array_equal(second, 4.0)


def test_arguments_live_as_long_as_the_calls():
    bound, out = Bound(add_line), np.zeros(1000)
    bound.put(Line(1.0, np.full(1000, 2.0)), np.full((1000, 1), 3.0), out, 0)
    for _ in range(100):
        bound.call()
        gc.collect(0)
        np.full(1000, np.nan)  # would be written where arguments that are gone have been
    np.testing.assert_array_equal(out, 500.0)


def test_two_calls_of_one_kind_have_places_of_their_own():
    outs = np.zeros((2, 4))
    pair = [Bound(add_line), Bound(add_line)]
    for slope, bound, out in zip((1.0, 2.0), pair, outs, strict=True):
        bound.put(Line(slope, np.zeros(4)), np.ones((4, 1)), out, 0)
    for bound in (*pair, pair[0]):
        bound.call()
    np.testing.assert_array_equal(outs, [[2.0] * 4, [2.0] * 4])


def test_errors_come_through():
    bound, out = Bound(add_line), np.array([0.0, 2e6])
    bound.put(Line(1.0, np.zeros(2)), np.ones((2, 1)), out, 0)
    with pytest.raises(ValueError, match="too large"):
        bound.call()
    out[1] = 0.0
    assert bound.call() == 2
