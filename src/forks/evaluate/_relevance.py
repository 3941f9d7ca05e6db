"""The relevance of features at the records of a run."""

from typing import Any

import numpy as np

_TOP = 10  # features whose relevance is recorded


def most_relevant(model: Any) -> list[float]:
    """Return the numbers of the features that matter most now, and then their relevance."""
    model = getattr(model, "common_", model)  # of all keys
    if not hasattr(model.learner_, "feature_relevance"):
        return []
    width = min(_TOP, model.n_features_in_)
    relevance = getattr(model, "feature_relevance_", np.zeros(model.n_features_in_))
    top = np.argsort(-relevance, kind="stable")[:width]
    return [*top.tolist(), *relevance[top].tolist()]


def by_feature(records: list[list[float]]) -> dict[int, np.ndarray]:
    """Return the relevance of features at every record, those that mattered most first."""
    found: dict[int, np.ndarray] = {}
    for i, record in enumerate(records):
        half = len(record) // 2
        for feature, value in zip(map(int, record[:half]), record[half:], strict=True):
            found.setdefault(feature, np.zeros(len(records)))[i] = value
    return dict(sorted(found.items(), key=lambda item: -item[1].sum()))
