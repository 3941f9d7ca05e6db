"""The endpoints that predict and learn."""

import time
from typing import Any

from litestar import Request, Response, post

from forks.serve.access import Role
from forks.serve.answers import answer, json_answer
from forks.serve.context import Context, form_of
from forks.serve.operations import Kind, Operation, operation
from forks.serve.worker import Worker

_REST = {"status_code": 200, "media_type": "application/json"}


async def _operation(
    context: Context, request: Request[Any, Any, Any], worker: Worker, kind: Kind
) -> Operation:
    """Read the operation that a request asks for."""
    form = form_of(request)
    body = await context.body(request)
    read = operation(kind, form, body, time.time(), worker.keeper.model.rounds)
    content = read.content
    n = len(content if kind is not Kind.ASK else content.batch)
    context.check_rows(n)
    return read


@post("/v1/models/{name:str}/predict", summary="Predict rows", **_REST)
async def predict(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Predict rows; those with ids are kept, to be learned when their labels come."""
    context: Context = request.app.state.context
    async with context.admitted(request, "predict", Role.PREDICT):
        worker = context.worker(name)
        asked = await _operation(context, request, worker, Kind.ASK)
        batch, ids = asked.content
        answers = await worker.reader.predict(batch)
        if ids is not None:
            await worker.do(asked)
        return answer(asked.form, answers, ids, ready=worker.keeper.model.ready)


@post("/v1/models/{name:str}/learn", summary="Learn rows and their labels", **_REST)
async def learn(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Learn rows in their order; answered when they cannot be lost any more."""
    context: Context = request.app.state.context
    async with context.admitted(request, "learn", Role.LEARN):
        worker = context.worker(name)
        told = await _operation(context, request, worker, Kind.LEARN)
        outcome = await worker.do(told)
        if outcome.error is not None:
            raise outcome.error
        return json_answer({"learned": len(told.content), "rows": worker.keeper.model.rounds})


@post(
    "/v1/models/{name:str}/predict-then-learn", summary="Predict each row, then learn it", **_REST
)
async def predict_then_learn(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Predict each row before its label is used, then learn it."""
    context: Context = request.app.state.context
    async with context.admitted(request, "predict-then-learn", Role.LEARN):
        worker = context.worker(name)
        told = await _operation(context, request, worker, Kind.LEARN)
        outcome = await worker.do(told)
        if outcome.error is not None:
            raise outcome.error
        assert outcome.answers is not None
        return answer(told.form, outcome.answers, None, rows=worker.keeper.model.rounds)


@post("/v1/models/{name:str}/feedback", summary="Give labels of rows predicted before", **_REST)
async def feedback(request: Request[Any, Any, Any], name: str) -> Response[bytes]:
    """Learn rows that were predicted under an id, now that their labels have come.

    The answer says for each id what became of its label: learned, twice, late or unknown.
    """
    context: Context = request.app.state.context
    async with context.admitted(request, "feedback", Role.LEARN):
        worker = context.worker(name)
        told = await _operation(context, request, worker, Kind.FEEDBACK)
        outcome = await worker.do(told)
        if outcome.error is not None:
            raise outcome.error
        fates = outcome.fates or {}
        learned = sum(fate == "learned" for fate in fates.values())
        return json_answer({"learned": learned, "labels": fates})
