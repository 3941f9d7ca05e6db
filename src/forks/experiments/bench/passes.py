"""A pass over cod-rna.

Rows in random order, each predicted before it is learned. As published: buffer 200, s_p 100, s_m
20, k 10; as released: 200, 150, 100, 15; Gaussian kernel, bandwidth 50. scikit-learn:
`RBFSampler(100)` and `SGDClassifier`, in batches of 100, each transformed, predicted and learned.
The oracle is `forks.oracles.forks`, plain NumPy, on the first rows of the stream.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from forks.experiments.bench._data import (
    KERNEL,
    a_pass,
    mistakes,
    oracle_run,
    published,
    released,
    settings_of,
    shuffled,
)
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._peers import BATCH, random_features
from forks.experiments.bench._timing import Contender, Timed, best_times, timed

_COMPONENTS = 100
_PUBLISHED, _RELEASED, _SKLEARN = "FORKS as published", "FORKS as released", "scikit-learn"
_SHORT, _ORACLE = f"{_PUBLISHED}, first rows", "oracle, first rows"


def measure(rows: int = 59_535, oracle_rows: int = 59_535, repeats: int = 7) -> Iterator[Number]:
    """Time whole passes."""
    stream = shuffled("cod-rna").first(rows)
    start = stream.first(oracle_rows)
    n, n_start = len(stream.y), len(start.y)
    learner, other = published(n), released()
    gamma = 0.5 / KERNEL.bandwidth**2
    sampler = {"n_components": _COMPONENTS, "batch": BATCH, "n_rows": n}
    full, short = (settings_of(learner, n_rows=rows) for rows in (n, n_start))
    contenders: dict[str, tuple[dict[str, Any], Contender]] = {
        _PUBLISHED: (full, lambda: a_pass(learner, stream)),
        _RELEASED: (settings_of(other, n_rows=n), lambda: a_pass(other, stream)),
        _SKLEARN: (sampler, lambda: random_features(stream, _COMPONENTS, gamma)),
        _SHORT: (short, lambda: a_pass(learner, start)),
        _ORACLE: (short, lambda: timed(lambda: oracle_run(learner, start).scores)),
    }
    settings = {name: about for name, (about, _) in contenders.items()}
    times = best_times({name: play for name, (_, play) in contenders.items()}, repeats)
    for name, one in times.items():
        yield Number(name, 1e6 * _per_row(one), "µs per row", settings[name])
        yield Number(name, 1.0 / _per_row(one), "rows per second", settings[name])
        yield Number(f"{name}: mistakes", mistakes(one.result, stream), "%", settings[name])
    for peer, name, ours, goal in (
        (_SKLEARN, "scikit-learn", _PUBLISHED, 20.0),
        (_ORACLE, "the oracle", _SHORT, 100.0),
    ):
        ratio = _per_row(times[peer]) / _per_row(times[ours])
        title = f"FORKS against {name}"
        yield Number(title, ratio, "times as fast", settings[ours], at_least=goal)
    difference = float(np.abs(times[_ORACLE].result - times[_SHORT].result).max())
    yield Number("largest difference of scores", difference)


def _per_row(one: Timed) -> float:
    return one.seconds / len(one.result)


PART = Part(__doc__, measure, {"rows": 20_000, "oracle_rows": 6_000, "repeats": 3})
