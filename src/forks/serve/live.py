"""What the page shows, once a second, as server-sent events."""

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Request, get
from litestar.response import ServerSentEvent, ServerSentEventMessage

from forks.serve.access import Role
from forks.serve.context import Context

_SECONDS = 1.0
_TOP = 8  # features


def snapshot(context: Context) -> dict[str, Any]:
    """Return the state of a service, as JSON."""
    latest = sorted(context.metrics.last_seconds)
    models = []
    for name in list(context.service.workers):
        told = context.service.info(name)
        relevance = context.service.relevance(name)
        top = sorted(relevance.items(), key=lambda item: -item[1])[:_TOP]
        models.append(
            {**told, "relevance": dict(top), "events": context.service.events(name)[-20:]}
        )
    return {
        "time": time.time(),
        "started": context.started,
        "requests": context.metrics.n_requests,
        "latency": _quantiles(latest),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "models": models,
    }


def _quantiles(latest: list[float]) -> dict[str, float] | None:
    if not latest:
        return None
    return {q: latest[int(p * (len(latest) - 1))] for q, p in (("p50", 0.5), ("p99", 0.99))}


@get("/v1/live", summary="Follow the service", media_type="text/event-stream")
async def live(request: Request[Any, Any, Any]) -> ServerSentEvent:
    """Send the state of all models every second, or once with ?once=true."""
    context: Context = request.app.state.context
    once = request.query_params.get("once") == "true"
    with context.admitted(request.scope, "live", Role.PREDICT):

        async def messages() -> AsyncIterator[ServerSentEventMessage]:
            while True:
                told = await asyncio.to_thread(snapshot, context)
                yield ServerSentEventMessage(data=msgspec.json.encode(told).decode())
                if once:
                    return
                await asyncio.sleep(_SECONDS)

        return ServerSentEvent(messages())
