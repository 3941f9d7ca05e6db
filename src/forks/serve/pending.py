"""Rows that were predicted and wait for their labels, on disk, in SQLite.

An entry has the number of the record of the journal that made it (`asked`), and of the one that
took it away: because its label came (`taken`), or because it was one too many or too old
(`dropped`). So `rewind` brings back what was there at a checkpoint, however far the file has gone
since, and a replay of the journal gives the same again. Entries that were taken stay, without
their row, until they are as old as others may be: a label that comes twice is known for what it is.
"""

import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

_TABLE = """
CREATE TABLE IF NOT EXISTS pending (
    id TEXT PRIMARY KEY, row BLOB, asked INTEGER NOT NULL, time REAL NOT NULL,
    rounds INTEGER NOT NULL, taken INTEGER, dropped INTEGER
) WITHOUT ROWID
"""
_INDEX = "CREATE INDEX IF NOT EXISTS by_age ON pending (asked, id)"


class Fate(StrEnum):
    """What became of a label."""

    LEARNED = "learned"
    TWICE = "twice"  # there was one before
    LATE = "late"  # the row has gone, by age or number
    UNKNOWN = "unknown"
    REFUSED = "refused"  # the row cannot be learned


class Waiting(NamedTuple):
    """A row that waited for its label."""

    row: bytes
    rounds: int  # rows that were learned when it was predicted


class Pending:
    """The rows that wait: at most so many, of which the oldest go, and for so many seconds."""

    def __init__(self, path: Path, most: int, age: float) -> None:
        self.most, self.age = most, age
        self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute(_TABLE)
        self._base.execute(_INDEX)
        self._count()

    def _count(self) -> None:
        counts = "SELECT COUNT(*) - COUNT(taken), COUNT(*) FROM pending WHERE dropped IS NULL"
        self.n, self._kept = self._base.execute(counts).fetchone()

    def rewind(self, after: int) -> None:
        """Bring back what was there after a record."""
        with self:
            self._base.execute("DELETE FROM pending WHERE asked > ?", (after,))
            self._base.execute("UPDATE pending SET taken = NULL WHERE taken > ?", (after,))
            self._base.execute("UPDATE pending SET dropped = NULL WHERE dropped > ?", (after,))
        self._count()

    def __enter__(self) -> "Pending":
        """Begin a transaction, for all that one group of records changes."""
        self._base.execute("BEGIN")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._base.execute("COMMIT" if kind is None else "ROLLBACK")

    def ask(self, number: int, id: str, row: bytes, time: float, rounds: int) -> bool:
        """Keep a row; return False if there is one of that id, which stays."""
        added = self._base.execute(
            "INSERT OR IGNORE INTO pending VALUES (?, ?, ?, ?, ?, NULL, NULL)",
            (id, row, number, time, rounds),
        ).rowcount
        if added:
            self.n += 1
            self._kept += 1
            self._drop(number, time)
        return bool(added)

    def _drop(self, number: int, time: float) -> None:
        """Let the rows go that are too many or too old, the oldest first."""
        oldest = (
            "SELECT id, time, taken FROM pending WHERE dropped IS NULL ORDER BY asked, id LIMIT 1"
        )
        while self._kept > 0:
            id, begun, taken = self._base.execute(oldest).fetchone()
            if self._kept <= self.most and time - begun <= self.age:
                break
            self._base.execute("UPDATE pending SET dropped = ? WHERE id = ?", (number, id))
            self._kept -= 1
            self.n -= taken is None

    def take(self, number: int, id: str, time: float) -> tuple[Fate, Waiting | None]:
        """Take the row of an id, whose label has come."""
        found = self._base.execute(
            "SELECT row, time, rounds, taken, dropped FROM pending WHERE id = ?", (id,)
        ).fetchone()
        if found is None:
            return Fate.UNKNOWN, None
        row, begun, rounds, taken, dropped = found
        if taken is not None:
            return Fate.TWICE, None
        if dropped is not None or time - begun > self.age:
            return Fate.LATE, None
        self._base.execute("UPDATE pending SET taken = ? WHERE id = ?", (number, id))
        self.n -= 1
        return Fate.LEARNED, Waiting(row, rounds)

    def keep(self, upto: int) -> None:
        """Bring all to the disk, before a checkpoint that knows of it is written."""
        self._base.execute("PRAGMA wal_checkpoint(FULL)")

    def clean(self, upto: int) -> None:
        """Remove what a checkpoint that was written has no need of."""
        with self:
            self._base.execute("DELETE FROM pending WHERE dropped <= ?", (upto,))
            self._base.execute(
                "UPDATE pending SET row = NULL WHERE taken <= ? AND row IS NOT NULL", (upto,)
            )

    def close(self) -> None:
        self._base.close()
