"""Blocks of eight numbers: each operation against plain NumPy."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import njit
from forks.engine.blocks import (
    LANES,
    absolute,
    cos_sin,
    divide,
    exp_minus,
    fma,
    lanes,
    last,
    load,
    minus,
    padded,
    plus,
    running,
    shifted,
    splat,
    store,
    times,
    total,
    totals,
)


@njit
def exponentials(x, out):
    for i in range(0, x.shape[0], LANES):
        store(exp_minus(load(x, i)), out, i)


@njit
def cosines_and_sines(x, cosines, sines):
    for i in range(0, x.shape[0], LANES):
        a, b = cos_sin(load(x, i))
        store(a, cosines, i)
        store(b, sines, i)


@njit
def operations(a, b, c, number, at, out):
    """Each operation on the blocks at position `at`, into one line of out."""
    width = out.shape[1]
    store(load(a, at), out, 0)
    store(splat(number), out, width)
    store(minus(load(a, at), load(b, at)), out, 2 * width)
    store(fma(load(a, at), load(b, at), load(c, at)), out, 3 * width)
    store(absolute(load(a, at)), out, 4 * width)
    return total(load(a, at))


def exp_of_minus(x):
    x = np.asarray(x, float)
    given = np.zeros(padded(x.size))
    given[: x.size] = x
    out = np.full(given.size, np.nan)
    exponentials(given, out)
    return out[: x.size]


def true_exp_of_minus(x):
    with localcontext() as context:
        context.prec = 40
        return [(-Decimal(float(number))).exp() for number in x]


def test_exp_minus_is_right_to_the_last_bits():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            rng.uniform(0.0, 708.0, 2000),
            10.0 ** rng.uniform(-20, 2.85, 2000),
            np.log(2.0) * np.arange(0.5, 1000.0, 7.0),  # where the whole part changes
            np.log(2.0) * np.arange(0.0, 1000.0, 7.0),
            [np.nextafter(708.0, 0.0), 1e-320, 5e-324, 1e-300],
        ]
    )
    x = x[x < 708.0]
    got = exp_of_minus(x)
    errors = [
        abs(Decimal(float(value)) / truth - 1)
        for value, truth in zip(got, true_exp_of_minus(x), strict=True)
    ]
    assert max(errors) < Decimal("1e-15")
    assert (got > 0.0).all()
    assert (got <= 1.0).all()


def test_exp_minus_of_zero_is_one():
    assert (exp_of_minus([0.0, -0.0, 5e-324, 1e-17]) == 1.0).all()


def test_exp_minus_falls():
    x = np.sort(np.random.default_rng(1).uniform(0.0, 720.0, 20_000))
    values = exp_of_minus(x)
    assert (np.diff(values) <= 4e-16 * values[:-1]).all()


@pytest.mark.parametrize("x", [708.0, 708.5, 745.0, 746.0, 1e4, 1e10, 1e308, np.inf, np.nan])
def test_exp_minus_is_zero_beyond_its_range_and_for_nan(x):
    block = np.full(8, 1.0)
    block[3] = x
    values = exp_of_minus(block)
    assert values[3] == 0.0
    np.testing.assert_allclose(np.delete(values, 3), np.exp(-1.0), rtol=1e-15)  # no other lane


def cos_and_sin(x):
    x = np.asarray(x, float)
    given = np.zeros(padded(x.size))
    given[: x.size] = x
    outs = np.full((2, given.size), np.nan)
    cosines_and_sines(given, *outs)
    return outs[:, : x.size]


def test_cos_sin_is_right_to_the_last_bits():
    rng = np.random.default_rng(0)
    quarter_turns = np.concatenate([np.arange(-200, 200), rng.integers(-(10**6), 10**6, 5000)])
    x = np.concatenate(
        [
            rng.uniform(-20.0, 20.0, 5000),
            rng.uniform(-5e5, 5e5, 5000),
            10.0 ** rng.uniform(-300, 5.6, 5000) * rng.choice([-1.0, 1.0], 5000),
            np.pi / 4.0 * quarter_turns,  # where the sine or the cosine is nearly zero, or swaps
            [5e-324, -5e-324, 1e-310],
        ]
    )
    truth = np.array([np.cos(x), np.sin(x)])  # right to less than a unit of the last place
    got = cos_and_sin(x)
    assert (np.abs(got) <= 1.0).all()
    near = np.abs(x) < 5e5
    assert (np.abs(got - truth)[:, near] <= 3e-16).all()
    np.testing.assert_allclose(got[:, near], truth[:, near], rtol=8e-16, atol=0.0)


def test_cos_sin_of_zero():
    np.testing.assert_array_equal(cos_and_sin([0.0, -0.0]), [[1.0, 1.0], [0.0, 0.0]])


def test_cos_sin_of_huge_angles_is_the_librarys():
    x = np.array([5.1e5, -1e6, 3e9, -1e15, 1e22, 1e100, -1e300, 1e308])
    np.testing.assert_allclose(cos_and_sin(x), [np.cos(x), np.sin(x)], rtol=4e-16)


@pytest.mark.parametrize("x", [1e7, np.inf, -np.inf, np.nan])
def test_cos_sin_of_an_angle_without_bounds_leaves_the_other_lanes_alone(x):
    block = np.arange(1.0, 9.0)
    block[5] = x
    (cosines, sines) = cos_and_sin(block)
    others = np.arange(8) != 5
    np.testing.assert_allclose(cosines[others], np.cos(block[others]), rtol=1e-15)
    np.testing.assert_allclose(sines[others], np.sin(block[others]), rtol=1e-15)
    if not np.isfinite(x):
        assert cosines[5] == sines[5] == 0.0


@given(st.lists(st.floats(-1e100, 1e100), min_size=20, max_size=20), st.integers(0, 12))
def test_operations(numbers, at):
    a = np.array(numbers)
    b, c = np.roll(a, 3), np.roll(a, 7)
    out = np.full((5, 8), np.nan)
    result = operations(a, b, c, numbers[0], at, out)
    block = slice(at, at + 8)
    np.testing.assert_array_equal(out[0], a[block])
    np.testing.assert_array_equal(out[1], numbers[0])
    np.testing.assert_array_equal(out[2], (a - b)[block])
    size = np.abs(a * b)[block] + np.abs(c)[block]
    assert (np.abs(out[3] - (a * b + c)[block]) <= 4e-16 * size).all()
    np.testing.assert_array_equal(out[4], np.abs(a)[block])
    assert abs(result - a[block].sum()) <= 2e-15 * np.abs(a[block]).sum()


def test_total_counts_every_lane_once():
    out = np.empty((5, 8))
    for lane in range(8):
        a = np.zeros(8)
        a[lane] = 3.5
        assert operations(a, a, a, 0.0, 0, out) == 3.5


def test_blocks_keep_infinities_and_nan():
    a = np.array([np.inf, -np.inf, np.nan, 1.0, -0.0, 0.0, 1e308, -1e-308])
    out = np.empty((5, 8))
    assert np.isnan(operations(a, a, a, np.nan, 0, out))
    np.testing.assert_array_equal(out[0], a)
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[4], np.abs(a))


def test_store_touches_one_block_only():
    x = np.zeros(24)
    out = np.full(24, -1.0)
    exponentials(x[8:16], out[8:16])
    np.testing.assert_array_equal(out, [-1.0] * 8 + [1.0] * 8 + [-1.0] * 8)


def test_padded():
    assert [padded(n) for n in (0, 1, 7, 8, 9, 16, 17)] == [0, 8, 8, 8, 16, 16, 24]


@njit
def across_lanes(A, out):
    """What mixes the lanes of the eight blocks of A, line by line, and two plain operations."""
    a, b, c, d = load(A, 0), load(A, 8), load(A, 16), load(A, 24)
    e, f, g, h = load(A, 32), load(A, 40), load(A, 48), load(A, 56)
    store(totals(a, b, c, d, e, f, g, h), out, 0)
    store(running(a), out, 8)
    store(shifted(a, b), out, 16)
    store(last(a), out, 24)
    store(lanes(a)[0], out, 32)
    store(lanes(a)[5], out, 40)
    store(divide(plus(a, b), times(c, d)), out, 48)


def test_operations_across_lanes():
    A = np.random.default_rng(0).normal(size=(LANES, LANES))
    out = np.full((7, LANES), np.nan)
    across_lanes(A, out)
    np.testing.assert_allclose(out[0], A.sum(axis=1), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(out[1], A[0].cumsum(), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(out[2], [A[0, -1], *A[1, :-1]])
    np.testing.assert_array_equal(out[3:6], A[0, [7, 0, 5]][:, None] * np.ones(LANES))
    np.testing.assert_allclose(out[6], (A[0] + A[1]) / (A[2] * A[3]), rtol=1e-14)
