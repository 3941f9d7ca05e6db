"""The order of rows: a batch has none, and a stream sorted by its labels is rarely meant."""

from typing import Any

import numpy as np

from forks.engine import Vector

_LEAST_ROWS = 100
_LEAST_SHARE = 0.1  # of the changes of label that shuffled rows would have


class LabelRunsWarning(UserWarning):
    """The labels of a stream come in long runs, as in a file that is sorted by them."""


def random_order(n: int, weights: Vector | None, seed: int) -> np.ndarray:
    """Return a permutation of n rows; those of weight 0 come last and do not affect the others."""
    counted = np.arange(n) if weights is None else np.flatnonzero(weights)
    left_out = np.setdiff1d(np.arange(n), counted)
    return np.concatenate([np.random.default_rng(seed).permutation(counted), left_out])


def expected_changes(y: Any) -> float:
    """Return the mean number of changes from one label to the next if the rows were shuffled."""
    _, counts = np.unique(y, return_counts=True)
    n = int(counts.sum())
    return float(n - (counts.astype(float) ** 2).sum() / n)


def describe_runs(y: Any) -> str | None:
    """Return what is wrong if labels come in long runs, "" if not, None if it cannot be said.

    It can be said of at least 100 rows whose labels, shuffled, would change more than ten times.
    """
    n = len(y)
    expected = expected_changes(y) if n >= _LEAST_ROWS else 0.0
    if _LEAST_SHARE * expected <= 1.0:
        return None
    changes = int(np.count_nonzero(y[1:] != y[:-1]))
    if changes >= _LEAST_SHARE * expected:
        return ""
    return (
        f"the labels come in long runs: the number of changes is {changes} in {n:,} rows, and "
        f"would be about {expected:,.0f} in shuffled ones. The order is kept, and classes that do "
        "not come for long are forgotten. Shuffle the rows, unless they are in the order of time"
    )
