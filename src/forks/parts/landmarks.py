"""The feature map of landmarks: kernel values, a linear part and a bias.

Rows are scaled (`forks.features.scaling`, and `forks.parts.tails` in regression), each feature is
multiplied by its relevance (`forks.parts.relevance`; 1 if there is none), and the result x is
divided by the root c of the median squared distance of rows (the mean one where most rows are
alike), times `width`. With landmarks z_1, ..., z_m among rows x / c,

    psi(x) = [k(z_1, x / c), ..., k(z_m, x / c), x_1 / sqrt(d), ..., x_d / sqrt(d), 1],
    Lambda = diag(K_mm, I, 1),

with the kernel k that was given, or with the Laplacian one in its place: then c is the median sum
of absolute differences, times `_LAPLACIAN_WIDTH`; or with the kernel that was given and features
whose tails are not drawn in, which the linear part follows far out. So theta'psi is a kernel
expansion, a linear part and a bias, and theta'Lambda theta its squared norm. Before the first fit
psi is [1] and Lambda is 1. More than `_WIDEST` features have no linear part.

Landmarks are the pivots of a Cholesky decomposition of the kernel matrix of all rows: the next is
the row farthest from the span of those before, until all are within `_DEPENDENT` of it. In few
dimensions that leaves few of them.

Features that come later were 0 in all rows so far: 0 is their centre, what else they hold is a
surprise of +-3 until the next fit, and the linear part then has the first `_WIDEST` features.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import pdist, squareform

from forks.engine import (
    Counter,
    Limit,
    Matrix,
    Points,
    SparseRow,
    Vector,
    by_form,
    njit,
    store_points,
)
from forks.engine.blocks import LANES
from forks.features.scaling import (
    Scale,
    apply_scale,
    divided,
    fit_scale,
    no_scale,
    scaled_value,
    write_scaled,
)
from forks.kernels import Kernel, Laplacian, kernel_block, kernel_row
from forks.linalg import spd
from forks.parts.tails import TailRule, with_tails

_DEPENDENT = 1e-8  # share of the largest k(x, x): what is left of a row beside the landmarks
_WIDEST = 512
_LAPLACIAN, _TAILS = Laplacian(1.0), TailRule()
_LAPLACIAN_WIDTH = 1.4
# What `sizes` holds: m; features of the linear part, once there was a fit; features of psi without
# the bias, 0 before the first fit; whether a feature's centre is other than 0; and the shape.
LANDMARKS, LINEAR, WIDTH, SHIFTED, SHAPE = range(5)
GIVEN, LAPLACIAN, FAR = range(3)  # shapes: of the kernel, and of features whose tails stay


class LandmarkMap(NamedTuple):
    """The map."""

    sizes: Annotated[Counter, 5]
    factor: Annotated[Vector, 1]  # of the linear part
    width: Annotated[Vector, 1]  # of the kernel, in units of its usual width
    relevance: Annotated[Vector, "features"]
    scale: Scale
    points: Points  # landmarks, scaled


class MappedRows(NamedTuple):
    """Rows that a map was fitted to."""

    K: Matrix  # (n, n)  kernel values
    chosen: Counter  # which of the rows are landmarks
    F: Matrix  # (n, W)  whitened features: K_nm L'^-1, the linear part and the bias
    L: Matrix  # (m, m)  Cholesky factor of K_mm

    def gram(self) -> Matrix:
        """Return F F', by its lower triangle: K and the rest, if every row is a landmark."""
        n, m = len(self.K), len(self.chosen)
        if m < n:
            return spd.squares(self.F)
        return spd.add_squares(self.K.copy(), self.F[:, m:])


def map_limits(map: LandmarkMap, linear: int, capacity: int) -> list[Limit]:
    """Return the bounds of what a stored map may hold; `linear` features have a linear part."""
    sizes = map.sizes.tolist()
    return [
        Limit("number of landmarks", sizes[LANDMARKS], 0, capacity),
        Limit("width of the linear part", sizes[LINEAR], linear, linear),
        Limit("width", sizes[WIDTH] - sizes[LANDMARKS], 0, linear),
        Limit("shift", sizes[SHIFTED], 0, 1),
        Limit("shape of the kernel", sizes[SHAPE], GIVEN, FAR),
        Limit("width of the kernel", map.width, 1e-3, 1e3),
        Limit("relevance", map.relevance, 0.0, 1e3),
    ]


