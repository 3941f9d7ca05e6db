"""The description of the service, as an OpenAPI document with examples.

It is written by hand, since bodies are read and answers written by hand as well; `make fuzz` and
the tests hold the service to it.
"""

from typing import Any

from litestar import Response, get

from forks import __version__
from forks.serve.bodies import MEDIA_TYPES, Form
from forks.serve.learning_routes import VERBS
from forks.serve.model_routes import EFFORTS, MODEL_TYPE, TASKS
from forks.serve.problems import MEDIA_TYPE
from forks.serve.service import NAME

Described = dict[str, Any]

_PROBLEMS = {
    "400": "The request cannot be read; field says where.",
    "401": "No valid token.",
    "403": "The token has not the role.",
    "404": "No such model.",
    "409": "There is such a model already.",
    "413": "The body is too long, or has too many rows.",
    "415": "An unknown media type.",
    "422": "A cell or a label cannot be learned, there are more classes than max_classes, or a "
    "file is no model; field and row say which.",
    "429": "Too many requests; Retry-After says when to come again.",
    "503": "The disk refuses writes.",
    "507": "The disk is full: nothing was learned.",
}
_ROWS = [{"age": 41, "city": "Oslo", "income": 52000.0}, {"age": 29, "city": None, "income": 31e3}]


def _object(properties: Described, *required: str, more: Any = False) -> Described:
    described = {"type": "object", "properties": properties, "additionalProperties": more}
    return {**described, "required": list(required)} if required else described


def _list(items: Described, description: str = "", least: int = 0) -> Described:
    described = {"type": "array", "items": items, "minItems": least}
    return {**described, "description": description} if description else described


def _or_null(described: Described) -> Described:
    return {"anyOf": [described, {"type": "null"}]}


_TEXT, _NUMBER, _YES = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
_CELL = {"type": ["string", "number", "boolean", "null"]}
_LABEL = {"type": ["string", "number", "boolean"], "maxLength": 200}
_ID = {"type": "string", "minLength": 1, "maxLength": 200}
_PROBLEM = _object({"title": _TEXT, "status": _COUNT, "detail": _TEXT}, "status", more=True)


def _table(properties: Described, *required: str) -> Described:
    """Return the schema of a body with a table, by rows or by columns."""
    forms = {
        "rows": _list(
            {"type": "object", "additionalProperties": _CELL},
            "Rows; a cell that a row does not have is missing.",
            least=1,
        ),
        "columns": {"type": "object", "additionalProperties": _list(_CELL), "minProperties": 1},
    }
    return {
        "oneOf": [
            _object({form: described, **properties}, form, *required)
            for form, described in forms.items()
        ]
    }


_LEARNED = _table(
    {
        "labels": _list(_LABEL, "One for each row.", least=1),
        "weights": _or_null(_list({"type": "number", "minimum": 0}, "One for each row.", least=1)),
    },
    "labels",
)
_ITEM = _object({"id": _ID, "label": _LABEL}, "id", "label")
_PREDICTED = {
    "predictions": _list(_CELL, "null while nothing has been learned."),
    "classes": _list(_LABEL),
    "probabilities": _list(_list({"type": "number", "minimum": 0, "maximum": 1})),
}
_FATES = {"type": "object", "additionalProperties": _TEXT}
_SURE = {"classes": ["no", "yes"], "probabilities": [[0.2, 0.8]]}
# Of each verb: the body and an example of it, the answer and an example of it.
_VERBS: dict[str, tuple[Described, Described, Described, Described]] = {
    "predict": (
        _table({"ids": _or_null(_list(_ID, "Of rows whose labels will come.", least=1))}),
        {"rows": _ROWS[:1], "ids": ["a1"]},
        _object({**_PREDICTED, "ready": _YES}, "predictions", "ready"),
        {"predictions": ["yes"], **_SURE, "ready": True},
    ),
    "learn": (
        _LEARNED,
        {"rows": _ROWS, "labels": ["yes", "no"]},
        _object({"learned": _COUNT, "rows": _COUNT}, "learned", "rows"),
        {"learned": 2, "rows": 1002},
    ),
    "predict-then-learn": (
        _LEARNED,
        {"columns": {"age": [41, 29]}, "labels": ["yes", "no"]},
        _object({**_PREDICTED, "rows": _COUNT}, "predictions", "rows"),
        {"predictions": ["yes", "no"], "rows": 1004},
    ),
    "feedback": (
        {"oneOf": [_object({"items": _list(_ITEM)}, "items"), _ITEM]},
        {"items": [{"id": "a1", "label": "yes"}]},
        _object({"learned": _COUNT, "labels": _FATES}, "learned", "labels"),
        {"learned": 1, "labels": {"a1": "learned"}},
    ),
}
_INFO = _object(
    {
        "name": _TEXT,
        "ready": _YES,
        "task": _or_null({"enum": list(TASKS)}),
        "rows": _COUNT,
        "columns": _list(_object({"name": _TEXT, "kind": _TEXT}, "name", "kind")),
        "classes": _or_null(_list(_LABEL)),
        "key": _or_null(_TEXT),
        "keys": _or_null(_COUNT),
    },
    *("name", "ready", "task", "rows", "columns", "classes"),
    more=True,
)
_SETTINGS = _object(
    {
        "effort": {"enum": list(EFFORTS)},
        "task": _or_null({"enum": list(TASKS)}),
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        "key": _or_null({"type": "string", "minLength": 1}),
        "max_keys": _or_null({"type": "integer", "minimum": 1, "maximum": 2**31 - 1}),
        "max_classes": {
            "type": "integer",
            "minimum": 2,
            "maximum": 2**31 - 1,
            "default": 100,
            "description": "Different labels of a classification; a row with one more is refused.",
        },
    }
)
_RELEVANCE = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}
_STATUS = _object({"status": _TEXT}, "status", more=True)


