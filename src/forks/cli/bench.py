"""`forks bench`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import NOTHING, folder_option, text_option
from forks.experiments.bench import LONG_PARTS, PARTS

_ONLY = (
    f"A part to measure; again for more. [default: {', '.join(PARTS)}; "
    f"long ones: {', '.join(LONG_PARTS)}]"
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks bench`."""

    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False
    only: Annotated[list[str], text_option("PART", _ONLY)] = NOTHING
    output: Annotated[Path, folder_option("Folder for the results.")] = Path("build/bench")


def bench(options: Options) -> None:
    """Measure speed and growth; goes on where it was stopped."""
    from forks.experiments.bench.command import run_bench

    run_bench(**vars(options))
