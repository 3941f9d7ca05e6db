"""The command line. Reads the options, calls the room that does the work, reports failures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forks import __version__

_UsageError: Any = typer.BadParameter.__mro__[1]  # typer gives it no name of its own
_PICTURES = (".pdf", ".png", ".svg")


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


@contextmanager
def _failures_in_one_line() -> Iterator[None]:
    try:
        yield
    except (OSError, ImportError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None


main = typer.Typer(
    cls=_Commands,
    help="Online kernel learning: one pass, bounded memory, microseconds per example.",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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


def _picture(path: Path) -> Path:
    if path.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(f"{str(path)!r} must end in one of {', '.join(_PICTURES)}.")
    return path


@main.command()
def demo(
    rows: Annotated[int, typer.Option(min=1_000, help="Rows of the stream.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of stream and models.")] = 0,
    picture: Annotated[
        Path, typer.Option(dir_okay=False, callback=_picture, help="File to draw to.")
    ] = Path("forks-demo.png"),
) -> None:
    """Learn a drifting stream live and draw the mistake rate."""
    with _failures_in_one_line():
        from forks.demo import run_demo

        run_demo(rows=rows, seed=seed, picture=picture)


@main.command()
def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Name of a data set, or a file in LIBSVM format.")
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
    with _failures_in_one_line():
        from forks.compare import run_compare

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
        str, typer.Argument(metavar="WHAT", help="table1, adversarial, theta, tisvd or all.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Three permutations and a coarse grid.")
    ] = False,
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for records and report.")
    ] = Path("build/reproduce"),
    jobs: Annotated[int, typer.Option(min=-1, help="Processes; -1 for one per core.")] = -1,
) -> None:
    """Play the paper's experiments; goes on where it was stopped."""
    with _failures_in_one_line():
        from forks.reproduce.command import run_reproduce

        run_reproduce(what, quick=quick, output=output, jobs=jobs)


@main.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False,
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for the results.")
    ] = Path("build/bench"),
) -> None:
    """Measure speed and growth."""
    with _failures_in_one_line():
        from forks.bench import main as run_bench

        run_bench(quick=quick, output=output)


if __name__ == "__main__":
    main()
