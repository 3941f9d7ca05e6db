"""The description of the endpoints that are not Litestar's own, with examples."""

from typing import Any

from litestar.openapi.spec import (
    Example,
    OpenAPIMediaType,
    OpenAPIResponse,
    Operation,
    Parameter,
    PathItem,
    RequestBody,
    Schema,
)
from litestar.openapi.spec.enums import OpenAPIType

from forks.serve.learning_routes import VERBS

_ROWS = [{"age": 41, "city": "Oslo", "income": 52000.0}, {"age": 29, "city": None, "income": 31e3}]
_BODIES: dict[str, dict[str, Any]] = {
    "predict": {"rows": _ROWS, "ids": ["a1", "a2"]},
    "learn": {"rows": _ROWS, "labels": ["yes", "no"]},
    "predict-then-learn": {"columns": {"age": [41, 29]}, "labels": ["yes", "no"]},
    "feedback": {"items": [{"id": "a1", "label": "yes"}]},
}
_ANSWERS: dict[str, dict[str, Any]] = {
    "predict": {"predictions": ["yes"], "classes": ["no", "yes"], "probabilities": [[0.2, 0.8]]},
    "learn": {"learned": 2, "rows": 1002},
    "predict-then-learn": {"predictions": ["yes", "no"], "rows": 1004},
    "feedback": {"learned": 1, "labels": {"a1": "learned"}},
}
_PROBLEMS = {
    "400": "The body cannot be read; field says where.",
    "401": "No valid token.",
    "403": "The token has not the role.",
    "404": "No such model.",
    "413": "The body is too long, or has too many rows.",
    "415": "An unknown media type.",
    "422": "A cell or a label cannot be learned; field and row say which.",
    "429": "Too many requests; Retry-After says when to come again.",
    "503": "The disk refuses writes.",
    "507": "The disk is full: nothing was learned.",
}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> Schema:
    return Schema(type=OpenAPIType.OBJECT, properties=properties, required=required)


def _list(items: Schema, description: str = "") -> Schema:
    return Schema(type=OpenAPIType.ARRAY, items=items, description=description or None)


_CELL = Schema(type=[OpenAPIType.STRING, OpenAPIType.NUMBER, OpenAPIType.BOOLEAN, OpenAPIType.NULL])
_LABEL = Schema(type=[OpenAPIType.STRING, OpenAPIType.NUMBER, OpenAPIType.BOOLEAN])
_ID = Schema(type=OpenAPIType.STRING, min_length=1, max_length=200)
_TABLE = {
    "rows": _list(
        Schema(type=OpenAPIType.OBJECT, additional_properties=_CELL),
        "Rows; a cell that a row does not have is missing. Either rows or columns.",
    ),
    "columns": Schema(type=OpenAPIType.OBJECT, additional_properties=_list(_CELL)),
}
_SCHEMAS = {
    "predict": _object({**_TABLE, "ids": _list(_ID, "Of rows whose labels will come.")}),
    "learn": _object(
        {**_TABLE, "labels": _list(_LABEL), "weights": _list(Schema(type=OpenAPIType.NUMBER))},
        ["labels"],
    ),
    "feedback": _object({"items": _list(_object({"id": _ID, "label": _LABEL}))}, ["items"]),
}
_SCHEMAS["predict-then-learn"] = _SCHEMAS["learn"]


def described() -> dict[str, PathItem]:
    """Return the paths of the endpoints of `learning_routes`."""
    return {f"/v1/models/{{name}}/{verb}": _path(verb) for verb in VERBS}


def _path(verb: str) -> PathItem:
    text = " ".join((VERBS[verb].endpoint.__doc__ or "").split())
    summary, _, _ = text.partition(".")
    example: dict[str, Any] = {"example": Example(value=_BODIES[verb])}
    content = {
        "application/json": OpenAPIMediaType(schema=_SCHEMAS[verb], examples=example),
        "application/x-ndjson": OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING)),
        "application/vnd.apache.arrow.stream": OpenAPIMediaType(
            schema=Schema(type=OpenAPIType.STRING)
        ),
    }
    answer = OpenAPIMediaType(
        schema=Schema(type=OpenAPIType.OBJECT),
        examples={"example": Example(value=_ANSWERS[verb])},
    )
    problem = OpenAPIMediaType(schema=Schema(type=OpenAPIType.OBJECT))
    responses: dict[str, Any] = {
        status: OpenAPIResponse(description=told, content={"application/problem+json": problem})
        for status, told in _PROBLEMS.items()
    }
    responses["200"] = OpenAPIResponse(description="Done.", content={"application/json": answer})
    name = Parameter(
        name="name",
        param_in="path",
        required=True,
        schema=Schema(type=OpenAPIType.STRING, pattern="^[a-z0-9][a-z0-9_-]{0,63}$"),
    )
    return PathItem(
        post=Operation(
            operation_id=verb,
            summary=summary,
            description=text,
            parameters=[name],
            request_body=RequestBody(content=content, required=True),
            responses=responses,
        )
    )
