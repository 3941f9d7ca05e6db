"""A model on disk: a checkpoint, the journal of what came after it, and the rows that wait.

The folder of a model has `checkpoint.forks`, segments of the journal and `pending.sqlite`. What is
acknowledged is in the journal first. A checkpoint has the number of the last record that it knows
of; after a crash the later ones are done again, and the model is what it was, bit for bit.
"""

import errno
import logging
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from forks.estimators.saving import Saved, from_bytes
from forks.evaluate.files import read
from forks.files import remove_temporary, write_atomically
from forks.keyed.base import KeyedEstimator
from forks.keyed.saving import is_keyed
from forks.serve.applying import Applier, Outcome
from forks.serve.journal import Journal
from forks.serve.operations import Operation, from_record
from forks.serve.pending import Pending
from forks.serve.table_model import Settings, TableModel
from forks.serve.turns import Turns

CHECKPOINT, PENDING = "checkpoint.forks", "pending.sqlite"
_GROUP = 1_000  # records of a replay that are done in one go
_LOG = logging.getLogger("forks.serve")


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
            new = TableModel(settings, folder)
            if begin is not None:
                new, _ = TableModel.from_saved(_read(begin, folder), folder)
            new.save(path, {"number": 0})
        self.model, told = TableModel.from_saved(read(path, folder), folder)
        self.saved = int(told.get("number", 0))  # last record that the checkpoint knows of
        self.saved_at = path.stat().st_mtime
        self.saved_rounds = self.model.rounds
        self.journal = Journal(folder, self.saved, keep_journal)
        self.pending = Pending(folder / PENDING, most, age)
        self.pending.rewind(self.saved)
        self.applier = Applier(self.model, self.pending, self.turns.give_way)
        self.applier.restore(told)
        self.replayed = self._replay()
        self.doubt = ""  # why the model may not be what the journal says

    def _replay(self) -> int:
        """Do what the journal has beyond the checkpoint; return the number of records."""
        operations = ((number, from_record(record)) for number, record in self.journal.replay())
        n = 0
        while group := list(islice(operations, _GROUP)):
            self.applier.apply(group)
            n += len(group)
        return n

    def do(self, operations: list[Operation]) -> list[Outcome]:
        """Write operations to the journal, then do them.

        Raises
        ------
        OSError
            If they cannot be written; then nothing has been done. If they were, and what they do
            failed half-way, nothing more is done or saved: a new start does it from the journal.
        """
        if self.doubt:
            raise OSError(errno.EIO, self.doubt)
        first = self.journal.last + 1
        self.journal.append([operation.record() for operation in operations])
        try:
            with self.turns.writing():
                return self.applier.apply(list(enumerate(operations, first)))
        except Exception as error:
            _LOG.exception("%s", self.folder)
            self.doubt = f"the service must be started again after an error: {error}"
            raise OSError(errno.EIO, self.doubt) from error

    def checkpoint(self) -> None:
        """Write a checkpoint, and remove what it makes needless; none of a model in doubt."""
        number = self.journal.last
        if number == self.saved or self.doubt:
            return
        self.pending.keep(number)
        self._write(self.folder / CHECKPOINT, {"number": number, **self.applier.as_json()})
        self.saved, self.saved_at = number, time.time()
        self.saved_rounds = self.model.rounds
        self.journal.cut(number)
        self.pending.clean(number)

    def _write(self, path: Path, note: dict[str, Any]) -> None:
        """Write the model as it is now; others wait for the disk only if there may be many keys."""
        with self.turns.writing():
            if isinstance(self.model.estimator, KeyedEstimator):
                self.model.save(path, note)
                return
            data = self.model.as_bytes(note)
        write_atomically(path, data)

    def as_bytes(self) -> bytes:
        """Return the model as it is now, as a file that `forks predict` reads."""
        with self.turns.reading():
            return self.model.as_bytes({"number": 0})

    def close(self) -> None:
        self.journal.close()
        self.pending.close()


def _read(data: bytes, folder: Path) -> Saved:
    """Read the bytes of a model file; that of a keyed model is read from the disk."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "model"
        path.write_bytes(data)
        if is_keyed(path):
            return read(path, folder)
    return from_bytes("the model", data)
