"""What was learned on one feature map, carried to another by the features of points in both.

With F_old and F_new the features of the points, one row each, w becomes the ridge fit of
F_new w_new = F_old w_old, and A - alpha I = sum_t c_t phi_t phi_t' becomes T (A - alpha I) T', with
T the ridge fit of phi_new = T phi_old. The ridge keeps directions in which the points hardly
differ from being blown up.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from forks.engine import Matrix

_ROUNDING = 1e-12
_LEAST_ROOT = 1e-100  # weights of 1e100 and more can leave a root of zero
_RIDGE = 1e-10  # relative to the largest eigenvalue of F'F
_TINY = 1e-150


class Transfer(NamedTuple):
    """How weights and curvature go from old features to new ones; not finite after overflow."""

    fit: Matrix  # w_new = fit w_old
    T: Matrix  # phi_new = T phi_old
    stretch: float  # squared lengths of the new features over those of the old ones

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.fit).all() and np.isfinite(self.T).all())


def transfer(old: Matrix, new: Matrix) -> Transfer:
    """Return the transfer between the features of points (n, k), for n well above k."""
    lengths = float(np.vdot(new, new)) / max(float(np.vdot(old, old)), _TINY)
    return Transfer(_ridge(new, old), _ridge(old, new).T, lengths)


def _ridge(F: Matrix, G: Matrix) -> Matrix:
    """Solve F B = G by ridge regression; not finite if they overflow."""
    gram, right = F.T @ F, F.T @ G
    size = float(np.abs(gram).sum(axis=0).max(initial=0.0))
    if not math.isfinite(size):
        return np.full_like(gram, np.nan)
    gram[np.diag_indices_from(gram)] += _RIDGE * float(np.linalg.norm(gram, 2)) or 1.0
    return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)


def carried_root(root: Matrix, by: Transfer, alpha: float) -> Matrix:
    """Return the root S of A^-1 = S S' (see `forks.linalg.inverse_root`) for the new features.

    Not finite if they overflow.
    """
    # A = U s^-2 U' for S = U s V'; with M M' = T (A - alpha I) T' and the QR factorisation of
    # [sqrt(alpha) I; M'], A_new = R'R has the inverse root R^-1.
    k = len(root)
    U, s, _ = np.linalg.svd(root)
    precision = np.maximum(s, _LEAST_ROOT) ** -2.0
    learned = precision - float(alpha)
    learned[learned < _ROUNDING * precision] = 0.0  # T may be large
    with np.errstate(over="ignore", invalid="ignore"):
        M = _capped((by.T @ U) * np.sqrt(learned), by.stretch * float(learned.sum()))
    if not np.isfinite(M).all():
        return np.full_like(root, np.nan)
    R = np.linalg.qr(np.vstack([math.sqrt(alpha) * np.eye(k), M.T]), mode="r")
    return np.asarray(solve_triangular(R, np.eye(k)))


def _capped(M: Matrix, most: float) -> Matrix:
    """Return M with its largest singular values cut until their squares sum to at most `most`.

    The trace of sum c phi phi' is a sum of squared lengths of features, which a change of the map
    leaves about as they are: where M M' has more, T has made it up.
    """
    if not most < float(np.vdot(M, M)) < math.inf:
        return M
    U, s, _ = np.linalg.svd(M)
    squares = s**2
    smaller = squares.sum() - np.cumsum(squares)
    level = max(float(np.max((most - smaller) / np.arange(1, len(s) + 1))), 0.0)
    return np.asarray(U * np.sqrt(np.minimum(squares, level)))
