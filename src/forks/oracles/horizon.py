"""Whom to believe about rows far ahead: see `forks.parts.horizon`.

A period is an eighth of the rounds before it, 16 rounds at least. What was kept when it began
answers all its rows; those of its second half are judged, and count as 15 rows at most.
"""

import numpy as np

from forks.oracles.calibration import CalibrationLine, log_odds
from forks.oracles.experts import DOUBT
from forks.oracles.kernels import Vector

PAIR, BASE = -3, -1  # voices


class HorizonOracle:
    """Trust in the mixture, in its first two voices and their mean, and in the base rates."""

    def __init__(self, voices: int, classifies: bool):
        self.classifies = classifies
        self.trust = np.array([0.49, 0.49, 0.02])
        self.lines = [CalibrationLine(1.0, keep=0.9999) for _ in range(2)]
        self.begin(np.eye(voices)[0], 0)
        self.before: list[Vector] = []  # the first two answers as they were, not calibrated

    def begin(self, weights: Vector, rounds: int) -> None:
        """Begin a period with the weights of experts that are kept."""
        self.weights = weights.copy()
        self.first, self.end = rounds, rounds + max(16, rounds // 8)
        self.judged: list[Vector] = []

    def answers(self, weights: Vector, p: list[Vector | None]) -> list[Vector]:
        """Return the three answers, of which the first two are calibrated."""
        lasting = np.zeros(len(weights))
        lasting[[0, 1, PAIR]] = weights[[0, 1, PAIR]]
        if not weights.any():
            weights = np.eye(len(weights))[BASE]
        if not lasting.any():
            lasting = weights
        self.before = []
        for w in (weights, lasting):
            said = [w_e * q for w_e, q in zip(w, p, strict=True) if q is not None and w_e > 0.0]
            self.before.append(np.sum(said, axis=0) / w.sum())
        rates = p[BASE]
        assert rates is not None
        if not self.classifies:
            return [*self.before, rates]
        both = zip(self.lines, self.before, strict=True)
        return [*(line.probabilities(log_odds(q)) for line, q in both), rates]

    def mixed(self, weights: Vector, p: list[Vector | None]) -> Vector:
        """Return the mean of the three."""
        return np.asarray(self.trust @ np.array(self.answers(weights, p)))

    def learn(self, likelihoods: Vector, y: Vector, t: int, power: float) -> None:
        """Learn from round t, whose answers were made last."""
        if self.classifies:
            for line, q in zip(self.lines, self.before, strict=True):
                line.learn(log_odds(q), y, power)
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
