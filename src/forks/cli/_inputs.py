"""What `forks run`, `forks predict` and `forks info` share: files of rows, and interrupts."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

FILE = typer.Argument(
    metavar="FILE", help="{endings}; others are LIBSVM. Text may be compressed. - for stdin."
)
FORMAT = typer.Option(metavar="FORMAT", help="{formats}. [default: by the file's name]")


class FileCommand(TyperCommand):
    """A command with `FILE` and `FORMAT`, whose help has the table of formats.

    The table is slow to import, and other commands do without it.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from forks.streams.formats import FORMATS

        endings = ", ".join(end for known in FORMATS.values() for end in known.endings)
        params: list[Any] = self.params
        for param in params:
            if param.help in (FILE.help, FORMAT.help):
                param.help = param.help.format(endings=endings, formats=", ".join(FORMATS))
        super().format_help(ctx, formatter)


def input_of(saved: Any) -> Any:
    """Return the `Input` that the note of a model file describes, or None."""
    from forks.files import ModelFileError
    from forks.streams.tables import Input

    if not isinstance(saved.note, dict) or "input" not in saved.note:
        return None
    try:
        return Input.from_json(saved.note["input"])
    except ValueError as error:
        raise ModelFileError(str(error)) from None


@contextmanager
def interrupts(checkpoint: Path | None = None) -> Iterator[None]:
    """Context in which Ctrl-C, or SIGTERM, which is taken for one, ends with a line and a status.

    The line says how to go on from the checkpoint, if there is one.
    """
    came = signal.SIGINT

    def terminate(number: int, frame: Any) -> None:
        nonlocal came
        came = signal.SIGTERM
        as_interrupt: Any = signal.getsignal(signal.SIGINT)  # at some moments it has to wait
        as_interrupt(signal.SIGINT, frame)

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, say
    ours = usual and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if ours else None
    try:
        yield
    except KeyboardInterrupt:
        more = f"; --checkpoint {checkpoint} --resume goes on" if checkpoint else ""
        typer.echo(f"Interrupted{more}", err=True)
        raise typer.Exit(128 + came) from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)
