"""The sketched feature map of SkeGD and FORKS: built once, then updated by low-rank changes.

For points x_1, ..., x_n with kernel matrix K, a sparse Johnson-Lindenstrauss sketch S_p (n x s_p)
and s_m landmarks among the points (column sampling S_m), two small matrices are kept,

    Phi_pm = S_p' K S_m  (s_p x s_m),      Phi_pp = S_p' K S_p  (s_p x s_p),

the second one only as its rank-k decomposition V Sigma V'. The map is

    phi(x) = Z' [k(x, landmark_1), ..., k(x, landmark_s_m)]',    Z = Phi_pm^+ V Sigma^(1/2).

A point x joins with a new sketch row s and psi = its kernel values to the points (appendix B.1):

    Phi_pm += s k_m(x)',
    Phi_pp += s (S_p'psi)' + (S_p'psi) s' + k(x, x) s s'  =  E J E',
    E = [s, S_p'psi],  J = [[k(x, x), 1], [1, 0]],

and leaves by the same change with -J. The paper writes E J E' as three rank-one terms, which
span only two dimensions; the two-column form is what keeps the incremental decomposition
orthogonal (see `forks.linalg.eigen_update`). A round that updates the map costs
O(n (d + D) + s_p k^2 + s_m s_p + s_m^2 k): nothing of size s_p^3, and no pseudo-inverse is
computed anew, since a change of rank one updates the QR factors of Phi_pm.

Reference: sections 3.2 and 3.3 and appendix B.1 of the FORKS paper; Zhang and Liao, "Incremental
randomized sketching for online kernel learning", ICML 2019.
"""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, eigh

from forks.engine import (
    Counter,
    Matrix,
    Points,
    Vector,
    copy_point,
    dense_points,
    njit,
    store_point,
)
from forks.engine.blocks import LANES, fma, load, splat
from forks.engine.blocks import store as store_block
from forks.kernels import Kernel, kernel_block, kernel_row
from forks.linalg import (
    SJLT,
    RandomizedSVD,
    apply_pinv,
    eigen_update,
    factorise,
    leading_eigenpairs,
    rank_one_update,
)

# Eigenvalues of Phi_pp below this share of s_p times the largest are rounding errors.
_EPSILON = float(np.finfo(np.float64).eps)
_FACTORISE_EVERY = 500  # updates: rounding errors of the factors grow with each
_TINY = 1e-150
_ROWS = 64  # sketch rows made at a time


class SketchPlan(NamedTuple):
    """The sizes and choices of a sketched map."""

    sketch_size: int  # s_p
    n_landmarks: int  # s_m
    rank: int  # k
    n_blocks: int  # D of the SJLT
    capacity: int  # points in the list
    cut: float  # relative cut of the pseudo-inverse
    growing: bool  # do update points join the list of points?
    refreshed: bool  # do they replace landmarks?
    decomposition: str  # of Phi_pp at an update: "tisvd", "recursive", "svd" or "randomized"
    extra_rank: int = 0  # eigenpairs of Phi_pp kept beyond the k that the map uses

    @property
    def kept(self) -> int:
        """Eigenpairs of Phi_pp that are kept."""
        return min(self.rank + self.extra_rank, self.sketch_size)

    @property
    def keeps_inner(self) -> bool:
        """Whether Phi_pp is kept whole, not only as its eigenpairs."""
        return self.decomposition in ("svd", "randomized")

    def lengths(self) -> dict[str, int]:
        """Return what the axes of a `FeatureMap` and a `Sketch` name."""
        names = ("sketch_size", "n_landmarks", "rank", "n_blocks", "capacity", "kept")
        inner = self.sketch_size if self.keeps_inner else 0
        return {**{name: getattr(self, name) for name in names}, "inner": inner}


class FeatureMap(NamedTuple):
    """phi(x) = Z' [k(x, landmark_i)]_i; part of a learner's state."""

    landmarks: Annotated[Points, "capacity = n_landmarks"]
    Z: Annotated[Matrix, "n_landmarks", "padded(rank)"]  # zero beyond k


class Sketch(NamedTuple):
    """What it takes to update a map; kept from the compiled rounds, which do not need it.

    The names are those of a `SketchPlan`, see `SketchPlan.lengths`.
    """

    columns: Annotated[Counter, "capacity * n_blocks"]  # where the sketch rows of the points
    signs: Annotated[Matrix, "capacity", "n_blocks"]  # have their entries, and which
    cross: Annotated[Matrix, "sketch_size", "n_landmarks"]  # Phi_pm
    size: Annotated[Vector, 1]  # |Phi_pm| when it was last factorised
    # Q and R of `forks.linalg.smooth_pinv`; LAPACK wants columns
    Q_transposed: Annotated[Matrix, "n_landmarks", "sketch_size + n_landmarks"]
    R_transposed: Annotated[Matrix, "n_landmarks", "n_landmarks"]
    vectors_transposed: Annotated[Matrix, "kept", "sketch_size"]  # V', with k pairs or some more
    values: Annotated[Vector, "kept"]  # Sigma, with signs: truncation can make Phi_pp indefinite
    inner: Annotated[Matrix, "inner", "inner"]  # Phi_pp; empty if only its decomposition is kept


