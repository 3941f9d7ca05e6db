"""The ring against a list of all rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks.engine import entry, rows_from, take
from forks.parts.ring import Ring, holds, keep, last_slots, remember

SIZE = 7


@entry
def _remember_all(ring, first, X, Y, weights):
    for t in range(weights.shape[0]):
        remember(ring, first + t, take(X, t), Y[t], weights[t])


@entry
def _held(ring, t, X, out):
    for i in range(out.shape[0]):
        out[i] = holds(ring, t, take(X, i))


def empty(n_features=4, n_outputs=2):
    """Of old numbers, which must not shine through."""
    shapes = ((SIZE, n_features), (SIZE, n_outputs), (SIZE,))
    return Ring(*(np.full(shape, np.nan) for shape in shapes))


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.5)
    return X, rng.normal(size=(n, 2)), rng.random(n)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("first", [0, 5 * SIZE, 2**53 // SIZE * SIZE])
def test_the_last_rows_are_those_of_the_stream(form, first):
    for n in (1, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE, 3 * SIZE + 4):
        whole, ring = stream(n), empty()
        X, Y, weights = whole
        _remember_all.over()(ring, first, rows_from(form(X)), Y, weights)
        for last in range(min(n, SIZE) + 1):
            slots = last_slots(first + n, last, SIZE)
            for array, expected in zip(ring, whole, strict=True):
                np.testing.assert_array_equal(array[slots], expected[n - last :])


def test_kept_rows_are_the_first_in_their_order_and_the_ring_goes_on_from_them():
    ring = empty()
    first, more = stream(2 * SIZE + 3), stream(5, seed=1)
    _remember_all.over()(ring, 0, *first)
    keep(ring, last_slots(2 * SIZE + 3, 4, SIZE))
    for array, expected in zip(ring, first, strict=True):
        np.testing.assert_array_equal(array[:4], expected[-4:])
    _remember_all.over()(ring, 4, *more)
    slots = last_slots(9, SIZE, SIZE)
    for array, old, new in zip(ring, first, more, strict=True):
        np.testing.assert_array_equal(array[slots], np.concatenate([old[-2:], new]))


def test_a_whole_ring_and_nothing_can_be_kept():
    ring, rows = empty(), stream(SIZE + 3)
    _remember_all.over()(ring, 0, *rows)
    keep(ring, last_slots(SIZE + 3, 0, SIZE))
    keep(ring, last_slots(SIZE + 3, SIZE, SIZE))
    for array, expected in zip(ring, rows, strict=True):
        np.testing.assert_array_equal(array, expected[3:])


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_row_is_known_again(form):
    X, Y, weights = stream(20)
    ring = empty()
    _remember_all.over()(ring, 0, rows_from(X), Y, weights)
    others = np.vstack([X, X[15] * [1, 1, 1, 1.001], X[15] * [0, 1, 1, 1], X[15] + [0, 0, 0, 1]])
    held = np.zeros(len(others), bool)
    for t in range(20 - SIZE, 20):
        _held.over()(ring, t, rows_from(form(others)), held)
        np.testing.assert_array_equal(held, (others == X[t]).all(axis=1))
