"""`forks serve`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import (
    NOTHING,
    Effort,
    Task,
    count_option,
    file_option,
    folder_option,
    tell,
    text_option,
)

Role = StrEnum("Role", ["PREDICT", "LEARN", "ADMIN"])
_LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks serve`."""

    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]MODEL",
            help="Saved models to begin with, or names of new ones. [default: a new one, default]",
        ),
    ] = None
    host: Annotated[str, text_option("HOST", "Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, count_option("Port.", at_least=0, at_most=65_535)] = 8000
    state: Annotated[Path, folder_option("Folder of the models, journals and labels.")] = Path(
        "forks-state"
    )
    streams: Annotated[
        list[str],
        text_option("[NAME=]URL", "Learn from nats://host/stream, kafka://broker/topic.", "--from"),
    ] = NOTHING
    label: Annotated[
        str | None, text_option("KEY", "Key of the labels in a stream. [default: the last]")
    ] = None
    effort: Annotated[Effort, typer.Option(help="Of new models.")] = Effort.BALANCED
    task: Annotated[Task, typer.Option(help="Of new models; auto: by the first labels.")] = (
        Task.AUTO
    )
    key: Annotated[
        str | None, text_option("COLUMN", "Of new models: one for each value of a column.")
    ] = None
    max_keys: Annotated[
        int | None, count_option("Keys in memory; others are on disk. [default: all]")
    ] = None
    max_classes: Annotated[
        int, count_option("Of new models: different labels that may come.", at_least=2)
    ] = 100
    tokens: Annotated[
        Path | None, file_option("FILE", "Hashes of tokens, with roles: who may do what.")
    ] = None
    new_token: Annotated[
        Role | None,
        typer.Option(help="Print a new token and its line for the file of tokens; serve nothing."),
    ] = None
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Listen on other addresses without tokens.")
    ] = False
    every: Annotated[int, count_option("Rows between checkpoints.")] = 50_000
    keep_journal: Annotated[
        bool, typer.Option("--keep-journal", help="Keep all that was learned, not only the latest.")
    ] = False
    labels_wait: Annotated[int, count_option("Rows that may wait for their labels.")] = 1_000_000
    labels_days: Annotated[float, typer.Option(min=0.0, help="Days that they may wait.")] = 7.0
    max_body: Annotated[int, count_option("Megabytes of a request.")] = 16
    max_rows: Annotated[int, count_option("Rows of a request.")] = 100_000
    max_requests: Annotated[int, count_option("Requests at a time.")] = 512
    rate: Annotated[
        float, typer.Option(min=0.0, help="Requests a second of one client; 0: no limit.")
    ] = 0.0


def serve(options: Options) -> None:
    """Serve models that learn while they answer.

    POST /v1/models/default/learn, /predict, /predict-then-learn, /feedback; /openapi.json describes
    all, / shows the models live. What was acknowledged survives a crash. SIGTERM and Ctrl-C end it
    after what has come is learned.

    With --from the model also learns a stream of a broker, each message once: after a crash it
    goes on behind the last one that it has.
    """
    if options.new_token is not None:
        from forks.serve.access import new_token

        token, line = new_token(options.new_token, "somebody")
        typer.echo(f"token: {token}\nline:  {line}")
        return
    if options.host not in _LOCAL and options.tokens is None and not options.everybody:
        raise ValueError(
            f"--host {options.host} can be reached by others: --tokens says who may do what "
            "(--everybody does without)"
        )
    with needs_serve():
        from forks.serve.running import run
    from forks.serve.service import StateError

    try:
        context = _context(options)
    except StateError as error:
        raise ValueError(str(error)) from None
    try:
        _follow(context.service, options)
    except BaseException:
        context.service.close()
        raise
    run(context, options.host, options.port, typer.echo)


@contextmanager
def needs_serve() -> Iterator[None]:
    """Context in which what is not installed is named, with the way to install it."""
    try:
        yield
    except ImportError as error:
        needed = f"a service needs {error.name}: pip install 'forks-learn[serve]'"
        raise ImportError(needed) from None


def _context(options: Options) -> Any:
    from forks.serve.access import Access
    from forks.serve.context import Context
    from forks.serve.limits import Limits
    from forks.serve.service import Service
    from forks.serve.table_model import Settings

    if options.max_keys is not None and options.key is None:
        raise ValueError("--max-keys needs --key, the column of the keys")
    task = None if options.task == Task.AUTO else str(options.task)
    settings = Settings(
        str(options.effort),
        task,
        key=options.key,
        max_keys=options.max_keys,
        max_classes=options.max_classes,
    )
    settings.check_numbers()
    access = Access([]) if options.tokens is None else Access.from_file(options.tokens)
    limits = Limits(
        body=options.max_body * 2**20,
        rows=options.max_rows,
        concurrent=options.max_requests,
        rate=options.rate,
    )
    begin = [_begin(text) for text in options.models or []]
    service = Service(
        options.state,
        settings,
        every=options.every,
        most=options.labels_wait,
        age=86_400.0 * options.labels_days,
        keep_journal=options.keep_journal,
    )
    for name, data in begin:
        if name not in service.workers:
            service.add(name, data)
    if not service.workers:
        service.add("default")
    return Context(service, access, limits)


def _follow(service: Any, options: Options) -> None:
    """Have models learn the streams that the options name."""
    from forks.streams.sources import is_url, make_source

    for text in options.streams:
        name, _, url = ("", "", text) if is_url(text) else text.partition("=")
        if not is_url(url):
            raise ValueError("--from takes [NAME=]URL, a stream of nats:// or kafka://")
        if not name and len(service.workers) > 1:
            names = ", ".join(service.workers)
            raise ValueError(f"--from NAME=URL must say which model learns the stream: {names}")
        source = make_source(url, say=tell)
        service.follow(name or next(iter(service.workers)), source, options.label, tell)


def _begin(text: str) -> tuple[str, bytes | None]:
    """Return the name of a model, and the file that it begins with."""
    from forks.serve.service import NAME

    name, equals, path = text.partition("=")
    if not equals:
        if NAME.fullmatch(text) and not Path(text).exists():
            return text, None
        name, path = Path(text).stem.lower(), text
    if not Path(path).is_file():
        raise FileNotFoundError(2, "there is no such model file", path)
    return name, Path(path).read_bytes()
