"""One Python call per row.

As published, after the switch. The methods of the classifier spend their time in scikit-learn's
checks of the input.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from forks.estimators import FORKSClassifier
from forks.experiments.bench._data import KERNEL, SEED, new_engine, published, settings_of, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import Timed, best_times, timed


def measure(
    rows: int = 59_535, calls: int = 10_000, estimator_calls: int = 1_000, repeats: int = 7
) -> Iterator[Number]:
    """Time calls after the switch, one row in each."""
    stream = shuffled("cod-rna").first(rows)
    X, y = stream
    learner = published(len(y))
    engine = new_engine(learner, X.shape[1])
    engine.learn(X, stream.targets)
    start = engine.memory.copy()
    sizes = learner.sizes()._asdict()
    sizes = {name: sizes[name] for name in ("buffer", "sketch_size", "n_landmarks", "rank")}
    model = FORKSClassifier(
        **sizes, bandwidth=KERNEL.bandwidth, scaling=None, random_state=SEED
    ).partial_fit(X, y)
    events = list(zip(map(np.array, X[:calls]), y[:calls].tolist(), strict=True))
    single = [(X[i : i + 1], y[i : i + 1]) for i in range(min(estimator_calls, len(events)))]

    def play(method: Callable[..., Any], events: Sequence[Any], labelled: bool) -> Timed:
        engine.memory = start.copy()
        return timed(lambda: (_learn if labelled else _predict)(method, events))

    table: tuple[tuple[str, Any, list[Any], bool, float | None], ...] = (
        ("Engine.learn_one", engine.learn_one, events, True, 5.0),
        ("Engine.predict_one", engine.predict_one, events, False, 5.0),
        ("FORKSClassifier.partial_fit", model.partial_fit, single, True, None),
        ("FORKSClassifier.predict", model.predict, single, False, None),
    )
    times = best_times({name: partial(play, *rest[:3]) for name, *rest in table}, repeats)
    for name, _, its_events, _, goal in table:
        per_call = 1e6 * times[name].seconds / len(its_events)
        yield Number(name, per_call, "µs per call", settings_of(learner), at_most=goal)


def _learn(method: Callable[..., Any], events: Sequence[Any]) -> None:
    for x, y in events:
        method(x, y)


def _predict(method: Callable[..., Any], events: Sequence[Any]) -> None:
    for x, _ in events:
        method(x)


PART = Part(
    __doc__, measure, {"rows": 20_000, "calls": 3_000, "estimator_calls": 200, "repeats": 3}
)
