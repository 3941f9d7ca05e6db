"""Messages of a stream as a record of the journal, and what a model has learned of streams.

A record has the messages as they came, each with its partition and offset. What was learned before
is known by its place, so that a message is learned once, whatever a broker delivers again, and a
replay of the journal knows it, too.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from forks.serve.bodies import BodyError, check_learnable
from forks.serve.tables import Batch
from forks.streams.sources import Message
from forks.streams.sources.feed import rows_of

_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Messages(NamedTuple):
    """Messages of one stream."""

    stream: dict[str, Any]  # identity; see `Source`
    label: str | None  # key of the labels; None for the last key of the first row
    messages: Sequence[Message]

    def body(self) -> bytes:
        return _pack([self.stream, self.label, self.messages])


def read_messages(form: object, body: bytes) -> Messages:
    """Return what `body` was made of."""
    stream, label, messages = _unpack(body)
    return Messages(stream, label, [Message(*message) for message in messages])


def key_of(stream: dict[str, Any]) -> str:
    """Return what a stream is called, whenever it was made."""
    return " ".join(str(value) for name, value in stream.items() if name != "made")


@dataclass
class Streams:
    """What a model knows of the streams that it learns from."""

    offsets: dict[str, dict[int, int]] = field(default_factory=dict)  # what comes next, by stream
    made: dict[str, Any] = field(default_factory=dict)  # the identities of these streams
    label: str | None = None  # key of the labels, if it was not told
    counts: Counter[str] = field(default_factory=Counter)  # rows learned; messages refused; ...
    fault: str = ""  # of the message that was refused last

    def begin(self, stream: dict[str, Any]) -> dict[int, int]:
        """Return the offsets that a stream is to be read from."""
        return dict(self.offsets.get(key_of(stream), {}))

    def batches(self, told: Messages) -> Iterator[tuple[str, Batch]]:
        """Return the rows of messages that are new, message by message, and name these.

        Rows without a label are left out. Messages that cannot be read are counted.
        """
        key = key_of(told.stream)
        self.made[key] = told.stream
        known = self.offsets.setdefault(key, {})
        for message in told.messages:
            if message.offset < known.get(message.partition, 0):
                self.counts["delivered_again"] += 1
                continue
            known[message.partition] = message.offset + 1
            name = f"{key}, partition {message.partition}, offset {message.offset}"
            try:
                batch = self._batch(rows_of(message), told.label)
            except (BodyError, ValueError) as error:
                self.refuse(name, error)
                continue
            if len(batch):
                yield name, batch

    def _batch(self, rows: list[dict[str, Any]], label: str | None) -> Batch:
        label = label or self.label
        if label is None and rows and rows[0]:
            label = self.label = next(reversed(rows[0]))
        labels = [_or_none(row.pop(label, None)) if label else None for row in rows]
        labelled = [i for i, one in enumerate(labels) if one is not None]
        self.counts["unlabelled"] += len(labels) - len(labelled)
        kept = [{k: _cell(v) for k, v in rows[i].items()} for i in labelled]
        batch = Batch.of_rows(kept, [labels[i] for i in labelled], None)
        if len(batch):
            check_learnable(batch)
        return batch

    def refuse(self, name: str, error: Exception) -> None:
        """Count a message that cannot be learned."""
        self.counts["refused"] += 1
        self.fault = f"{name}: {error}"

    def as_json(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it."""
        offsets = {k: {str(p): n for p, n in v.items()} for k, v in self.offsets.items()}
        told = {"offsets": offsets, "made": self.made, "label": self.label}
        return {**told, "counts": dict(self.counts), "fault": self.fault}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Streams":
        """Go on from what `as_json` returned."""
        offsets = told.get("offsets", {})
        return cls(
            {k: {int(p): int(n) for p, n in v.items()} for k, v in offsets.items()},
            dict(told.get("made", {})),
            told.get("label"),
            Counter(told.get("counts", {})),
            str(told.get("fault", "")),
        )


def _cell(value: Any) -> Any:
    """Return a value as requests may have it: NaN is missing, a list is text."""
    return json.dumps(value) if isinstance(value, list) else _or_none(value)


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
