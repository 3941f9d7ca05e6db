"""Streams of NATS JetStream.

They are read by a consumer that lives as long as the connection and acknowledges nothing. It
numbers what it delivers: if a number is absent, or anything else goes wrong, another consumer
begins behind the last message that came.
"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from forks.streams.files import StreamError
from forks.streams.sources._loop import Loop
from forks.streams.sources.source import BrokerError, Message, Presence, Say
from forks.streams.sources.urls import Url

CONNECT = 10.0  # seconds that a broker has to be there at the start
_ONCE = 3.0  # seconds for one try, and for one answer
_PAUSE = 0.3  # seconds between tries, and that some messages wait for more
_LIVES = 300.0  # seconds that a consumer lives without a request
_OPTIONS = ("subject", "creds")


class JetStream:
    """A stream of NATS JetStream; see `Source` and `make_source`.

    Options of the URL are `subject`, to read some of the stream's subjects only, and `creds`, a
    file of credentials.
    """

    def __init__(self, url: Url, until_end: bool, say: Say) -> None:
        check_options(url, _OPTIONS)
        self.url, self.name = url, url.shown
        self._until_end, self._say = until_end, say
        self._presence = Presence(self.name, say)
        self._loop = Loop()
        self._client: Any = None
        self._made = ""  # when the stream was made
        self._reader: Any = None  # of the consumer
        self._delivered = 0  # messages of this consumer
        self._next = 1  # sequence
        self._end: int | None = None  # sequence of the last message that is wanted
        self._left = -1  # messages behind the last one; -1 if that is not known

    # ---- the source --------------------------------------------------------------------------

    def open(self, offsets: dict[int, int]) -> None:
        self._loop.run(self._open(offsets.get(0)))

    @property
    def identity(self) -> dict[str, Any]:
        """Kind, name and subjects of the stream, and when it was made."""
        told = {"kind": "nats", "stream": self.url.stream, "made": self._made}
        return told | {k: v for k, v in self.url.options.items() if k == "subject"}

    @property
    def ended(self) -> bool:
        """Whether the last message has come that was there at the start."""
        return self._end is not None and (self._next > self._end or self._left == 0)

    def take(self, most: int, wait: float) -> list[Message]:
        return self._loop.run(self._take(most, wait))

    def where(self, partition: int, offset: int) -> str:
        return f"{self.name}, sequence {offset}"

    def close(self) -> None:
        with suppress(Exception):
            self._loop.run(self._disconnect())
        self._loop.close()

    # ---- in the event loop -------------------------------------------------------------------

    async def _open(self, sequence: int | None) -> None:
        self._client = await connected(self.url)
        info = await self._info()
        state = info.state
        self._made = "" if info.created is None else info.created.isoformat()
        if sequence is not None and sequence > state.last_seq + 1:
            raise StreamError(
                f"{self.name} ends with sequence {state.last_seq:,}, but {sequence - 1:,} messages "
                "of it are known: it is another stream"
            )
        if sequence is not None and sequence < state.first_seq:
            self._say(
                f"{self.name}: sequences {sequence:,} to {state.first_seq - 1:,} are gone from the "
                "stream and cannot be learned"
            )
        self._next = max(sequence or 1, state.first_seq, 1)
        if self._until_end:
            self._end = state.last_seq
        await self._consume()

    async def _info(self) -> Any:
        from nats.js.errors import NotFoundError

        stream = self.url.stream
        try:
            info = await self._client.jetstream(timeout=_ONCE).stream_info(stream)
        except NotFoundError:
            raise BrokerError(f"{self.name}: there is no stream {stream!r}") from None
        except Exception as error:
            raise BrokerError(f"{self.name}: JetStream does not answer: {why(error)}") from None
        retention = str(getattr(info.config.retention, "value", info.config.retention))
        if retention != "limits":
            raise StreamError(
                f"{self.name}: its retention is {retention!r}, which removes what was read; only "
                "'limits' can be read again after a crash"
            )
        return info

    async def _consume(self) -> None:
        """Make a consumer that begins with the next message."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._next,
            ack_policy=AckPolicy.NONE,
            filter_subject=self.url.options.get("subject"),
            inactive_threshold=_LIVES,
            mem_storage=True,
            num_replicas=1,
        )
        manager = self._client.jetstream(timeout=_ONCE)
        info = await manager.add_consumer(self.url.stream, config)
        self._reader = await manager.pull_subscribe_bind(info.name, self.url.stream)
        self._delivered, self._left = 0, info.num_pending or 0

    async def _take(self, most: int, wait: float) -> list[Message]:
        deadline = time.monotonic() + wait
        try:
            if self._reader is None:
                await self._reconnect()
            found = await self._fetch(most, min(wait, _PAUSE))
            self._presence.found()
            while not (found or self.ended or self._reader is None or time.monotonic() >= deadline):
                found = await self._fetch(most, _PAUSE)
            return found
        except StreamError:
            raise
        except BrokerError as error:
            self._presence.lost(str(error).removeprefix(f"{self.name}: "))
        except Exception as error:  # whatever the client raises when a broker goes away
            self._presence.lost(why(error))
        self._reader = None
        await asyncio.sleep(_PAUSE)
        return []

    async def _reconnect(self) -> None:
        if not self._client.is_connected:
            await self._disconnect()
            self._client = await connected(self.url, _ONCE)
        if (await self._info()).created.isoformat() != self._made:
            raise StreamError(f"{self.name} was made anew while it was read")
        await self._consume()

    async def _fetch(self, most: int, wait: float) -> list[Message]:
        from nats.errors import TimeoutError as NatsTimeoutError

        if not self._client.is_connected:
            raise BrokerError(f"{self.name}: the connection is lost")
        try:
            fetched = await self._reader.fetch(most, timeout=max(wait, 0.01))
        except (TimeoutError, NatsTimeoutError):
            return []
        return await self._received(fetched)

    async def _received(self, fetched: list[Any]) -> list[Message]:
        """Return messages up to one that is not the next; then there will be another consumer."""
        found: list[Message] = []
        for message in fetched:
            told = message.metadata
            if told.sequence.consumer != self._delivered + 1:  # something got lost on the way
                reader, self._reader = self._reader, None
                with suppress(Exception):  # what was found must not get lost
                    await reader.unsubscribe()
                break
            self._delivered += 1
            self._next, self._left = told.sequence.stream + 1, told.num_pending
            if self._end is None or told.sequence.stream <= self._end:
                found.append(Message(0, told.sequence.stream, message.data))
        return found

    async def _disconnect(self) -> None:
        self._reader = None
        with suppress(Exception):
            await asyncio.wait_for(self._client.close(), _ONCE)


