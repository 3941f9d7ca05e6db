"""Topics of Kafka, through librdkafka.

Partitions are assigned, not subscribed to: no group shares them, and the broker keeps no account.
Where several partitions have messages waiting, the one with the earliest time comes first, and
then that of the smaller partition: the order is the same whenever they are read. What comes in
live is taken as it comes.
"""

import time
from collections import deque
from typing import Any

from forks.streams.files import StreamError
from forks.streams.sources.source import BrokerError, Message, Presence, Say
from forks.streams.sources.urls import Url

CONNECT = 10.0  # seconds that a broker has to be there at the start
_PAUSE = 0.3  # seconds that some messages wait for more
_LOOK = 30.0  # seconds from one look for new partitions to the next
_MANY = 20_000  # messages of a partition that wait for the other partitions
_USUAL = {"fetch.wait.max.ms": 100}  # after which it is known that a partition has no more
_OWN = {
    "group.id": "forks",  # librdkafka wants one; nothing is committed
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
}


class _Partition:
    """A partition, and what came from it and was not yet taken."""

    def __init__(self, number: int, end: int | None) -> None:
        self.number = number
        self.end = end  # offset behind the last message that is wanted
        self.waiting: deque[tuple[int, Message]] = deque()  # with their times
        self.at_end = False  # nothing more is there, for the moment
        self.next = 0  # offset behind the last message that came
        self.paused = False

    @property
    def ended(self) -> bool:
        return self.end is not None and (self.next >= self.end or self.at_end)

    @property
    def is_known(self) -> bool:
        """Whether its next message is known, or that there is none."""
        return bool(self.waiting) or self.at_end or self.ended

    def receive(self, message: Any) -> None:
        offset = message.offset()
        if offset < self.next:  # it came before
            return
        self.next, self.at_end = offset + 1, False
        if self.end is None or offset < self.end:
            data = message.value() or b""
            self.waiting.append((message.timestamp()[1], Message(self.number, offset, data)))


