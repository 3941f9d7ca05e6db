"""BLAS with one thread: events are small, and waking threads for them costs more than it gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    # Looks for the libraries that are loaded; once is enough, and it takes milliseconds.
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which BLAS and LAPACK use one thread."""
    before = [library.get_num_threads() for library in _libraries()]
    try:
        for library in _libraries():
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in zip(_libraries(), before, strict=True):
            library.set_num_threads(threads)
