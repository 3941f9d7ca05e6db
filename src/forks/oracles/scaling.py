"""Scaling of features: centred by the median, long tails drawn in."""

import numpy as np

from forks.oracles.kernels import Matrix


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