class Topic:
    """A topic of Kafka; see `Source` and `make_source`.

    Options of the URL are settings of librdkafka, such as `security.protocol=SASL_SSL`.
    """

    def __init__(self, url: Url, until_end: bool, say: Say) -> None:
        self.url, self.name = url, url.shown
        self._until_end, self._say = until_end, say
        self._presence = Presence(self.name, say)
        self._consumer: Any = None
        self._partitions: dict[int, _Partition] = {}
        self._looked = 0.0

    # ---- the source --------------------------------------------------------------------------

    def open(self, offsets: dict[int, int]) -> None:
        self._consumer = client_of(self.url, "Consumer", _OWN, self._note, _USUAL)
        numbers = self._look_for_partitions(CONNECT)
        unknown = sorted(offsets.keys() - numbers)
        if unknown:
            raise StreamError(f"{self.name} has no partition {unknown[0]}: it is another topic")
        self._assign({number: offsets.get(number) for number in numbers}, self._until_end)

    @property
    def identity(self) -> dict[str, Any]:
        """Kind and name of the topic."""
        return {"kind": "kafka", "stream": self.url.stream}

    @property
    def ended(self) -> bool:
        """Whether the last messages have come that were there at the start."""
        parts = self._partitions.values()
        return self._until_end and all(part.ended and not part.waiting for part in parts)

    def take(self, most: int, wait: float) -> list[Message]:
        deadline = time.monotonic() + wait
        self._look_again()
        found = self._merged(most)
        while not found and not self.ended and (left := deadline - time.monotonic()) > 0.0:
            self._receive(most, min(left, _PAUSE))
            found = self._merged(most)
        return found

    def where(self, partition: int, offset: int) -> str:
        return f"{self.name}, partition {partition}, offset {offset}"

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    # ---- partitions --------------------------------------------------------------------------

    def _look_for_partitions(self, wait: float) -> set[int]:
        """Return the numbers of the topic's partitions."""
        found = metadata_of(self._consumer, self.url, wait)
        self._looked = time.monotonic()
        return set(found.partitions)

    def _look_again(self) -> None:
        """Now and then see whether the topic has got more partitions."""
        if self._until_end or time.monotonic() < self._looked + _LOOK:
            return
        self._looked = time.monotonic()
        try:
            numbers = self._look_for_partitions(1.0)
        except BrokerError:  # it is away
            return
        self._assign(dict.fromkeys(numbers - self._partitions.keys()), until_end=False)

    def _assign(self, offsets: dict[int, int | None], until_end: bool) -> None:
        from confluent_kafka import TopicPartition

        new = []
        for number, offset in sorted(offsets.items()):
            low, high = self._range(number)
            self._check(number, offset, low, high)
            part = _Partition(number, high if until_end else None)
            part.next = low if offset is None else max(low, offset)
            self._partitions[number] = part
            new.append(TopicPartition(self.url.stream, number, part.next))
        if new:
            self._consumer.incremental_assign(new)

    def _range(self, number: int) -> tuple[int, int]:
        """Return the first offset of a partition, and the one behind the last."""
        from confluent_kafka import KafkaException, TopicPartition

        at = TopicPartition(self.url.stream, number)
        try:
            low, high = self._consumer.get_watermark_offsets(at, CONNECT)
        except KafkaException as error:
            raise BrokerError(f"{self.name}, partition {number}: {why(error)}") from None
        return low, high

    def _check(self, number: int, offset: int | None, low: int, high: int) -> None:
        if offset is not None and offset > high:
            raise StreamError(
                f"{self.name}, partition {number} ends with offset {high - 1:,}, but it is known "
                f"up to {offset - 1:,}: it is another topic"
            )
        if offset is not None and offset < low:
            self._say(
                f"{self.name}, partition {number}: offsets {offset:,} to {low - 1:,} are gone from "
                "the topic and cannot be learned"
            )

    # ---- messages ----------------------------------------------------------------------------

    def _merged(self, most: int) -> list[Message]:
        """Return messages that waited, the earliest of all partitions first."""
        found: list[Message] = []
        parts = list(self._partitions.values())
        while len(found) < most and all(part.is_known for part in parts):
            heads = [(part.waiting[0][0], part.number) for part in parts if part.waiting]
            if not heads:
                break
            part = self._partitions[min(heads)[1]]
            found.append(part.waiting.popleft()[1])
            self._balance(part)
        return found

    def _receive(self, most: int, wait: float) -> None:
        from confluent_kafka import KafkaError

        for message in self._consumer.consume(most, wait):
            error = message.error()
            if error is None:
                self._presence.found()
                part = self._partitions[message.partition()]
                part.receive(message)
                self._balance(part)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._presence.found()
                self._partitions[message.partition()].at_end = True
            elif error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal():
                raise StreamError(f"{self.name}: {error.str()}")
            else:
                self._note(error)

    def _balance(self, part: _Partition) -> None:
        """Hold a partition that is far ahead of the others, or let it go on."""
        from confluent_kafka import TopicPartition

        at = [TopicPartition(self.url.stream, part.number)]
        if len(part.waiting) >= _MANY and not part.paused:
            self._consumer.pause(at)
            part.paused = True
        elif len(part.waiting) < _MANY // 2 and part.paused:
            self._consumer.resume(at)
            part.paused = False

    def _note(self, error: Any) -> None:
        """Note that brokers are away; librdkafka goes on trying."""
        from confluent_kafka import KafkaError

        away = error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
        if away and self._partitions:  # at the start it is an error
            self._presence.lost("no broker answers")


def client_of(
    url: Url, kind: str, own: dict[str, Any], on_error: Any, usual: dict[str, Any]
) -> Any:
    """Return a consumer or a producer of confluent-kafka; the URL may change `usual` settings."""
    import logging

    import confluent_kafka

    who = {} if url.user is None else {"sasl.username": url.user}
    who |= {} if url.password is None else {"sasl.password": url.password}
    for name in own:
        if name in url.options:
            raise ValueError(f"{url.shown}: {name} cannot be set")
    quiet = logging.getLogger("forks.kafka")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    told = {"bootstrap.servers": ",".join(url.hosts), "error_cb": on_error, "logger": quiet}
    try:
        return getattr(confluent_kafka, kind)({**usual, **url.options, **who, **own, **told})
    except confluent_kafka.KafkaException as error:
        raise ValueError(f"{url.shown}: {why(error)}") from None


def metadata_of(client: Any, url: Url, wait: float) -> Any:
    """Return what the brokers know of a topic, or raise `BrokerError`."""
    from confluent_kafka import KafkaException

    try:
        found = client.list_topics(url.stream, wait).topics[url.stream]
    except KafkaException as error:
        raise BrokerError(f"{url.shown}: there is no Kafka broker: {why(error)}") from None
    if found.error is not None or not found.partitions:
        said = "" if found.error is None else f": {found.error.str()}"
        raise BrokerError(f"{url.shown}: there is no topic {url.stream!r}{said}")
    return found


def why(error: Any) -> str:
    """Return what librdkafka says in short."""
    return str(error.args[0].str()) if error.args else str(error)
