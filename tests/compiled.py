"""Compilation for tests: with the package's own options, callable from Python."""

import numba

from forks._jit import OPTIONS


def njit(function):
    return numba.njit(**OPTIONS)(function)
