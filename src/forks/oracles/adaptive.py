"""The adaptive learner, the default of the estimators, as `forks.learners.adaptive` describes it.

The numbers that are not parameters are written out here and in the parts that it is made of
(`scaling`, `landmarks`, `newton`, `gate`, `start`, `prior`, `follower`, `watch`), so that the tests
check the numbers of the learner too. Related: Crammer, Kulesza, Dredze, "Adaptive regularization of
weight vectors", 2009; Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", 2004.
"""

import numpy as np

from forks.oracles.expansion import is_mistake
from forks.oracles.follower import SHARE, CentredValues, fixed_share, follow
from forks.oracles.gate import SlopeGate
from forks.oracles.kernels import Kernel, Vector
from forks.oracles.landmarks import Landmarks
from forks.oracles.losses import Hinge, Logistic, Loss, SquaredHinge
from forks.oracles.newton import lower_prior, newton_step
from forks.oracles.prior import USUAL_ALPHA, chosen_alpha
from forks.oracles.start import FIRST, next_event, ridge_fit, squared_hinge_fit
from forks.oracles.watch import PageWatch

CHOOSE_UP_TO = 64  # rows: alpha is chosen by no more
STEP_DOWN = 4.0  # alpha is lowered by this factor at least
LEAST_WEIGHT = 1e-5  # of a row in a fit
SURE = 0.01  # probabilities stay so far from 0 and 1


class AdaptiveOracle:
    """The adaptive learner, one round at a time: `play` returns the scores and then learns.

    With K_mm = L L' of the landmarks, features are phi = [L^-1 k(x), linear part, 1], for which the
    prior is alpha I. A is kept, not its inverse, and every step solves with it. All rows since the
    start, or since the last change of the concept, are kept in `past`. From the full buffer on
    alpha is at most alpha_rounds / rounds.
    """

    def __init__(
        self,
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
        self.n_outputs, self.kernel, self.loss = n_outputs, kernel, loss
        self.choices = {"scaled": scaled, "median": median, "linear": linear}
        self.classifies = isinstance(loss, Hinge | SquaredHinge | Logistic)
        self.follow, self.restart = follow and self.classifies, restart
        self.buffer, self.early, self.alpha_rounds = buffer, early, alpha_rounds
        self.unit = float(loss.curvature(0.0, 1.0)) or 1.0
        self.past: list[tuple[Vector, Vector, float]] = []  # (x, y, weight)
        self.map: Landmarks | None = None  # nothing is known of rows yet: psi = [1]
        self.alpha = self.unit * USUAL_ALPHA
        self.A, self.w = np.array([[self.alpha]]), np.zeros((1, n_outputs))
        self.follower = np.zeros((1, n_outputs))
        self.trust = np.full(n_outputs, 1.0 - SHARE)  # of w; the rest is the follower's
        self.heaviest = 0.0  # weight of a row
        self.centred: CentredValues | None = None
        self.mean, self.spread = 0.0, 1.0
        self.gate, self.watch = SlopeGate(loss, self.classifies, robust), PageWatch()
        self.due = next_event(0, buffer, early)
        self.rounds_ever = 0
        # rounds since the beginning
        self.fits: list[int] = []
        self.lowerings: list[int] = []
        self.restarts: list[int] = []

    # ---- one round

    def play(self, x: Vector, y: Vector, weight: float = 1.0) -> Vector:
        """Return the scores of x, one per output, and learn from y."""
        psi = self.values(x)
        phi = self.features(psi)
        f = phi @ self.w
        if self.follow:
            centred = self.centred(psi) if self.centred else psi
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
        slopes, h = self.gate.admit(f, (y - self.mean) / self.spread)
        if h.any():
            self.A, self.w = newton_step(self.A, self.w, phi, weight * slopes, weight * h.max())
        if len(self.past) == self.due or self.watch.alarmed:
            self.event()
        return answer

    def features(self, psi: Vector) -> Vector:
        """phi, of the values of one row."""
        return psi if self.map is None else self.map.phi(psi)

    def values(self, x: Vector) -> Vector:
        """psi(x)."""
        return np.ones(1) if self.map is None else self.map.psi(x)

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
            return bool(np.sum(g**2) > self.gate.mean_square)
        if self.n_outputs == 1:
            return is_mistake(f[0], y[0])
        return bool(y[np.argmax(f)] < 0.0)

    # ---- events

    def event(self) -> None:
        """Fit, or lower alpha; after an alarm, from the rows since the change."""
        changed = self.watch.alarmed
        if changed:
            n = self.watch.rounds_since_change(FIRST, self.buffer)
            self.past = self.past[-n:]
            self.watch.begin_again(n)
            self.gate.begin_again()
            self.restarts.append(self.rounds_ever)
        rounds = len(self.past)
        if rounds <= self.buffer:
            self.fit(choose=changed or rounds <= CHOOSE_UP_TO)
        else:
            self.lower_alpha(rounds)
        self.watch.rest()
        self.gate.set_tolerance(rounds)
        self.due = next_event(rounds, self.buffer, self.early)

    def fit(self, choose: bool) -> None:
        """Everything anew from all rows of the past; alpha too, if it is to be chosen."""
        X, Y, weights = (np.array(part) for part in zip(*self.past, strict=True))
        self.fits.append(self.rounds_ever)
        self.map = Landmarks(X, self.kernel, **self.choices)
        Psi = np.array([self.map.psi(x) for x in X])
        Phi = np.array([self.map.phi(psi) for psi in Psi])
        if not self.classifies:
            self.mean, self.spread = np.mean(Y), np.std(Y) or 1.0
            self.gate.begin_again()  # the slopes so far had another unit
            self.watch.begin_mean()
        targets = (Y - self.mean) / self.spread
        if choose:
            last, Lambda = slice(-CHOOSE_UP_TO, None), np.eye(Phi.shape[1])
            alpha = chosen_alpha(Phi[last], Lambda, targets[last], self.classifies)
            self.alpha = self.unit * alpha
        if len(X) == self.buffer:
            self.alpha = min(self.alpha, self.unit * self.alpha_rounds / len(X))
        h = self.unit * np.maximum(weights, LEAST_WEIGHT)
        # only one classifier has rows without a loss: several share A
        fit = squared_hinge_fit if self.classifies and self.n_outputs == 1 else ridge_fit
        self.w, self.A = fit(Phi, targets, h, self.alpha)
        if self.follow:
            self.centred = CentredValues(Psi, len(self.map.rows))
            self.follower = np.zeros(self.w.shape)
            for psi, target in zip(Psi, targets, strict=True):
                self.follower = follow(self.follower, self.centred(psi), target)

    def lower_alpha(self, rounds: int) -> None:
        """Hold alpha below alpha_rounds / rounds, if that makes it much smaller."""
        target = self.unit * self.alpha_rounds / rounds
        if target > self.alpha / STEP_DOWN:
            return
        prior = np.eye(len(self.A))
        self.A, self.w = lower_prior(self.A, self.w, prior, self.alpha - target)
        self.alpha = target
        self.lowerings.append(self.rounds_ever)
