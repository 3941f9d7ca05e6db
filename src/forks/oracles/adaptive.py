"""The adaptive learner, the default of the estimators, as `forks.learners.adaptive` describes it.

The numbers that are not parameters are written out here and in the parts that it is made of
(`scaling`, `landmarks`, `prior`, `follower`, `watch`), so that the tests check the numbers of the
learner too. Related: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", 2009;
Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", 2004.
"""

from collections.abc import Callable

import numpy as np

from forks.oracles.expansion import is_mistake
from forks.oracles.follower import SHARE, fixed_share, follow
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.landmarks import independent_rows, median_distance
from forks.oracles.losses import Hinge, Logistic, Loss, SquaredHinge
from forks.oracles.prior import USUAL_ALPHA, chosen_alpha
from forks.oracles.scaling import PlainScale
from forks.oracles.watch import PageWatch

FIRST_FIT = 16  # rows; then four times as many, and so on below the buffer
MORE_ROWS = 4
CHOOSE_UP_TO = 64  # rows: alpha is chosen by no more
DEPENDENT = 1e-8  # share of the largest k(x, x): what a row has beyond the landmarks
STEP_DOWN = 4.0  # alpha is lowered by this factor at least
LEAST_WEIGHT = 1e-5  # of a row in a fit
WIDEST = 512  # features: more have no linear part
SURE = 0.01  # probabilities stay so far from 0 and 1
OUTLIER = 4.0  # root mean squares: larger slopes of a regression are held
SETTLE, MEMORY = 100, 1000  # rounds before outliers are held, and of the mean square slope


