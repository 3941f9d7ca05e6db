"""BLAS with one thread: events are small, and waking threads for them costs more than it gives.

It is also what makes results the same everywhere: with another number of threads, sums of BLAS are
rounded otherwise.
"""

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
    """Threads of Python in the context now: most libraries have one setting for all of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number = 0
        self.before: list[tuple[Any, int]] = []


_inside = _Inside()


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which BLAS and LAPACK use one thread; the last to leave it sets them free."""
    own = _limited(each_has_its_own=True)
    with _inside.lock:
        if _inside.number == 0:
            _inside.before = _limited(each_has_its_own=False)
        _inside.number += 1
    try:
        yield
    finally:
        with _inside.lock:
            _inside.number -= 1
            if _inside.number == 0:
                _set_threads(_inside.before)
        _set_threads(own)


def _limited(each_has_its_own: bool) -> list[tuple[Any, int]]:
    """Limit the libraries with a setting per thread of Python, or the others; give what was."""
    kind = [
        library
        for library in _libraries()
        if (getattr(library, "threading_layer", None) == "openmp") == each_has_its_own
    ]
    before = [(library, library.get_num_threads()) for library in kind]
    _set_threads([(library, 1) for library in kind])
    return before


def _set_threads(settings: list[tuple[Any, int]]) -> None:
    for library, threads in settings:
        # Newer versions of threadpoolctl let only the thread that set a number first set it again,
        # and do nothing for others; here the count of those inside keeps the order.
        give_up_control = getattr(library, "clear_controlling_thread", lambda **_: None)
        give_up_control(force=True)
        library.set_num_threads(threads)
        give_up_control(force=True)
