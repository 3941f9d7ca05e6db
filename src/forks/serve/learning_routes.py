"""The endpoints that predict and learn, which every row passes: see `exchange`."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from forks.serve import problems
from forks.serve.access import Role
from forks.serve.answers import answer, json_answer
from forks.serve.context import Context
from forks.serve.exchange import Answer, Scope, form_of, read_body, send_answer
from forks.serve.operations import Kind, Operation, operation
from forks.serve.worker import Worker

Endpoint = Callable[[Worker, Operation], Awaitable[Answer]]


async def predict(worker: Worker, asked: Operation) -> Answer:
    """Predict rows; those with ids are kept, to be learned when their labels come."""
    batch, ids = asked.content
    answers = await worker.reader.predict(batch)
    if ids is not None:
        await worker.do(asked)
    return answer(asked.form, answers, ids, ready=worker.keeper.model.ready)


async def learn(worker: Worker, told: Operation) -> Answer:
    """Learn rows in their order; answered when they cannot be lost any more."""
    outcome = await worker.do(told)
    if outcome.error is not None:
        raise outcome.error
    return json_answer({"learned": len(told.content), "rows": worker.keeper.model.rounds})


async def predict_then_learn(worker: Worker, told: Operation) -> Answer:
    """Predict each row before its label is used, then learn it."""
    outcome = await worker.do(told)
    if outcome.error is not None:
        raise outcome.error
    assert outcome.answers is not None
    return answer(told.form, outcome.answers, None, rows=worker.keeper.model.rounds)


async def feedback(worker: Worker, told: Operation) -> Answer:
    """Learn rows that were predicted under an id, now that their labels have come.

    The answer says for each id what became of its label: learned, twice, late or unknown.
    """
    outcome = await worker.do(told)
    if outcome.error is not None:
        raise outcome.error
    fates = outcome.fates or {}
    learned = sum(fate == "learned" for fate in fates.values())
    return json_answer({"learned": learned, "labels": fates})


class Verb(NamedTuple):
    """What can be asked of a model for every row."""

    kind: Kind
    role: Role
    endpoint: Endpoint


VERBS = {
    "predict": Verb(Kind.ASK, Role.PREDICT, predict),
    "learn": Verb(Kind.LEARN, Role.LEARN, learn),
    "predict-then-learn": Verb(Kind.LEARN, Role.LEARN, predict_then_learn),
    "feedback": Verb(Kind.FEEDBACK, Role.LEARN, feedback),
}
_PREFIX = "/v1/models/"


class Front:
    """The ASGI application that answers these endpoints itself, and leaves the others to `rest`."""

    def __init__(self, context: Context, rest: Any) -> None:
        self.context, self.rest = context, rest

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PREFIX):
            name, _, verb = scope["path"][len(_PREFIX) :].partition("/")
            if verb in VERBS:
                await self._answer(scope, receive, send, name, verb)
                return
        await self.rest(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Any, send: Any, name: str, verb: str) -> None:
        context, (kind, role, endpoint) = self.context, VERBS[verb]
        try:
            with context.admitted(scope, verb, role):
                if scope["method"] != "POST":
                    raise problems.Problem(405, "the method must be POST", {"Allow": "POST"})
                worker, form, limits = context.worker(name), form_of(scope), context.limits
                body = await read_body(receive, scope, limits.body, limits.seconds)
                read = operation(kind, form, body, time.time(), worker.keeper.model.rounds)
                context.check_rows(read.n_rows)
                found = await endpoint(worker, read)
        except Exception as error:
            found = _failed(scope, error)
        await send_answer(send, found)


def _failed(scope: Scope, error: Exception) -> Answer:
    problem = problems.problem_of(error)
    if problem.status == 500:
        problems.LOG.exception("%s %s", scope["method"], scope["path"], exc_info=error)
    headers = [(k.lower().encode(), v.encode()) for k, v in problem.headers.items()]
    kind = problems.MEDIA_TYPE.encode()
    return Answer(problems.body_of(problem), kind, problem.status, tuple(headers))
