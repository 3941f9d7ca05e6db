"""BLAS with one thread: events are small, and waking threads for them costs more than it gives."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    # Looks for the libraries that are loaded; once is enough, and it takes milliseconds.
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Inside:
    """Who is in the context now: the setting is the process's, and threads share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0
        self.before: list[int] = []


_inside = _Inside()


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which BLAS and LAPACK use one thread; the last to leave it sets them free."""
    with _inside.lock:
        if _inside.number == 0:
            _inside.before = [library.get_num_threads() for library in _libraries()]
            for library in _libraries():
                library.set_num_threads(1)
        _inside.number += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.number -= 1
            if _inside.number == 0:
                for library, threads in zip(_libraries(), _inside.before, strict=True):
                    library.set_num_threads(threads)
