"""A maintained factorisation of a matrix, for applying its pseudo-inverse with a relative cut.

FORKS keeps Phi_pm (s_p x s_m), which a new sketch row changes by one rank-one term, and needs
pinv(Phi_pm) B without the directions of tiny singular values, which are rounding errors. The
matrix that is factorised is Phi over a small multiple of the identity,

    [Phi; delta I] = Q R,    delta = cut / 25 times the size of Phi,

which is tall, and no worse conditioned than 25 / cut, whatever Phi is. With Q_1 the first s_p
rows of Q and Q_2 = delta R^-1 the others, R^-1 Q_1' B is the ridge solution
(Phi'Phi + delta^2 I)^-1 Phi'B, and adding the ridge solution for what is left of B, twice, gives

    X = R^-1 sum_{j<3} (Q_2'Q_2)^j Q_1'B = sum_i f(sigma_i) / sigma_i v_i u_i' B,
    f(sigma) = 1 - (delta^2 / (sigma^2 + delta^2))^3.

Singular values above the cut pass unchanged to seven digits, those far below delta vanish: a
smooth cut, which a rank-one update of Q and R maintains in O((s_p + s_m) s_m), where a sharp one
takes a new singular value decomposition every time.

The functions work on plain arrays; the owner of Phi keeps Q and R beside it, in column order, as
LAPACK expects them.
"""

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dtrsm

from forks.engine import Matrix, Vector

_SHARE = 0.04  # delta as a share of the cut; smaller ones let rounding errors through
_TERMS = 3
_SMALLEST = 1e-150  # delta for a matrix of zeros
_WIDE = 1e-8  # least cut of a wide matrix: s_m - s_p singular values are zero but for rounding


def factorise(Phi: Matrix, cut: float) -> tuple[Matrix, Matrix]:
    """Q (s_p + s_m, s_m) and R (s_m, s_m) with [Phi; delta I] = Q R."""
    if Phi.shape[0] < Phi.shape[1]:
        cut = max(cut, _WIDE)
    delta = max(_SHARE * cut * float(np.linalg.norm(Phi)), _SMALLEST)
    Q, R = linalg.qr(np.vstack([Phi, delta * np.eye(Phi.shape[1])]), mode="economic")
    return np.asfortranarray(Q), np.asfortranarray(R)


def rank_one_update(Q: Matrix, R: Matrix, u: Vector, v: Vector) -> None:
    """Overwrite Q and R with the factors for Phi + u v', in O((s_p + s_m) s_m)."""
    if not u.any() or not v.any():
        return  # SciPy divides by the norm of u
    padded = np.zeros(Q.shape[0])
    padded[: u.shape[0]] = u
    # SciPy may use the vectors as scratch, and the factors as well: in column order it returns
    # the very arrays it was given.
    new_Q, new_R = linalg.qr_update(Q, R, padded, v.copy(), overwrite_qruv=True, check_finite=False)
    if not np.may_share_memory(new_Q, Q):
        Q[...] = new_Q
    if not np.may_share_memory(new_R, R):
        R[...] = new_R


def apply_pinv(Q: Matrix, R: Matrix, B: Matrix) -> Matrix:
    """pinv(Phi) B with the smooth cut, for B (s_p, k)."""
    s_p = B.shape[0]
    Q_1, Q_2 = Q[:s_p], Q[s_p:]
    C = Q_1.T @ B
    Y = C
    for _ in range(_TERMS - 1):
        Y = C + Q_2.T @ (Q_2 @ Y)
    # X' R' = Y' from the right: faster than R X = Y, and gives X in row order
    X: Matrix = dtrsm(1.0, R, np.asfortranarray(Y.T), side=1, trans_a=1, overwrite_b=1).T
    return X
