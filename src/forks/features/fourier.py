"""Random Fourier features of shift-invariant kernels, for dense and sparse rows.

A kernel k(x, z) = kappa((x - z) / bandwidth) with kappa(0) = 1 is the mean of
cos(u'(x - z) / bandwidth) over frequencies u of a certain distribution: normal for the Gaussian
kernel, and a Cauchy distribution in every coordinate for the Laplacian. With D of them drawn once,

    phi(x) = D^(-1/2) [cos(u_i'x / bandwidth), ..., sin(u_i'x / bandwidth), ...]

has 2 D features, length 1, and phi(x)'phi(z) close to k(x, z), with errors of size D^(-1/2).

The frequencies are drawn for a bandwidth of 1 and stored by column, like points, so that the
bandwidth may change later and `inner_products` serves both forms of rows.

Reference: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Matrix, inner_products, njit
from forks.engine.blocks import LANES, cos_sin, fma, load, splat, store
from forks.kernels import Gaussian, Kernel, Laplacian

_DRAWS = {
    Gaussian: np.random.Generator.standard_normal,
    Laplacian: np.random.Generator.standard_cauchy,
}


class Frequencies(NamedTuple):
    """D frequencies, part of a learner's state; zero beyond them."""

    columns: Annotated[Matrix, "features", "padded(n_frequencies)"]  # one is columns[:, i]


def check_spectrum(kernel: Kernel) -> None:
    """Check that the frequencies of a kernel can be drawn."""
    if type(kernel) not in _DRAWS:
        known = " or ".join(kind.__name__ for kind in _DRAWS)
        raise ValueError(f"kernel must be {known} to have Fourier features, got {kernel!r}")


def draw(kernel: Kernel, frequencies: Frequencies, n: int, rng: np.random.Generator) -> None:
    """Draw n frequencies of the kernel with a bandwidth of 1."""
    columns = frequencies.columns[:, :n]
    columns[:] = _DRAWS[type(kernel)](rng, columns.shape)


def draw_feature(kernel: Kernel, frequencies: Frequencies, n: int, j: int, seed: int) -> None:
    """Draw what n frequencies have of feature j, which came later; each has its own generator."""
    frequencies.columns[j, :n] = _DRAWS[type(kernel)](np.random.default_rng((seed, j)), n)


def fourier_features(kernel: Kernel, frequencies: Frequencies, n: int, X: Matrix) -> Matrix:
    """Return phi of many rows, (len(X), 2 n), outside compiled code."""
    angles = X @ frequencies.columns[:, :n] / kernel.bandwidth
    return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(n)


@njit
def write_fourier_features(kernel, frequencies, n, x, phi):
    """Write phi(x): the cosines of the n frequencies, then the sines, each in whole blocks."""
    width = frequencies.columns.shape[1]
    inner_products(x, frequencies, n, phi)
    scale, size = splat(1.0 / kernel.bandwidth), splat(1.0 / math.sqrt(n))
    zero = splat(0.0)
    for i in range(0, width, LANES):
        cosines, sines = cos_sin(fma(scale, load(phi, i), zero))
        store(fma(size, cosines, zero), phi, i)
        store(fma(size, sines, zero), phi, width + i)
    for i in range(n, width):
        phi[i] = 0.0
        phi[width + i] = 0.0
