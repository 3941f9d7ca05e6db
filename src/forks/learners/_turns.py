"""Turns at a learner's memory: many threads may read it at a time, or one may change it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for readers and writers; a writer that waits goes before readers that come later.

    Who changes anything, the number of readers too, holds the token: an element of a list, and to
    pop it is one step whatever other threads do. That takes a tenth of the time of a lock, which
    counts for one row at a time. Who finds the list empty sleeps until the token is given back.

    A thread in its turn `alone` may read and write again.
    """

    __slots__ = ("_awake", "_owner", "_waiting", "give", "readers", "sleepers", "take")

    def __init__(self) -> None:
        token: list[None] = [None]
        self.take = token.pop  # IndexError: another thread has it, or this one in its turn alone
        self.give = token.append
        self.readers = 0
        self.sleepers = 0  # threads that are to be woken when the token is back
        self._awake = threading.Condition(threading.Lock())
        self._waiting = 0  # writers that wait for readers to end
        self._owner: int | None = None  # the thread in its turn alone

    def wake(self) -> None:
        """Wake all that sleep; for who has given the token back and sees sleepers."""
        with self._awake:
            self._awake.notify_all()

    def _taken(self) -> bool:
        try:
            self.take()
        except IndexError:
            return False
        except BaseException:  # an interrupt: it can only come when the call has taken the token
            self.give(None)
            raise
        return True

    def _acquire(self) -> None:
        if self._taken():
            return
        with self._awake:
            self.sleepers += 1  # before the next look: who gives the token from now on, wakes us
            try:
                while not self._taken():
                    self._awake.wait()
            finally:
                self.sleepers -= 1

    def _release(self) -> None:
        self.give(None)
        if self.sleepers:
            self.wake()

    def _sleep(self) -> None:
        """Give the token away, sleep until another thread has had it, and take it back."""
        try:
            with self._awake:
                self.sleepers += 1
                try:
                    self.give(None)
                    self._awake.notify_all()
                    self._awake.wait()
                finally:
                    self.sleepers -= 1
        finally:
            self._acquire()

    def wait_for_readers(self) -> None:
        """Wait until nobody reads; for a thread that holds the token."""
        self._waiting += 1
        try:
            while self.readers:
                self._sleep()
        finally:
            self._waiting -= 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Turn in which no other thread reads or writes."""
        me = threading.get_ident()
        if self._owner == me:
            yield
            return
        self._acquire()
        try:
            if self.readers:
                self.wait_for_readers()
            self._owner = me
            try:
                yield
            finally:
                self._owner = None
        finally:
            self._release()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn in which nobody writes."""
        if self._owner == threading.get_ident():
            yield
            return
        self._acquire()
        try:
            while self._waiting:
                self._sleep()
            self.readers += 1
        finally:
            self._release()
        try:
            yield
        finally:
            self._acquire()
            self.readers -= 1
            self._release()
