"""Truncated incremental singular value decomposition (TISVD).

Keeps the k leading singular triplets of a matrix that changes by low-rank terms,

    M_k = U diag(s) V',    M <- M_k + D1 D2',

at a cost linear in the number of rows and columns of M (appendix B.2 of the FORKS paper). With P an
orthonormal basis of (I - UU')D1, R1 = P'(I - UU')D1, and Q, R2 the same for V and D2,

    M_k + D1 D2' = [U P] H [V Q]',    H = [diag(s) 0; 0 0] + [U'D1; R1] [V'D2; R2]',

so the singular value decomposition of the small H, cut to rank k, gives that of M.

Departures from the paper, all for the sake of orthogonality:

- A direction of the residual that is nothing but rounding is dropped from P. The update of FORKS
  has three columns that span two dimensions, so the full P would hold an arbitrary direction, not
  orthogonal to U.
- Residuals are projected twice: one projection leaves a part along U that is small against the
  column of D1, but not against its residual.
- `TISVD` orthonormalises U and V again from time to time, and `eigen_update` when they drift.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.linalg.lapack import dgeqp3, dgeqrf, dorgqr, dsyev

from forks.engine import Matrix, Vector
from forks.engine.checks import whole
from forks.linalg._dense import (
    check_update,
    finite_matrix,
    truncated_svd,
)

# A residual below _ROUNDING * sqrt(n) of its column's largest entry is taken to be rounding.
_ROUNDING = 1e-14

# U <- [U P] Ũ multiplies up the rounding of every product: the error in U'U grows by about 1e-16 a
# round, as a random walk, and nothing in the recurrence brings it back. A QR factorisation every 50
# updates keeps it near 1e-15 at a cost of O(n k^2 / 50) per update.
_UPDATES_BETWEEN_QR = 50


class TISVD:
    """Truncated incremental SVD of a matrix M (n x m) under updates M <- M_k + D1 D2'.

    Parameters
    ----------
    rank : int
        Number of singular triplets to keep. No more than min(n, m) exist; k is the smaller one.

    Attributes
    ----------
    U : array (n, k)
        Left singular vectors, orthonormal columns.
    s : array (k,)
        Singular values, descending.
    V : array (m, k)
        Right singular vectors, orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> tisvd = TISVD(rank=1).fit(np.diag([3.0, 1.0]))
    >>> tisvd.update([1.0, 0.0], [2.0, 0.0]).s
    array([5.])
    """

    U: Matrix
    s: Vector
    V: Matrix
    rank: int
    _updates_since_qr: int

    def __init__(self, rank: int) -> None:
        self.rank = whole("rank", rank, 1)
        self._updates_since_qr = 0

    def __repr__(self) -> str:
        return f"TISVD(rank={self.rank})"

    def fit(self, M: ArrayLike) -> Self:
        """Start from the `rank` leading singular triplets of M (n, m)."""
        M = finite_matrix("M", M)
        self.U, self.s, self.V = self._leading("M", M, min(self.rank, *M.shape))
        self._updates_since_qr = 0
        return self

    def update(self, D1: ArrayLike, D2: ArrayLike) -> Self:
        """Replace M_k by the rank-k part of M_k + D1 D2', for D1 (n, c) and D2 (m, c).

        A vector counts as one column.
        """
        if not hasattr(self, "U"):
            raise ValueError("update needs a matrix to update: call fit first")
        (n, k), m = self.U.shape, len(self.V)
        D1, D2 = check_update(D1, D2, n, m)
        if D1.shape[1] == 0:
            return self

        P, T1, scale1, _ = _extend(self.U, D1)
        Q, T2, scale2, _ = _extend(self.V, D2)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Multiply the scales first: their product may be in range where the entries are not.
            H = (T1 * (scale1 * scale2)) @ T2.T  # (k + p, k + q)
            H[np.arange(k), np.arange(k)] += self.s
        left, s, right = self._leading("D1 D2'", H, k)
        U = np.hstack([self.U, P]) @ left
        V = np.hstack([self.V, Q]) @ right

        updates = self._updates_since_qr + 1
        if updates == _UPDATES_BETWEEN_QR:
            U, s, V = _orthonormalised(U, s, V)
            updates = 0
        self.U, self.s, self.V, self._updates_since_qr = U, s, V, updates
        return self

    def _leading(self, name: str, M: Matrix, k: int) -> tuple[Matrix, Vector, Matrix]:
        return truncated_svd(name, M, k)

    def reconstruct(self) -> Matrix:
        """M_k = U diag(s) V', an (n, m) array."""
        if not hasattr(self, "U"):
            raise ValueError("reconstruct needs a decomposition: call fit first")
        M_k: Matrix = (self.U * self.s) @ self.V.T
        return M_k


