"""One model per key: a common model's scores, and each key's ridge regression on what is left.

Every key keeps all of its rows. An expert is a strength of the prior; its correction is solved
anew for each row. Experts are weighed by discounted losses, the key's and those of all keys.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from forks.oracles.calibration import CalibrationLine, log_odds
from forks.oracles.kernels import Matrix, Vector, gaussian
from forks.oracles.landmarks import Landmarks

STARTS = (32, 128, 512)  # rows after which the map is made from all so far
LANDMARKS = 100
STRENGTHS = (1.0, 10.0, 100.0)
SURE = 1e-4


class FewFeatures:
    """phi(x): the leading directions of whitened kernel features and a linear part, and a 1."""

    def __init__(self, X: Matrix, rank: int):
        known = ~np.isnan(X)
        self.fill = np.array(
            [x[ok].mean() if ok.any() else 0.0 for x, ok in zip(X.T, known.T, strict=True)]
        )
        X = np.where(known, X, self.fill)
        chosen = [int(i) for i in np.linspace(0, len(X) - 1, min(len(X), LANDMARKS))]
        self.landmarks = Landmarks(X[chosen], gaussian(1.0))
        F = np.array([self.whitened(x) for x in X[chosen]])
        values, vectors = np.linalg.eigh(F.T @ F)
        use = [i for i in range(len(values)) if values[i] > 1e-9 * values[-1]][::-1][:rank]
        self.V = vectors[:, use]

    def whitened(self, x: Vector) -> Vector:
        return self.landmarks.phi(self.landmarks.psi(x))[:-1]

    def __call__(self, x: Vector) -> Vector:
        x = np.where(np.isnan(x), self.fill, x)
        return np.append(self.V.T @ self.whitened(x), 1.0)


class _Key:
    def __init__(self, experts: int, outputs: int):
        self.phi: list[Vector] = []
        self.h: list[float] = []  # curvatures
        self.pull: list[Vector] = []  # h m - g
        self.weight: list[float] = []
        self.own = np.zeros(experts)  # discounted losses
        self.last: Vector | None = None  # residual
        self.products = self.squares = 0.0


class KeyedOracle:
    """Corrections of a common model, row by row.

    `given` are the common model's scores: numbers, or probabilities as 2 p - 1; targets are
    numbers, or -1 and +1.
    """

    def __init__(self, outputs: int, classifies: bool, rank: int, forgetting: float):
        self.outputs, self.classifies, self.rank = outputs, classifies, rank
        self.forgetting = forgetting
        self.rows: list[tuple[Hashable, Vector, Vector, Vector, float]] = []
        self.features: Any = lambda x: np.ones(1)
        self.begin()

    def begin(self) -> None:
        self.keys: dict[Hashable, _Key] = {}
        self.losses = np.zeros(2 + len(STRENGTHS))
        self.rounds, self.square = 0, 0.0
        self.products = self.squares = 0.0
        self.low, self.high = math.inf, -math.inf
        self.line = CalibrationLine(1.0)

    def play(
        self,
        keys: Sequence[Hashable],
        X: Matrix,
        given: Matrix,
        Y: Matrix,
        weights: Vector | None = None,
    ) -> tuple[Matrix, Matrix]:
        """Return the answers to what comes next, and those without the last residual."""
        weights = np.ones(len(Y)) if weights is None else weights
        both = [self.round(*row) for row in zip(keys, X, given, Y, weights, strict=True)]
        return np.array([b[0] for b in both]), np.array([b[1] for b in both])

    def round(
        self, key: Hashable, x: Vector, given: Vector, y: Vector, weight: float
    ) -> tuple[Vector, Vector]:
        answer = self.learn(key, x, given, y, weight)
        if weight > 0.0 and len(self.rows) < STARTS[-1]:
            self.rows.append((key, x, given, y, weight))
            if len(self.rows) in STARTS:
                self.features = FewFeatures(np.array([row[1] for row in self.rows]), self.rank)
                self.begin()
                for row in self.rows:
                    self.learn(*row)
        return answer

    # ---- a round -------------------------------------------------------------------------------

    def learn(
        self, key: Hashable, x: Vector, given: Vector, y: Vector, weight: float
    ) -> tuple[Vector, Vector]:
        own = self.keys.setdefault(key, _Key(len(self.losses), self.outputs))
        phi, f = self.features(x), self.common(given)
        c = self.corrections(own, phi)
        w = np.exp(-own.own - self.losses)
        m = w @ c / w.sum()
        settled = f + m
        ahead = settled + (0.0 if own.last is None else self.share(own) * own.last)
        answers = self.answer(ahead), self.answer(settled)
        if weight == 0.0:
            return answers
        self.rounds += 1
        if self.classifies:
            p = self.probabilities(settled)
            g, limit = p - (y > 0.0), math.inf
            h = float(np.max(p * (1.0 - p)))
        else:
            g, h = settled - y, 1.0
            limit = 4.0 * math.sqrt(self.square) if self.rounds > 100 else math.inf
            self.low, self.high = min(self.low, *y), max(self.high, *y)
            held = min(float(g @ g), limit**2)
            self.square += (held - self.square) / min(self.rounds, 1000)
        losses = weight * np.array([self.loss(f + each, y, limit) for each in c])
        own.own = 0.99 * own.own + 0.5 * losses
        self.losses = 0.999 * self.losses + 0.05 * losses
        if self.classifies:
            self.line.learn(self.log_odds_of(given), y, min(weight, 1.0))
        else:
            self.remember(own, np.clip(-g, -limit, limit))
        own.phi.append(phi)
        own.h.append(h)
        own.pull.append(h * m - np.clip(g, -limit, limit))
        own.weight.append(weight)
        return answers

    def log_odds_of(self, given: Vector) -> Vector:
        return log_odds(np.clip(0.5 + 0.5 * given, SURE, 1.0 - SURE))

    def common(self, given: Vector) -> Vector:
        """The common scores: calibrated log-odds, or numbers that are near the targets so far."""
        if self.classifies:
            return log_odds(self.line.probabilities(self.log_odds_of(given)))
        if self.rounds == 0:
            return given
        more = (self.high - self.low) * max(0.1, 10.0 / self.rounds)
        return np.clip(given, self.low - more, self.high + more)

    def corrections(self, own: _Key, phi: Vector) -> Matrix:
        """What each expert adds: nothing, a bias, and ridge regressions of several strengths."""
        c = np.zeros((len(self.losses), self.outputs))
        n = len(own.phi)
        if n == 0:
            return c
        age = np.array(own.weight) * (1.0 - self.forgetting) ** np.arange(n - 1, -1, -1)
        Phi = np.array(own.phi)
        S = (age * np.array(own.h) * Phi.T) @ Phi
        b = (age * Phi.T) @ np.array(own.pull)
        c[1] = b[-1] / (S[-1, -1] + 1.0)
        for e, strength in enumerate(STRENGTHS):
            prior = np.full(len(phi), strength)
            prior[-1] = 1.0
            c[2 + e] = phi @ np.linalg.solve(S + np.diag(prior), b)
        return c

    def share(self, own: _Key) -> float:
        """How much of the key's last residual lasts: its own estimate, with 20 rows of all keys."""
        squares = own.squares + 20.0 * self.squares
        if self.classifies or squares == 0.0:
            return 0.0
        return float(np.clip((own.products + 20.0 * self.products) / squares, 0.0, 1.0))

    def remember(self, own: _Key, e: Vector) -> None:
        if own.last is not None:
            unit = self.square or 1.0
            product, square = float(e @ own.last) / unit, float(own.last @ own.last) / unit
            own.products = 0.999 * own.products + product
            own.squares = 0.999 * own.squares + square
            self.products = 0.999 * self.products + 0.001 * product
            self.squares = 0.999 * self.squares + 0.001 * square
        own.last = e

    def probabilities(self, z: Vector) -> Vector:
        if len(z) == 1:
            return 1.0 / (1.0 + np.exp(-np.clip(z, -30.0, 30.0)))
        p = np.exp(np.maximum(z - z.max(), -30.0))
        return p / p.sum()

    def answer(self, z: Vector) -> Vector:
        return 2.0 * self.probabilities(z) - 1.0 if self.classifies else z

    def loss(self, z: Vector, y: Vector, limit: float) -> float:
        if not self.classifies:
            errors = np.minimum(np.abs(z - y), limit)
            return 0.5 * float(errors @ errors) / self.square if self.square > 0.0 else 0.0
        if len(z) == 1:
            margin = np.clip(z[0] * np.sign(y[0]), -4.0, 30.0)
            return float(np.log1p(np.exp(-margin)))
        return float(-np.log(max(self.probabilities(z)[int(np.argmax(y))], 0.02)))
