"""`forks bench`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import folder_option, text_option

_ONLY = "A part to measure; again for more. [default: all but endurance, a long one]"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks bench`."""

    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and repeats.")] = False
    only: Annotated[list[str], text_option("PART", _ONLY)] = ()  # type: ignore[assignment]
    output: Annotated[Path, folder_option("Folder for the results.")] = Path("build/bench")


def bench(options: Options) -> None:
    """Measure speed and growth."""
    from forks.experiments.bench import main as run_bench

    run_bench(**vars(options))
