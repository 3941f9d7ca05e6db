"""Operations, done in their order: what makes the model that the journal stands for.

The outcome does not depend on how operations are grouped. So a busy service may learn the rows of
many small requests in one go, and a replay, one record after the other, gives the same bits.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from forks.serve.messages import Streams
from forks.serve.operations import Kind, Operation
from forks.serve.pending import Fate, Pending
from forks.serve.table_model import Answers, TableModel
from forks.serve.tables import Batch

_TOGETHER = 512  # rows of small requests that are learned in one go
_DELAYS = 256  # late labels from one look at their delay to the next

_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Outcome(NamedTuple):
    """What became of an operation."""

    answers: Answers | None = None  # of rows that were learned, each before its label was used
    fates: dict[str, str] | None = None  # of late labels, by their ids
    error: Exception | None = None  # nothing was learned from it


class _Piece(NamedTuple):
    """Rows of one operation; with an id, the row of a late label; or those of a message."""

    place: int  # of the operation
    batch: Batch
    id: str | None = None
    message: str | None = None  # its name


@dataclass
class Applier:
    """Does operations to a model and to the rows that wait for labels.

    `streams` is what is known of streams that are followed.
    `fates` counts what became of late labels. `delay` and `delayed` are the sum and the number of
    the rows that were learned between a prediction and its label, since the last look.
    """

    model: TableModel
    pending: Pending
    give_way: Callable[[], None] = field(default=lambda: None)
    fates: Counter[str] = field(default_factory=Counter)
    streams: Streams = field(default_factory=Streams)
    delay: int = 0
    delayed: int = 0
    expected: int = 0  # delay that the learner was told
    _pieces: list[_Piece] = field(default_factory=list)  # of a call of `apply`, to be learned
    _rows: int = 0  # that they have
    _outcomes: list[Outcome] = field(default_factory=list)  # of its operations

    def apply(self, operations: list[tuple[int, Operation]]) -> list[Outcome]:
        """Do operations, with the numbers of their records."""
        self._pieces, self._rows, self._outcomes = [], 0, [Outcome() for _ in operations]
        with self.pending:
            for place, (number, operation) in enumerate(operations):
                if operation.kind is Kind.LEARN:
                    self._gather(_Piece(place, operation.content))
                elif operation.kind is Kind.ASK:
                    self._ask(number, operation)
                elif operation.kind is Kind.STREAM:
                    for name, batch in self.streams.batches(operation.content):
                        self._gather(_Piece(place, batch, message=name))
                else:
                    self._feedback(place, number, operation)
            self._flush()
        return self._outcomes

    def _ask(self, number: int, operation: Operation) -> None:
        asked = operation.content
        for i, id in enumerate(asked.ids):
            row = asked.batch.part(i, i + 1).columns
            self.pending.ask(number, id, _pack(row), operation.time, operation.rounds)

    def _feedback(self, place: int, number: int, operation: Operation) -> None:
        """Take the rows that waited for labels, to be learned."""
        if not self.model.ready:  # the labels before these decide on what labels are
            self._flush()
        labels = [item.label for item in operation.content]
        try:
            self.model.check(Batch.of_columns({}, labels, None))
        except ValueError as error:
            self._outcomes[place] = Outcome(error=error)
            return
        fates: dict[str, str] = {}
        self._outcomes[place] = Outcome(fates=fates)
        for item in operation.content:
            fate, waited = self.pending.take(number, item.id, operation.time)
            fates[item.id] = str(fate)
            if waited is None:
                self.fates[str(fate)] += 1
                continue
            batch = Batch.of_columns(_unpack(waited.row), [item.label], None)
            self._gather(_Piece(place, batch, item.id))
            self._count_delay(operation.rounds - waited.rounds)

    def _count_delay(self, delay: int) -> None:
        self.delay, self.delayed = self.delay + max(0, delay), self.delayed + 1
        if self.delayed < _DELAYS:
            return
        self._flush()
        mean, self.delay, self.delayed = self.delay // self.delayed, 0, 0
        if self.model.ready and abs(mean - self.expected) > self.expected // 4:
            self.model.estimator.expect_delay(mean)
            self.expected = mean

    def _gather(self, piece: _Piece) -> None:
        """Keep rows to be learned, until there are enough of them."""
        self._pieces.append(piece)
        self._rows += len(piece.batch)
        if self._rows >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        """Learn what has been gathered; if that is refused, each piece by itself."""
        pieces, self._pieces, self._rows = self._pieces, [], 0
        if len(pieces) > 1 and self._learn_together(pieces):
            return
        for piece in pieces:
            try:
                outcome = Outcome(self.model.learn(piece.batch, self.give_way))
            except ValueError as error:
                outcome = Outcome(error=error)
            self._note(piece, outcome)

    def _learn_together(self, pieces: list[_Piece]) -> bool:
        if not self.model.ready:  # the first rows are looked at one request after the other
            return False
        names = pieces[0].batch.columns.keys()
        alike = all(piece.batch.columns.keys() == names for piece in pieces)
        if not alike and self.model.encoder is None:  # columns may count by their order
            return False
        batch = Batch.concatenated([piece.batch for piece in pieces])
        try:
            answers = self.model.learn(batch, self.give_way)
        except ValueError:
            return False
        start = 0
        for piece in pieces:
            stop = start + len(piece.batch)
            self._note(piece, Outcome(answers.part(start, stop)))
            start = stop
        return True

    def _note(self, piece: _Piece, outcome: Outcome) -> None:
        """Note what became of a piece; that of a late label stands among the fates."""
        if piece.message is not None:
            if outcome.error is not None:
                self.streams.refuse(piece.message, outcome.error)
            else:
                self.streams.counts["learned"] += len(piece.batch)
            return
        if piece.id is None:
            self._outcomes[piece.place] = outcome
            return
        fate = Fate.LEARNED if outcome.error is None else Fate.REFUSED
        self.fates[str(fate)] += 1
        fates = self._outcomes[piece.place].fates
        assert fates is not None
        fates[piece.id] = str(fate)

    # ---- as JSON -----------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it."""
        return {
            "fates": dict(self.fates),
            "streams": self.streams.as_json(),
            "delay": self.delay,
            "delayed": self.delayed,
            "expected": self.expected,
        }

    def restore(self, told: dict[str, Any]) -> None:
        """Go on from what `as_json` returned."""
        self.fates = Counter(told.get("fates", {}))
        self.streams = Streams.from_json(told.get("streams", {}))
        self.delay, self.delayed = int(told.get("delay", 0)), int(told.get("delayed", 0))
        self.expected = int(told.get("expected", 0))
