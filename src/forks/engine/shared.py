"""What an engine and a group of engines share: the lock, and calls that an interrupt has cut."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from forks.engine.locks import ReadWriteLock

Answer = TypeVar("Answer")


class Shared(ABC):
    """Something that threads may share and that an interrupt may cut at any bytecode.

    A call that learns keeps a record of itself in `_call`, set before it changes anything and
    removed when everything is done. Whoever finds a record (while holding the lock) knows that
    the call was cut, and brings it to the end of a row by `_settle`.
    """

    def __init__(self) -> None:
        self.lock = ReadWriteLock()
        self.warned = False  # has it been said that there are mends?
        self.order_known = False  # has it been looked at whether labels come in long runs?
        self._call: Any = None

    @abstractmethod
    def _settle(self) -> None:
        """Bring a call that was cut to the end of a row, and remove its record."""

    def enter(self) -> None:
        """Begin a call that changes something; for a thread that holds ``lock.alone``."""
        self.lock.claim()
        if self._call is not None:
            self._settle()

    def reading(self, work: Callable[[], Answer]) -> Answer:
        """Return the answer of a function that reads, between two calls that learn."""
        lock = self.lock
        lane = lock.lane()
        if lock.holds(lane):
            return work()
        while True:
            with lane:
                if self._call is None and lock.readable():
                    return work()
            with lock.alone:
                self.enter()
                lock.open()
