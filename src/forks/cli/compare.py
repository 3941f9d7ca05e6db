"""`forks compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


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
        typer.Option("--method", help="A method to compare; again for more. [default: all]"),
    ] = ()  # type: ignore[assignment]
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Points that a method may keep. [default: 50, large data 100]"),
    ] = None
    bandwidth: Annotated[
        float | None,
        typer.Option(min=0.0, help="Of the Gaussian kernel. [default: median distance of rows]"),
    ] = None
    n_permutations: Annotated[
        int, typer.Option("--permutations", min=1, help="Orders of the rows.")
    ] = 20
    rows: Annotated[int | None, typer.Option(min=1, help="Rows to play. [default: all]")] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of orders and methods.")] = 0
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: one per core]")] = (
        None
    )
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="FILE", help="JSON file for the runs.")
    ] = None


def compare(options: Options) -> None:
    """Play all methods on a data set, side by side."""
    from forks.experiments.compare import run_compare

    run_compare(**vars(options))
