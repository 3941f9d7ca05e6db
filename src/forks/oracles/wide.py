"""The learner for wide sparse rows, as `forks.learners.wide` and its parts describe it.

Features are kept in a dictionary, rows are dense vectors, and every matrix is solved anew. The
numbers that are not parameters are written out here, so that the tests check those of the learner
too. Related: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", 2009.
"""

from collections.abc import Iterable

import numpy as np

from forks.oracles.kernels import Matrix, Vector
from forks.oracles.landmarks import independent_rows
from forks.oracles.losses import Hinge, Logistic, Loss, SquaredHinge
from forks.oracles.newton import newton_step
from forks.oracles.start import ridge_fit, squared_hinge_fit

RIDGES = np.array([0.01, 0.1, 1.0, 10.0, 0.01, 0.1, 1.0, 10.0])
SHARES = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
FARTHEST = 1e6  # |x| / m
BIAS = 0.3
MEMORY = 1000  # rows, of the means of sizes and of squared norms
FARTHEST_TARGET = 10.0  # standard deviations, of targets and slopes of regression
HEAVIEST = 1e6


def hash32(key: int) -> int:
    """Return a hash of 32 bits."""
    key = (key ^ (key >> 32)) % 2**32
    for factor in (73244475, 295559667):
        key = (key ^ (key >> 16)) * factor % 2**32
    return key ^ (key >> 16)


class Places:
    """Places of features in the order in which they come; at most `most`, with that of the bias."""

    def __init__(self, most: int, hash_bits: int = 0):
        self.most, self.hash_bits = most, hash_bits
        self.known: dict[int, int] = {}

    def key(self, feature: int) -> int:
        return hash32(feature) % 2**self.hash_bits if self.hash_bits else feature

    def find(self, feature: int) -> int | None:
        key, used = self.key(feature), len(self.known) + 1
        if key not in self.known and used >= self.most:
            return 1 + hash32(key) % (used - 1)
        return self.known.get(key)

    def take(self, feature: int) -> int:
        place = self.find(feature)
        if place is None:
            place = self.known[self.key(feature)] = len(self.known) + 1
        return place


class DiagonalOracle:
    """Eight linear parts; arrays of the features' places are as long as they need to be."""

    def __init__(self, places: Places, n_outputs: int):
        self.places, self.norm, self.rows = places, 0.0, 0
        self.size: dict[int, tuple[float, int]] = {}  # mean size and count of a place
        self.w: dict[int, Matrix] = {}  # (outputs, lanes)
        self.v: dict[int, Vector] = {}
        self.n_outputs = n_outputs

    def scaled(self, x: Vector) -> list[tuple[int | None, float]]:
        """Return places and scaled values of the entries that are not 0, and of none else."""
        row = []
        for feature in np.flatnonzero(x):
            place = self.places.find(int(feature))
            mean = self.size.get(place, (0.0, 0))[0] if place is not None else 0.0
            ratio = min(abs(x[feature]) / mean, FARTHEST) if mean > 0.0 else 1.0
            row.append((place, float(np.sign(x[feature]) * np.log1p(ratio))))
        return row

    def _unit(self, square: float) -> float:
        norm = self.norm if self.rows else square
        return norm if norm > 1e-30 else 1.0

    def _with_bias(self, row: Iterable[tuple[int | None, float]]) -> list[tuple[int, float]]:
        known = [(place, z) for place, z in row if place is not None]
        bias = BIAS * np.sqrt(self._unit(sum(z * z for _, z in row)))
        for place, _ in [*known, (0, bias)]:
            self.w.setdefault(place, np.zeros((self.n_outputs, 8)))
            self.v.setdefault(place, np.ones(8))
        return [*known, (0, float(bias))]

    def scores(self, row: list[tuple[int | None, float]]) -> Matrix:
        """Return the scores, (outputs, lanes)."""
        return np.sum([z * self.w[place] for place, z in self._with_bias(row)], axis=0)

    def learn(self, x: Vector, slopes: Matrix, h: Vector) -> None:
        """Take the steps with slopes (outputs, lanes) and curvatures (lanes,), weighted."""
        row = self.scaled(x)
        entries, square = self._with_bias(row), sum(z * z for _, z in row)
        q = np.sum([z * z * self.v[place] for place, z in entries], axis=0)
        ridge = RIDGES * self._unit(square)
        for place, z in entries:
            self.w[place] = self.w[place] - z * self.v[place] * slopes / (ridge + h * q)
            added = h * z * z / (ridge + SHARES * h * q)
            self.v[place] = 1.0 / (1.0 / self.v[place] + added)
        for feature in np.flatnonzero(x):
            place = self.places.take(int(feature))
            mean, count = self.size.get(place, (0.0, 0))
            count = min(count + 1, MEMORY)
            self.size[place] = (mean + (abs(x[feature]) - mean) / count, count)
        self.rows = min(self.rows + 1, MEMORY)
        self.norm += (square - self.norm) / self.rows


