"""What `forks run`, `forks predict` and `forks info` share: files of rows, and interrupts."""

import signal
import threading
import warnings
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


def shuffled(file: Any, seed: int) -> Iterator[Any]:
    """Read a whole file; yield its rows in random order, as one chunk."""
    import numpy as np
    from scipy import sparse

    from forks.streams.tables import Labelled

    if not Path(file.path).is_file():
        raise ValueError(f"--shuffle needs a file that can be read to its end, not {file.name}")
    chunks = list(file.chunks())
    if not chunks:
        return
    parts = [chunk.X for chunk in chunks]
    X: Any = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    y = None if chunks[0].y is None else np.concatenate([chunk.y for chunk in chunks])
    order = np.random.default_rng(seed).permutation(X.shape[0])
    yield Labelled(X[order], None if y is None else y[order])


def names_of_features(known: Any, n: int) -> list[str]:
    """Return names of n features, by the `Input` that they come from, or None if not known."""
    if known is None or not (known.numbers or known.categorical):
        return [f"feature {j + 1}" for j in range(n)]
    hashed = [f"text {j + 1}" for j in range(n - len(known.numbers))]
    return [*known.numbers, *hashed]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Context in which a warning is one line on stderr."""

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        option = " (--shuffle)" if category.__name__ == "LabelRunsWarning" else ""
        typer.echo(f"Warning: {message}{option}", err=True)

    with warnings.catch_warnings():
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
