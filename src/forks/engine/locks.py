"""A lock for many readers or one writer, which no interrupt can leave held.

A signal handler may raise an exception (Ctrl-C raises `KeyboardInterrupt`) between any two
bytecodes of the main thread. A context manager written in Python can therefore be cut after it has
taken a lock and before its `with` block begins, or before it has given the lock back. The `with`
statement of a `threading.RLock` cannot: entering and leaving are single steps in C. So code that
takes locks here is always a literal ``with <RLock>:``, and everything else about the lock is a
hint that may be left in any state by an interrupt, and is put right by whoever needs it next.

- A writer holds `alone`, notes that it writes, and then enters and leaves the lane of every
  reader once: whoever was reading has ended, and whoever comes later sees the note.
- A reader holds a lane, which it shares with no more than every eighth thread, and reads if no
  other thread has left a note. Otherwise it waits for `alone`, removes the note and tries again.

The note stays when the writer has ended, so it need not be removed by code that could be cut. A
writer that waits goes before readers that come later. Both may be nested, and a writer may read;
a reader must not write. A thread that has its lane already is in the middle of reading, and reads
on whatever the note says: the writer waits for that lane, and would never get it otherwise.
"""

import itertools
import threading
from threading import get_ident

_LANES = 8  # readers at a time, at most
_numbers = itertools.count()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.number = next(_numbers)


_thread = _Thread()


class ReadWriteLock:
    """See the module.

    A writer::

        with lock.alone:
            lock.claim()
            ...

    A reader: `forks.engine.shared.Shared.reading`.

    Attributes
    ----------
    alone : RLock
        Held by a writer.
    writer : int or None
        The thread that has written last; None if readers have noticed that it has ended.
    used : tuple of RLock
        Lanes that readers have used.
    """

    __slots__ = ("_lanes", "alone", "used", "writer")

    def __init__(self) -> None:
        self.alone = threading.RLock()
        self.writer: int | None = None
        self._lanes = tuple(threading.RLock() for _ in range(_LANES))
        self.used: tuple[threading.RLock, ...] = ()

    def claim(self) -> None:
        """Keep readers away and wait for those at work; for a thread that holds `alone`."""
        self.writer = get_ident()
        for lane in self.used:
            with lane:
                pass

    def open(self) -> None:
        """Let readers in; for a thread that holds `alone` and does not write."""
        self.writer = None

    def readable(self) -> bool:
        """Return whether no other thread writes; for a thread that holds its lane."""
        return self.writer is None or self.writer == get_ident()

    @staticmethod
    def holds(lane: threading.RLock) -> bool:
        """Return whether this thread has the lane, and so is reading."""
        return lane._is_owned()  # type: ignore[attr-defined]  # as `threading.Condition` asks it

    def lane(self) -> threading.RLock:
        """Return the lane of this thread."""
        lane = self._lanes[_thread.number % _LANES]
        if lane not in self.used:
            with self.alone:
                if lane not in self.used:
                    self.used = (*self.used, lane)
        return lane
