"""Errors as problem+json (RFC 9457): a title, what is wrong, and where."""

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from forks.features.table import CellError
from forks.files import ModelFileError
from forks.serve.bodies import BodyError
from forks.serve.labels import LabelError
from forks.serve.worker import StorageError

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("forks.serve")


class Problem(Exception):
    """An error of a request: status, what is wrong, and more members of the answer."""

    def __init__(
        self, status: int, detail: str, headers: dict[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers, self.members = headers or {}, members


def problem_of(error: Exception) -> Problem:
    """Return the problem that an exception stands for."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, BodyError):
        return Problem(400, error.detail, field=error.place)
    if isinstance(error, CellError):
        return Problem(422, error.fault, field=error.column, row=error.row)
    if isinstance(error, LabelError):
        return Problem(422, error.fault, field="label", row=error.row)
    if isinstance(error, StorageError):
        status = 507 if error.is_full else 503
        return Problem(status, f"nothing was learned, since it cannot be kept: {error}")
    if isinstance(error, ModelFileError):
        return Problem(422, str(error))
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail), dict(error.headers or {}))
    if isinstance(error, ValueError):
        return Problem(422, str(error))
    return Problem(500, "the service failed; its log says how")


def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return the answer to a request of Litestar's that has failed."""
    problem = problem_of(error)
    if problem.status == 500:
        LOG.exception("%s %s", request.method, request.url.path, exc_info=error)
    return Response(
        body_of(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=problem.headers,
    )


def body_of(problem: Problem) -> bytes:
    """Return a problem as JSON."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        **problem.members,
    }
    return msgspec.json.encode(body)
