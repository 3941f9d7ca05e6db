"""The second-order kernel machine, as `forks.learners.machine` describes it.

The numbers that are not parameters are written out here and in the parts that it is made of
(`scaling`, `landmarks`, `newton`, `gate`, `start`, `prior`), so that the tests check the numbers of
the learner too. Related: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors",
2009; Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", 2004.
"""

import numpy as np

from forks.oracles.gate import SlopeGate
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.landmarks import Landmarks
from forks.oracles.losses import Hinge, Logistic, Loss, SquaredHinge
from forks.oracles.newton import lower_prior, newton_step
from forks.oracles.prior import USUAL_ALPHA, chosen_alpha
from forks.oracles.start import next_event, ridge_fit, squared_hinge_fit

CHOOSE_UP_TO = 256  # rows: alpha is chosen by no more, and not if they are forgotten
STEP_DOWN = 4.0  # alpha is lowered by this factor at least
LEAST_WEIGHT = 1e-5  # of a row in a fit
LEAST_PIVOT = 1e-5  # of A, that forgetting leaves


class MachineOracle:
    """The machine, one round at a time: `play` returns the scores and then learns.

    With K_mm = L L' of the landmarks, features are phi = [L^-1 k(x), linear part, 1], for which the
    prior is alpha I. A is kept, not its inverse, and every step solves with it. All rows since the
    start are kept in `past`. From the full buffer on alpha is at most alpha_rounds / rounds, unless
    the machine forgets: then A is divided by 1 + forgetting before each round, but for pivots of
    its Cholesky decomposition that would be below a bound.
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
        early: bool = True,
        robust: bool = True,
        alpha_rounds: float = 128.0,
        relevance: Vector | None = None,
        width: float = 1.0,
        forgetting: float = 0.0,
        laplacian: bool = False,
        far: bool = False,
    ):
        self.n_outputs, self.kernel, self.loss = n_outputs, kernel, loss
        self.choices = {"scaled": scaled, "median": median, "linear": linear}
        self.choices |= {"laplacian": laplacian, "far": far}
        self.relevance, self.width, self.forgetting = relevance, width, forgetting
        self.classifies = isinstance(loss, Hinge | SquaredHinge | Logistic)
        self.buffer, self.early, self.alpha_rounds = buffer, early, alpha_rounds
        self.unit = float(loss.curvature(0.0, 1.0)) or 1.0
        self.past: list[tuple[Vector, Vector, float]] = []  # (x, y, weight)
        self.earlier = np.zeros(n_outputs)  # the last answer of `kept`
        self.map: Landmarks | None = None  # nothing is known of rows yet: psi = [1]
        self.alpha = self.unit * USUAL_ALPHA
        self.A, self.w = np.array([[self.alpha]]), np.zeros((1, n_outputs))
        self.kept = self.w  # theta of some time ago, in the same features
        self.mean, self.spread = 0.0, 1.0
        self.gate = SlopeGate(loss, self.classifies, robust)
        self.due = next_event(0, buffer, early)
        self.rounds_ever = 0
        self.events = 0  # fits and lowerings
        # rounds since the beginning
        self.fits: list[int] = []
        self.lowerings: list[int] = []

    # ---- one round

    def play(self, x: Vector, y: Vector, weight: float = 1.0) -> Vector:
        """Return the scores of x, one per output, and learn from y."""
        phi = self.features(self.values(x))
        self.earlier = self.answer(phi @ self.kept)
        f = phi @ self.w
        answer = self.answer(f)
        if weight != 0.0:
            self.learn(phi, f, x, y, weight)
            if len(self.past) == self.due:
                self.event()
        return answer

    def score(self, x: Vector) -> Vector:
        """Return the scores of x."""
        return self.answer(self.features(self.values(x)) @ self.w)

    def answer(self, f: Vector) -> Vector:
        return f if self.classifies else self.mean + self.spread * f

    def learn(self, phi: Vector, f: Vector, x: Vector, y: Vector, weight: float) -> None:
        """Take the Newton step, if a slope passes the gate."""
        self.rounds_ever += 1
        self.past.append((x, y, weight))
        if self.forgetting > 0.0:
            self.forget()
        slopes, h = self.gate.admit(f, (y - self.mean) / self.spread)
        if h.any():
            self.A, self.w = newton_step(self.A, self.w, phi, weight * slopes, weight * h.max())

    def forget(self) -> None:
        """Divide the pivots of A, for features psi, by 1 + forgetting, down to LEAST_PIVOT."""
        C = np.linalg.cholesky(self.A)
        size = np.ones(len(C))  # of psi beside phi
        if self.map is not None:
            size[: len(self.map.L)] = self.map.L.diagonal()
        pivots = (size * C.diagonal()) ** 2
        left = np.minimum(pivots, np.maximum(pivots / (1.0 + self.forgetting), LEAST_PIVOT))
        C = C * np.sqrt(left / pivots)
        self.A = C @ C.T

    def features(self, psi: Vector) -> Vector:
        """phi, of the values of one row."""
        return psi if self.map is None else self.map.phi(psi)

    def values(self, x: Vector) -> Vector:
        """psi(x)."""
        return np.ones(1) if self.map is None else self.map.psi(x)

    # ---- events

    def event(self, choose: bool = False) -> None:
        """Fit, and `choose` alpha by the rows, or lower alpha."""
        rounds = len(self.past)
        if rounds <= self.buffer:
            self.events += 1
            few = rounds <= CHOOSE_UP_TO and self.forgetting == 0.0
            self.fit(choose or few)
        elif self.forgetting == 0.0:
            self.lower_alpha(rounds)
        self.gate.set_tolerance(rounds)
        self.due = next_event(rounds, self.buffer, self.early)

    def fit(self, choose: bool) -> tuple[Matrix, Matrix]:
        """Everything anew from all rows of the past; return their psi and their targets."""
        X, Y, weights = (np.array(part) for part in zip(*self.past, strict=True))
        self.fits.append(self.rounds_ever)
        followed = None if self.classifies else (Y, weights)
        self.map = Landmarks(
            X,
            self.kernel,
            **self.choices,
            relevance=self.relevance,
            width=self.width,
            targets=followed,
        )
        Psi = np.array([self.map.psi(x) for x in X])
        Phi = np.array([self.map.phi(psi) for psi in Psi])
        if not self.classifies:
            self.mean, self.spread = np.mean(Y), np.std(Y) or 1.0
            self.gate.begin_again()  # the slopes so far had another unit
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
        self.kept = self.w
        return Psi, targets

    def forget_no_more(self) -> None:
        """The prior has been forgotten as the first rows have, down to a bound."""
        left = self.alpha * np.exp(-self.forgetting * max(0, len(self.past) - self.buffer))
        self.alpha, self.forgetting = min(self.alpha, max(left, LEAST_PIVOT)), 0.0

    def lower_alpha(self, rounds: int) -> None:
        """Hold alpha below alpha_rounds / rounds, if that makes it much smaller."""
        target = self.unit * self.alpha_rounds / rounds
        if target > self.alpha / STEP_DOWN:
            return
        prior = np.eye(len(self.A))
        self.A, self.w = lower_prior(self.A, self.w, prior, self.alpha - target)
        self.alpha = target
        self.events += 1
        self.lowerings.append(self.rounds_ever)
