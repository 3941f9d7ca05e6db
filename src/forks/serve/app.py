"""The application: all endpoints, errors as problem+json, and the page."""

from typing import Any

import msgspec
from litestar import Litestar, Request, Response, get
from litestar.datastructures import State
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from forks.serve import model_routes, problems
from forks.serve.access import Role
from forks.serve.context import Context
from forks.serve.learning_routes import Front
from forks.serve.live import following, live
from forks.serve.openapi import openapi
from forks.serve.page import page_routes


@get("/healthz")
async def healthz() -> dict[str, str]:
    """Tell that the service runs."""
    return {"status": "ok"}


@get("/readyz")
async def readyz(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Tell whether all models can learn: 503 while a disk refuses writes, or a stream ended."""
    service = request.app.state.context.service
    workers = service.workers
    faults = {name: w.storage_fault for name, w in workers.items() if w.storage_fault}
    faults |= {name: f.fault for name, f in service.followers.items() if f.fault}
    dead = [name for name, w in workers.items() if not w.is_alive()]
    content = {"status": "ok" if not (faults or dead) else "unavailable", "faults": faults}
    status = 200 if not (faults or dead) else 503
    return Response(msgspec.json.encode(content), status_code=status, media_type="application/json")


@get("/metrics")
async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the metrics in the text format of Prometheus."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "metrics", Role.PREDICT):
        data = generate_latest(context.metrics.registry)
        return Response(data, media_type=CONTENT_TYPE_LATEST)


def application(context: Context) -> Front:
    """Return the ASGI application of a service, which it closes when it ends."""
    handlers = [
        model_routes.models,
        model_routes.model,
        model_routes.relevance,
        model_routes.events,
        model_routes.download,
        model_routes.add,
        live,
        healthz,
        readyz,
        metrics,
        openapi,
        *page_routes(),
    ]
    rest = Litestar(
        handlers,
        state=State({"context": context}),
        exception_handlers={Exception: problems.handle},
        request_max_body_size=context.limits.body,
        openapi_config=None,  # `openapi` describes what Litestar does not see, too
        lifespan=[following],
        on_shutdown=[context.service.close],
        logging_config=None,
    )
    return Front(context, rest)
