"""Whom to believe about rows far ahead: see `forks.parts.horizon`.

A period is an eighth of the rounds before it, 16 rounds at least. What was kept when it began
answers all its rows; those of its second half are judged, and count as 15 rows at most.
"""

from collections.abc import Mapping

import numpy as np

from forks.oracles.calibration import CalibrationLine, log_odds
from forks.oracles.experts import DOUBT
from forks.oracles.kernels import Vector

BASE = -1  # voice


class HorizonOracle:
    """Trust in the mixture, in the oldest expert, and in the base rates."""

    def __init__(self, voices: int, classifies: bool, slope: float = 3.0):
        self.classifies = classifies
        self.trust = np.array([0.49, 0.49, 0.02])
        self.lines = [CalibrationLine(a, keep=0.9999) for a in (1.0, slope)]
        self.begin(np.eye(voices)[0], 0)
        self.before: list[Vector] = []  # the first two answers as scores to be calibrated

    def begin(self, weights: Vector, rounds: int) -> None:
        """Begin a period with the weights of experts that are kept."""
        self.weights = weights.copy()
        self.first, self.end = rounds, rounds + max(16, rounds // 8)
        self.judged: list[Vector] = []

    def answers(
        self, weights: Vector, said: Mapping[int, Vector], p: list[Vector | None], oldest: int
    ) -> list[Vector]:
        """Return the three answers, of which the first two are calibrated.

        `said` are the scores of experts, and p what all voices say.
        """
        lasting = np.eye(len(weights))[oldest] if weights[oldest] > 0.0 else weights
        if not weights.any():
            weights = lasting = np.eye(len(weights))[BASE]
        self.before = []
        for w in (weights, lasting):
            parts = [w_e * q for w_e, q in zip(w, p, strict=True) if q is not None and w_e > 0.0]
            self.before.append(np.sum(parts, axis=0) / w.sum())
        rates = p[BASE]
        assert rates is not None
        if not self.classifies:
            return [*self.before, rates]
        self.before = [log_odds(q) for q in self.before]
        if lasting is not weights:
            self.before[1] = said[oldest]
        both = zip(self.lines, self.before, strict=True)
        return [*(line.probabilities(f) for line, f in both), rates]

    def mixed(
        self, weights: Vector, said: Mapping[int, Vector], p: list[Vector | None], oldest: int
    ) -> Vector:
        """Return the mean of the three."""
        return np.asarray(self.trust @ np.array(self.answers(weights, said, p, oldest)))

    def learn(self, likelihoods: Vector, y: Vector, t: int, power: float) -> None:
        """Learn from round t, whose answers were made last."""
        if self.classifies:
            for line, f in zip(self.lines, self.before, strict=True):
                line.learn(f, y, power)
        if t - self.first >= (self.end - self.first) / 2:
            self.judged.append(power * np.log(np.maximum(likelihoods, DOUBT)))

    def end_of_round(self, weights: Vector, rounds: int) -> bool:
        """Return whether a period begins; if so, the last one has changed the trust."""
        if rounds < self.end:
            return False
        if self.judged:
            rows = min(len(self.judged), 15)
            trust = self.trust * np.exp(rows * np.mean(self.judged, axis=0))
            self.trust = 0.98 * trust / trust.sum() + 0.02 / 3
        self.begin(weights, rounds)
        return True

    def leave(self, voice: int, rounds: int) -> None:
        """Leave out an expert; without most of the weight the period is over."""
        if self.weights[voice] > 0.5:
            self.end = rounds
        self.weights[voice] = 0.0
