"""Scaling of features: centred by the median, long tails drawn in, unless the targets follow."""

import numpy as np

from forks.oracles.kernels import Matrix, Vector

FEWEST = 16  # rows that tell whether targets follow a feature far out
MARGIN = 0.95  # by which errors must be less


class PlainScale:
    """z = t / (1 + a |t|) / r, t = (x - m) / s, of the rows that it is made from.

    m is the median, s the mean of |x - m|, R its root mean square over s, and a half of what R
    is above that of a normal distribution, relatively, from 0 to 1. Constant features become
    +-surprise where they are not constant.
    """

    def __init__(self, X: Matrix, bound: float = 5.0, surprise: float = 3.0, draw_in: float = 0.5):
        self.bound, self.surprise = bound, surprise
        self.columns = []
        for x in X.T:
            m = np.median(x)
            s = np.mean(np.abs(x - m))
            if s == 0.0:
                self.columns.append((m, 0.0, 0.0, 1.0))
                continue
            t = (x - m) / s
            a = draw_in * (np.sqrt(np.mean(t**2)) / np.sqrt(np.pi / 2.0) - 1.0)
            a = min(max(a, 0.0), 1.0)
            r = np.std(t / (1.0 + a * np.abs(t)))
            self.columns.append((m, s, a, r if r > 0.0 else 1.0))

    def __call__(self, X: Matrix) -> Matrix:
        Z = np.empty(X.shape)
        for j, (m, s, a, r) in enumerate(self.columns):
            if s == 0.0:
                Z[:, j] = self.surprise * np.sign(X[:, j] - m)
            else:
                t = (X[:, j] - m) / s
                Z[:, j] = np.clip(t / (1.0 + a * np.abs(t)) / r, -self.bound, self.bound)
        return Z


class FollowedScale:
    """A scale whose tails stay where targets follow them, the farthest row aside.

    They do if lines on the tails foretell rows that are left out of them better than lines on tails
    that are drawn in.
    """

    def __init__(self, X: Matrix, Y: Matrix, weights: Vector):
        there = weights > 0.0
        self.drawn_in, self.far = PlainScale(X[there]), PlainScale(X[there], 50.0, draw_in=0.0)
        self.follows = np.zeros(X.shape[1], bool)
        if there.sum() >= FEWEST:
            targets = Y[there] / (np.max(np.abs(Y[there])) or 1.0)
            scales = self.drawn_in, self.far
            for j, (near, far) in enumerate(
                zip(*(scale(X[there]).T for scale in scales), strict=True)
            ):
                others = np.arange(len(far)) != np.argmax(np.abs(far))
                errors = [errors_left_out(z[others], targets[others]) for z in (near, far)]
                self.follows[j] = errors[1] < MARGIN * errors[0] - 1e-20

    def __call__(self, X: Matrix) -> Matrix:
        return np.where(self.follows, self.far(X), self.drawn_in(X))


def errors_left_out(z: Vector, Y: Matrix) -> float:
    """Leave out each row, fit a line to the others, and sum its squared errors."""
    total = 0.0
    for i in range(len(z)):
        others, targets = np.delete(z, i), np.delete(Y, i, axis=0)
        centred = others - others.mean()
        squares, slopes = np.sum(centred**2), centred @ targets
        if squares <= 1e-9 * np.sum((z - z.mean()) ** 2):
            slopes, squares = np.zeros(Y.shape[1]), 1.0
        foretold = targets.mean(axis=0) + (z[i] - others.mean()) * slopes / squares
        total += np.sum((foretold - Y[i]) ** 2)
    return float(total)
