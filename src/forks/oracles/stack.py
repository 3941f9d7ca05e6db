"""A mixture of numbers corrected by stacking, for one output: see `forks.parts.stack`."""

import numpy as np

from forks.oracles.kernels import Vector

VARIANCE, DRIFT = 0.01, 1e-5  # of the weights: prior, and of each step of their random walk
FARTHEST_VOICE, FARTHEST_ERROR = 5.0, 4.0  # in root mean squared errors


class StackOracle:
    """Weights of what `n` voices say beside the mixture, and of a constant."""

    def __init__(self, n: int):
        self.a, self.P = np.zeros(n + 1), VARIANCE * np.eye(n + 1)
        self.trust = np.array([0.5, 0.5])  # in the mixture, in the stacked answer
        self.mean, self.counted = 0.0, 0
        self.v, self.f = np.zeros(n + 1), 0.0

    def begin(self, e: int) -> None:
        """Forget a voice."""
        self.a[e] = 0.0
        self.P[e], self.P[:, e] = 0.0, 0.0
        self.P[e, e] = VARIANCE

    def answer(self, said: list[float | None], f: float) -> float:
        """Return the answer; None stands for voices without a say."""
        self.f, self.v = f, np.zeros(len(self.a))
        size = np.sqrt(self.mean)
        if not size > 0.0:
            return f
        for e, voice in enumerate(said):
            if voice is not None:
                self.v[e] = np.clip((voice - f) / size, -FARTHEST_VOICE, FARTHEST_VOICE)
        self.v[-1] = 1.0
        return float(f + self.trust[1] * size * (self.a @ self.v))

    def learn(self, y: float, power: float) -> None:
        """Learn from a target, after `answer`."""
        error = y - self.f
        if self.mean > 0.0 and self.counted > 20:
            target = error / np.sqrt(self.mean)
            left = np.array([target, target - self.a @ self.v])
            self.trust = self.trust * np.exp(-0.25 * power * np.minimum(left**2, 16.0))
            self.trust = 0.9995 * self.trust / self.trust.sum() + 0.00025
            self._step(self.v, float(np.clip(left[1], -FARTHEST_ERROR, FARTHEST_ERROR)), power)
        square = error**2
        if self.counted > 100:
            square = min(square, 150.0 * self.mean)
        self.counted = min(self.counted + 1, 1000)
        self.mean += (square - self.mean) / self.counted

    def _step(self, v: Vector, left: float, power: float) -> None:
        gain = self.P @ v / (1.0 + power * (v @ self.P @ v))
        self.a = self.a + power * left * gain
        self.P = self.P - power * np.outer(gain, self.P @ v)
        low = np.flatnonzero(self.P.diagonal() < VARIANCE)
        self.P[low, low] += DRIFT
