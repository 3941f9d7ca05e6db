"""Bytes of state."""

from collections.abc import Iterator

from forks.experiments.bench._data import new_engine, published, released, settings_of
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record


def measure(effort: Effort) -> Iterator[Record]:
    """Count the bytes that a learner keeps; they are all reserved before the first row."""
    del effort
    d = 8
    for name, learner in (
        ("FORKS as published", published(59_535)),
        ("FORKS as released", released()),
    ):
        yield Record(
            name=name,
            value=float(new_engine(learner, d).memory.nbytes),
            unit="bytes",
            settings={**settings_of(learner), "n_features": d},
        )
