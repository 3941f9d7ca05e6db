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

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from forks._jit import njit
from forks._rows import Points, copy_point, dense_points, point_shapes, store_point
from forks._simd import LANES, fma, load, padded, splat
from forks._simd import store as store_block
from forks.kernels import Kernel, kernel_block, kernel_row
from forks.linalg import SJLT, apply_pinv, eigen_update, factorise, rank_one_update
from forks.typing import Counter, Matrix, Vector

# Eigenvalues of Phi_pp below this share of s_p times the largest are rounding errors.
_EPSILON = float(np.finfo(np.float64).eps)


class SketchPlan(NamedTuple):
    """The sizes and choices of a sketched map."""

    sketch_size: int  # s_p
    n_landmarks: int  # s_m
    rank: int  # k
    n_blocks: int  # D of the SJLT
    cut: float  # relative cut of the pseudo-inverse
    growing: bool  # do update points join the list of points?
    refreshed: bool  # do they replace landmarks?
    incremental: bool  # TISVD, or a full decomposition at each update?


class FeatureMap(NamedTuple):
    """phi(x) = Z' [k(x, landmark_i)]_i; part of a learner's state."""

    landmarks: Points  # (d, s_m)
    Z: Matrix  # (s_m, padded(k)), zero beyond k


class Sketch(NamedTuple):
    """What it takes to update a map; kept from the compiled rounds, which do not need it."""

    cross: Matrix  # (s_p, s_m)  Phi_pm
    Q: Matrix  # (s_p, s_m)  Phi_pm = Q R; empty if s_p < s_m
    R: Matrix  # (s_m, s_m)
    vectors: Matrix  # (s_p, k)    V
    values: Vector  # (k,)        Sigma, with signs: truncation can make Phi_pp indefinite
    inner: Matrix  # (s_p, s_p)  Phi_pp; empty if only its decomposition is kept


