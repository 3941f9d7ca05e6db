"""The default classifier by effort.

A pass over cod-rna and over spambase, rows in random order, nothing tuned. scikit-learn:
`RBFSampler(400)` and `SGDClassifier`, in batches of 100, on features as they are, which costs it
mistakes and no time. The longest pause is that of a single row among 12,000 of 50 features, the
second time that they are played; the size is that of the state for rows of 20.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from forks import OnlineKernelClassifier
from forks.experiments.bench._data import SEED, Stream, a_pass, mistakes, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._peers import random_features
from forks.experiments.bench._timing import Contender, best_times, timed
from forks.streams import changing

_SKLEARN = "scikit-learn"
_EFFORTS = ("fast", "balanced", "best")
_GOALS = {"cod-rna": {"fast": 0.3, "balanced": 1.0}, "spambase": {"fast": 0.3, "balanced": 1.5}}


def measure(rows: int = 59_535, repeats: int = 5, pause_rows: int = 12_000) -> Iterator[Number]:
    """Time whole passes, each row predicted before it is learned, fits and all."""
    yield from passes(_EFFORTS, "{0}", "time with effort {0},", rows, repeats)
    for effort in _EFFORTS:
        goal = 20.0 if effort == "balanced" else None
        title = f"{effort}: longest pause of a row, d = 50"
        pause = min(_longest_pause(effort, pause_rows) for _ in range(2))
        yield Number(title, 1e3 * pause, "ms", {"rows": pause_rows}, at_most=goal)
        model = OnlineKernelClassifier(effort=effort)
        model.partial_fit(np.zeros((1, 20)), [0], classes=[0, 1])
        goal = 4.0 if effort == "balanced" else None
        megabytes = model.engine_.state_bytes / 1e6
        yield Number(f"{effort}: size of the state, d = 20", megabytes, "MB", at_most=goal)


def passes(
    efforts: Sequence[str], name: str, title: str, rows: int, repeats: int
) -> Iterator[Number]:
    """Time passes of the classifier with each effort, beside those of random features.

    `name` is that of a line of the table, `title` that of a ratio, with {0} for the effort.
    """
    for data in ("cod-rna", "spambase"):
        stream = shuffled(data).first(rows)
        contenders = {name.format(effort): _pass_of(effort, stream) for effort in efforts}
        contenders[_SKLEARN] = partial(random_features, stream, 400)
        times = best_times(contenders, repeats)
        settings = {"data": data, "n_rows": len(stream.y)}
        for contender, one in times.items():
            per_row, wrong = 1e6 * one.seconds / len(stream.y), mistakes(one.result, stream)
            yield Number(contender, per_row, "µs per row", settings, column=f"{data}, time")
            yield Number(contender, wrong, "%", settings, column=f"{data}, mistakes")
        for effort in efforts:
            ratio = times[name.format(effort)].seconds / times[_SKLEARN].seconds
            what = f"{data}: {title.format(effort)} over that of scikit-learn"
            yield Number(what, ratio, settings=settings, at_most=_GOALS[data].get(effort))


def _pass_of(effort: str, stream: Stream) -> Contender:
    return lambda: a_pass(OnlineKernelClassifier(effort=effort, random_state=SEED), stream)


def _longest_pause(effort: str, rows: int) -> float:
    X, y = changing("noise-45", rows, SEED)
    model = OnlineKernelClassifier(effort=effort).partial_fit(X[:1], y[:1], classes=[0, 1])
    targets = 2.0 * y[:, None] - 1.0
    learn = model.engine_.learn
    events = ((X[t : t + 1], targets[t : t + 1]) for t in range(1, rows))
    return max(timed(partial(learn, *event)).seconds for event in events)


PART = Part(__doc__, measure, {"rows": 20_000, "repeats": 3, "pause_rows": 2_000})
