"""BLAS with one thread: events are small, and waking threads for them costs more than it gives.

It is also what makes results the same everywhere: with another number of threads, sums of BLAS are
rounded otherwise.
"""

import sys
import threading
from functools import cache
from types import FrameType
from typing import Any, NamedTuple

from threadpoolctl import ThreadpoolController

_Settings = list[tuple[Any, int]]


@cache
def _libraries() -> list[Any]:
    # Looks for the libraries that are loaded; once is enough, and it takes milliseconds.
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _Entry(NamedTuple):
    """A context that has been entered."""

    context: "one_thread"
    thread: int
    frame: FrameType  # of the function that has entered it
    own: _Settings  # of libraries with a setting per thread of Python


class _Inside:
    """Threads inside the context: most libraries have one setting for all threads of Python."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # in a literal `with`: see `forks.engine.locks`
        self.entries: tuple[_Entry, ...] = ()
        self.before: _Settings = []


_inside = _Inside()


class one_thread:
    """Context in which BLAS and LAPACK use one thread; the last to leave restores the settings.

    An interrupt can cut the code that enters or leaves. Each step below leaves a state from which
    the next to come goes on rightly: who is inside is noted before the settings are changed, and
    removed after they are put back; the settings to go back to are noted only when nobody is
    inside; and who has been cut, so that the function that has entered is no longer running, does
    not count.
    """

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        with _inside.lock:
            if not _inside.entries:
                _inside.before = _settings(each_has_its_own=False)
            _leave_the_cut()
            own = _settings(each_has_its_own=True)
            entry = _Entry(self, threading.get_ident(), frame, own)
            _inside.entries = (*_inside.entries, entry)
            _set_threads([(library, 1) for library in _libraries()])

    def __exit__(self, *error: object) -> None:
        with _inside.lock:
            _leave_the_cut()
            for entry in [entry for entry in _inside.entries if entry.context is self]:
                _leave(entry)


def _leave_the_cut() -> None:
    """Leave the context for those who did not come to it because they were cut."""
    frames = sys._current_frames()
    try:
        for entry in _inside.entries:
            running = frames.get(entry.thread)
            while running is not None and running is not entry.frame:
                running = running.f_back
            if running is None:
                _leave(entry)
    finally:
        frames.clear()  # with this very frame in it: a cycle, which would keep the callers' arrays


def _leave(entry: _Entry) -> None:
    others = tuple(other for other in _inside.entries if other is not entry)
    if not others:
        _set_threads(_inside.before)
    if entry.thread == threading.get_ident():
        _set_threads(entry.own)
    _inside.entries = others


def _settings(each_has_its_own: bool) -> _Settings:
    """Return the settings of the libraries with one per thread of Python, or of the others."""
    return [
        (library, library.get_num_threads())
        for library in _libraries()
        if (getattr(library, "threading_layer", None) == "openmp") == each_has_its_own
    ]


def _set_threads(settings: _Settings) -> None:
    for library, threads in settings:
        # Newer versions of threadpoolctl let only the thread that set a number first set it again,
        # and do nothing for others; here the count of those inside keeps the order.
        give_up_control = getattr(library, "clear_controlling_thread", lambda **_: None)
        give_up_control(force=True)
        library.set_num_threads(threads)
        give_up_control(force=True)
