"""One request and its answer, straight on ASGI: what the busy endpoints are made of.

A web framework's request, response and routing cost more than a prediction. The endpoints that are
called for every row do without; all others are Litestar's.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from forks.serve.bodies import MEDIA_TYPES, Form
from forks.serve.problems import Problem

Scope = Any  # of ASGI: a dict


class Answer(NamedTuple):
    """An answer."""

    body: bytes
    media_type: bytes = b"application/json"
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


def header(scope: Scope, name: bytes) -> str:
    """Return the value of a header of a request, "" if it has none."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


def client_of(scope: Scope) -> str:
    """Return the address of the client."""
    client = scope.get("client")
    return "" if client is None else str(client[0])


def form_of(scope: Scope) -> Form:
    """Return the form of the body, by its media type."""
    given = header(scope, b"content-type") or "application/json"
    form = MEDIA_TYPES.get(given) or MEDIA_TYPES.get(given.partition(";")[0].strip().lower())
    if form is None:
        known = ", ".join(MEDIA_TYPES)
        raise Problem(415, f"the media type must be one of {known}, got {given[:100]!r}")
    return form


async def read_body(receive: Callable[..., Any], scope: Scope, most: int, seconds: float) -> bytes:
    """Return the body of a request, if it is not too long and comes in time."""
    length = header(scope, b"content-length")
    if length.isdigit() and int(length) > most:
        raise Problem(413, f"the body has {int(length):,} bytes, but may have {most:,}")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "the client has gone")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise Problem(413, f"the body has more than {most:,} bytes")
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Problem(408, "the body took too long to come") from None


async def send_answer(send: Callable[..., Any], answer: Answer) -> None:
    """Send an answer."""
    headers = [
        (b"content-type", answer.media_type),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
