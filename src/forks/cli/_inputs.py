"""What `forks run` and `forks predict` share: help, warnings and interrupts."""

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from forks.cli._reading import FILE, FORMAT


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


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Context in which a warning is one line on stderr."""

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        option = " (--shuffle)" if category.__name__ == "LabelRunsWarning" else ""
        typer.echo(f"Warning: {message}{option}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # of a small chunk
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # see `InputFile`
        warnings.showwarning = show
        yield


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
