"""The command line. Reads the options, calls the room that does the work, reports failures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forks import __version__
from forks.cli._failures import check_picture, failures_in_one_line
from forks.cli._streams import add_stream_commands

_UsageError: Any = typer.BadParameter.__mro__[1]  # typer gives it no name of its own


@contextmanager
def _usage_errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.ctx = None  # which the usage would be printed from
        raise


class _Commands(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _usage_errors_in_one_line():
            return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors_in_one_line():
            return super().invoke(ctx)


def _group(text: str, completion: bool = False) -> typer.Typer:
    return typer.Typer(
        cls=_Commands,
        help=text,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


main = _group(
    "Online kernel learning: one pass, bounded memory, microseconds per example.", completion=True
)
data = _group("List the benchmark data sets, and fetch them.")
main.add_typer(data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forks {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@main.command()
def demo(
    rows: Annotated[int, typer.Option(min=1_000, help="Rows of the stream.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of stream and models.")] = 0,
    picture: Annotated[
        Path, typer.Option(dir_okay=False, callback=check_picture, help="File to draw to.")
    ] = Path("forks-demo.png"),
) -> None:
    """Learn a drifting stream live and draw the mistake rate."""
    with failures_in_one_line():
        from forks.experiments.demo import run_demo

        run_demo(rows=rows, seed=seed, picture=picture)


@main.command()
def compare(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Name of a data set, or a file: LIBSVM format, or a table with labels last.",
        ),
    ],
    method: Annotated[
        list[str] | None, typer.Option(help="A method to compare; again for more. [default: all]")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Points that a method may keep. [default: 50, large data 100]"),
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(min=0.0, help="Of the Gaussian kernel. [default: median distance of rows]"),
    ] = None,
    permutations: Annotated[int, typer.Option(min=1, help="Orders of the rows.")] = 20,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows to play. [default: all]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of orders and methods.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes. [default: one per core]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="FILE", help="JSON file for the runs.")
    ] = None,
) -> None:
    """Play all methods on a data set, side by side."""
    with failures_in_one_line(bad_input=2, missing_file=2):
        from forks.experiments.compare import run_compare

        run_compare(
            data,
            methods=method or (),
            budget=budget,
            bandwidth=bandwidth,
            n_permutations=permutations,
            rows=rows,
            seed=seed,
            jobs=jobs,
            output=output,
        )


@main.command()
def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="table1, adversarial, theta, updates, tisvd, defaults, flights, kuairec, all, or "
            "a plan file (.toml, .json).",
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Three permutations, a coarse grid, fewer rows.")
    ] = False,
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for records and report.")
    ] = Path("build/reproduce"),
    jobs: Annotated[int, typer.Option(min=-1, help="Processes; -1 for one per core.")] = -1,
) -> None:
    """Play the paper's experiments, or one's own; goes on where it was stopped."""
    with failures_in_one_line(bad_input=2, missing_file=2):
        from forks.experiments.reproduce.command import run_reproduce

        run_reproduce(what, quick=quick, output=output, jobs=jobs)


@main.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="A part to measure; again for more. [default: all but endurance, a long one]",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for the results.")
    ] = Path("build/bench"),
) -> None:
    """Measure speed and growth."""
    with failures_in_one_line(bad_input=2):
        from forks.experiments.bench import main as run_bench

        run_bench(quick=quick, output=output, only=only or ())


@data.command("list")
def list_data() -> None:
    """List the data sets, and tell which are at hand."""
    from rich.console import Console
    from rich.table import Table

    from forks.datasets import at_hand, describe, names

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("", "rows", "features", "task", "at hand", "licence"):
        is_size = heading in ("rows", "features")
        table.add_column(heading, justify="right" if is_size else "left", no_wrap=True)
    for entry in map(describe, names(None)):
        size = (f"{entry.rows:,}", str(entry.features))
        there = "yes" if at_hand(entry.name) else "no"
        table.add_row(entry.name, *size, entry.task, there, entry.licence)
    Console(highlight=False).print(table)


@data.command("fetch")
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of data sets.")],
    folder: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="DIR", help="[default: the user's cache folder]"),
    ] = None,
) -> None:
    """Fetch data sets and check their digests."""
    with failures_in_one_line(bad_input=2):
        from forks.datasets import describe, fetch

        for name in names:  # all of them, before the first is fetched
            describe(name)
        with _download_bar() as show:
            for name in names:
                for path in fetch(name, folder, progress=show):
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


add_stream_commands(main)
