"""A lock for one writer and many readers, who need not wait until it has done its work."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_NAP = 5e-5  # seconds
_LONGEST = 5e-3  # that the writer waits for readers, so that it gets on, too


class Turns:
    """Mutual exclusion; the writer gives way to readers between the parts of its work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = threading.Lock()
        self._waiting = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context in which nothing is written."""
        with self._count:
            self._waiting += 1
        self._lock.acquire()
        with self._count:
            self._waiting -= 1
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Context in which nobody reads, but while the writer gives way."""
        with self._lock:
            yield

    def give_way(self) -> None:
        """Let the readers who wait have their turn; for the writer, in `writing`."""
        if not self._waiting:
            return
        self._lock.release()
        end = time.perf_counter() + _LONGEST
        while self._waiting and time.perf_counter() < end:
            time.sleep(_NAP)
        self._lock.acquire()