class AdaptiveOracle:
    """The adaptive learner, one round at a time: `play` returns the scores and then learns.

    With K_mm = L L' of the landmarks, features are phi = [L^-1 k(x), linear part, 1], for which the
    prior is alpha I. A is kept, not its inverse, and every step solves with it. All rows since the
    start, or since the last change of the concept, are kept in `past`. From the full buffer on
    alpha is at most alpha_rounds / rounds.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        kernel: Kernel,
        loss: Loss,
        *,
        buffer: int,
        scaled: bool = True,
        median: bool = True,
        linear: bool = True,
        follow: bool = True,
        restart: bool = True,
        early: bool = True,
        robust: bool = True,
        alpha_rounds: float = 128.0,
    ):
        self.n_features, self.n_outputs = n_features, n_outputs
        self.kernel, self.loss = kernel, loss
        self.buffer, self.scaled, self.median, self.linear = buffer, scaled, median, linear
        self.classifies = isinstance(loss, Hinge | SquaredHinge | Logistic)
        self.follow, self.restart = follow and self.classifies, restart
        self.early, self.robust, self.alpha_rounds = early, robust, alpha_rounds
        self.unit = float(loss.curvature(0.0, 1.0)) or 1.0
        self.past: list[tuple[Vector, Vector, float]] = []  # (x, y, weight)
        self.landmarks: Matrix | None = None  # nothing is known of rows yet: psi = [1]
        self.alpha = self.unit * USUAL_ALPHA
        self.A, self.w = np.array([[self.alpha]]), np.zeros((1, n_outputs))
        self.follower = np.zeros((1, n_outputs))
        self.trust = np.full(n_outputs, 1.0 - SHARE)  # of w; the rest is the follower's
        self.heaviest = 0.0  # weight of a row
        self.mean, self.spread, self.tolerance = 0.0, 1.0, 0.0
        self.mean_square_slope, self.begun = 0.0, 0  # a mean since the round `begun`
        self.watch = PageWatch()
        self.due = self.next_due(0)
        self.rounds_ever = 0
        # rounds since the beginning
        self.fits: list[int] = []
        self.lowerings: list[int] = []
        self.restarts: list[int] = []
        # from the first fit on
        self.scale: Callable[[Matrix], Matrix]
        self.divisor: float
        self.L: Matrix
        self.centre: Vector
        self.follow_factor: float

    # ---- one round

    def play(self, x: Vector, y: Vector, weight: float = 1.0) -> Vector:
        """Return the scores of x, one per output, and learn from y."""
        psi = self.values(x)
        phi = self.features(psi)
        f = phi @ self.w
        if self.follow:
            centred = self.follower_features(psi)
            g = centred @ self.follower
            answer = 2.0 * self.probability(np.where(self.trust >= 0.5, f, g)) - 1.0
        elif self.classifies:
            answer = 2.0 * self.probability(f) - 1.0
        else:
            answer = self.mean + self.spread * f
        if weight == 0.0:
            return answer
        self.rounds_ever += 1
        self.past.append((x, y, weight))
        if self.restart:
            self.watch.observe(self.is_wrong(f, y))
        if self.follow:
            self.heaviest = max(self.heaviest, weight)
            self.trust = fixed_share(self.trust, f, g, y, weight / self.heaviest)
            self.follower = follow(self.follower, centred, y)
        self.newton_step(phi, f, y, weight)
        if len(self.past) == self.due or self.watch.alarmed:
            self.event()
        return answer

    def features(self, psi: Vector) -> Vector:
        """phi, of the values of one row."""
        if self.landmarks is None:
            return psi
        m = len(self.landmarks)
        return np.concatenate([np.linalg.solve(self.L, psi[:m]), psi[m:]])

    def values(self, x: Vector) -> Vector:
        """psi(x); the linear part is in scaled features before their division."""
        if self.landmarks is None:
            return np.ones(1)
        z = self.scale(x[None, :])
        values = self.kernel(z / self.divisor, self.landmarks)[0]
        linear = z[0] / np.sqrt(self.n_features) if self.has_linear_part else np.zeros(0)
        return np.concatenate([values, linear, [1.0]])

    @property
    def has_linear_part(self) -> bool:
        return self.linear and self.n_features <= WIDEST

    def follower_features(self, psi: Vector) -> Vector:
        """Kernel values less their mean, with mean square norm 1; the rest as it is."""
        if self.landmarks is None:
            return psi
        m = len(self.landmarks)
        return np.concatenate([self.follow_factor * (psi[:m] - self.centre), psi[m:]])

    def probability(self, f: Vector) -> Vector:
        if isinstance(self.loss, Logistic):
            p = np.exp(-np.logaddexp(0.0, -f))
        else:
            p = 0.5 + 0.5 * f
        return np.clip(p, SURE, 1.0 - SURE)

    def is_wrong(self, f: Vector, y: Vector) -> bool:
        """Is the round a mistake; in regression: is its squared slope above the recent mean?"""
        if not self.classifies:
            g = self.loss.slope(f, (y - self.mean) / self.spread)
            return bool(np.sum(g**2) > self.mean_square_slope)
        if self.n_outputs == 1:
            return is_mistake(f[0], y[0])
        return bool(y[np.argmax(f)] < 0.0)

    def newton_step(self, phi: Vector, f: Vector, y: Vector, weight: float) -> None:
        """Leave small slopes out, hold large ones, and step along A^-1 phi."""
        target = (y - self.mean) / self.spread
        g = np.asarray(self.loss.slope(f, target))
        if self.classifies:
            usual = abs(float(self.loss.slope(0.0, 1.0)))
        else:
            usual = np.sqrt(self.mean_square_slope)
        n = min(len(self.past) - self.begun, MEMORY)
        learned = np.abs(g) > self.tolerance * usual
        if self.robust and self.classifies:
            largest = 2.0 * (1.0 - self.tolerance) * usual
        elif self.robust and n > SETTLE:
            largest = OUTLIER * usual
        else:
            largest = np.inf
        held = np.where(learned, np.clip(g, -largest, largest), g)
        factor = np.divide(held, g, out=np.ones_like(g), where=g != 0.0)
        self.mean_square_slope += (np.sum(held**2) - self.mean_square_slope) / n
        if not learned.any():
            return
        h = np.asarray(self.loss.curvature(f, target))
        h_largest = weight * np.max((factor * np.where(h > 0.0, h, 1.0))[learned])
        self.A = self.A + h_largest * np.outer(phi, phi)
        self.w = self.w - weight * np.outer(np.linalg.solve(self.A, phi), held)

    # ---- events

    def event(self) -> None:
        """Fit, or lower alpha; after an alarm, from the rows since the change."""
        changed = self.watch.alarmed
        if changed:
            n = self.watch.rounds_since_change(FIRST_FIT, self.buffer)
            self.past, self.begun = self.past[-n:], n
            self.watch.begin_again(n)
            self.restarts.append(self.rounds_ever)
        rounds = len(self.past)
        if rounds <= self.buffer:
            self.fit(choose=changed or rounds <= CHOOSE_UP_TO)
        else:
            self.lower_alpha(rounds)
        self.watch.rest()
        self.tolerance = min(0.5, max(0.0, 0.1 * np.log2(rounds / 128)))
        self.due = self.next_due(rounds)

    def next_due(self, rounds: int) -> int:
        """16, 64, ... below the buffer; the buffer; then doubled from the last on."""
        due = [FIRST_FIT]
        if rounds < self.buffer and not self.early:
            return self.buffer
        while due[-1] < self.buffer:
            due.append(MORE_ROWS * due[-1])
        while due[-1] <= rounds:
            due.append(2 * due[-1])
        return min(d for d in [*due, self.buffer] if d > rounds)

    def fit(self, choose: bool) -> None:
        """Everything anew from all rows of the past; alpha too, if it is to be chosen."""
        X, Y, weights = (np.array(part) for part in zip(*self.past, strict=True))
        self.fits.append(self.rounds_ever)
        self.scale = PlainScale(X) if self.scaled else lambda X: X
        Z = self.scale(X)
        self.divisor = median_distance(Z) if self.median else 1.0
        K = self.kernel(Z / self.divisor, Z / self.divisor)
        chosen = independent_rows(K, DEPENDENT)
        self.landmarks = Z[chosen] / self.divisor
        self.L = np.linalg.cholesky(K[np.ix_(chosen, chosen)])
        Psi = np.array([self.values(x) for x in X])
        Phi = np.array([self.features(psi) for psi in Psi])
        if not self.classifies:
            self.mean, self.spread = np.mean(Y), np.std(Y) or 1.0
            self.mean_square_slope, self.begun = 0.0, len(X)  # the slopes so far had another unit
            self.watch.begin_mean()
        targets = (Y - self.mean) / self.spread
        if choose:
            last, Lambda = slice(-CHOOSE_UP_TO, None), np.eye(Phi.shape[1])
            alpha = chosen_alpha(Phi[last], Lambda, targets[last], self.classifies)
            self.alpha = self.unit * alpha
        if len(X) == self.buffer:
            self.alpha = min(self.alpha, self.unit * self.alpha_rounds / len(X))
        self.fit_w(Phi, targets, self.unit * np.maximum(weights, LEAST_WEIGHT))
        if self.follow:
            self.fit_follower(Psi, targets, len(chosen))

    def fit_w(self, Phi: Matrix, targets: Matrix, h: Vector) -> None:
        """Ridge regression on all rows; for one classifier once more on those with a loss.

        Only one classifier has rows without a loss: several share A.
        """
        self.ridge_regression(Phi, targets, h)
        if self.classifies and self.n_outputs == 1:
            lost = targets[:, 0] * (Phi @ self.w)[:, 0] < 1.0
            if lost.any():
                self.ridge_regression(Phi[lost], targets[lost], h[lost])

    def ridge_regression(self, Phi: Matrix, targets: Matrix, h: Vector) -> None:
        self.A = self.alpha * np.eye(Phi.shape[1]) + Phi.T @ (h[:, None] * Phi)
        self.w = np.linalg.solve(self.A, Phi.T @ (h[:, None] * targets))

    def fit_follower(self, Psi: Matrix, targets: Matrix, m: int) -> None:
        """Centre the m kernel values, and follow the rows from 0 on."""
        self.centre = Psi[:, :m].mean(axis=0)
        size = np.sqrt(np.mean(np.sum((Psi[:, :m] - self.centre) ** 2, axis=1)))
        self.follow_factor = 1.0 / size if size > 1e-12 else 0.0
        self.follower = np.zeros(self.w.shape)
        for psi, target in zip(Psi, targets, strict=True):
            self.follower = follow(self.follower, self.follower_features(psi), target)

    def lower_alpha(self, rounds: int) -> None:
        """Hold alpha below alpha_rounds / rounds, if that makes it much smaller."""
        target = self.unit * self.alpha_rounds / rounds
        if target > self.alpha / STEP_DOWN:
            return
        right = self.A @ self.w
        self.A = self.A - (self.alpha - target) * np.eye(len(self.A))
        self.w = np.linalg.solve(self.A, right)
        self.alpha = target
        self.lowerings.append(self.rounds_ever)
