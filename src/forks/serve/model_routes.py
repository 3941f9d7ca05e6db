"""The endpoints that tell of models, and that add them."""

import asyncio
from typing import Any

import msgspec
from litestar import Request, Response, get, put

from forks.serve.access import Role
from forks.serve.context import Context
from forks.serve.exchange import read_body
from forks.serve.problems import Problem
from forks.serve.service import NAME
from forks.serve.table_model import Settings

MODEL_TYPE = "application/vnd.forks.model"
EFFORTS, TASKS = ("fast", "balanced", "best"), ("classification", "regression")


@get("/v1/models")
async def models(request: Request[Any, Any, Any]) -> Response[bytes]:
    """List the models, and what is known of each."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "models", Role.PREDICT):
        return _json({"models": [context.service.info(n) for n in context.service.workers]})


@get("/v1/models/{name:str}")
async def model(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Tell columns, task, figures, labels that wait, and the state of the disk."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "model", Role.PREDICT):
        context.worker(name)
        return _json(context.service.info(name))


@get("/v1/models/{name:str}/relevance")
async def relevance(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Tell the relevance of each feature, which sum to one."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "relevance", Role.PREDICT):
        context.worker(name)
        return _json(await asyncio.to_thread(context.service.relevance, name))


@get("/v1/models/{name:str}/events")
async def events(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Tell when experts were started, and when others took over."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "events", Role.PREDICT):
        context.worker(name)
        return _json({"events": context.service.events(name)})


@get("/v1/models/{name:str}/file")
async def download(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Return the model as a file, for `forks predict`, `forks info` or another service."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "file", Role.ADMIN):
        keeper = context.worker(name).keeper
        data = await asyncio.to_thread(keeper.as_bytes)
        headers = {"Content-Disposition": f'attachment; filename="{name}.forks"'}
        return Response(data, media_type=MODEL_TYPE, headers=headers)


@put("/v1/models/{name:str}", status_code=201)
async def add(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Add a model: a new one with settings in JSON, or one that begins with a model file."""
    context: Context = request.app.state.context
    with context.admitted(request.scope, "add", Role.ADMIN):
        if not NAME.fullmatch(name):
            raise Problem(400, "a name has lower-case letters, digits, _ and -, at most 64")
        if name in context.service.workers:
            raise Problem(409, f"there is a model {name!r} already")
        limits = context.limits
        body = await read_body(request.receive, request.scope, limits.body, limits.seconds)
        kind = request.headers.get("content-type", "application/json").partition(";")[0]
        begin, settings = (body, None) if kind != "application/json" else (None, _settings(body))
        await asyncio.to_thread(context.service.add, name, begin, settings)
        return _json(context.service.info(name), 201)


def _json(content: Any, status: int = 200) -> Response[bytes]:
    return Response(msgspec.json.encode(content), status_code=status, media_type="application/json")


def _settings(body: bytes) -> Settings:
    try:
        told = msgspec.json.decode(body or b"{}", type=dict[str, str | int | None])
        settings = Settings(**told)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, TypeError) as error:
        names = "effort, task, seed, key, max_keys and max_classes"
        raise Problem(400, f"the settings are {names}: {error}") from None
    fits = settings.effort in EFFORTS and settings.task in (None, *TASKS)
    if not (fits and isinstance(settings.seed, int) and 0 <= settings.seed < 2**31):
        raise Problem(400, f"effort is one of {', '.join(EFFORTS)}, task of {', '.join(TASKS)}")
    try:
        settings.check_numbers()
    except ValueError as error:
        raise Problem(400, str(error)) from None
    return settings
