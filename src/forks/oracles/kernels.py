"""Kernels: each factory returns a function of two matrices, (n, d) x (m, d) -> (n, m)."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[Any]
Matrix: TypeAlias = NDArray[Any]
Kernel: TypeAlias = Callable[[Matrix, Matrix], Matrix]


def gaussian(bandwidth: float) -> Kernel:
    """k(x, z) = exp(-|x - z|^2 / (2 bandwidth^2))."""

    def kernel(X: Matrix, Z: Matrix) -> Matrix:
        differences = X[:, None, :] - Z[None, :, :]
        return np.exp(-np.sum(differences**2, axis=2) / (2.0 * bandwidth**2))

    return kernel


def laplacian(scale: float) -> Kernel:
    """k(x, z) = exp(-|x - z|_1 / scale)."""

    def kernel(X: Matrix, Z: Matrix) -> Matrix:
        differences = X[:, None, :] - Z[None, :, :]
        return np.exp(-np.sum(np.abs(differences), axis=2) / scale)

    return kernel


def polynomial(degree: int, gamma: float, coef0: float) -> Kernel:
    """k(x, z) = (gamma x'z + coef0)^degree."""

    def kernel(X: Matrix, Z: Matrix) -> Matrix:
        return (gamma * (X @ Z.T) + coef0) ** degree

    return kernel


def linear() -> Kernel:
    """k(x, z) = x'z."""

    def kernel(X: Matrix, Z: Matrix) -> Matrix:
        return X @ Z.T

    return kernel
