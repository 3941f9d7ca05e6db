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
from forks._rows import Points, dense_points, point_shapes, store
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


class SketchedMap(NamedTuple):
    """The map, and what is needed to update it; part of a learner's state."""

    landmarks: Points  # (d, s_m)
    Z: Matrix  # (s_m, k)
    cross: Matrix  # (s_p, s_m)  Phi_pm
    Q: Matrix  # (s_p, s_m)  Phi_pm = Q R; empty if s_p < s_m
    R: Matrix  # (s_m, s_m)
    vectors: Matrix  # (s_p, k)    V
    values: Vector  # (k,)        Sigma, with signs: truncation can make Phi_pp indefinite
    inner: Matrix  # (s_p, s_p)  Phi_pp; empty if only its decomposition is kept


def map_shapes(name: str, plan: SketchPlan, n_features: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a `SketchedMap` field of a state, for `forks._memory.allocate`."""
    s_p, s_m, k = plan.sketch_size, plan.n_landmarks, plan.rank
    tall, full = s_p >= s_m, not plan.incremental
    return {
        **point_shapes(f"{name}.landmarks", n_features, s_m),
        f"{name}.Z": (s_m, k),
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
    s_m, k = Z.shape
    kernel_row(kernel, x, feature_map.landmarks, s_m, row)
    for j in range(k):
        phi[j] = 0.0
    i = 0
    while i + 4 <= s_m:  # four landmarks a pass: a quarter of the traffic through `phi`
        a, b, c, e = row[i], row[i + 1], row[i + 2], row[i + 3]
        for j in range(k):
            phi[j] += (a * Z[i, j] + b * Z[i + 1, j]) + (c * Z[i + 2, j] + e * Z[i + 3, j])
        i += 4
    while i < s_m:
        a = row[i]
        for j in range(k):
            phi[j] += a * Z[i, j]
        i += 1


def build(
    plan: SketchPlan,
    feature_map: SketchedMap,
    kernel: Kernel,
    points: Points,
    n: int,
    seed: int,
    chosen: Counter,
) -> None:
    """Make the map from the first n points, with the chosen ones as landmarks."""
    X = dense_points(points, n)
    K = kernel_block(kernel, X, points, n)
    sketch = SJLT(plan.sketch_size, plan.n_blocks, seed)
    half = sketch.sketch(K)  # S_p' K
    for i, number in enumerate(chosen):
        store(X[number], feature_map.landmarks, i)
    feature_map.cross[:] = half[:, chosen]
    if feature_map.Q.size:
        feature_map.Q[:], feature_map.R[:] = factorise(feature_map.cross)
    inner = sketch.sketch(half.T)
    if not plan.incremental:
        feature_map.inner[:] = inner
    _decompose(plan, feature_map, inner)
    _refresh_map(plan, feature_map)


def join(
    plan: SketchPlan,
    feature_map: SketchedMap,
    kernel: Kernel,
    points: Points,
    x: Vector,
    number: int,
    n_updates: int,
    seed: int,
) -> None:
    """Update the map with point x, the `number`-th of the stream's points (from 0).

    A growing list of points is a ring: when it is full, the oldest point makes room for x, in
    `points` and in the sketch. `n_updates` is the number of earlier updates.
    """
    capacity = points.square_norms.shape[0]
    slot = number % capacity
    latest = number - 1 if plan.growing else capacity - 1
    n = min(latest + 1, capacity)
    slots = np.arange(n)
    numbers = latest - (latest - slots) % capacity  # which point each slot holds
    sketch = SJLT(plan.sketch_size, plan.n_blocks, seed)
    columns, values = sketch.entries(int(numbers.min()), int(numbers.max()) + 1)
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
        s_old = sketch.row(number - capacity)
        E += [s_old, sketched(psi_old)]
        J += [-k_old, -1.0]
        _add_row(feature_map, kernel, -s_old, old)
    psi_sketched = sketched(psi)
    one = Points(x.reshape(-1, 1).copy(), np.array([x @ x]), np.array([np.abs(x).sum()]))
    k_new = float(kernel_block(kernel, x_row, one, 1)[0, 0])
    s_new = sketch.row(number)
    E += [s_new, psi_sketched]
    J += [k_new, 1.0]
    _add_row(feature_map, kernel, s_new, x)
    if plan.growing:
        store(x, points, slot)
    if plan.refreshed:
        _replace_landmark(feature_map, n_updates % plan.n_landmarks, x, psi_sketched + k_new * s_new)

    change = np.column_stack(E)
    middle = np.zeros((len(J), len(J)))  # blocks [[k, 1], [1, 0]], with the sign of join or leave
    for i in range(0, len(J), 2):
        middle[i, i], middle[i, i + 1], middle[i + 1, i] = J[i], J[i + 1], J[i + 1]
    if plan.incremental:
        vectors, eigenvalues = eigen_update(
            feature_map.vectors, feature_map.values, change, middle
        )
        feature_map.vectors[:], feature_map.values[:] = vectors, eigenvalues
    else:
        feature_map.inner[:] += change @ middle @ change.T
        _decompose(plan, feature_map, feature_map.inner)
    _refresh_map(plan, feature_map)


def _add_row(feature_map: SketchedMap, kernel: Kernel, s: Vector, x: Vector) -> None:
    """Phi_pm += s k_m(x)'."""
    landmarks = feature_map.landmarks
    k_m = kernel_block(kernel, x.reshape(1, -1), landmarks, landmarks.square_norms.shape[0])[0]
    touched = np.flatnonzero(s)
    feature_map.cross[touched] += s[touched, None] * k_m
    if feature_map.Q.size:
        rank_one_update(feature_map.Q, feature_map.R, s, k_m)


def _replace_landmark(feature_map: SketchedMap, which: int, x: Vector, column: Vector) -> None:
    """Make x a landmark; its column of Phi_pm is S_p' times its kernel values to the points."""
    change = column - feature_map.cross[:, which]
    feature_map.cross[:, which] = column
    store(x, feature_map.landmarks, which)
    if feature_map.Q.size:
        unit = np.zeros(feature_map.cross.shape[1])
        unit[which] = 1.0
        rank_one_update(feature_map.Q, feature_map.R, change, unit)


def _decompose(plan: SketchPlan, feature_map: SketchedMap, inner: Matrix) -> None:
    """Take the k eigenpairs of Phi_pp that are largest in absolute value, from scratch."""
    values, vectors = eigh(inner)
    largest = np.argsort(-np.abs(values), kind="stable")[: plan.rank]
    feature_map.vectors[:] = vectors[:, largest]
    feature_map.values[:] = values[largest]


def _refresh_map(plan: SketchPlan, feature_map: SketchedMap) -> None:
    """Z = Phi_pm^+ V |Sigma|^(1/2)."""
    sizes = np.abs(feature_map.values)  # singular values
    sizes[sizes <= plan.sketch_size * _EPSILON * sizes.max(initial=0.0)] = 0.0
    target = feature_map.vectors * np.sqrt(sizes)
    feature_map.Z[:] = apply_pinv(
        feature_map.cross, feature_map.Q, feature_map.R, target, plan.cut
    )
