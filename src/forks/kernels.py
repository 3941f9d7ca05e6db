"""Kernel functions. A kernel is a small NamedTuple and one function that fills a row of values.

To add one, from anywhere:

    from typing import NamedTuple
    from forks.kernels import kernel_row, squared_distances

    class Cauchy(NamedTuple):
        bandwidth: float = 1.0

    @kernel_row.register(Cauchy)
    def _cauchy_row(kernel, x, points, n, out):
        squared_distances(x, points, n, out)
        for i in range(n):
            out[i] = 1.0 / (1.0 + out[i] / kernel.bandwidth**2)

The function is compiled, for dense and for sparse rows, with every learner that uses it. Fields
are floats or integers; `squared_distances`, `inner_products` and `absolute_distances` know both
forms of rows. A field named `bandwidth` must be positive and can be set from data by
``bandwidth="median"``.
"""

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from forks.engine import (
    Matrix,
    Points,
    absolute_distances,
    checked,
    entry,
    inner_products,
    jit_dispatch,
    njit,
    squared_distances,
)
from forks.engine.blocks import LANES, exp_minus, fma, load, padded, splat, store

__all__ = [
    "KERNELS",
    "METRICS",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "absolute_distances",
    "inner_products",
    "kernel_row",
    "squared_distances",
]

_LARGEST = 1e100
_LARGEST_SCALE = 1e300


@jit_dispatch
def kernel_row(kernel, x, points, n, out):
    """Fill out[i] = k(x, x_i) for the first n of `points`; x is a dense or a sparse row.

    `out` has room for n rounded up to a multiple of 8; numbers beyond n are of no meaning.
    """


def check_kernel(kernel: Any) -> Any:
    """Return the kernel in the form that compiled code takes, or say what is wrong with it."""
    kernel = checked(kernel, "kernel", kernel_row.knows)
    for name in ("bandwidth", "degree", "gamma"):
        if getattr(kernel, name, 1) <= 0:
            raise ValueError(f"kernel: {name} must be positive, got {getattr(kernel, name)!r}")
    return kernel


# Any NamedTuple registered with `kernel_row`; the rules of learners have it checked.
Kernel: TypeAlias = Annotated[Any, check_kernel]


@njit
def _exp_minus_all(out, n, scale):
    """out[i] = exp(-scale out[i]); a scale that overflows still has exp(0) = 1."""
    scale = min(scale, _LARGEST_SCALE)
    for i in range(0, n, LANES):
        store(exp_minus(fma(splat(scale), load(out, i), splat(0.0))), out, i)


class Gaussian(NamedTuple):
    """k(x, z) = exp(-|x - z|^2 / (2 bandwidth^2))."""

    bandwidth: float = 1.0


@kernel_row.register(Gaussian)
def _gaussian_row(kernel, x, points, n, out):
    squared_distances(x, points, n, out)
    scale = 1.0 / kernel.bandwidth
    _exp_minus_all(out, n, 0.5 * scale * scale)


class Laplacian(NamedTuple):
    """k(x, z) = exp(-|x - z|_1 / bandwidth)."""

    bandwidth: float = 1.0


@kernel_row.register(Laplacian)
def _laplacian_row(kernel, x, points, n, out):
    absolute_distances(x, points, n, out)
    _exp_minus_all(out, n, 1.0 / kernel.bandwidth)


class Polynomial(NamedTuple):
    """k(x, z) = (gamma x'z + coef0)^degree."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0


@kernel_row.register(Polynomial)
def _polynomial_row(kernel, x, points, n, out):
    inner_products(x, points, n, out)
    for i in range(n):
        base = kernel.gamma * out[i] + kernel.coef0
        power = base
        for _ in range(1, kernel.degree):
            power *= base
        out[i] = power


class Linear(NamedTuple):
    """k(x, z) = x'z."""


@kernel_row.register(Linear)
def _linear_row(kernel, x, points, n, out):
    inner_products(x, points, n, out)


# The words that stand for kernels in estimators, on the command line and in files of models; and
# the distances that bandwidths are multiples of.
KERNELS: dict[str, Any] = {
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "poly": Polynomial,
    "linear": Linear,
}
METRICS: dict[type, str] = {Gaussian: "euclidean", Laplacian: "manhattan"}


@entry
def _kernel_block(kernel, X, points, n, out):
    for t in range(X.shape[0]):
        kernel_row(kernel, X[t], points, n, out[t])


def kernel_block(kernel: Kernel, X: Matrix, points: Points, n: int) -> Matrix:
    """Kernel values between the rows of X and the first n points, (len(X), n).

    Values beyond 1e100, of polynomials of huge numbers, are held there, so that what is computed
    from them stays finite.
    """
    X = np.ascontiguousarray(X, np.float64)  # the direct way in takes nothing else
    out = np.empty((X.shape[0], padded(n)))
    fill = _direct.get(type(kernel))
    if fill is None:
        fill = _direct[type(kernel)] = _kernel_block.direct(kernel, X, points, n, out)
    fill(kernel, X, points, n, out)
    out = out[:, :n]
    if not (out.max(initial=0.0) <= _LARGEST and out.min(initial=0.0) >= -_LARGEST):
        np.clip(np.nan_to_num(out, copy=False), -_LARGEST, _LARGEST, out=out)
    return out


_direct: dict[type, Any] = {}  # compiled `_kernel_block`, by the type of the kernel