def linear_features(n_features: int, wanted: bool) -> int:
    """Return how many features have a linear part."""
    return n_features if wanted and n_features <= _WIDEST else 0


def linear_features_after(n_features: int, before: int, n_before: int) -> int:
    """Return how many have one when features are added to n_before, of which `before` have one."""
    return min(n_features, _WIDEST) if before == n_before else before


def fit_map(
    map: LandmarkMap,
    kernel: Kernel,
    X: Matrix,
    weights: Vector,
    scaled: bool,
    median: bool,
    targets: Matrix | None = None,
) -> tuple[MappedRows, bool]:
    """Fit scale and landmarks to rows; return their features, and whether all were finite.

    Where there is a linear part, tails of features that the targets follow are not drawn in.
    """
    scale = _fit_scale(map, X, weights) if scaled else no_scale(X.shape[1])
    if scaled and targets is not None and map.sizes[LINEAR] > 0 and map.sizes[SHAPE] != FAR:
        scale = with_tails(_TAILS, scale, X, targets, weights)
    Z = apply_scale(scale, X) * map.relevance
    kernel = _kernel_of(map, kernel)
    distance = _median_sum if map.sizes[SHAPE] == LAPLACIAN else _median_distance
    divisor = float(map.width[0]) * (distance(Z) if median else 1.0)
    for array, new in zip(map.scale, divided(scale, divisor), strict=True):
        array[:] = new
    map.sizes[SHIFTED] = int(np.any(scale.centre != 0.0))
    map.factor[0] = divisor / math.sqrt(X.shape[1])
    Z /= divisor
    K, finite = _kernel_matrix(map, kernel, Z)
    Phi, L, chosen = independent_rows(K)
    store_points(Z[chosen], map.points)
    map.sizes[LANDMARKS] = len(chosen)
    F = np.hstack([Phi, map.factor[0] * Z[:, : map.sizes[LINEAR]], np.ones((len(Z), 1))])
    map.sizes[WIDTH] = F.shape[1] - 1
    return MappedRows(K, chosen, F, L), finite


def _fit_scale(map: LandmarkMap, X: Matrix, weights: Vector) -> Scale:
    return fit_scale(X, weights, drawn_in=map.sizes[SHAPE] != FAR)


def _kernel_matrix(map: LandmarkMap, kernel: Kernel, Z: Matrix) -> tuple[Matrix, bool]:
    """Return the kernel values of rows, 0 where they are not finite, and whether all were."""
    store_points(Z, map.points)
    K = np.array(kernel_block(kernel, Z, map.points, len(Z)))
    finite = bool(np.isfinite(K).all())
    if not finite:  # rows that overflow are no landmarks
        beyond = ~np.isfinite(np.diagonal(K))
        K[beyond], K[:, beyond] = 0.0, 0.0
        K[~np.isfinite(K)] = 0.0  # of a kernel that is not positive definite
    return K, finite


def independent_rows(K: Matrix) -> tuple[Matrix, Matrix, Counter]:
    """Choose rows by pivots of a kernel matrix; return Phi = K_nm L'^-1, L, and which they are."""
    largest = float(np.diagonal(K).max())
    if largest > 0.0:
        factor, order, m, _ = lapack.dpstrf(K, tol=_DEPENDENT * largest, lower=1)
        ordered, order = np.tril(factor[:, :m]), order - 1
    else:
        m, ordered, order = 0, np.empty((len(K), 0)), np.arange(len(K))
    Phi = np.empty_like(ordered)
    Phi[order] = ordered
    return Phi, np.ascontiguousarray(ordered[:m]), order[:m]


def landmark_factor(map: LandmarkMap, kernel: Kernel) -> Matrix:
    """Return the Cholesky factor of K_mm."""
    m = int(map.sizes[LANDMARKS])
    if m == 0:
        return np.empty((0, 0))
    points = np.ascontiguousarray(map.points.columns[:, :m].T)
    K = kernel_block(_kernel_of(map, kernel), points, map.points, m)
    return spd.factorise(np.array(K))


