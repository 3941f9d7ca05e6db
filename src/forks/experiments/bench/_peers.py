"""Linear models of scikit-learn on explicit features: a stream is played in batches."""

from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from forks.engine import Vector
from forks.evaluate.metrics import SIGNS
from forks.evaluate.player import Player
from forks.evaluate.players import PartialFitPlayer
from forks.experiments.bench._data import SEED, Stream
from forks.experiments.bench._timing import Timed

BATCH = 100


class FeaturePlayer(PartialFitPlayer):
    """A model on features that are made once for predicting and learning."""

    def __init__(self, features: Any, model: Any, **options: Any) -> None:
        super().__init__(type(model).__name__, model, **options)
        self.features = features

    def _play(self, rows: Any) -> tuple[Any, Any, np.ndarray]:
        return super()._play(rows._replace(X=self.features.transform(rows.X)))


def in_batches(player: Player, X: Any, y: Vector, batch: int = BATCH) -> Timed:
    """Predict and learn a batch at a time; the result are scores or answers, 0 in the first."""
    results: list[Any] = []
    for t in range(0, len(y), batch):
        played = player.play(X[t : t + batch], y[t : t + batch])
        results.append(played.scores if player.classifies else played.answers)
    return Timed(player.clock.seconds, np.concatenate(results))


def random_features(stream: Stream, n_components: int, gamma: float = 1.0) -> Timed:
    """Play random Fourier features of a Gaussian kernel, and a linear model with the hinge loss."""
    sampler = RBFSampler(gamma=gamma, n_components=n_components, random_state=SEED)
    model = SGDClassifier(loss="hinge", random_state=SEED)
    return in_batches(FeaturePlayer(sampler.fit(stream.X[:1]), model, classes=SIGNS), *stream)
