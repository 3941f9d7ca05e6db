"""The application: all endpoints, errors as problem+json, and the page."""

from typing import Any

from litestar import Litestar, Request, Response, get
from litestar.datastructures import State
from litestar.openapi import OpenAPIConfig
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from forks import __version__
from forks.serve import learning_routes, model_routes, problems
from forks.serve.access import Role
from forks.serve.answers import json_answer
from forks.serve.context import Context
from forks.serve.live import following, live
from forks.serve.page import page_routes


@get("/healthz", summary="Tell whether the service runs", include_in_schema=True)
async def healthz() -> dict[str, str]:
    """Tell that the service runs."""
    return {"status": "ok"}


@get("/readyz", summary="Tell whether the service can learn")
async def readyz(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Tell whether all models can learn: 503 while a disk refuses writes."""
    workers = request.app.state.context.service.workers
    faults = {name: w.storage_fault for name, w in workers.items() if w.storage_fault}
    dead = [name for name, w in workers.items() if not w.is_alive()]
    content = {"status": "ok" if not (faults or dead) else "unavailable", "faults": faults}
    return json_answer(content, 200 if not (faults or dead) else 503)


@get("/metrics", summary="Metrics for Prometheus", include_in_schema=False)
async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the metrics in the text format of Prometheus."""
    context: Context = request.app.state.context
    async with context.admitted(request, "metrics", Role.PREDICT):
        data = generate_latest(context.metrics.registry)
        return Response(data, media_type=CONTENT_TYPE_LATEST)


def application(context: Context) -> Litestar:
    """Return the ASGI application of a service, which it closes when it ends."""
    handlers = [
        learning_routes.predict,
        learning_routes.learn,
        learning_routes.predict_then_learn,
        learning_routes.feedback,
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
        *page_routes(),
    ]
    return Litestar(
        handlers,
        state=State({"context": context}),
        exception_handlers={Exception: problems.handle},
        request_max_body_size=context.limits.body,
        openapi_config=OpenAPIConfig(title="forks", version=__version__, path="/schema"),
        lifespan=[following],
        on_shutdown=[context.service.close],
        logging_config=None,
    )
