"""What a model is asked to do, as the records of its journal: the request as it came, and when.

A record is one byte for what is to be done, one for the form of the body, eight for the time, eight
for the rows that were learned when it came, and the body. A body is kept as it came: what was
acknowledged is what is learned again after a crash.
"""

import struct
from enum import IntEnum
from typing import Any, NamedTuple

from forks.serve.bodies import Form, read_ask, read_feedback, read_learn
from forks.serve.messages import read_messages

_HEAD = struct.Struct("<BBdQ")


class Kind(IntEnum):
    """What is to be done."""

    LEARN = 1
    ASK = 2  # keep rows whose labels are to come
    FEEDBACK = 3  # labels of such rows
    STREAM = 4  # learn messages of a stream


class Operation(NamedTuple):
    """One request."""

    kind: Kind
    form: Form
    time: float
    rounds: int  # rows that were learned when it came
    body: bytes
    content: Any  # Batch, Asked, list of LateLabel or Messages

    @property
    def n_rows(self) -> int:
        """Rows, labels or messages of the request."""
        if self.kind is Kind.STREAM:
            return len(self.content.messages)
        return len(self.content.batch if self.kind is Kind.ASK else self.content)

    def record(self) -> bytes:
        return _HEAD.pack(self.kind, self.form, self.time, self.rounds) + self.body


_READ: dict[Kind, Any] = {
    Kind.LEARN: read_learn,
    Kind.ASK: read_ask,
    Kind.FEEDBACK: read_feedback,
    Kind.STREAM: read_messages,
}


def operation(kind: Kind, form: Form, body: bytes, time: float, rounds: int) -> Operation:
    """Read a request, or raise `BodyError`."""
    return Operation(kind, form, time, rounds, body, _READ[kind](form, body))


def from_record(record: bytes) -> Operation:
    """Read a record of the journal."""
    kind, form, time, rounds = _HEAD.unpack_from(record)
    return operation(Kind(kind), Form(form), record[_HEAD.size :], time, rounds)