class BlendOracle:
    """One output's regression on scores: a random walk, followed by a Kalman filter."""

    def __init__(self, n: int, n_first: int, classifies: bool):
        self.classifies = classifies
        self.a, self.P = np.zeros(n), np.eye(n)
        self.a[:n_first] = (2.0 if classifies else 1.0) / n_first

    def answer(self, s: Vector) -> float:
        f = float(self.a @ s)
        return float(np.clip(f, -20.0, 20.0)) if self.classifies else f

    def learn(self, s: Vector, y: float, weight: float) -> None:
        f, h = self.answer(s), 1.0
        g = f - y
        if self.classifies:
            p = 1.0 / (1.0 + np.exp(-f))
            g, h = p - (y > 0.0), max(p * (1.0 - p), 0.01)
        gain = self.P @ s / (1.0 + weight * h * (s @ self.P @ s))
        self.a = self.a - weight * g * gain
        self.P = self.P - weight * h * np.outer(gain, self.P @ s)
        low = np.flatnonzero(self.P.diagonal() < 1.0)
        self.P[low, low] += 1e-4


class SparseKernelOracle:
    """A kernel machine on landmarks chosen among the first rows, given by their scaled entries."""

    def __init__(self, rows: Matrix, y: Matrix, weights: Vector, bandwidth: float, one_sided: bool):
        squares = np.sum((rows[:, None] - rows[None]) ** 2, axis=2)
        pairs = squares[np.tril_indices(len(rows), -1)]
        self.scale = 0.5 / (bandwidth**2 * (np.median(pairs) or pairs.mean() or 1.0))
        K = np.exp(-self.scale * squares)
        chosen = independent_rows(K, 1e-8)
        self.Z = rows[chosen]
        self.L = np.linalg.cholesky(K[np.ix_(chosen, chosen)])
        Phi = np.array([self.phi(z, z @ z) for z in rows])
        fit = squared_hinge_fit if one_sided else ridge_fit
        self.w, self.A = fit(Phi, y, np.maximum(weights, 1e-5), 0.1)

    def phi(self, z: Vector, square: float) -> Vector:
        """Return features whose prior is the identity.

        z may be longer than landmarks are; `square` is |z|^2, by entries that may share a place.
        """
        n = min(len(z), self.Z.shape[1])
        squares = np.sum(self.Z**2, axis=1) + square - 2.0 * self.Z[:, :n] @ z[:n]
        values = np.exp(-self.scale * np.maximum(squares, 0.0))
        return np.append(np.linalg.solve(self.L, values), 1.0)

    def learn(self, phi: Vector, slopes: Vector, h: float) -> None:
        self.A, self.w = newton_step(self.A, self.w, phi, slopes, h)


