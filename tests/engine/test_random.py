"""The generator whose whole state is one integer."""

import itertools

import numpy as np
import pytest
from scipy import stats

from compiled import njit
from forks.engine.random import _next, choose, integer, uniform, uniform_in_python


@njit
def fill(state, raw, floats, integers, n):
    for i in range(raw.shape[0]):
        raw[i] = _next(state)
    for i in range(floats.shape[0]):
        floats[i] = uniform(state)
    for i in range(integers.shape[0]):
        integers[i] = integer(state, n)


def state_from(seed):
    return np.array([seed], np.int64)


def draws(state, n_raw=0, n_floats=0, n_integers=0, n=1):
    raw = np.empty(n_raw, np.uint64)
    floats, integers = np.empty(n_floats), np.empty(n_integers, np.int64)
    fill(state, raw, floats, integers, n)
    return raw, floats, integers


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423]),
    ],
)
def test_it_is_splitmix64(seed, expected):
    raw, _, _ = draws(state_from(seed), n_raw=3)
    assert raw.tolist() == expected


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 - 1, -(2**63), 987654321])
def test_compiled_and_python_draws_are_the_same(seed):
    compiled, plain = state_from(seed), state_from(seed)
    _, floats, _ = draws(compiled, n_floats=500)
    assert floats.tolist() == [uniform_in_python(plain) for _ in range(500)]
    assert compiled == plain


def test_uniform():
    _, floats, _ = draws(state_from(3), n_floats=200_000)
    assert floats.min() >= 0.0
    assert floats.max() < 1.0
    assert floats.mean() == pytest.approx(1 / 2, abs=4 * np.sqrt(1 / 12 / 200_000))
    assert floats.var() == pytest.approx(1 / 12, abs=4 * np.sqrt(1 / 180 / 200_000))
    assert stats.kstest(floats, "uniform").pvalue > 1e-3
    neighbours = np.corrcoef(floats[:-1], floats[1:])[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(200_000)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_integer(n):
    _, _, integers = draws(state_from(n), n_integers=50_000, n=n)
    counts = np.bincount(integers, minlength=n)
    assert integers.min() >= 0
    assert len(counts) == n
    assert stats.chisquare(counts).pvalue > 1e-3 or n == 1


def test_seeds_next_to_each_other_are_unrelated():
    first = [uniform_in_python(state_from(seed)) for seed in range(5000)]
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / np.sqrt(5000)


@pytest.mark.parametrize(("n", "size"), [(1, 1), (5, 0), (5, 1), (5, 5), (200, 20), (200, 200)])
def test_chosen_numbers_are_distinct(n, size):
    state = state_from(n)
    for _ in range(20):
        chosen = choose(state, n, size)
        assert len(chosen) == len(set(chosen.tolist())) == size
        assert all(0 <= number < n for number in chosen)


def test_all_choices_are_equally_likely():
    state = state_from(11)
    pairs = list(itertools.permutations(range(5), 2))
    counts = dict.fromkeys(pairs, 0)
    for _ in range(8000):
        counts[tuple(choose(state, 5, 2).tolist())] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_a_copy_of_the_state_goes_on_alike():
    state = state_from(5)
    draws(state, n_floats=10)
    copy = state.copy()
    _, floats, integers = draws(state, n_floats=5, n_integers=5, n=1000)
    _, again, integers_again = draws(copy, n_floats=5, n_integers=5, n=1000)
    np.testing.assert_array_equal(floats, again)
    np.testing.assert_array_equal(integers, integers_again)
    np.testing.assert_array_equal(choose(state, 50, 9), choose(copy, 50, 9))


def test_only_the_first_integer_is_used():
    state = np.array([5, 7], np.int64)
    draws(state, n_floats=3)
    choose(state, 5, 3)
    assert state[1] == 7
