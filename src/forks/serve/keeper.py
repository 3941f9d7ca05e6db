"""A model on disk: a checkpoint, the journal of what came after it, and the rows that wait.

The folder of a model has `checkpoint.forks`, segments of the journal and `pending.sqlite`. What is
acknowledged is in the journal first. A checkpoint has the number of the last record that it knows
of; after a crash the later ones are done again, and the model is what it was, bit for bit.
"""

import time
from pathlib import Path
from typing import Any

from forks.estimators.saving import from_bytes, read
from forks.files import remove_temporary, write_atomically
from forks.serve.applying import Applier, Outcome
from forks.serve.journal import Journal
from forks.serve.operations import Operation, from_record
from forks.serve.pending import Pending
from forks.serve.table_model import Settings, TableModel
from forks.serve.turns import Turns

CHECKPOINT, PENDING = "checkpoint.forks", "pending.sqlite"
_GROUP = 1_000  # records of a replay that are done in one go


class Keeper:
    """A model, and what is needed to have it again.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    settings : Settings
        Of a new model.
    begin : bytes, optional
        A model file that a new one begins with.
    most, age
        See `Pending`.
    keep_journal : bool
        Is the journal kept from the beginning, as a record of all that was learned?
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        begin: bytes | None = None,
        most: int = 1_000_000,
        age: float = 7 * 86_400.0,
        keep_journal: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        remove_temporary(folder)
        self.folder = folder
        self.turns = Turns()
        path = folder / CHECKPOINT
        if not path.exists():
            model, _ = _begun(settings, begin)
            write_atomically(path, _bytes_of(model, 0, {}))
        self.model, told = TableModel.from_saved(read(path))
        self.saved = int(told.get("number", 0))  # last record that the checkpoint knows of
        self.saved_at = path.stat().st_mtime
        self.saved_rounds = self.model.rounds
        self.journal = Journal(folder, self.saved, keep_journal)
        self.pending = Pending(folder / PENDING, most, age)
        self.pending.rewind(self.saved)
        self.applier = Applier(self.model, self.pending, self.turns.give_way)
        self.applier.restore(told)
        self.replayed = self._replay()

    def _replay(self) -> int:
        """Do what the journal has beyond the checkpoint; return the number of records."""
        group: list[tuple[int, Operation]] = []
        n = 0
        for number, record in self.journal.replay():
            group.append((number, from_record(record)))
            n += 1
            if len(group) == _GROUP:
                self.applier.apply(group)
                group = []
        if group:
            self.applier.apply(group)
        return n

    def do(self, operations: list[Operation]) -> list[Outcome]:
        """Write operations to the journal, then do them.

        Raises
        ------
        OSError
            If they cannot be written; then nothing has been done.
        """
        first = self.journal.last + 1
        self.journal.append([operation.record() for operation in operations])
        with self.turns.writing():
            return self.applier.apply(list(enumerate(operations, first)))

    def checkpoint(self) -> None:
        """Write a checkpoint, and remove what it makes needless."""
        number = self.journal.last
        if number == self.saved:
            return
        self.pending.keep(number)
        with self.turns.writing():
            data = _bytes_of(self.model, number, self.applier.as_json())
        write_atomically(self.folder / CHECKPOINT, data)
        self.saved, self.saved_at = number, time.time()
        self.saved_rounds = self.model.rounds
        self.journal.cut(number)
        self.pending.clean(number)

    def as_bytes(self) -> bytes:
        """Return the model as it is now, as a file that `forks predict` reads."""
        with self.turns.reading():
            return _bytes_of(self.model, 0, {})

    def close(self) -> None:
        """Close the files."""
        self.journal.close()
        self.pending.close()


def _begun(settings: Settings | None, begin: bytes | None) -> tuple[TableModel, dict[str, Any]]:
    if begin is None:
        return TableModel(settings), {}
    return TableModel.from_saved(from_bytes("the model", begin))


def _bytes_of(model: TableModel, number: int, applied: dict[str, Any]) -> bytes:
    return model.as_bytes({"number": number, **applied})
