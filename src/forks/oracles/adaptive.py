"""The machine that follows and starts again, as `forks.learners.adaptive` describes it.

The numbers that are not parameters are written out here and in the parts that it is made of
(`machine`, `follower`, `watch`).
"""

import numpy as np

from forks.oracles.expansion import is_mistake
from forks.oracles.follower import SHARE, CentredValues, fixed_share, follow
from forks.oracles.kernels import Kernel, Matrix, Vector
from forks.oracles.losses import Logistic, Loss
from forks.oracles.machine import MachineOracle
from forks.oracles.start import FIRST
from forks.oracles.watch import PageWatch

SURE = 0.01  # probabilities stay so far from 0 and 1


class AdaptiveOracle(MachineOracle):
    """A machine with a follower and a watch; `past` begins with the last change of the concept."""

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
        super().__init__(
            n_outputs,
            kernel,
            loss,
            buffer=buffer,
            scaled=scaled,
            median=median,
            linear=linear,
            early=early,
            robust=robust,
            alpha_rounds=alpha_rounds,
        )
        self.follow, self.restart = follow and self.classifies, restart
        self.follower = np.zeros((1, n_outputs))
        self.trust = np.full(n_outputs, 1.0 - SHARE)  # of w; the rest is the follower's
        self.heaviest = 0.0  # weight of a row
        self.centred: CentredValues | None = None
        self.watch = PageWatch()
        self.restarts: list[int] = []  # rounds since the beginning

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
        if self.restart:
            self.watch.observe(self.is_wrong(f, y))
        if self.follow:
            self.heaviest = max(self.heaviest, weight)
            self.trust = fixed_share(self.trust, f, g, y, weight / self.heaviest)
            self.follower = follow(self.follower, centred, y)
        self.learn(phi, f, x, y, weight)
        if len(self.past) == self.due or self.watch.alarmed:
            self.event(self.start_again())
            self.watch.rest()
        return answer

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

    def start_again(self) -> bool:
        """Keep the rows since the change alone, if there was an alarm; return whether."""
        if not self.watch.alarmed:
            return False
        n = self.watch.rounds_since_change(FIRST, self.buffer)
        self.past = self.past[-n:]
        self.watch.begin_again(n)
        self.gate.begin_again()
        self.restarts.append(self.rounds_ever)
        return True

    def fit(self, choose: bool) -> tuple[Matrix, Matrix]:
        """Fit the machine, and make the follower anew."""
        Psi, targets = super().fit(choose)
        if not self.classifies:
            self.watch.begin_mean()
        if self.follow and self.map is not None:
            self.centred = CentredValues(Psi, len(self.map.rows))
            self.follower = np.zeros(self.w.shape)
            for psi, target in zip(Psi, targets, strict=True):
                self.follower = follow(self.follower, self.centred(psi), target)
        return Psi, targets
