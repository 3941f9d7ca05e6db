"""Decompositions of the sketches of FORKS and SkeGD, and the feature matrix made from them."""

import numpy as np

from forks.oracles.kernels import Matrix, Vector

EPS = np.finfo(float).eps  # 2.2e-16


def svd_rank_k(M: Matrix, k: int) -> tuple[Matrix, Vector, Matrix]:
    """M ~ U diag(s) V' with the k largest singular values. Returns U, s, V."""
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    return U[:, :k], s[:k], Vt[:k].T


def tisvd_dense(M: Matrix, D1: Matrix, D2: Matrix, k: int) -> tuple[Matrix, Vector, Matrix]:
    """The result of TISVD: the rank-k SVD of the dense M + D1 D2'. Returns U, s, V.

    M is the running rank-k matrix U diag(s) V' (or any other dense matrix), D1 and D2 are the
    paper's Delta_1 and Delta_2, with any number of columns.
    """
    return svd_rank_k(M + D1 @ D2.T, k)


def feature_matrix(Phi_pm: Matrix, V: Matrix, s: Vector, cut: float) -> Matrix:
    """Z = pinv(Phi_pm) V Sigma^(1/2); s_m x k.

    Singular values of Phi_pm not above cut * the largest are dropped in the pseudo-inverse;
    entries of Sigma not above s_p * 2.2e-16 * the largest count as zero.
    """
    s_p = Phi_pm.shape[0]
    sigma = np.where(s > s_p * EPS * np.max(s), s, 0.0)
    return np.linalg.pinv(Phi_pm, rcond=cut) @ V @ np.diag(np.sqrt(sigma))


def condition_number(M: Matrix) -> float:
    """Largest over smallest of the min(rows, columns) singular values; inf when singular."""
    s = np.linalg.svd(M, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")


def ridge_fit(F: Matrix, G: Matrix) -> Matrix:
    """B that minimises |F B - G|^2 + ridge |B|^2, ridge = 1e-10 |F|_2^2."""
    ridge = 1e-10 * np.linalg.norm(F, 2) ** 2
    return np.linalg.inv(F.T @ F + ridge * np.eye(F.shape[1])) @ F.T @ G
