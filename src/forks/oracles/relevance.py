"""Which features matter: slopes of ridge regressions with a Gaussian kernel.

Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", 2024.
"""

import numpy as np

from forks.oracles.kernels import Matrix, Vector
from forks.oracles.landmarks import median_distance
from forks.oracles.scaling import PlainScale

ALPHAS = (0.1, 1.0, 10.0)
DOUBT = 5.0  # rows for each feature at which slopes count half
MARGIN = 1.0  # standard errors
WIDEST, WIDEST_QUADRATIC = 64, 256
STEEPEST = 500  # rows whose slopes are looked at


class RelevanceSearch:
    """Rows to search with: every fourth is held back to judge, m of the others are landmarks."""

    def __init__(self, X: Matrix, y: Matrix, weights: Vector, m: int, classifies: bool):
        self.Z, self.weights, self.classifies = PlainScale(X[weights > 0.0])(X), weights, classifies
        self.n, self.d = X.shape
        self.held = [i for i in range(self.n) if i % 4 == 3]
        self.trained = [i for i in range(self.n) if i % 4 != 3]
        m = min(m, len(self.trained))
        self.landmarks = [self.trained[i * len(self.trained) // m] for i in range(m)]
        if not classifies:
            y = y - np.mean(y[self.trained], axis=0)
            y = y / (np.max(np.abs(y)) or 1.0)
        self.y = y

    def trial(self, relevance: Vector) -> tuple[Vector, Vector, Matrix]:
        """Return losses of rows held back, mean squared slopes along r_j z_j, and all scores."""
        U = self.Z * relevance
        width = median_distance(U[self.landmarks])
        centres = U[self.landmarks] / width

        def features(u: Vector) -> Vector:
            k = np.exp(-0.5 * np.sum((u / width - centres) ** 2, axis=1))
            linear = u / np.sqrt(self.d) if self.d <= WIDEST else np.zeros(0)
            return np.concatenate([k, linear, [1.0]])

        F = np.array([features(u) for u in U])
        prior = np.eye(F.shape[1])
        prior[: len(centres), : len(centres)] = F[self.landmarks, : len(centres)]
        T, w = F[self.trained], self.weights[self.trained, None]
        best, losses, theta = np.inf, np.zeros(0), np.zeros((F.shape[1], self.y.shape[1]))
        for alpha in ALPHAS:
            A = T.T @ (w * T) + alpha * prior + 1e-10 * self.n * np.eye(len(prior))
            solution = np.linalg.solve(A, T.T @ (w * self.y[self.trained]))
            tried = self.losses(F[self.held] @ solution)
            if tried.mean() < best:
                best, losses, theta = tried.mean(), tried, solution
        squares = np.zeros(self.d)
        rows = range(max(0, self.n - STEEPEST), self.n)
        for i in rows:
            k = F[i, : len(centres)]
            for column in theta.T:
                slope = (column[: len(k)] * k) @ (centres - U[i] / width) / width
                if self.d <= WIDEST:
                    slope = slope + column[len(k) : -1] / np.sqrt(self.d)
                squares += slope**2 / len(rows)
        return losses, squares, F @ theta

    def losses(self, f: Matrix) -> Vector:
        y = self.y[self.held]
        error = np.maximum(0.0, 1.0 - y * f) if self.classifies else y - f
        return self.weights[self.held] * np.sum(error**2, axis=1)

    def quadratic_slopes(self, y: Matrix) -> Vector:
        """Mean squared slopes of b'z + z'B z / 2, less what chance adds to them."""
        Z = self.Z[self.trained]
        y = y[self.trained] * self.weights[self.trained, None]
        squares = np.zeros(self.d)
        for column in (y - y.mean(axis=0)).T:
            chance = np.mean(column**2) / len(Z)
            for j in range(self.d):
                squares[j] += np.mean(column * Z[:, j]) ** 2 - chance
                for k in range(self.d):
                    b = np.mean(column * Z[:, j] * Z[:, k])
                    squares[j] += (b**2 / 2.0 if j == k else b**2) - chance
        return np.maximum(squares, 0.0)

    def next_relevance(self, relevance: Vector, squares: Vector) -> Vector:
        """Return the relevance that slopes lead to, of mean square one."""
        if not squares.mean() > 0.0:
            return relevance
        rho = self.n / (self.n + DOUBT * self.d)
        new = relevance * np.sqrt(rho * squares / squares.mean() + 1.0 - rho)
        return new / np.sqrt(np.mean(new**2))

    def search(self, candidates: list[Vector], rounds: int = 2) -> Vector:
        """Return the best relevance; none at all unless another is clearly better."""
        none = np.ones(self.d)
        tried = [none]
        if self.d <= WIDEST_QUADRATIC:
            tried.append(self.next_relevance(none, self.quadratic_slopes(self.y)))
        tried += candidates
        trials = [(r, *self.trial(r)) for r in tried]
        r, _, squares, f = min(trials, key=lambda trial: trial[1].mean())
        if self.d <= WIDEST_QUADRATIC:  # and with what the best one leaves
            joined = r**2 * squares + self.quadratic_slopes(self.y - f)
            joined = self.next_relevance(none, joined)
            trials.append((joined, *self.trial(joined)))
            r, _, squares, _ = min(trials, key=lambda trial: trial[1].mean())
        for _ in range(rounds):
            r = self.next_relevance(r, squares)
            trials.append((r, *self.trial(r)))
            squares = trials[-1][2]
        best = min(trials, key=lambda trial: trial[1].mean())
        gain = trials[0][1] - best[1]
        return best[0] if gain.mean() > MARGIN * gain.std() / np.sqrt(len(gain)) else none
