"""The default classifier against random features.

A pass over cod-rna and over spambase, rows in random order, nothing tuned. scikit-learn:
`RBFSampler(400)` and `SGDClassifier`, in batches of 100, on features as they are, which costs it
mistakes and no time.
"""

from collections.abc import Iterator

import numpy as np

from forks import OnlineKernelClassifier
from forks.evaluate import is_mistake
from forks.experiments.bench._data import SEED, Stream, a_pass, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._peers import random_features
from forks.experiments.bench._timing import best_times

_OURS, _SKLEARN = 'OnlineKernelClassifier(effort="fast")', "scikit-learn"


def measure(rows: int = 59_535, repeats: int = 7) -> Iterator[Number]:
    """Time whole passes, each row predicted before it is learned, fits and all."""
    for name in ("cod-rna", "spambase"):
        yield from _against(name, shuffled(name).first(rows), repeats)


def _against(name: str, stream: Stream, repeats: int) -> Iterator[Number]:
    contenders = {
        _OURS: lambda: a_pass(OnlineKernelClassifier(effort="fast", random_state=SEED), stream),
        _SKLEARN: lambda: random_features(stream, 400),
    }
    times = best_times(contenders, repeats)
    settings = {"data": name, "n_rows": len(stream.y)}
    for contender, one in times.items():
        per_row = 1e6 * one.seconds / len(stream.y)
        mistakes = 100.0 * float(np.mean(is_mistake(one.result, stream.y)))
        yield Number(contender, per_row, "µs per row", settings, column=f"{name}, time")
        yield Number(contender, mistakes, "%", settings, column=f"{name}, mistakes")
    title = f"{name}: time of {_OURS} over that of scikit-learn"
    ratio = times[_OURS].seconds / times[_SKLEARN].seconds
    yield Number(title, ratio, settings=settings, at_most=0.3)


PART = Part(__doc__, measure, {"rows": 20_000, "repeats": 3})