def eigen_update(vectors: Matrix, values: Vector, E: Matrix, J: Matrix) -> tuple[Matrix, Vector]:
    """The k eigenpairs, largest in absolute value, of vectors diag(values) vectors' + E J E'.

    The symmetric form of TISVD. With V = `vectors`, P an orthonormal basis of (I - VV')E and
    R = P'(I - VV')E,

        M_k + E J E' = [V P] H [V P]',    H = [diag(values) 0; 0 0] + [V'E; R] J [V'E; R]',

    takes one eigendecomposition of size k + c at most. FORKS adds a sketch row s_p to Phi_pp with
    E = [s_p, S_p'psi] and J = [[kappa(x, x), 1], [1, 0]]: two columns, not the paper's three.

    Parameters
    ----------
    vectors : array (n, k), orthonormal columns
    values : array (k,), of any sign
    E : array (n, c)
    J : array (c, c), symmetric

    Returns
    -------
    vectors (n, k) and values (k,), by descending absolute value. The arguments are not changed and,
    since this runs inside a learner, not checked.
    """
    n, k = vectors.shape
    P, T, scale, drift = _extend(vectors, E)
    size = len(T)  # k + p
    T = T * scale
    H = T.dot(J).dot(T.T)  # `dot` has half the overhead of `@` on small arrays
    H.ravel()[: k * (size + 1) : size + 1] += values  # the first k of the diagonal
    # with the least workspace LAPACK skips its blocked code, which is slower at such sizes
    eigenvalues, Z, failed = dsyev(H.T, overwrite_a=1, lwork=3 * size)
    if failed:
        raise np.linalg.LinAlgError("the eigendecomposition of H did not converge")
    leading = np.abs(eigenvalues).argsort()[: -k - 1 : -1]
    # [V P] Z, transposed so that vectors come out in column order, the faster one at the next call.
    new_vectors: Matrix = Z.T[leading].dot(np.concatenate((vectors.T, P.T))).T
    if drift > _ROUNDING * n**0.5:
        # One Newton-Schulz step towards the nearest orthonormal matrix squares the drift.
        new_vectors = 1.5 * new_vectors - 0.5 * (new_vectors @ (new_vectors.T @ new_vectors))
    return new_vectors, eigenvalues[leading]


def _extend(basis: Matrix, update: Matrix) -> tuple[Matrix, Matrix, Vector, float]:
    """Directions P (n, p) that `basis` (n, k) lacks, and coordinates T (k + p, c) of the update:

        update = [basis P] T diag(scale),    p <= min(c, n - k).

    Also returns a measure of how far the basis is from orthonormal, which costs next to nothing.
    """
    n, k = basis.shape
    tolerance = _ROUNDING * n**0.5
    # All is transposed here, one row for each column of the update: contiguous, hence faster.
    rows = np.ascontiguousarray(update.T)  # (c, n)
    # Rows of equal size make one tolerance relative to each, and keep squares within range.
    scale: Vector = np.maximum.reduce(np.abs(rows), axis=1)
    if 0.0 in scale.tolist():
        scale[scale == 0.0] = 1.0
    rows = rows / scale[:, np.newaxis]

    inside = rows.dot(basis)  # (c, k)
    residual = rows - inside.dot(basis.T)  # (c, n)
    correction = residual.dot(basis)
    residual -= correction.dot(basis.T)
    inside += correction
    # The correction equals inside (I - basis'basis): zero but for rounding and drift.
    drift = float(np.vdot(correction, correction)) ** 0.5

    packed, _, tau, _, _ = dgeqp3(residual.T)  # pivoted: the diagonal descends
    diagonal: list[float] = packed.diagonal()[: n - k].tolist()
    sizes = [abs(entry) for entry in diagonal if abs(entry) > tolerance]
    p = len(sizes)
    if p == 0:
        return np.empty((n, 0)), inside.T, scale, drift
    P, _, _ = dorgqr(packed[:, :p], tau[:p])
    if sizes[-1] < 0.1:
        # A direction left over from cancellation may lean on the basis again.
        P -= basis @ (basis.T @ P)
        packed, tau, _, _ = dgeqrf(P)
        P, _, _ = dorgqr(packed, tau)
    return P, np.concatenate((inside, residual.dot(P)), axis=1).T, scale, drift


def _orthonormalised(U: Matrix, s: Vector, V: Matrix) -> tuple[Matrix, Vector, Matrix]:
    """The same U diag(s) V' with U and V orthonormal to rounding."""
    QU, RU = linalg.qr(U, mode="economic")
    QV, RV = linalg.qr(V, mode="economic")
    left, s, right = truncated_svd("M", (RU * s) @ RV.T, len(s))
    return QU @ left, s, QV @ right
