"""`forks client`."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from forks.cli._app import count_option, text_option

Verb = StrEnum("Verb", ["INFO", "RELEVANCE", "EVENTS", "PREDICT", "LEARN", "FEEDBACK"])


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks client`."""

    verb: Annotated[Verb, typer.Argument(help="What to ask for.")]
    url: Annotated[str, text_option("URL", "Of the service.")] = "http://127.0.0.1:8000"
    model: Annotated[str, text_option("NAME", "Of the model.")] = "default"
    label: Annotated[str, text_option("FIELD", "Field of the rows that has the label.")] = "label"
    id: Annotated[str | None, text_option("FIELD", "Field of the rows that has an id.")] = None
    batch: Annotated[int, count_option("Rows of a request.")] = 500


def client(options: Options) -> None:
    """Ask a service, or teach it.

    Rows are JSON objects, one a line, from stdin; answers are the same, to stdout. predict writes a
    line for each row; learn and feedback write what was learned. A token is taken from the variable
    FORKS_TOKEN.
    """
    from urllib.error import URLError

    from forks.serve.client import Client, ServiceError

    service = Client(options.url, options.model, os.environ.get("FORKS_TOKEN"))
    try:
        if options.verb in (Verb.INFO, Verb.RELEVANCE, Verb.EVENTS):
            typer.echo(json.dumps(getattr(service, str(options.verb))(), indent=1))
        else:
            for rows in _batches(options.batch):
                _ask(service, options, rows)
    except ServiceError as error:
        raise ValueError(str(error)) from None
    except (URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        told = getattr(reason, "strerror", None) or reason
        raise OSError(f"no answer from {options.url}: {told}") from None


def _batches(size: int) -> Iterator[dict[int, dict[str, Any]]]:
    """Read rows, some at a time, by the numbers of their lines."""
    lines = enumerate(sys.stdin, 1)
    while some := list(islice(lines, size)):
        rows = {}
        for number, line in some:
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"standard input, line {number}: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"standard input, line {number}: must be a JSON object")
            rows[number] = row
        if rows:
            yield rows


def _ask(service: Any, options: Options, numbered: dict[int, dict[str, Any]]) -> None:
    rows = list(numbered.values())
    ids = None
    if options.id is not None:
        found = _field("id", options.id, numbered, needed=options.verb != Verb.LEARN)
        ids = [str(id) for id in found]
    labels = _field("label", options.label, numbered, needed=options.verb != Verb.PREDICT)
    if options.verb == Verb.PREDICT:
        told = service.predict(rows, ids)
        for i, answer in enumerate(told["predictions"]):
            line: dict[str, Any] = {"prediction": answer}
            if "classes" in told:
                names = map(str, told["classes"])
                line["probabilities"] = dict(zip(names, told["probabilities"][i], strict=True))
            if ids is not None:
                line["id"] = ids[i]
            typer.echo(json.dumps(line))
    elif options.verb == Verb.LEARN:
        typer.echo(json.dumps(service.learn(rows, labels)))
    elif ids is None:
        raise ValueError("feedback needs --id, the field that has the id")
    else:
        typer.echo(json.dumps(service.feedback(dict(zip(ids, labels, strict=True)))))


def _field(option: str, name: str, rows: dict[int, dict[str, Any]], needed: bool) -> list[Any]:
    """Take a field out of all rows; if it is needed, each must have it."""
    for number, row in rows.items():
        if needed and row.get(name) is None:
            raise ValueError(
                f"standard input, line {number}: there is no field {name!r} (see --{option})"
            )
    return [row.pop(name, None) for row in rows.values()]
