"""A thread that reads a stream and has a model learn it, through the journal like all else.

Messages are in the journal before they are learned, with their places in the stream. So after a
crash the source is opened behind the last one that the journal has.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from forks.serve.bodies import Form
from forks.serve.messages import Messages, key_of
from forks.serve.operations import Kind, Operation
from forks.serve.worker import StorageError, Worker
from forks.streams import StreamError
from forks.streams.sources import BrokerError, Source

_MOST = 1_000  # messages of one record
_WAIT = 0.5  # seconds of one look for messages
_PATIENCE = 20.0  # seconds for what was taken to be learned, at the end
_RETRY = 2.0  # seconds after a write that the disk refused


class Follower(threading.Thread):
    """Has the model of a worker learn a source, which is not yet open.

    `label` is the key of the labels; if None, the last key of the first row. `say` is called with
    a line if following ends by a fault.
    """

    def __init__(
        self, worker: Worker, source: Source, label: str | None, say: Callable[[str], None]
    ) -> None:
        super().__init__(name=f"forks-from-{source.name}", daemon=True)
        self.worker, self.source, self.label, self._say = worker, source, label, say
        self.fault = ""  # that ended it
        self._stopping = False

    def open(self) -> None:
        """Connect, and go to the first message that the model does not know."""
        streams = self.worker.keeper.applier.streams
        self.source.open(streams.begin(self.source.identity))
        known = streams.made.get(key_of(self.source.identity))
        if known is not None and known != self.source.identity:
            raise StreamError(f"{self.source.name} was made anew since the model learned it")

    def run(self) -> None:
        try:
            asyncio.run(self._follow())
        except (StreamError, BrokerError) as error:
            self._end(str(error))
        except Exception as error:  # the service goes on without the stream, and says so
            self._end(f"{self.source.name}: {error!r}")

    def _end(self, fault: str) -> None:
        self.fault = fault
        self._say(f"no more is learned from the stream: {fault}")

    async def _follow(self) -> None:
        while not self._stopping:
            messages = self.source.take(_MOST, _WAIT)
            while messages and not self._stopping:
                try:
                    await self.worker.do(self._operation(messages))
                    break
                except StorageError:  # the worker tells of it
                    await asyncio.sleep(_RETRY)

    def _operation(self, messages: Any) -> Operation:
        content = Messages(self.source.identity, self.label, messages)
        rounds = self.worker.keeper.model.rounds
        return Operation(Kind.STREAM, Form.LINES, time.time(), rounds, content.body(), content)

    def stop(self) -> None:
        """End, after what was taken is learned."""
        self._stopping = True
        if self.is_alive():
            self.join(_PATIENCE)
        self.source.close()