@njit
def write_features(kernel, feature_map, x, row, phi):
    """Write phi(x); `row` gets the kernel values to the landmarks."""
    Z = feature_map.Z
    s_m, width = Z.shape
    kernel_row(kernel, x, feature_map.landmarks, s_m, row)
    for j in range(0, width, LANES):
        sums = splat(0.0)
        for i in range(s_m):
            sums = fma(splat(row[i]), load(Z, i * width + j), sums)
        store_block(sums, phi, j)


def build(
    plan: SketchPlan,
    feature_map: FeatureMap,
    sketch: Sketch,
    kernel: Kernel,
    points: Points,
    n: int,
    seed: int,
    chosen: Counter,
) -> None:
    """Make the map from the first n points, with the chosen ones as landmarks."""
    X = dense_points(points, n)
    K = kernel_block(kernel, X, points, n)
    rows = SJLT(plan.sketch_size, plan.n_blocks, seed)
    columns, signs = rows.entries(0, n)
    sketch.columns[: columns.size], sketch.signs[:n] = columns.ravel(), signs
    for i, number in enumerate(chosen):
        copy_point(points, int(number), feature_map.landmarks, i)
    half = rows.sketch(K)  # S_p' K
    sketch.cross[:] = half[:, chosen]
    _factorise(plan, sketch)
    inner = rows.sketch(half.T)
    if plan.keeps_inner:
        sketch.inner[:] = inner
    _decompose(plan, sketch, inner, psd=True)
    _refresh_map(plan, feature_map, sketch)


def join(
    plan: SketchPlan,
    feature_map: FeatureMap,
    sketch: Sketch,
    kernel: Kernel,
    points: Points,
    x: Vector,
    number: int,
    n_updates: int,
    seed: int,
) -> None:
    """Update the map with point x, the `number`-th of the stream's points (from 0).

    The list of points is a ring: when it is full, the oldest point makes room for x, in `points`
    and in the sketch. Beyond the ring, `points` has one more place, where x waits meanwhile.
    `n_updates` is the number of earlier updates.
    """
    capacity, landmarks = plan.capacity, feature_map.landmarks
    n = min(number, capacity)
    slot = number % capacity
    column, sign = _sketch_row(plan.sketch_size, plan.n_blocks, seed, number)
    s = np.zeros(plan.sketch_size)
    s[column] = sign
    store_point(x, points, capacity)
    values = kernel_block(kernel, x.reshape(1, -1), points, capacity + 1)[0]
    psi, k_xx = values[:n], float(values[capacity])
    joins = np.array([[k_xx, 1.0], [1.0, 0.0]])
    if plan.growing and number >= capacity:  # the oldest leaves
        old = np.ascontiguousarray(points.columns[:, slot])
        psi_old = kernel_block(kernel, old.reshape(1, -1), points, n)[0]
        k_old, psi_old[slot], psi[slot] = psi_old[slot], 0.0, 0.0
        s_old = np.zeros(plan.sketch_size)
        s_old[_columns(sketch, n)[slot]] = sketch.signs[slot]
        psi_sketched = _sketched(sketch, psi)
        E = np.array([s_old, _sketched(sketch, psi_old), s, psi_sketched]).T
        leaves = np.array([[-k_old, -1.0], [-1.0, 0.0]])
        J = block_diag(leaves, joins)
        _add_row(landmarks, sketch, kernel, -s_old, old)
    else:
        psi_sketched = _sketched(sketch, psi)
        E, J = np.array([s, psi_sketched]).T, joins
    _add_row(landmarks, sketch, kernel, s, x)
    if plan.growing:
        copy_point(points, capacity, points, slot)
        _columns(sketch, capacity)[slot], sketch.signs[slot] = column, sign
    if plan.refreshed:
        which = n_updates % plan.n_landmarks
        copy_point(points, capacity, landmarks, which)
        _replace_column(sketch, which, psi_sketched + k_xx * s)
    _update_decomposition(plan, sketch, E, J, seed + n_updates)
    if n_updates % _FACTORISE_EVERY == 0 or not 0.5 < _size(sketch) / sketch.size[0] < 2.0:
        _factorise(plan, sketch)
    _refresh_map(plan, feature_map, sketch)


