"""`forks data list` and `forks data fetch`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import folder_option
from forks.cli._reading import dataset_names, starting


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Options of `forks data list`: none."""


def list_data(options: ListOptions) -> None:
    """List the data sets, and tell which are at hand."""
    from rich.table import Table

    from forks.datasets import at_hand, describe, names
    from forks.experiments.report import plain_console

    del options
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "rows", "features", "task", "at hand", "licence"):
        is_size = heading in ("rows", "features")
        table.add_column(heading, justify="right" if is_size else "left", no_wrap=True)
    for entry in map(describe, names(None)):
        size = (f"{entry.rows:,}", str(entry.features))
        there = "yes" if at_hand(entry.name) else "no"
        table.add_row(entry.name, *size, entry.task, there, entry.licence)
    plain_console().print(table)


@dataclass(frozen=True, kw_only=True)
class FetchOptions:
    """Options of `forks data fetch`."""

    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Names of data sets.",
            autocompletion=lambda incomplete: starting(dataset_names(), incomplete),
        ),
    ]
    folder: Annotated[Path | None, folder_option("[default: the user's cache folder]")] = None


def fetch_data(options: FetchOptions) -> None:
    """Fetch data sets and check their digests."""
    from forks.datasets import describe, fetch

    for name in options.names:  # all of them, before the first is fetched
        describe(name)
    with _download_bar() as show:
        for name in options.names:
            for path in fetch(name, options.folder, progress=show):
                typer.echo(f"{name}: {path}")


@contextmanager
def _download_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """Return what shows the bytes of each file, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    progress = Progress(*columns, console=console, transient=True)
    bars: dict[str, Any] = {}

    def show(file: str, done: int, total: int | None) -> None:
        if file not in bars:
            bars[file] = progress.add_task(file)
        progress.update(bars[file], completed=done, total=total)

    with progress if console.is_terminal else nullcontext():
        yield show
