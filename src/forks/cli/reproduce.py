"""`forks reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.experiments.reproduce.chapters import NAMES


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks reproduce`."""

    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help=f"{', '.join(NAMES)}, all, or a plan file (.toml, .json).",
        ),
    ]
    quick: Annotated[
        bool, typer.Option("--quick", help="Three permutations, a coarse grid, fewer rows.")
    ] = False
    output: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Folder for records and report.")
    ] = Path("build/reproduce")
    jobs: Annotated[int, typer.Option(min=-1, help="Processes; -1 for one per core.")] = -1


def reproduce(options: Options) -> None:
    """Play the paper's experiments, or one's own; goes on where it was stopped."""
    from forks.experiments.reproduce.command import run_reproduce

    run_reproduce(**vars(options))
