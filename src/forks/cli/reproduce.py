"""`forks reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import count_option, folder_option
from forks.experiments.reproduce.chapters import NAMES


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks reproduce`."""

    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help=f"{', '.join(NAMES)}, all, or a plan file (.toml, .json).",
            autocompletion=lambda incomplete: [
                name for name in [*NAMES, "all"] if name.startswith(incomplete)
            ],
        ),
    ]
    quick: Annotated[
        bool, typer.Option("--quick", help="Three permutations, a coarse grid, fewer rows.")
    ] = False
    output: Annotated[Path, folder_option("Folder for records and report.")] = Path(
        "build/reproduce"
    )
    jobs: Annotated[int, count_option("Processes; -1 for one per core.", at_least=-1)] = -1


def reproduce(options: Options) -> None:
    """Play the paper's experiments, or your own.

    What was stopped goes on where it was.
    """
    from forks.experiments.reproduce.command import run_reproduce

    run_reproduce(**vars(options))
