"""Compilation for tests: with the package's own options, callable from Python."""

import numba

from forks.engine.compile import OPTIONS


def njit(function):
    return numba.njit(**OPTIONS)(function)
