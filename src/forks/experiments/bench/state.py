"""Bytes of state.

All that a learner keeps, for rows of 8 numbers.
"""

from collections.abc import Iterator

from forks.experiments.bench._data import new_engine, published, released, settings_of
from forks.experiments.bench._part import Number, Part


def measure() -> Iterator[Number]:
    """Count the bytes that a learner keeps; they are all reserved before the first row."""
    learners = {"FORKS as published": published(59_535), "FORKS as released": released()}
    for name, learner in learners.items():
        size = float(new_engine(learner, 8).memory.nbytes)
        yield Number(name, size, "bytes", settings_of(learner, n_features=8))


PART = Part(__doc__, measure)