def document() -> Described:
    """Return the description of all endpoints."""
    model, refusals = "/v1/models/{name}", "401 403 429"
    get_of = {
        "/v1/models": ("List the models", _object({"models": _list(_INFO)}, "models"), refusals),
        model: ("Describe a model", _INFO, f"404 {refusals}"),
        f"{model}/relevance": ("Tell which features matter", _RELEVANCE, f"404 {refusals}"),
        f"{model}/events": (
            "Tell when experts were started, and when others took over",
            _object({"events": _list({"type": "object"})}, "events"),
            f"404 {refusals}",
        ),
        "/healthz": ("Tell whether the service runs", _STATUS, ""),
        "/readyz": ("Tell whether all models can learn", _STATUS, "503"),
    }
    paths: Described = {
        f"{model}/{verb}": {"parameters": [_NAME], "post": _learning(verb)} for verb in VERBS
    }
    for path, (summary, answer, statuses) in get_of.items():
        paths[path] = {"get": _operation(summary, _json(answer), statuses)}
        if "{name}" in path:
            paths[path]["parameters"] = [_NAME]
    file = {MODEL_TYPE: {"schema": {"type": "string", "contentMediaType": MODEL_TYPE}}}
    paths[f"{model}/file"] = {
        "parameters": [_NAME],
        "get": _operation("Download a model", file, f"404 {refusals}"),
    }
    paths[model]["put"] = {
        **_operation("Add a model", _json(_INFO), f"400 409 413 422 507 {refusals}", "201"),
        "requestBody": {"content": {**_json(_SETTINGS), **file}},
    }
    paths["/metrics"] = {"get": _operation("Metrics for Prometheus", _text("plain"), refusals)}
    paths["/v1/live"] = {
        "parameters": [_query("model", _TEXT), _query("since", _NUMBER), _query("once", _YES)],
        "get": _operation("Follow the service", _text("event-stream"), f"400 {refusals}"),
    }
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "forks", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": bearer}},
        "security": [{}, {"token": []}],
    }


_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME.pattern}$"},
}


def _query(name: str, schema: Described) -> Described:
    return {"name": name, "in": "query", "schema": schema}


def _text(kind: str) -> Described:
    return {f"text/{kind}": {"schema": _TEXT}}


def _json(schema: Described, example: Any = None) -> Described:
    return {"application/json": {"schema": schema} | ({"example": example} if example else {})}


def _learning(verb: str) -> Described:
    text = " ".join((VERBS[verb].endpoint.__doc__ or "").split())
    body, asked, answer, answered = _VERBS[verb]
    kinds = [kind for kind, form in MEDIA_TYPES.items() if form is not Form.JSON]
    others = {kind: {"schema": _TEXT} for kind in kinds}
    answers = _json(answer, answered)
    if "predict" in verb:
        answers |= others
    statuses = "400 401 403 404 413 415 422 429 503 507"
    return {
        **_operation(text.partition(".")[0], answers, statuses),
        "operationId": verb,
        "description": text,
        "requestBody": {"required": True, "content": _json(body, asked) | others},
    }


def _operation(summary: str, answers: Described, problems: str, done: str = "200") -> Described:
    content = {MEDIA_TYPE: {"schema": _PROBLEM}}
    responses: Described = {done: {"description": "Done.", "content": answers}}
    for status in problems.split():
        responses[status] = {"description": _PROBLEMS[status], "content": content}
    return {"summary": summary, "responses": responses}


@get("/openapi.json", sync_to_thread=False)
def openapi() -> Response[Described]:
    """Return the description of the service."""
    return Response(document(), media_type="application/json")
