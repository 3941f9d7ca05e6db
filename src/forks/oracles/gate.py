"""Which slopes are learned from, and how far: small ones are left out, large ones are clipped."""

import numpy as np

from forks.oracles.kernels import Vector
from forks.oracles.losses import Loss


class SlopeGate:
    """The gate of one loss, round by round.

    The tolerance grows by a tenth with each doubling of the rounds beyond 128, up to a half. Slopes
    up to the tolerance times the usual slope are left out. For classes the usual slope is the one
    at f = 0, and slopes are clipped at 2 (1 - tolerance) of it. In regression it is the root mean
    square of the slopes, over all rounds and later an exponential mean over 1,000, and slopes are
    clipped at four times that, after 100 rounds.
    """

    def __init__(self, loss: Loss, classifies: bool, robust: bool = True):
        self.loss, self.classifies, self.robust = loss, classifies, robust
        self.tolerance = 0.0
        self.mean_square, self.rounds = 0.0, 0

    def set_tolerance(self, rounds: int) -> None:
        self.tolerance = min(0.5, max(0.0, 0.1 * np.log2(rounds / 128)))

    def begin_again(self) -> None:
        """Begin the mean square anew with the next round."""
        self.mean_square, self.rounds = 0.0, 0

    def bounds(self) -> tuple[float, float]:
        """Return the slope up to which the next round is left out, and the largest one."""
        if self.classifies:
            usual = abs(float(self.loss.slope(0.0, 1.0)))
            largest = 2.0 * (1.0 - self.tolerance) * usual
        else:
            usual = float(np.sqrt(self.mean_square))
            largest = 4.0 * usual if self.rounds + 1 > 100 and usual > 0.0 else np.inf
        return self.tolerance * usual, largest if self.robust else np.inf

    def admit(self, f: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Return the slopes, clipped, and the curvatures, 0 where a slope is left out.

        A loss with a slope and no curvature counts as one of curvature 1.
        """
        smallest, largest = self.bounds()
        g = np.asarray(self.loss.slope(f, y))
        learned = np.abs(g) > smallest
        clipped = np.where(learned, np.clip(g, -largest, largest), g)
        factor = np.divide(clipped, g, out=np.ones_like(g), where=g != 0.0)
        h = np.asarray(self.loss.curvature(f, y))
        self.rounds += 1
        self.mean_square += (np.sum(clipped**2) - self.mean_square) / min(self.rounds, 1000)
        return clipped, np.where(learned, factor * np.where(h > 0.0, h, 1.0), 0.0)
