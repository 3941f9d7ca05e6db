"""The features that have been seen: a place for each, however many there might be.

The features of wide sparse rows are numbers up to some d, of which a stream shows few. The first
one seen gets place 1, the next one place 2, and so on; place 0 is the bias. So what a learner keeps
for each feature has as many places as features have been seen, and nothing is as long as d. Places
are found by open addressing: a table twice as long as there are places, probed one after the other
from where a hash of the feature points to. If there are no places left and there can be no more,
features that have none share those there are, by their hash.

With `hash_bits` b > 0 features are first hashed into 2^b numbers, whose entries add up: the hashing
trick, for a width that is fixed whatever comes.

Reference: Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature hashing for large scale
multitask learning", ICML 2009.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import MANY, Counter, Limit, entry, njit

BIAS, NONE = 0, -1  # places: of the bias, and of a feature that has none
_FIRST, _SECOND, _BITS = 73244475, 295559667, 0xFFFFFFFF  # products stay below 2^63


class Seen(NamedTuple):
    """The table; `places` is a power of two."""

    used: Annotated[Counter, 1]  # places in use, that of the bias included
    keys: Annotated[Counter, "2 * places"]  # feature + 1, or 0
    where: Annotated[Counter, "2 * places"]  # the place of each


def begin_seen(seen: Seen) -> None:
    """Begin with the bias alone."""
    seen.used[0] = 1


def seen_limits(seen: Seen) -> list[Limit]:
    """Return the bounds of what a stored table may hold."""
    places = len(seen.keys) // 2
    return [
        Limit("places in use", seen.used, 1, places),
        Limit("features in the table", seen.keys, 0, MANY),
        Limit("number of features in the table", np.count_nonzero(seen.keys), 0, places),
        Limit("places of features", seen.where, 0, int(seen.used[0]) - 1),
    ]


def rebuild(seen: Seen, keys: Counter, where: Counter) -> None:
    """Put features with their places into an empty table."""
    kept = keys > 0
    _rebuild.over()(seen, keys[kept], where[kept])


@njit
def hashed(key):
    """Return a hash of a feature, of 32 bits."""
    key = (key ^ (key >> 32)) & _BITS
    key = ((key ^ (key >> 16)) * _FIRST) & _BITS
    key = ((key ^ (key >> 16)) * _SECOND) & _BITS
    return key ^ (key >> 16)


@njit
def key_of(hash_bits, feature):
    """Return the number that stands for a feature: itself, or its hash."""
    return hashed(feature) & ((1 << hash_bits) - 1) if hash_bits > 0 else feature


@njit
def _spot(seen, key):
    """Return where in the table a feature is, or where it can be put."""
    last = seen.keys.shape[0] - 1
    i = hashed(key) & last
    while seen.keys[i] != 0 and seen.keys[i] != key + 1:
        i = (i + 1) & last
    return i


@njit
def place_of(seen, key, most):
    """Return the place of a feature; NONE if it has none yet, of at most `most` places."""
    i = _spot(seen, key)
    if seen.keys[i] != 0:
        return seen.where[i]
    used = seen.used[0]
    return 1 + hashed(key) % (used - 1) if used >= most else NONE


@njit
def take_place(seen, key, most):
    """Return the place of a feature, which gets one if it has none and there is one."""
    place = place_of(seen, key, most)
    if place == NONE:
        place = seen.used[0]
        i = _spot(seen, key)
        seen.keys[i], seen.where[i] = key + 1, place
        seen.used[0] = place + 1
    return place


@entry
def _rebuild(seen: Any, keys: Any, where: Any) -> None:
    for n in range(keys.shape[0]):
        i = _spot(seen, keys[n] - 1)
        seen.keys[i], seen.where[i] = keys[n], where[n]