def map_shapes(name: str, plan: SketchPlan, n_features: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a `FeatureMap` field of a state, for `forks._memory.allocate`."""
    landmarks = point_shapes(f"{name}.landmarks", n_features, plan.n_landmarks)
    return {**landmarks, f"{name}.Z": (plan.n_landmarks, padded(plan.rank))}


def sketch_shapes(name: str, plan: SketchPlan) -> dict[str, tuple[int, ...]]:
    """Shapes of a `Sketch` field of a state, for `forks._memory.allocate`."""
    s_p, s_m, k = plan.sketch_size, plan.n_landmarks, plan.rank
    tall, full = s_p >= s_m, not plan.incremental
    return {
        f"{name}.cross": (s_p, s_m),
        f"{name}.Q": (s_p * tall, s_m * tall),
        f"{name}.R": (s_m * tall, s_m * tall),
        f"{name}.vectors": (s_p, k),
        f"{name}.values": (k,),
        f"{name}.inner": (s_p * full, s_p * full),
    }


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
    half = rows.sketch(K)  # S_p' K
    for i, number in enumerate(chosen):
        copy_point(points, int(number), feature_map.landmarks, i)
    sketch.cross[:] = half[:, chosen]
    if sketch.Q.size:
        sketch.Q[:], sketch.R[:] = factorise(sketch.cross)
    inner = rows.sketch(half.T)
    if not plan.incremental:
        sketch.inner[:] = inner
    _decompose(plan, sketch, inner)
    _refresh_map(plan, feature_map, sketch)


def join(
    plan: SketchPlan,
    feature_map: FeatureMap,
    sketch: Sketch,
    kernel: Kernel,
    points: Points,
    capacity: int,
    x: Vector,
    number: int,
    n_updates: int,
    seed: int,
) -> None:
    """Update the map with point x, the `number`-th of the stream's points (from 0).

    The list of points is a ring of `capacity`: when it is full, the oldest point makes room for
    x, in `points` and in the sketch. `n_updates` is the number of earlier updates.
    """
    slot = number % capacity
    latest = number - 1 if plan.growing else capacity - 1
    n = min(latest + 1, capacity)
    slots = np.arange(n)
    numbers = latest - (latest - slots) % capacity  # which point each slot holds
    rows = SJLT(plan.sketch_size, plan.n_blocks, seed)
    columns, values = rows.entries(int(numbers.min()), int(numbers.max()) + 1)
    columns, values = columns[numbers - numbers.min()], values[numbers - numbers.min()]

    def sketched(psi: Vector) -> Vector:  # S_p' psi
        weights = values * psi[:, None]
        return np.bincount(columns.ravel(), weights.ravel(), plan.sketch_size)

    E, J = [], []
    x_row = x.reshape(1, -1)
    psi = kernel_block(kernel, x_row, points, n)[0]
    if plan.growing and number >= capacity:  # the oldest leaves
        old = np.ascontiguousarray(points.columns[:, slot])
        psi_old = kernel_block(kernel, old.reshape(1, -1), points, n)[0]
        k_old, psi_old[slot], psi[slot] = psi_old[slot], 0.0, 0.0
        s_old = rows.row(number - capacity)
        E += [s_old, sketched(psi_old)]
        J += [-k_old, -1.0]
        _add_row(feature_map.landmarks, sketch, kernel, -s_old, old)
    psi_sketched = sketched(psi)
    k_new = _self_value(kernel, x)
    s_new = rows.row(number)
    E += [s_new, psi_sketched]
    J += [k_new, 1.0]
    _add_row(feature_map.landmarks, sketch, kernel, s_new, x)
    if plan.growing:
        store_point(x, points, slot)
    if plan.refreshed:
        _replace_landmark(feature_map.landmarks, sketch, n_updates % plan.n_landmarks, x, psi_sketched + k_new * s_new)

    change = np.column_stack(E)
    middle = np.zeros((len(J), len(J)))  # blocks [[k, 1], [1, 0]], with the sign of join or leave
    for i in range(0, len(J), 2):
        middle[i, i], middle[i, i + 1], middle[i + 1, i] = J[i], J[i + 1], J[i + 1]
    if plan.incremental:
        vectors, eigenvalues = eigen_update(
            sketch.vectors, sketch.values, change, middle
        )
        sketch.vectors[:], sketch.values[:] = vectors, eigenvalues
    else:
        sketch.inner[:] += change @ middle @ change.T
        _decompose(plan, sketch, sketch.inner)
    _refresh_map(plan, feature_map, sketch)


def _self_value(kernel: Kernel, x: Vector) -> float:
    """k(x, x)."""
    alone = Points(np.zeros((x.shape[0], LANES)), np.zeros((2, LANES)))
    store_point(x, alone, 0)
    return float(kernel_block(kernel, x.reshape(1, -1), alone, 1)[0, 0])


def _add_row(landmarks: Points, sketch: Sketch, kernel: Kernel, s: Vector, x: Vector) -> None:
    """Phi_pm += s k_m(x)'."""
    k_m = kernel_block(kernel, x.reshape(1, -1), landmarks, sketch.cross.shape[1])[0]
    touched = np.flatnonzero(s)
    sketch.cross[touched] += s[touched, None] * k_m
    if sketch.Q.size:
        rank_one_update(sketch.Q, sketch.R, s, k_m)


def _replace_landmark(
    landmarks: Points, sketch: Sketch, which: int, x: Vector, column: Vector
) -> None:
    """Make x a landmark; its column of Phi_pm is S_p' times its kernel values to the points."""
    change = column - sketch.cross[:, which]
    sketch.cross[:, which] = column
    store_point(x, landmarks, which)
    if sketch.Q.size:
        unit = np.zeros(sketch.cross.shape[1])
        unit[which] = 1.0
        rank_one_update(sketch.Q, sketch.R, change, unit)


def _decompose(plan: SketchPlan, sketch: Sketch, inner: Matrix) -> None:
    """Take the k eigenpairs of Phi_pp that are largest in absolute value, from scratch."""
    values, vectors = eigh(inner)
    largest = np.argsort(-np.abs(values), kind="stable")[: plan.rank]
    sketch.vectors[:] = vectors[:, largest]
    sketch.values[:] = values[largest]


def _refresh_map(plan: SketchPlan, feature_map: FeatureMap, sketch: Sketch) -> None:
    """Z = Phi_pm^+ V |Sigma|^(1/2)."""
    sizes = np.abs(sketch.values)  # singular values
    sizes[sizes <= plan.sketch_size * _EPSILON * sizes.max(initial=0.0)] = 0.0
    target = sketch.vectors * np.sqrt(sizes)
    feature_map.Z[:, : plan.rank] = apply_pinv(
        sketch.cross, sketch.Q, sketch.R, target, plan.cut
    )