class WideOracle:
    """The learner, one round at a time: `play` returns the answers and then learns."""

    def __init__(
        self,
        n_outputs: int,
        loss: Loss,
        *,
        bandwidth: float = 1.0,
        landmarks: int = 128,
        most_entries: int = 65536,
        most_places: int = 2**18,
        hash_bits: int = 0,
    ):
        self.loss, self.bandwidth, self.landmarks = loss, bandwidth, landmarks
        self.classifies = isinstance(loss, Hinge | SquaredHinge | Logistic)
        self.unit = float(loss.curvature(0.0, 1.0)) or 1.0
        self.most_entries, self.n_outputs = most_entries, n_outputs
        self.linear = DiagonalOracle(Places(most_places, hash_bits), n_outputs)
        self.blends = [BlendOracle(10, 8, self.classifies) for _ in range(n_outputs)]
        self.kernel: SparseKernelOracle | None = None
        self.kept: list[tuple[Vector, Vector, float]] | None = [] if landmarks else None
        self.targets: list[float] = []

    def dense(self, row: list[tuple[int | None, float]]) -> Vector:
        """Return scaled entries by their places; each of those that have none gets one of its own.

        Places from the last in use on are free.
        """
        after = len(self.linear.places.known) + 1
        new = sum(place is None for place, _ in row)
        z, free = np.zeros(after + new), after
        for place, value in row:
            if place is None:
                z[free], free = value, free + 1
            else:
                z[place] += value
        return z

    def _unit_of_targets(self) -> tuple[float, float]:
        if self.classifies or not self.targets:
            return 0.0, 1.0
        return float(np.mean(self.targets)), float(np.std(self.targets)) or 1.0

    def _in_unit(self, y: Matrix) -> Matrix:
        if self.classifies:
            return y
        mean, spread = self._unit_of_targets()
        return np.clip((y - mean) / spread, -FARTHEST_TARGET, FARTHEST_TARGET)

    def _inputs(self, F: Matrix, f_kernel: Vector) -> Matrix:
        most = 3.0 if self.classifies else 10.0
        return np.column_stack([np.clip(F, -most, most), np.clip(f_kernel, -most, most),
                                np.ones(len(F))])  # fmt: skip

    def play(self, x: Vector, y: Vector, weight: float = 1.0) -> Vector:
        row = self.linear.scaled(x)
        F, f_kernel, phi = self.linear.scores(row), np.zeros(self.n_outputs), None
        if self.kernel is not None:
            phi = self.kernel.phi(self.dense(row), sum(z * z for _, z in row))
            f_kernel = phi @ self.kernel.w
        s = self._inputs(F, f_kernel)
        answers = np.array([b.answer(s[o]) for o, b in enumerate(self.blends)])
        mean, spread = self._unit_of_targets() if self.targets else (0.0, 0.0)
        out = np.tanh(0.5 * answers) if self.classifies else mean + spread * answers
        if weight != 0.0:
            self._learn(x, y, min(weight, HEAVIEST), s, f_kernel, phi)
        return np.asarray(out)

    def _slopes(self, f: Matrix, y: Vector, weight: float) -> tuple[Matrix, Matrix]:
        y = y.reshape(-1, *[1] * (f.ndim - 1))
        g = np.asarray(self.loss.slope(f, y)) / self.unit
        h = np.broadcast_to(np.asarray(self.loss.curvature(f, y)) / self.unit, g.shape)
        if not self.classifies:
            g = np.clip(g, -FARTHEST_TARGET, FARTHEST_TARGET)
        h = np.where(g == 0.0, 0.0, np.where(h > 0.0, h, 1.0))
        return weight * g, weight * h

    def _learn(
        self, x: Vector, y: Vector, weight: float, s: Matrix, f_kernel: Vector, phi: Vector | None
    ) -> None:
        for feature in np.flatnonzero(x):
            self.linear.places.take(int(feature))
        if not self.classifies:
            self.targets += list(y)
        raw, y = y, self._in_unit(y)
        for o, blend in enumerate(self.blends):
            blend.learn(s[o], float(y[o]), weight)
        F = self.linear.scores(self.linear.scaled(x))  # features that share a place have it now
        slopes, h = self._slopes(F, y, weight)
        self.linear.learn(x, slopes, h.max(axis=0))
        if self.kernel is not None and phi is not None:
            slopes, h = self._slopes(f_kernel, y, weight)
            if h.max() > 0.0:
                self.kernel.learn(phi, slopes, float(h.max()))
        elif self.kept is not None:
            self._keep(x, raw, weight)

    def _keep(self, x: Vector, y: Vector, weight: float) -> None:
        assert self.kept is not None
        total = sum(np.count_nonzero(row) for row, _, _ in self.kept) + np.count_nonzero(x)
        if total <= self.most_entries:
            self.kept.append((x, y, weight))
        if total > self.most_entries or len(self.kept) == self.landmarks:
            if len(self.kept) >= 16:
                rows = [self.dense(self.linear.scaled(row)) for row, _, _ in self.kept]
                targets = self._in_unit(np.array([y for _, y, _ in self.kept]))
                weights = np.array([weight for _, _, weight in self.kept])
                one_sided = self.classifies and self.n_outputs == 1
                self.kernel = SparseKernelOracle(
                    np.array(rows), targets, weights, self.bandwidth, one_sided
                )
            self.kept = None