def _sketch_row(
    sketch_size: int, n_blocks: int, seed: int, number: int
) -> tuple[NDArray[np.int64], Vector]:
    """Columns and signs of one row of S_p."""
    columns, signs = _sketch_rows(sketch_size, n_blocks, seed, number // _ROWS)
    return columns[number % _ROWS], signs[number % _ROWS]


@lru_cache(maxsize=16)
def _sketch_rows(
    sketch_size: int, n_blocks: int, seed: int, part: int
) -> tuple[NDArray[np.int64], Matrix]:
    # hashing one row or many costs the same
    return SJLT(sketch_size, n_blocks, seed).entries(part * _ROWS, (part + 1) * _ROWS)


def _columns(sketch: Sketch, n: int) -> NDArray[np.int64]:
    """Columns of the entries of the first n sketch rows, (n, D)."""
    return sketch.columns.reshape(sketch.signs.shape)[:n]


def _sketched(sketch: Sketch, psi: Vector) -> Vector:
    """S_p' psi."""
    n = psi.shape[0]
    weights = sketch.signs[:n] * psi[:, None]
    found = np.bincount(_columns(sketch, n).ravel(), weights.ravel(), sketch.cross.shape[0])
    return np.asarray(found, dtype=np.float64)


def _add_row(landmarks: Points, sketch: Sketch, kernel: Kernel, s: Vector, x: Vector) -> None:
    """Phi_pm += s k_m(x)'."""
    k_m = kernel_block(kernel, x.reshape(1, -1), landmarks, sketch.cross.shape[1])[0]
    touched = np.flatnonzero(s)
    sketch.cross[touched] += s[touched, None] * k_m
    rank_one_update(sketch.Q_transposed.T, sketch.R_transposed.T, s, k_m)


def _replace_column(sketch: Sketch, which: int, column: Vector) -> None:
    """A new landmark's column of Phi_pm is S_p' times its kernel values to the points."""
    change = column - sketch.cross[:, which]
    sketch.cross[:, which] = column
    unit = np.zeros(sketch.cross.shape[1])
    unit[which] = 1.0
    rank_one_update(sketch.Q_transposed.T, sketch.R_transposed.T, change, unit)


def _update_decomposition(
    plan: SketchPlan, sketch: Sketch, E: Matrix, J: Matrix, seed: int
) -> None:
    """Phi_pp += E J E'."""
    if plan.decomposition == "tisvd":
        vectors, values = eigen_update(sketch.vectors_transposed.T, sketch.values, E, J)
        sketch.vectors_transposed[:], sketch.values[:] = vectors.T, values
        return
    before = sketch.vectors_transposed.copy()
    if plan.decomposition == "recursive":
        _decompose(plan, sketch, (before.T * sketch.values) @ before + E @ J @ E.T)
    elif plan.decomposition == "svd":
        sketch.inner[:] += E @ J @ E.T
        _decompose(plan, sketch, sketch.inner)
    else:
        sketch.inner[:] += E @ J @ E.T
        decomposition = RandomizedSVD(plan.kept, seed=seed).fit(sketch.inner)
        sketch.vectors_transposed[:], sketch.values[:] = decomposition.V.T, decomposition.s
    # The signs of eigenvectors are arbitrary: keep them close to the old ones, since weights may
    # stay as they are.
    turned = np.einsum("ij,ij->i", sketch.vectors_transposed, before) < 0.0
    sketch.vectors_transposed[turned] *= -1.0


def _decompose(plan: SketchPlan, sketch: Sketch, inner: Matrix, psd: bool = False) -> None:
    """Take the eigenpairs of Phi_pp that are largest in absolute value, from scratch."""
    k = plan.kept
    values, vectors = leading_eigenpairs(inner, k) if psd else eigh(inner)
    largest = np.argsort(-np.abs(values), kind="stable")[:k]
    sketch.vectors_transposed[:] = vectors[:, largest].T
    sketch.values[:] = values[largest]


def _size(sketch: Sketch) -> float:
    return max(math.sqrt(float(np.vdot(sketch.cross, sketch.cross))), _TINY)


def _factorise(plan: SketchPlan, sketch: Sketch) -> None:
    Q, R = factorise(sketch.cross, plan.cut)
    sketch.Q_transposed[:], sketch.R_transposed[:] = Q.T, R.T
    sketch.size[0] = _size(sketch)


def _refresh_map(plan: SketchPlan, feature_map: FeatureMap, sketch: Sketch) -> None:
    """Z = Phi_pm^+ V |Sigma|^(1/2), with the k leading pairs of those that are kept.

    Raises LinAlgError if that overflows.
    """
    k = plan.rank
    sizes = np.abs(sketch.values[:k])  # singular values
    sizes[sizes <= plan.sketch_size * _EPSILON * sizes.max(initial=0.0)] = 0.0
    target = np.multiply(sketch.vectors_transposed[:k].T, np.sqrt(sizes), order="C")
    Z = apply_pinv(sketch.Q_transposed.T, sketch.R_transposed.T, target)
    parts = (Z, sketch.R_transposed, sketch.vectors_transposed, sketch.values)
    if not all(np.isfinite(part).all() for part in parts):
        raise np.linalg.LinAlgError("the feature map has overflowed")
    feature_map.Z[:, :k] = Z
