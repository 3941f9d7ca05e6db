"""Messages to a broker: a subject of NATS JetStream, or a topic of Kafka.

What is sent is there at least once when `flush` has returned True. A message that is sent again,
after a fault or a crash, has the id that it had before.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from forks.streams.sources._loop import Loop
from forks.streams.sources.kafka import client_of
from forks.streams.sources.kafka import why as kafka_why
from forks.streams.sources.nats import check_options, connected
from forks.streams.sources.nats import why as nats_why
from forks.streams.sources.source import BrokerError, Presence, Say
from forks.streams.sources.urls import Url

_CONNECT = 10.0  # seconds that a broker has to be there at the start
_ONCE = 3.0  # seconds for one try
_PAUSE = 0.3  # seconds between tries
_OWN = {"enable.idempotence": True, "message.timeout.ms": 0}  # of Kafka: none is given up
_GROUP = 256  # messages that are on their way to NATS at a time


class Sent(NamedTuple):
    """A message, and the id by which others can tell that they have it."""

    id: str
    data: bytes


class Publisher(Protocol):
    """Sends messages."""

    name: str  # the URL, without a password

    def open(self) -> None:
        """Connect, or raise `BrokerError`."""

    def send(self, message: Sent) -> None:
        """Send a message, some time until `flush` at the latest."""

    def flush(self, patience: float | None = None) -> bool:
        """Return whether the broker has all messages; without patience, wait until it has."""

    def close(self) -> None:
        """Let the broker go."""


class Subject:
    """A subject that a stream of NATS JetStream takes; ids are those of its deduplication."""

    def __init__(self, url: Url, say: Say) -> None:
        check_options(url, ("creds",))
        self.url, self.name = url, url.shown
        self._presence = Presence(self.name, say)
        self._loop = Loop()
        self._client: Any = None
        self._waiting: list[Sent] = []

    def open(self) -> None:
        """Connect, and see that a stream takes the subject."""
        self._loop.run(self._open())

    async def _open(self) -> None:
        from nats.js.errors import NotFoundError

        self._client = await connected(self.url)
        try:
            manager = self._client.jetstream(timeout=_ONCE)
            await manager.find_stream_name_by_subject(self.url.stream)
        except NotFoundError:
            raise BrokerError(f"{self.name}: no stream takes the subject") from None
        except Exception as error:
            raise BrokerError(
                f"{self.name}: JetStream does not answer: {nats_why(error)}"
            ) from None

    def send(self, message: Sent) -> None:
        """Keep a message for `flush`."""
        self._waiting.append(message)

    def flush(self, patience: float | None = None) -> bool:
        """Send what waits; see `Publisher`."""
        deadline = None if patience is None else time.monotonic() + patience
        while self._waiting:
            some = self._waiting[:_GROUP]
            try:
                self._loop.run(self._send(some))
                del self._waiting[: len(some)]
                self._presence.found()
            except Exception as error:  # whatever the client raises when a broker goes away
                self._presence.lost(nats_why(error))
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                time.sleep(_PAUSE)
        return True

    async def _send(self, messages: list[Sent]) -> None:
        if not self._client.is_connected:
            self._client = await connected(self.url, _ONCE)
        manager = self._client.jetstream(timeout=_ONCE)
        told = (
            manager.publish(self.url.stream, one.data, headers={"Nats-Msg-Id": one.id})
            for one in messages
        )
        await asyncio.gather(*told)

    def close(self) -> None:
        if self._client is not None and self._client.is_connected:
            self._loop.run(self._client.close())
        self._loop.close()


class ProducedTopic:
    """A topic of Kafka; ids are the keys of its messages."""

    def __init__(self, url: Url, say: Say) -> None:
        self.url, self.name = url, url.shown
        self._presence = Presence(self.name, say)
        self._producer: Any = None
        self._is_open = False
        self._fault = ""

    def open(self) -> None:
        from confluent_kafka import KafkaException

        self._producer = client_of(self.url, "Producer", _OWN, self._note, {})
        try:
            self._producer.list_topics(timeout=_CONNECT)
        except KafkaException as error:
            what = f"there is no Kafka broker: {kafka_why(error)}"
            raise BrokerError(f"{self.name}: {what}") from None
        self._is_open = True

    def send(self, message: Sent) -> None:
        """Hand a message to librdkafka."""
        while True:
            try:
                self._producer.produce(
                    self.url.stream, message.data, key=message.id, on_delivery=self._delivered
                )
                return
            except BufferError:  # too many are on their way
                self._producer.poll(_PAUSE)

    def flush(self, patience: float | None = None) -> bool:
        """Wait until all is delivered; see `Publisher`."""
        deadline = None if patience is None else time.monotonic() + patience
        while self._producer.flush(_PAUSE):
            self._check()
            if deadline is not None and time.monotonic() >= deadline:
                return False
        self._check()
        return True

    def _check(self) -> None:
        if self._fault:
            raise BrokerError(f"{self.name}: {self._fault}")

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._fault = error.str()
        else:
            self._presence.found()

    def _note(self, error: Any) -> None:
        from confluent_kafka import KafkaError

        if error.fatal():
            self._fault = error.str()
        elif error.code() == KafkaError._ALL_BROKERS_DOWN and self._is_open:
            self._presence.lost("no broker answers")

    def close(self) -> None:
        """Give up what is not delivered."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(_ONCE)


PUBLISHERS: dict[str, Callable[[Url, Say], Publisher]] = {"nats": Subject, "kafka": ProducedTopic}
