"""How commands are made.

The options of a command are the fields of a dataclass, with typer's descriptions as annotations;
its work is a function of that dataclass, which can hand groups of options on as a whole.
"""

import errno
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

Effort = StrEnum("Effort", ["FAST", "BALANCED", "BEST"])
Task = StrEnum("Task", ["AUTO", "CLASSIFICATION", "REGRESSION"])
NOTHING: Any = ()  # default of lists: the fields of a dataclass cannot have a list as theirs
_PICTURES = (".pdf", ".png", ".svg")
_NO_INPUT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
# Parameters that errors of the library name, as options.
_OPTIONS = {
    "format=": "--format",
    "(na=": "(--na ",
    "format must": "--format must",
    "n_features=": "--features",
    "zero_based=": "--zero-based",
    "delimiter=": "--delimiter",
    "header=": "--header",
    "decimal=": "--decimal",
    "a run with another every": "a run with another --every",
}


def group(text: str, completion: bool = False) -> typer.Typer:
    """Return a group of commands; `text` is its help."""
    return typer.Typer(
        cls=_Commands,
        help=text,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


class _Commands(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _usage_errors_in_one_line():
            return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _usage_errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "ctx"):  # of a usage error, for which the usage would be printed
            error.ctx = None
        raise


def add(
    app: typer.Typer,
    name: str,
    options: type,
    work: Callable[[Any], None],
    *,
    missing_file: int = 2,
    cls: type[TyperCommand] | None = None,
) -> None:
    """Add a command: `work` is called with the options, a dataclass, and its docstring is the help.

    `missing_file` is the exit status if a file is missing. It is 2 for other bad input, and 1 for
    other failures.
    """

    def command(**given: Any) -> None:
        with _failures_in_one_line(missing_file):
            work(options(**given))

    signature = inspect.signature(options)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {k: p.annotation for k, p in signature.parameters.items()}
    app.command(name, help=inspect.getdoc(work), cls=cls)(command)


@contextmanager
def _failures_in_one_line(missing_file: int) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # `| head` has seen enough: typer ends quietly
        raise
    except (OSError, ImportError, ValueError) as error:
        message = " ".join(_message(error).split())
        for parameter, option in _OPTIONS.items():
            message = message.replace(parameter, option)
        typer.echo(f"Error: {message}", err=True)
        if isinstance(error, _NO_INPUT):
            raise typer.Exit(missing_file) from None
        raise typer.Exit(2 if isinstance(error, ValueError) else 1) from None


def _message(error: Exception) -> str:
    """Return what an error says; of one of the system, without its number."""
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    name = error.filename
    if name is None and error.errno == errno.ENOSPC:  # files that we write are named
        name = "standard output"
    return str(error) if name is None else f"{name}: {error.strerror}"


def file_option(metavar: str, help: str, **more: Any) -> Any:
    """Return the description of an option that names a file."""
    return typer.Option(dir_okay=False, metavar=metavar, help=help, **more)


def folder_option(help: str) -> Any:
    """Return the description of an option that names a folder."""
    return typer.Option(file_okay=False, metavar="DIR", help=help)


def text_option(metavar: str, help: str, *names: str) -> Any:
    """Return the description of an option with any text; `names` if not that of the parameter."""
    return typer.Option(*names, metavar=metavar, help=help)


def count_option(help: str, *names: str, at_least: int = 1, at_most: int | None = None) -> Any:
    """Return the description of an option with a whole number."""
    return typer.Option(*names, min=at_least, max=at_most, help=help)


def tell(note: str) -> None:
    """Print a note on stderr."""
    typer.echo(f"Note: {note}", err=True)


def part_of(options: Any, kind: type) -> dict[str, Any]:
    """Return the options that are fields of the dataclass `kind`, one of the options' bases."""
    return {field.name: getattr(options, field.name) for field in fields(kind)}


def check_picture(path: Path | None) -> Path | None:
    """Check that a file has a name that a picture can have; for typer's `callback`."""
    if path is not None and path.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"{str(path)!r} must end in one of {', '.join(_PICTURES)}.")
    return path
