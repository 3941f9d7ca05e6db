"""One Python call per row."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from forks.estimators import FORKSClassifier
from forks.experiments.bench._clock import Contender, best_times
from forks.experiments.bench._data import KERNEL, SEED, new_engine, published, settings_of
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record


def measure(effort: Effort) -> Iterator[Record]:
    """Time calls after the switch, one row in each."""
    stream = effort.data().first(effort.rows)
    learner = published(len(stream.y))
    engine = new_engine(learner, stream.X.shape[1])
    engine.learn(stream.X, stream.targets)
    start = engine.memory.copy()
    rows = [np.array(x) for x in stream.X[: effort.call_rows]]
    labels = stream.y[: effort.call_rows].tolist()

    def learn() -> Callable[[], None]:
        engine.memory = start.copy()

        def play() -> None:
            for x, y in zip(rows, labels, strict=True):
                engine.learn_one(x, y)

        return play

    def predict() -> Callable[[], None]:
        engine.memory = start.copy()

        def play() -> None:
            for x in rows:
                engine.predict_one(x)

        return play

    sizes = learner.sizes()
    model = FORKSClassifier(
        buffer=sizes.buffer,
        sketch_size=sizes.sketch_size,
        n_landmarks=sizes.n_landmarks,
        rank=sizes.rank,
        bandwidth=KERNEL.bandwidth,
        random_state=SEED,
    )
    model.partial_fit(stream.X, stream.y)
    n_calls = min(effort.estimator_rows, len(rows))
    single = [(stream.X[i : i + 1], stream.y[i : i + 1]) for i in range(n_calls)]

    def call(method: Any, with_labels: bool) -> Contender:
        def prepare() -> Callable[[], None]:
            def play() -> None:
                for x, y in single:
                    method(x, y) if with_labels else method(x)

            return play

        return prepare

    table: tuple[tuple[str, Contender, int, float | None], ...] = (
        ("Engine.learn_one", learn, len(rows), 5.0),
        ("Engine.predict_one", predict, len(rows), 5.0),
        ("FORKSClassifier.partial_fit", call(model.partial_fit, True), n_calls, None),
        ("FORKSClassifier.predict", call(model.predict, False), n_calls, None),
    )
    timed = best_times({name: contender for name, contender, _, _ in table}, effort.repeats)
    for name, _, n, goal in table:
        yield Record(
            name=name,
            value=1e6 * timed[name].seconds / n,
            unit="µs per call",
            at_most=goal,
            settings=settings_of(learner),
        )
