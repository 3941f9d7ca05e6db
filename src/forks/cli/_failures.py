"""Failures as one line on the terminal, and a status that scripts can use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

_PICTURES = (".pdf", ".png", ".svg")
# Parameters that errors of the library name, as options.
_OPTIONS = {
    "format=": "--format",
    "n_features=": "--features",
    "missing='zero'": "--missing zero",
}


@contextmanager
def failures_in_one_line(bad_input: int = 1, missing_file: int = 1) -> Iterator[None]:
    """Turn an error into one line and an exit status."""
    try:
        yield
    except BrokenPipeError:  # `| head` has seen enough: typer ends quietly
        raise
    except (OSError, ImportError, ValueError) as error:
        message = " ".join(str(error).split())
        for parameter, option in _OPTIONS.items():
            message = message.replace(parameter, option)
        typer.echo(f"Error: {message}", err=True)
        if isinstance(error, FileNotFoundError):
            raise typer.Exit(missing_file) from None
        raise typer.Exit(bad_input if isinstance(error, ValueError) else 1) from None


def check_picture(path: Path | None) -> Path | None:
    """Ask for a name that a picture can have."""
    if path is not None and path.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"{str(path)!r} must end in one of {', '.join(_PICTURES)}.")
    return path
