"""A maintained QR factorisation of a tall matrix, for applying its pseudo-inverse.

FORKS keeps Phi_pm (s_p x s_m), which a new sketch row changes by one rank-one term, and needs
pinv(Phi_pm) B with a relative cut on small singular values. With Phi = Q R (Q with orthonormal
columns, R upper triangular) and no singular value below the cut,

    pinv(Phi) B = R^-1 Q' B,

at O(s_p s_m k) instead of a singular value decomposition. The functions work on plain arrays:
whoever owns Phi keeps Q and R beside it. Q and R are in column order, as LAPACK wants them.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dtrcon

Matrix = NDArray[np.float64]

# The triangular solve is used when the reciprocal condition number in the 1-norm exceeds both
# _SAFETY * s_m * cut and _SMALLEST_RCOND. The factor s_m turns the 1-norm into a bound on the
# singular values; _SAFETY covers LAPACK's estimate, which is seldom off by more than 3.
_SAFETY = 4.0
_SMALLEST_RCOND = 1e-12


def factorise(Phi: Matrix) -> tuple[Matrix, Matrix]:
    """Q (s_p, s_m) and R (s_m, s_m) with Phi = Q R, for s_p >= s_m."""
    if Phi.ndim != 2 or Phi.shape[0] < Phi.shape[1]:
        raise ValueError(f"Phi must be a matrix with rows >= columns, got shape {Phi.shape}")
    Q, R = linalg.qr(Phi, mode="economic")
    return np.asfortranarray(Q), np.asfortranarray(R)


def rank_one_update(Q: Matrix, R: Matrix, u: NDArray[np.float64], v: NDArray[np.float64]) -> None:
    """Overwrite Q and R with the factors of Q R + u v', in O(s_p s_m). u and v are left alone."""
    if not u.any() or not v.any():
        return  # SciPy divides by the norm of u
    # SciPy may use the vectors as scratch, and the factors as well: in column order it returns
    # the very arrays it was given.
    new_Q, new_R = linalg.qr_update(
        Q, R, u.copy(), v.copy(), overwrite_qruv=True, check_finite=False
    )
    if not np.may_share_memory(new_Q, Q):
        Q[...] = new_Q
    if not np.may_share_memory(new_R, R):
        R[...] = new_R


def apply_pinv(Phi: Matrix, Q: Matrix, R: Matrix, B: Matrix, cut: float) -> Matrix:
    """pinv(Phi, rcond=cut) @ B, for B (s_p, k).

    Singular values up to cut * sigma_max count as zero, as in numpy.linalg.pinv.

    Takes the triangular solve where R is clearly better conditioned than the cut, and a singular
    value decomposition of Phi otherwise. Q and R are not used if Phi has fewer rows than columns.
    """
    s_p, s_m = Phi.shape
    if s_p >= s_m:
        reciprocal_condition, _ = dtrcon(R)
        if reciprocal_condition > max(_SAFETY * s_m * cut, _SMALLEST_RCOND):
            # X' R' = (Q'B)' from the right: faster than R X = Q'B, and gives X in row order.
            QtB_transposed = (Q.T @ B).T  # (k, s_m), column order
            X: Matrix = dtrsm(1.0, R, QtB_transposed, side=1, trans_a=1, overwrite_b=1).T
            return X
    return _apply_pinv_by_svd(Phi, B, cut)


def _apply_pinv_by_svd(Phi: Matrix, B: Matrix, cut: float) -> Matrix:
    try:
        U, sigma, Vt = linalg.svd(Phi, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail where QR iteration does not
        U, sigma, Vt = linalg.svd(Phi, full_matrices=False, lapack_driver="gesvd")
    # The second condition departs from numpy.linalg.pinv: the inverse of a subnormal is infinite.
    kept = (sigma > cut * sigma[0]) & (sigma >= np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=kept)
    X: Matrix = Vt.T @ (inverse[:, np.newaxis] * (U.T @ B))
    return X
