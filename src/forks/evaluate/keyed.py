"""The player of keyed models."""

from typing import Any

import numpy as np

from forks.evaluate.players import EstimatorPlayer
from forks.evaluate.rows import Rows


class KeyedPlayer(EstimatorPlayer):
    """A keyed model; the rows of its stream are `forks.keyed.tables.KeyedRows`."""

    @property
    def engine(self) -> Any:
        """The engine of the common model, or None as long as no label has come."""
        common = getattr(self.model, "common_", None)
        return getattr(common, "engine_", None)

    @property
    def learner(self) -> Any:
        """The configuration of the common model."""
        if self.engine is not None:
            return self.engine.learner
        return self.model._common_class(effort=self.model.effort)._learner()

    def _probabilities(self, scores: Any) -> np.ndarray | None:
        if not self.classifies:
            return None
        if self.engine is None:
            return np.full((len(scores), len(self.classes)), 1.0 / len(self.classes))
        found: np.ndarray = self.model.probabilities_of(scores)
        return found

    def _sizes(self) -> tuple[int | None, int | None]:
        stored, size = super()._sizes()
        if self.engine is not None:
            size = (size or 0) + self.model.n_keys_ * self.model.bytes_per_key_
        return stored, size

    def _play(self, rows: Rows) -> tuple[Any, Any, np.ndarray]:
        if self.delay > 0:
            raise ValueError(f"{self.name} cannot play a stream whose labels come late")
        return super()._play(rows)

    def _score_and_learn(self, rows: Rows) -> np.ndarray:
        keys, X = rows.X
        return np.asarray(self.model.prequential(keys, X, rows.y, **self._learning(rows)))
