"""The last label repeated, the last residual, and base rates."""

import numpy as np

from forks.oracles.kernels import Vector

SURE = 0.005  # probabilities stay so far from 0 and 1


class LastLabels:
    """All labels and residuals so far; labels come `delay` rows late."""

    def __init__(self, n_outputs: int, classifies: bool):
        self.n, self.classifies, self.delay = n_outputs, classifies, 0
        self.rows: list[Vector] = []
        self.labels: list[Vector] = []
        self.residuals: list[Vector] = []
        self.mean = np.zeros(n_outputs)  # of the labels, which are bounded in regression
        self.deviation = np.zeros(n_outputs)  # mean absolute one
        self.counts = np.zeros((2, 2))  # repeats of labels, and all; of other rows, of equal ones
        self.products, self.squares = np.zeros(n_outputs), np.zeros(n_outputs)

    @property
    def known(self) -> int | None:
        """The last round whose label is known."""
        t = len(self.labels) - 1 - self.delay
        return t if t >= 0 else None

    def _equals(self, x: Vector) -> bool:
        """Whether row x is that of the last known label."""
        return self.known is not None and np.array_equal(x, self.rows[self.known])

    def last(self, x: Vector) -> Vector:
        """Return the answer of the last known label for row x: 2 p - 1 for classes."""
        if self.known is None:
            if not self.classifies:
                return self.base()
            return np.full(self.n, 2.0 * (0.5 if self.n == 1 else 1.0 / self.n) - 1.0)
        label = self.labels[self.known]
        if not self.classifies:
            return label
        q = 0.5
        for repeats, n in self.counts[: 2 if self._equals(x) else 1]:
            q = (repeats + q) / (n + 1.0)
        q = np.clip(q, SURE, 1.0 - SURE)
        other = (1.0 - q) / max(1, self.n - 1)
        return 2.0 * np.where(label > 0.0, q, other) - 1.0

    def base(self) -> Vector:
        """Return the mean of all labels."""
        return self.mean

    def correction(self) -> Vector:
        """Return what the last known residual adds to the answer."""
        if self.known is None:
            return np.zeros(self.n)
        r = np.divide(self.products, self.squares, out=np.zeros(self.n), where=self.squares > 0.0)
        return np.clip(r, 0.0, 1.0) * self.residuals[self.known]

    def observe(self, x: Vector, y: Vector, answer: Vector) -> None:
        """Learn from row x and its label; the answer, uncorrected, is given."""
        residual, t = y - answer, len(self.labels)
        if self.known is not None:
            same = np.array_equal(y > 0.0, self.labels[self.known] > 0.0)
            counts = self.counts[int(self._equals(x))]
            counts[:] = 0.998 * counts + [same, 1.0]
            before = self.residuals[self.known]
            self.products = 0.999 * self.products + residual * before
            self.squares = 0.999 * self.squares + before**2
        self.rows.append(x)
        self.labels.append(y)
        away = y - self.mean
        if not self.classifies and t >= 100:
            most = np.where(self.deviation > 0.0, 50.0 * self.deviation, np.inf)
            away = np.clip(away, -most, most)
        self.deviation = self.deviation + (np.abs(away) - self.deviation) / (t + 1)
        self.mean = self.mean + away / (t + 1)
        self.residuals.append(residual)