async def connected(url: Url, patience: float | None = None) -> Any:
    """Return a client of NATS, or raise `BrokerError` if there is no broker for so long."""
    deadline = time.monotonic() + (CONNECT if patience is None else patience)
    while True:
        try:
            return await asyncio.wait_for(_connect(url), _ONCE)
        except Exception as error:  # of many kinds
            if time.monotonic() >= deadline:
                raise BrokerError(f"{url.shown}: there is no NATS server: {why(error)}") from None
            if "authorization" in str(error).lower():
                raise BrokerError(f"{url.shown}: {why(error)}") from None
        await asyncio.sleep(_PAUSE)


def _connect(url: Url) -> Coroutine[Any, Any, Any]:
    import nats

    who: dict[str, Any] = {}
    if url.user is not None:
        who = {"token": url.user} if url.password is None else {"user": url.user}
        who |= {} if url.password is None else {"password": url.password}
    if "creds" in url.options:
        who["user_credentials"] = url.options["creds"]
    return nats.connect(
        [f"nats://{host}" for host in url.hosts],
        name="forks",
        allow_reconnect=False,
        max_reconnect_attempts=1,
        reconnect_time_wait=0.1,
        connect_timeout=_ONCE,
        error_cb=_silent,
        ping_interval=10,
        max_outstanding_pings=2,
        **who,
    )


async def _silent(error: Exception) -> None:
    """Leave it to the next request, which meets the error."""


def check_options(url: Url, known: tuple[str, ...]) -> None:
    """Check that a URL has no other options."""
    for name in url.options:
        if name not in known:
            raise ValueError(f"{url.shown} has no option {name!r}; it has {', '.join(known)}")


def why(error: Exception) -> str:
    """Return what went wrong in short."""
    return str(error).removeprefix("nats: ") or type(error).__name__
