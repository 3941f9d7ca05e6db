"""`forks compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import count_option, file_option, text_option


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks compare`."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Name of a data set, or a file: LIBSVM format, or a table with labels last.",
        ),
    ]
    methods: Annotated[
        list[str],
        text_option("NAME", "A method to compare; again for more. [default: all]", "--method"),
    ] = ()  # type: ignore[assignment]
    budget: Annotated[
        int | None, count_option("Points that a method may keep. [default: 50, large data 100]")
    ] = None
    bandwidth: Annotated[
        float | None,
        typer.Option(min=0.0, help="Of the Gaussian kernel. [default: median distance of rows]"),
    ] = None
    n_permutations: Annotated[int, count_option("Orders of the rows.", "--permutations")] = 20
    rows: Annotated[int | None, count_option("Rows to play. [default: all]")] = None
    seed: Annotated[int, count_option("Seed of orders and methods.", at_least=0)] = 0
    jobs: Annotated[int | None, count_option("Processes. [default: one per core]")] = None
    output: Annotated[Path | None, file_option("FILE", "JSON file for the runs.")] = None


def compare(options: Options) -> None:
    """Play all methods on a data set, side by side."""
    from forks.experiments.compare import run_compare

    run_compare(**vars(options))
