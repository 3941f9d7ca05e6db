"""Models of scikit-learn as streams are played with them: in batches."""

from typing import Any

import numpy as np

from forks.engine import Matrix, Vector

BATCH = 100


def in_batches(
    X: Matrix, y: Vector, features: Any, model: Any, score: str, **learning: Any
) -> Vector:
    """Transform, predict and learn a batch at a time; give the scores, 0 in the first batch."""
    scores = np.zeros(len(y))
    for t in range(0, len(y), BATCH):
        batch = slice(t, t + BATCH)
        phi = features.transform(X[batch])
        if t:
            scores[batch] = getattr(model, score)(phi)
        model.partial_fit(phi, y[batch], **learning)
    return scores
