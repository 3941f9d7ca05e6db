"""What the page is fed with, once a second, as server-sent events."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from litestar import Litestar, Request, get
from litestar.response import ServerSentEvent, ServerSentEventMessage

from forks.serve.access import Role
from forks.serve.context import Context
from forks.serve.glances import Glances
from forks.serve.problems import Problem

_LOG = logging.getLogger("forks.serve")
_SECONDS = 1.0
_RELEVANCE = 10.0  # seconds from one look at the relevance of features to the next
_SHARE = 0.1  # of the time of a core that such looks may take
_STREAMS = 100  # that may be open


class Live:
    """Looks at a service in the background, for all who follow it."""

    def __init__(self, context: Context) -> None:
        self.glances = Glances(context)
        self.open = 0  # streams
        self._context = context
        self._taken = asyncio.Event()  # set, and replaced, with each glance
        self._ended = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take the first glance, and go on in the background."""
        await self._unharmed(self.glances.take)
        self._tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._relate())]

    async def stop(self) -> None:
        """End, and let all streams end."""
        self._ended = True
        self._taken.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _unharmed(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do some work in a thread; what goes wrong with it is logged, and no reason to end."""
        try:
            await asyncio.to_thread(work, *arguments)
        except Exception:
            _LOG.exception("the page gets no news")

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await self._unharmed(self.glances.take)
            taken, self._taken = self._taken, asyncio.Event()
            taken.set()

    async def _relate(self) -> None:
        while True:
            begin = time.monotonic()
            for name in list(self._context.service.workers):
                since = time.monotonic()
                await self._unharmed(self.glances.find_relevance, name)
                await asyncio.sleep(min((time.monotonic() - since) / _SHARE, _RELEVANCE))
            await asyncio.sleep(max(0.0, begin + _RELEVANCE - time.monotonic()))

    async def messages(
        self, model: str | None, since: float, once: bool
    ) -> AsyncIterator[ServerSentEventMessage]:
        """Yield what has been, then each glance; or the next one alone."""
        self.open += 1
        try:
            if once:
                await self._look_again(time.time())
                yield _message("state", self.glances.state(model))
                return
            yield _message("history", self.glances.history(model, since))
            while not self._is_ending:
                taken = self._taken
                yield _message("state", self.glances.state(model))
                await taken.wait()
        finally:
            self.open -= 1

    async def _look_again(self, now: float) -> None:
        """Wait for a glance that is taken from now on: the next, or the one after that."""
        for _ in range(2):
            if self.glances.latest.get("time", 0.0) >= now or self._is_ending:
                return
            await self._taken.wait()

    @property
    def _is_ending(self) -> bool:
        return self._ended or self._context.ending


def _message(event: str, data: bytes) -> ServerSentEventMessage:
    return ServerSentEventMessage(event=event, data=data.decode())


@contextlib.asynccontextmanager
async def following(app: Litestar) -> AsyncIterator[None]:
    """Context in which the application can be followed."""
    app.state.live = Live(app.state.context)
    await app.state.live.start()
    try:
        yield
    finally:
        await app.state.live.stop()


@get("/v1/live", media_type="text/event-stream")
async def live(request: Request[Any, Any, Any]) -> ServerSentEvent:
    """Send the state of the service every second, with all of one model.

    First comes an event `history`, the points of the last ten minutes or of those `since` a moment;
    then an event `state` each second; with `once=true` only the next. Without the name of a `model`
    it is the first.
    """
    context: Context = request.app.state.context
    with context.admitted(request.scope, "live", Role.PREDICT):
        asked = request.query_params
        following: Live = request.app.state.live
        if following.open >= _STREAMS:
            raise Problem(429, "too many follow the service", {"Retry-After": "10"})
        since, once = _moment(asked.get("since", "0")), asked.get("once") == "true"
        return ServerSentEvent(following.messages(asked.get("model"), since, once))


def _moment(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Problem(
            400, f"since must be seconds since 1970, got {text[:40]!r}", field="since"
        ) from None
