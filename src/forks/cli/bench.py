"""`forks bench`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks bench`."""

    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False
    only: Annotated[
        list[str],
        typer.Option(
            metavar="PART",
            help="A part to measure; again for more. [default: all but endurance, a long one]",
        ),
    ] = ()  # type: ignore[assignment]
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for the results.")
    ] = Path("build/bench")


def bench(options: Options) -> None:
    """Measure speed and growth."""
    from forks.experiments.bench import main as run_bench

    run_bench(**vars(options))
