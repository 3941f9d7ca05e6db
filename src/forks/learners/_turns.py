"""Turns at a learner's memory: many threads may read it at a time, or one may change it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for readers and writers; a writer that waits goes before readers that come later.

    A writer holds `lock` all the time and starts with `wait_for_readers`; readers hold it only to
    be counted, so one writer's turn costs no more than the lock itself. A thread in its turn
    `alone` may read and write again.
    """

    __slots__ = ("_depth", "_free", "_waiting", "lock", "readers")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.readers = 0
        self._free = threading.Condition(self.lock)
        self._waiting = 0  # writers that wait for readers to end
        self._depth = 0  # turns `alone`, one in the other, of the thread that holds the lock

    def wait_for_readers(self) -> None:
        """Wait until nobody reads; for a thread that holds the lock."""
        self._waiting += 1
        try:
            while self.readers:
                self._free.wait()
        finally:
            self._waiting -= 1
            self._free.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Turn in which no other thread reads or writes."""
        with self.lock:
            if self.readers and not self._depth:
                self.wait_for_readers()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn in which nobody writes."""
        with self.lock:
            while self._waiting and not self._depth:
                self._free.wait()
            self.readers += 1
        try:
            yield
        finally:
            with self.lock:
                self.readers -= 1
                if not self.readers:
                    self._free.notify_all()
