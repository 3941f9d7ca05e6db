"""The records of all keys: those used lately in memory, the others in a store on disk.

A key has a number, in the order of first appearance, and a record of fixed size. `slots_for` brings
the records of some keys into memory, sending others to the store where there is no room: those
used least recently. A record comes back bit for bit, so that nothing depends on where it was.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Counter, Matrix
from forks.keyed.keys import Key
from forks.keyed.store import Store

_FIRST_ROOM = 64  # slots
_EVICTED = 8  # at least one slot in so many is emptied at a time
_BLOCK = 4096  # records read at a time


class KeyTable:
    """Keys and their records of `size` numbers.

    At most `max_keys` records are in memory, or all if that is None. The file of the store is in
    `folder`, by default the system's folder of temporary files.
    """

    def __init__(
        self, size: int, max_keys: int | None = None, folder: str | Path | None = None
    ) -> None:
        self.size, self.max_keys, self.folder = size, max_keys, folder
        self.numbers: dict[Key, int] = {}  # of keys, in order
        self.records: Matrix = np.zeros((0, size))
        self._slot = np.zeros(0, np.int64)  # of each number; -1 if it is in the store, -2 if new
        self._number = np.zeros(0, np.int64)  # in each slot; -1 if it is free
        self._used = np.zeros(0, np.int64)  # of each slot: when it was asked for
        self._now = 0
        self._store: Store | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def in_memory(self) -> int:
        """How many records are in memory."""
        return int(np.count_nonzero(self._number >= 0))

    # ---- access ------------------------------------------------------------------------------

    def numbers_of(self, keys: list[Any]) -> Counter:
        """Return the numbers of keys, -1 for those that are not known."""
        known = self.numbers.get
        return np.array([known(key, -1) for key in keys], dtype=np.int64)

    def add(self, keys: list[Any]) -> Counter:
        """Return the numbers of keys, giving new ones their numbers in the order of the rows."""
        numbers = self.numbers_of(keys)
        for row in np.flatnonzero(numbers < 0).tolist():
            numbers[row] = self.numbers.setdefault(keys[row], len(self.numbers))
        missing = len(self.numbers) - len(self._slot)
        if missing > 0:
            room = max(missing, len(self._slot))  # at least doubled
            self._slot = np.concatenate([self._slot, np.full(room, -2, np.int64)])
        return numbers

    def slots_for(self, numbers: Counter) -> Counter:
        """Return where the records of keys are in memory, bringing them there."""
        self._now += 1
        wanted = self._slot[numbers]
        if (wanted < 0).any():
            absent = np.unique(numbers[wanted < 0])
            present = wanted[wanted >= 0]
            self._used[present] = self._now
            self._bring(absent)
            wanted = self._slot[numbers]
        self._used[wanted] = self._now
        return wanted

    def _bring(self, absent: Counter) -> None:
        """Bring records into memory that are in the store, or new."""
        free = self._free(len(absent))
        stored = self._slot[absent] == -1
        self.records[free] = 0.0
        if stored.any():
            self.records[free[stored]] = self._stored(absent[stored])
        self._slot[absent], self._number[free] = free, absent
        self._used[free] = self._now

    def _free(self, n: int) -> Counter:
        """Return n free slots, making room for them."""
        free = np.flatnonzero(self._number < 0)
        if len(free) < n:
            self._grow(n - len(free))
            free = np.flatnonzero(self._number < 0)
        if len(free) < n:
            self._evict(n - len(free))
            free = np.flatnonzero(self._number < 0)
        return free[:n]

    def _grow(self, n: int) -> None:
        held = len(self.records)
        room = max(_FIRST_ROOM, held + n, held + held // 2)
        if self.max_keys is not None:
            room = min(room, self.max_keys)
        if room > held:
            records = np.zeros((room, self.size))
            records[:held] = self.records
            more = np.full(room - held, -1, np.int64)
            self.records = records
            self._number = np.concatenate([self._number, more])
            self._used = np.concatenate([self._used, more])

    def _evict(self, n: int) -> None:
        """Send at least n records that are not in use now to the store, the oldest first."""
        old = np.flatnonzero((self._number >= 0) & (self._used < self._now))
        if len(old) < n:
            raise ValueError(f"max_keys is {self.max_keys}, and more keys are asked for at once")
        n = min(len(old), max(n, len(self.records) // _EVICTED))
        slots = old[np.argsort(self._used[old], kind="stable")[:n]]
        numbers = self._number[slots]
        if self._store is None:
            self._store = Store(self.size, self.folder)
        self._store.write(numbers, self.records[slots])
        self._slot[numbers], self._number[slots] = -1, -1

    def _stored(self, numbers: Counter) -> Matrix:
        assert self._store is not None  # something was sent there
        return self._store.read(numbers)

    # ---- reading, changing nothing -------------------------------------------------------------

    def copies(self, numbers: Counter) -> Matrix:
        """Return copies of records, wherever they are; zeros for numbers of -1."""
        records = np.zeros((len(numbers), self.size))
        if len(self):
            slots = np.where(numbers >= 0, self._slot[numbers], -2)
            here, stored = slots >= 0, slots == -1
            records[here] = self.records[slots[here]]
            if stored.any():
                records[stored] = self._stored(numbers[stored])
        return records

    def blocks(self) -> Iterator[Matrix]:
        """Yield copies of all records in the order of their numbers, some at a time."""
        for start in range(0, len(self), _BLOCK):
            yield self.copies(np.arange(start, min(start + _BLOCK, len(self))))

    def put(self, keys: list[Any], records: Matrix) -> None:
        """Add keys with their records, which replace those of keys that are known."""
        step = _BLOCK if self.max_keys is None else min(_BLOCK, self.max_keys)
        for start in range(0, len(keys), step):
            part = slice(start, start + step)
            slots = self.slots_for(self.add(keys[part]))
            self.records[slots] = records[part]

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in ("size", "max_keys", "folder")}
        records = self.copies(np.arange(len(self)))
        return {**kept, "keys": list(self.numbers), "records": records}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(kept["size"], kept["max_keys"], kept["folder"])  # type: ignore[misc]
        self.put(kept["keys"], kept["records"])

    def clear(self) -> None:
        """Forget all records; keys keep their numbers, and begin with zeros."""
        self._slot[:], self._number[:], self._used[:] = -2, -1, -1

    @property
    def nbytes(self) -> int:
        return 8 * self.size

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
