"""The one thread that changes a model: it takes what has come, journals it, and learns it.

Whatever waits when it looks is one group: one write to the disk, rows learned together. The busier
the service, the larger the groups.
"""

import asyncio
import errno
import gc
import threading
import time
from collections import deque
from collections.abc import Sequence

from forks.serve.applying import Outcome
from forks.serve.keeper import Keeper
from forks.serve.operations import Operation
from forks.serve.reader import Reader

_MOST = 4_096  # operations of a group
_RETRY = 5.0  # seconds after a checkpoint that could not be written
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StorageError(Exception):
    """What was asked for cannot be written to the disk, and so was not done."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.is_full = error.errno in _FULL


_Task = tuple[Operation, asyncio.Future[Outcome]]  # what waits, and who waits for it


class Worker(threading.Thread):
    """Learns in the background.

    There is a checkpoint after `every` so many rows, and if something was learned after so many
    `seconds` in any case.
    """

    def __init__(
        self, name: str, keeper: Keeper, every: int = 50_000, seconds: float = 60.0
    ) -> None:
        super().__init__(name=f"forks-{name}", daemon=True)
        self.keeper, self.every, self.seconds = keeper, every, seconds
        self.reader = Reader(keeper)
        self.failures = 0  # writes that the disk refused
        self.storage_fault = ""  # of the last write, if it failed
        self._tasks: deque[_Task] = deque()
        self._come = threading.Event()
        self._stopping = False
        self._next_try = 0.0

    # ---- for the event loop ------------------------------------------------------------------

    def do(self, operation: Operation) -> asyncio.Future[Outcome]:
        """Have an operation journalled and done; the outcome is to be awaited."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._tasks.append((operation, future))
        self._come.set()
        return future

    @property
    def waiting(self) -> int:
        return len(self._tasks)

    def stop(self) -> None:
        """Do what waits, write a checkpoint, and end."""
        self._stopping = True
        self._come.set()
        self.join()
        self.keeper.close()

    # ---- the thread --------------------------------------------------------------------------

    def run(self) -> None:
        spared = False
        while True:
            self._come.wait(timeout=1.0)
            self._come.clear()
            while group := self._group():
                self._do(group)
                self._save_if_due()
                if not spared and self.keeper.model.ready:
                    spare_the_collector()
                    spared = True
            self._save_if_due()
            if self._stopping and not self._tasks:
                break
        self._save()

    def _group(self) -> list[_Task]:
        return [self._tasks.popleft() for _ in range(min(_MOST, len(self._tasks)))]

    def _do(self, group: list[_Task]) -> None:
        outcomes: Sequence[Outcome | Exception]
        try:
            outcomes = self.keeper.do([operation for operation, _ in group])
            self.storage_fault = ""
        except OSError as error:
            self._note_failure(error)
            outcomes = [StorageError(error)] * len(group)
        except Exception as error:  # whoever waits gets it
            outcomes = [error] * len(group)
        done = [(future, each) for (_, future), each in zip(group, outcomes, strict=True)]
        for loop in {future.get_loop() for future, _ in done}:
            if not loop.is_closed():
                own = [(future, each) for future, each in done if future.get_loop() is loop]
                loop.call_soon_threadsafe(_set_all, own)

    def _note_failure(self, error: OSError) -> None:
        self.failures += 1
        self.storage_fault = error.strerror or str(error)

    def _save_if_due(self) -> None:
        keeper = self.keeper
        if keeper.journal.last == keeper.saved or time.monotonic() < self._next_try:
            return
        many = keeper.model.rounds - keeper.saved_rounds >= self.every
        if many or time.time() - keeper.saved_at >= self.seconds:
            self._save()

    def _save(self) -> None:
        try:
            self.keeper.checkpoint()
        except OSError as error:
            self._note_failure(error)
            self._next_try = time.monotonic() + _RETRY


def spare_the_collector() -> None:
    """Have the garbage collector leave alone what is there now: it stays for good.

    Modules, and what the compiler knows, are a million objects, and to go through them takes a
    tenth of a second in which nobody is answered.
    """
    gc.collect()
    gc.freeze()


def _set_all(done: list[tuple[asyncio.Future[Outcome], Outcome | Exception]]) -> None:
    for future, outcome in done:
        if future.done():  # whoever waited has gone
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
