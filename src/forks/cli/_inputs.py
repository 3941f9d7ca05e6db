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


def read_model(path: Path) -> Any:
    """Load a model with what is beside it; a folder is that of a checkpoint."""
    from forks.evaluate.files import read
    from forks.evaluate.session import CHECKPOINT

    return read(path / CHECKPOINT if path.is_dir() else path)


def input_of(saved: Any) -> Any:
    """Return the description of the input that the note of a model file has, or None."""
    from forks.files import ModelFileError
    from forks.streams.hashed import HashedInput
    from forks.streams.tables import Input

    if not isinstance(saved.note, dict) or "input" not in saved.note:
        return None
    given = saved.note["input"]
    try:
        if isinstance(given, dict) and "version" in given:
            return Input.from_json(given)
        return HashedInput.from_json(given)
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def shuffled(file: Any, seed: int) -> Iterator[Any]:
    """Read all files; yield their rows in random order, as one chunk."""
    import numpy as np
    from scipy import sparse

    from forks.streams.columns import RawTable
    from forks.streams.tables import Labelled

    for path in file.paths:
        if not Path(path).is_file():
            name = "standard input" if path == "-" else path
            raise ValueError(f"--shuffle needs a file that can be read to its end, not {name}")
    chunks = list(file.chunks())
    if not chunks:
        return
    parts = [chunk.X for chunk in chunks]
    order = np.random.default_rng(seed).permutation(sum(part.shape[0] for part in parts))
    X: Any
    if isinstance(parts[0], RawTable):
        X = RawTable.joined(parts).taken(order)
    else:
        whole: Any = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else None
        X = (np.concatenate(parts) if whole is None else whole)[order]
    y: Any = None
    if chunks[0].y is not None:
        y = np.concatenate([chunk.y for chunk in chunks])[order]
    yield Labelled(X, y, _joined_weights(chunks, order))


def _joined_weights(chunks: Any, order: Any) -> Any:
    import numpy as np

    if all(chunk.weights is None for chunk in chunks):
        return None
    each = [np.ones(c.X.shape[0]) if c.weights is None else c.weights for c in chunks]
    return np.concatenate(each)[order]


def names_of_features(encoder: Any, known: Any, n: int) -> list[str]:
    """Return names of n features: those of an encoder, or by the columns they come from."""
    if encoder is not None:
        return [str(name) for name in encoder.get_feature_names_out()]
    if hasattr(known, "numbers") and (known.numbers or known.categorical):
        hashed = [f"text {j + 1}" for j in range(n - len(known.numbers))]
        return [*known.numbers, *hashed]
    columns = [column.name for column in getattr(known, "columns", ())]
    return columns if len(columns) == n else [f"feature {j + 1}" for j in range(n)]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Context in which a warning is one line on stderr."""

    def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        option = " (--shuffle)" if category.__name__ == "LabelRunsWarning" else ""
        typer.echo(f"Warning: {message}{option}", err=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # of a small chunk
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
