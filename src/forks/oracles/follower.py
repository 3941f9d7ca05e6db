"""A passive-aggressive follower, and the fixed-share rule between a leader and a follower.

Crammer and others, "Online passive-aggressive algorithms", 2006; Herbster, Warmuth, "Tracking the
best expert", 1998.
"""

import numpy as np

from forks.oracles.expansion import is_mistake
from forks.oracles.kernels import Matrix, Vector

SHARE = 0.001


def follow(v: Matrix, phi: Vector, y: Vector) -> Matrix:
    """The passive-aggressive step without a limit: each output has y v'phi >= 1 after it.

    v has a column for each output.
    """
    missing = np.maximum(0.0, 1.0 - y * (phi @ v))
    return v + np.outer(phi, missing * y) / (phi @ phi)


def fixed_share(trust: Vector, f: Vector, g: Vector, y: Vector, cost: float) -> Vector:
    """Return the new weights of the leader, for each output; the rest is the follower's.

    A mistake of the leader (scores f) or of the follower (scores g) multiplies its weight by
    exp(-cost); then a share of all weight is dealt out evenly.
    """
    factor = np.exp(-cost)
    new = np.empty(len(trust))
    for o in range(len(trust)):
        costs = [factor if is_mistake(s, y[o]) else 1.0 for s in (f[o], g[o])]
        weights = np.array([trust[o], 1.0 - trust[o]]) * costs
        new[o] = ((1.0 - SHARE) * weights / weights.sum() + SHARE / 2.0)[0]
    return new


class CentredValues:
    """Kernel values less their mean over some rows, with mean square norm 1.

    psi has m of them, which come first; the rest is left as it is.
    """

    def __init__(self, Psi: Matrix, m: int):
        self.m, self.centre = m, Psi[:, :m].mean(axis=0)
        size = np.sqrt(np.mean(np.sum((Psi[:, :m] - self.centre) ** 2, axis=1)))
        self.factor = 1.0 / size if size > 1e-12 else 0.0

    def __call__(self, psi: Vector) -> Vector:
        return np.concatenate([self.factor * (psi[: self.m] - self.centre), psi[self.m :]])