def _kernel_of(map: LandmarkMap, kernel: Kernel) -> Kernel:
    return _LAPLACIAN if map.sizes[SHAPE] == LAPLACIAN else kernel


def begin_map(map: LandmarkMap, linear: int) -> None:
    """Begin with the bias alone, all features alike."""
    map.sizes[LINEAR] = linear
    map.width[0] = 1.0
    map.relevance[:] = 1.0


def extend_scale(map: LandmarkMap, n_before: int, scaled: bool) -> None:
    """Set the scale of the features after the first ones, which were 0 in all rows so far."""
    n = len(map.scale.centre) - n_before
    map.relevance[n_before:] = 1.0
    scale = _fit_scale(map, np.zeros((1, n)), np.ones(1)) if scaled else no_scale(n)
    scale = divided(scale, float(scale.bound[0] / map.scale.bound[0]))
    for array, new in zip(map.scale[:-1], scale[:-1], strict=True):
        array[n_before:] = new


def _median_distance(Z: Matrix) -> float:
    return math.sqrt(median_of_squares(_squared_distances(Z)))


def median_of_squares(squares: Matrix) -> float:
    """Return the median of the squared distances between rows; the mean if most rows are alike."""
    pairs = squareform(squares, checks=False)
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0


def _median_sum(Z: Matrix) -> float:
    pairs = pdist(Z, "cityblock")
    return _LAPLACIAN_WIDTH * (float(np.median(pairs)) or float(pairs.mean()) or 1.0)


def _squared_distances(Z: Matrix) -> Matrix:
    norms = np.einsum("ij,ij->i", Z, Z)
    sums = norms[:, None] + norms
    squares = Z @ Z.T
    squares *= -2.0
    squares += sums
    sums *= 1e-12
    squares[squares < sums] = 0.0  # rounding errors of equal rows
    np.fill_diagonal(squares, 0.0)
    return squares


# ---- compiled --------------------------------------------------------------------------------


@njit
def _write_kernel(kernel, map, z, m, psi):
    if map.sizes[SHAPE] == LAPLACIAN:
        kernel_row(_LAPLACIAN, z, map.points, m, psi)
    else:
        kernel_row(kernel, z, map.points, m, psi)


def _compare_dense(x, kernel, map, z, m, psi):
    write_scaled(x, map.scale, z)
    for j in range(x.shape[0]):
        z[j] *= map.relevance[j]
    _write_kernel(kernel, map, z[: x.shape[0]], m, psi)


def _compare_sparse(x, kernel, map, z, m, psi):
    if map.sizes[SHIFTED] != 0:
        write_scaled(x, map.scale, z)
        d = map.relevance.shape[0]
        for j in range(d):
            z[j] *= map.relevance[j]
        _write_kernel(kernel, map, z[:d], m, psi)
    else:
        n = x.values.shape[0]
        for e in range(n):
            j = x.features[e]
            z[e] = map.relevance[j] * scaled_value(map.scale, j, x.values[e])
        _write_kernel(kernel, map, SparseRow(z[:n], x.features), m, psi)


def _linear_dense(x, map, z, m, linear, psi):
    for j in range(linear):
        psi[m + j] = map.factor[0] * z[j]


def _linear_sparse(x, map, z, m, linear, psi):
    if map.sizes[SHIFTED] != 0:
        for j in range(linear):
            psi[m + j] = map.factor[0] * z[j]
    else:  # the rest is zero already
        for e in range(x.values.shape[0]):
            if x.features[e] < linear:
                psi[m + x.features[e]] = map.factor[0] * z[e]


_compare = by_form(_compare_dense, _compare_sparse)
_write_linear = by_form(_linear_dense, _linear_sparse)


@njit
def write_psi(kernel, map, x, z, psi):
    """Write psi(x), and zeros up to a whole block; z is scratch for the scaled row."""
    m, width = map.sizes[LANDMARKS], map.sizes[WIDTH]
    if width > 0:
        _compare(x, kernel, map, z, m, psi)
    for i in range(m, whole_blocks(width + 1)):
        psi[i] = 0.0
    if width > m:
        _write_linear(x, map, z, m, width - m, psi)
    psi[width] = 1.0


@njit
def whole_blocks(n):
    """Round n up to whole blocks."""
    return (n + LANES - 1) // LANES * LANES
