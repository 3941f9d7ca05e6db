"""Evaluation: models on a stream, each row scored before its label is used.

- `prequential` plays a stream with any number of models, and yields checkpoints.
- `learn` plays one with a single estimator, and keeps predictions, metrics and checkpoints.
- `play` and `LearnerPlayer` play bare learners, for experiments.
- `ClassificationMeasures` and `RegressionMeasures` make the figures of any predictions.
- `hindsight` and `regret` compare with the best fixed hypothesis.

Beside them: `forks.evaluate.metrics` (what is counted), `players` (one for every kind of model) and
`clock` (CPU time, compilation before it starts).
"""

from forks.evaluate._prequential import play, prequential
from forks.evaluate.measures import ClassificationMeasures, RegressionMeasures
from forks.evaluate.metrics import Checkpoint, is_mistake
from forks.evaluate.players import LearnerPlayer, player_for
from forks.evaluate.regret import hindsight, regret
from forks.evaluate.session import Finished, learn

__all__ = [
    "Checkpoint",
    "ClassificationMeasures",
    "Finished",
    "LearnerPlayer",
    "RegressionMeasures",
    "hindsight",
    "is_mistake",
    "learn",
    "play",
    "player_for",
    "prequential",
    "regret",
]
