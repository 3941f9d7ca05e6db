"""Kept points made with plain NumPy, for tests of what reads them."""

import numpy as np

from forks.engine import Points
from forks.engine.blocks import padded


def kept_points(Z, spare=np.nan):
    """Keep the rows of Z; the columns beyond them hold `spare`, which must not matter."""
    Z = np.asarray(Z, float)
    n, d = Z.shape
    columns = np.full((d, padded(n)), spare)
    columns[:, :n] = Z.T
    norms = np.full((2, padded(n)), spare)
    with np.errstate(over="ignore"):
        norms[0, :n] = (Z**2).sum(axis=1)
        norms[1, :n] = np.abs(Z).sum(axis=1)
    return Points(columns, norms)
