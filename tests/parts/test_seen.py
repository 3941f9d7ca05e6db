"""Places of features against a dictionary."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.parts.seen import Seen, begin_seen, key_of, place_of, rebuild, seen_limits, take_place


@entry
def _take(seen, hash_bits, most, features, places):
    for i in range(features.shape[0]):
        places[i] = take_place(seen, key_of(hash_bits, features[i]), most)


@entry
def _find(seen, hash_bits, most, features, places):
    for i in range(features.shape[0]):
        places[i] = place_of(seen, key_of(hash_bits, features[i]), most)


def new(places):
    seen = Seen(*(np.zeros(n, np.int64) for n in (1, 2 * places, 2 * places)))
    begin_seen(seen)
    return seen


def run(verb, seen, features, most, hash_bits=0):
    places = np.zeros(len(features), np.int64)
    verb.over()(seen, hash_bits, most, features, places)
    return places


@pytest.mark.parametrize("hash_bits", [0, 5, 20])
def test_places_are_those_of_a_dictionary(hash_bits):
    rng = np.random.default_rng(0)
    features = rng.zipf(1.2, 500) % 10**12
    most = 64
    plain = oracles.Places(most, hash_bits)
    seen = new(most)
    np.testing.assert_array_equal(
        run(_take, seen, features, most, hash_bits), [plain.take(int(f)) for f in features]
    )
    assert seen.used[0] == len(plain.known) + 1
    others = rng.integers(10**6, size=200)
    expected = [plain.find(int(f)) for f in others]
    np.testing.assert_array_equal(
        run(_find, seen, others, most, hash_bits), [-1 if p is None else p for p in expected]
    )


def test_a_larger_table_has_the_same_places():
    features = np.arange(0, 10**9, 10**9 // 60)
    seen, larger = new(64), new(128)
    places = run(_take, seen, features, 64)
    larger.used[:] = seen.used
    rebuild(larger, seen.keys, seen.where)
    np.testing.assert_array_equal(run(_find, larger, features, 128), places)
    assert run(_find, larger, np.array([5]), 128)[0] == -1


def test_hashes_are_spread_evenly():
    hashes = np.array([oracles.hash32(key) % 16 for key in range(4096)])
    counts = np.bincount(hashes, minlength=16)
    assert np.abs(counts - 256).max() < 80


def test_limits_are_those_of_a_good_table():
    seen = new(64)
    run(_take, seen, np.arange(40), 64)
    assert all(np.all(v >= low) and np.all(v <= high) for _, v, low, high in seen_limits(seen))
    seen.where[0] = 64
    assert not all(np.all(v <= high) for _, v, _, high in seen_limits(seen))
